#include "core/parallel.h"

#include "core/clock.h"
#include "core/mutex.h"

#include <sys/resource.h>

#if defined(CS_PTHREADS)

#include <pthread.h>
#include <unistd.h>

enum { MOST_THREADS = 256 };

typedef struct call {
    pthread_t thread;
    void (*work)(void *context, int thread);
    void *context;
    int number;
} call;

static void *make_call(void *argument)
{
    call *c = argument;
    c->work(c->context, c->number);
    return NULL;
}

void cs_parallel(int threads, void (*work)(void *context, int thread), void *context)
{
    call other[MOST_THREADS];

    /* The caller is thread 0; start the others, as many as the system allows. */
    int started = 1;
    for (; started < threads && started < MOST_THREADS; started++) {
        call *c = &other[started];
        *c = (call){.work = work, .context = context, .number = started};
        if (pthread_create(&c->thread, NULL, make_call, c)) break;
    }

    /* The caller does its own share, and that of threads that could not start. */
    work(context, 0);
    for (int t = started; t < threads; t++) work(context, t);

    for (int t = 1; t < started; t++) pthread_join(other[t].thread, NULL);
}

int cs_processors(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors > 0 ? (int)processors : 1;
}

int cs_threads_available(void) { return cs_processors(); }
const char *cs_threads_kind(void) { return "pthread"; }

#elif defined(_OPENMP)

void cs_parallel(int threads, void (*work)(void *context, int thread), void *context)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < threads; t++) work(context, t);
}

int cs_processors(void) { return omp_get_num_procs(); }
int cs_threads_available(void) { return omp_get_max_threads(); }
const char *cs_threads_kind(void) { return "openmp"; }

#else

void cs_parallel(int threads, void (*work)(void *context, int thread), void *context)
{
    for (int t = 0; t < threads; t++) work(context, t);
}

int cs_processors(void) { return 1; }
int cs_threads_available(void) { return 1; }
const char *cs_threads_kind(void) { return "serial"; }

#endif

/* ---- threads that wait for each other --------------------------------------------------------- */

#if defined(CS_PTHREADS) || defined(_OPENMP)

/* Threads begin once all of them are there; if one is missing, none begins. */
typedef struct gate {
    cs_mutex mutex;
    cs_condition opened;
    enum { CLOSED, OPEN, CANCELLED } state;
} gate;

typedef struct concurrent {
    pthread_t thread;
    gate *gate;
    void (*work)(void *context, int thread);
    void *context;
    int number;
} concurrent;

static void set_gate(gate *g, int state)
{
    cs_mutex_lock(&g->mutex);
    g->state = state;
    cs_condition_broadcast(&g->opened);
    cs_mutex_unlock(&g->mutex);
}

static void *pass_gate(void *argument)
{
    concurrent *c = argument;
    cs_mutex_lock(&c->gate->mutex);
    while (c->gate->state == CLOSED) cs_condition_wait(&c->gate->opened, &c->gate->mutex);
    int cancelled = c->gate->state == CANCELLED;
    cs_mutex_unlock(&c->gate->mutex);
    if (!cancelled) c->work(c->context, c->number);
    return NULL;
}

int cs_concurrently(int threads, void (*work)(void *context, int thread), void *context)
{
    if (threads < 1 || threads > CS_MOST_CONCURRENT) return 0;
    concurrent other[CS_MOST_CONCURRENT];
    gate g = {.state = CLOSED};
    cs_mutex_init(&g.mutex);
    cs_condition_init(&g.opened);

    /* Start the others, and let them go if all have started. */
    int started = 1;
    for (; started < threads; started++) {
        concurrent *c = &other[started];
        *c = (concurrent){.gate = &g, .work = work, .context = context, .number = started};
        if (pthread_create(&c->thread, NULL, pass_gate, c)) break;
    }
    int complete = started == threads;
    set_gate(&g, complete ? OPEN : CANCELLED);
    if (complete) work(context, 0);

    for (int t = 1; t < started; t++) pthread_join(other[t].thread, NULL);
    cs_condition_destroy(&g.opened);
    cs_mutex_destroy(&g.mutex);
    return complete;
}

#else

int cs_concurrently(int threads, void (*work)(void *context, int thread), void *context)
{
    if (threads != 1) return 0;
    work(context, 0);
    return 1;
}

#endif

/* The least of the three, and at least one. */
static int bounded(int64_t threads, int64_t parts, int64_t most)
{
    if (threads > parts) threads = parts;
    if (threads > most) threads = most;
    return threads > 1 ? (int)threads : 1;
}

int cs_threads_for(int64_t most, int64_t size, int64_t worth, int64_t parts)
{
    if (size < worth) return 1;
    if (!most) return bounded(cs_threads_available(), parts, INT32_MAX);
    return bounded(most, parts, cs_processors());
}

int cs_threads_exactly(int64_t threads, int64_t parts)
{
    return bounded(threads, parts, (int64_t)CS_THREADS_PER_PROCESSOR * cs_processors());
}

/* A call on threads that are there takes some microseconds, or a hundred if they have to be created. A processor that
 * another process uses is free after milliseconds. */
#define LATE 3e-4 /* seconds */

static void do_nothing(void *context, int thread)
{
    (void)context;
    (void)thread;
}

/* How often the system has taken a thread of this process off a processor that others wanted; 0 if it does not tell. */
static int64_t count_preemptions(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? 0 : usage.ru_nivcsw;
}

int cs_threads_for_now(int threads, int64_t *preemptions)
{
    /* The first call has no count to compare with. */
    if (threads <= 1) return 1;
    int64_t before = *preemptions, now = *preemptions = count_preemptions();
    if (before >= 0 && now > before) return 1;

    double start = cs_clock();
    cs_parallel(threads, do_nothing, NULL);
    return cs_clock() - start > LATE ? 1 : threads;
}
