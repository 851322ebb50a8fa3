/* Mutexes and conditions. The threads of core/parallel.h use them, and nothing else of a system's threads: OpenMP has no
 * conditions, so that POSIX threads stand behind them in its build, too. Without threads they do nothing. */
#ifndef CS_MUTEX_H
#define CS_MUTEX_H

#if defined(CS_PTHREADS) || defined(_OPENMP)

#include <pthread.h>
#include <time.h>

typedef pthread_mutex_t cs_mutex;
typedef pthread_cond_t cs_condition;

static inline void cs_mutex_init(cs_mutex *mutex) { *mutex = (cs_mutex)PTHREAD_MUTEX_INITIALIZER; }
static inline void cs_mutex_destroy(cs_mutex *mutex) { pthread_mutex_destroy(mutex); }
static inline void cs_mutex_lock(cs_mutex *mutex) { pthread_mutex_lock(mutex); }
static inline void cs_mutex_unlock(cs_mutex *mutex) { pthread_mutex_unlock(mutex); }

static inline void cs_condition_init(cs_condition *condition)
{
    pthread_condattr_t kind;
    pthread_condattr_init(&kind);
    pthread_condattr_setclock(&kind, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &kind);
    pthread_condattr_destroy(&kind);
}
static inline void cs_condition_destroy(cs_condition *condition)
{
    pthread_cond_destroy(condition);
}
static inline void cs_condition_signal(cs_condition *condition) { pthread_cond_signal(condition); }
static inline void cs_condition_broadcast(cs_condition *condition)
{
    pthread_cond_broadcast(condition);
}

/* Waits for a signal with the mutex unlocked; may also return without one. */
static inline void cs_condition_wait(cs_condition *condition, cs_mutex *mutex)
{
    pthread_cond_wait(condition, mutex);
}

/* The same for some milliseconds at most. */
static inline void cs_condition_wait_briefly(cs_condition *condition, cs_mutex *mutex)
{
    enum { MOST = 5000000, SECOND = 1000000000 }; /* nanoseconds */
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += MOST;
    if (until.tv_nsec >= SECOND) {
        until.tv_sec++;
        until.tv_nsec -= SECOND;
    }
    pthread_cond_timedwait(condition, mutex, &until);
}

#else

typedef struct cs_mutex {
    char unused;
} cs_mutex;
typedef struct cs_condition {
    char unused;
} cs_condition;

static inline void cs_mutex_init(cs_mutex *mutex) { mutex->unused = 0; }
static inline void cs_mutex_destroy(cs_mutex *mutex) { (void)mutex; }
static inline void cs_mutex_lock(cs_mutex *mutex) { (void)mutex; }
static inline void cs_mutex_unlock(cs_mutex *mutex) { (void)mutex; }

static inline void cs_condition_init(cs_condition *condition) { condition->unused = 0; }
static inline void cs_condition_destroy(cs_condition *condition) { (void)condition; }
static inline void cs_condition_signal(cs_condition *condition) { (void)condition; }
static inline void cs_condition_broadcast(cs_condition *condition) { (void)condition; }
static inline void cs_condition_wait(cs_condition *condition, cs_mutex *mutex)
{
    (void)condition, (void)mutex;
}
static inline void cs_condition_wait_briefly(cs_condition *condition, cs_mutex *mutex)
{
    (void)condition, (void)mutex;
}

#endif

#endif
