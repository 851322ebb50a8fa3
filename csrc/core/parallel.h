/* The only interface to threads, with the mutexes of core/mutex.h: no other file calls OpenMP or POSIX
 * threads. The build chooses between OpenMP, POSIX threads (CS_PTHREADS) and none. Without threads,
 * everything runs on one thread and gives the same results, because the size of the work, not the
 * number of threads, decides how it is cut into pieces.
 *
 * The version with POSIX threads creates the threads in every call and joins them at its end. It costs
 * more than OpenMP, whose threads wait for the next call; but ThreadSanitizer understands it, and a
 * child process after fork() can use it. */
#ifndef CS_PARALLEL_H
#define CS_PARALLEL_H

#include "core/costs.h"

#include <stdint.h>

#ifdef _OPENMP
#include <omp.h>
#endif

/* Calls work(context, t) for every t below `threads`: concurrently if threads are available, one after
 * another otherwise. Returns after all calls have returned. */
void cs_parallel(int threads, void (*work)(void *context, int thread), void *context);

/* Calls work(context, t) for every t below `threads`, each on a thread of its own, so that they may wait for each
 * other; the caller is thread 0. Returns after all calls have returned. Returns 0 without any call if the build has
 * no threads or the system does not give so many, at most CS_MOST_CONCURRENT. */
enum { CS_MOST_CONCURRENT = 256 };
int cs_concurrently(int threads, void (*work)(void *context, int thread), void *context);

/* Number of pieces, at most CS_MOST_PIECES, into which short work on `count` items is cut for this many
 * threads. There are fewer if a piece would have fewer than CS_WORTH_A_PIECE items. */
enum { CS_MOST_PIECES = 64 };
static inline int cs_pieces(int threads, int64_t count)
{
    int64_t most = count / CS_WORTH_A_PIECE + 1;
    if (most > CS_MOST_PIECES) most = CS_MOST_PIECES;
    return threads < most ? threads : (int)most;
}

/* How many threads a parallel call may use here. */
int cs_threads_available(void);

/* How many threads share work of this size, of which at most `parts` go on at once: one below the size `worth`, and
 * from there on `most`, but no more than there are processors; if `most` is 0, all that are available. */
int cs_threads_for(int64_t most, int64_t size, int64_t worth, int64_t parts);

/* The same for a number that is exact: so many, whatever the size of the work. Never more than
 * CS_THREADS_PER_PROCESSOR. */
int cs_threads_exactly(int64_t threads, int64_t parts);

/* How many of these threads shall share the next short loops: one if other processes seem to use the processors,
 * because each loop would wait for threads that are off theirs. They do if a thread of this process was taken off a
 * processor since the last call, or if the threads take long for a call without work. preemptions: state, -1 before
 * the first call. */
int cs_threads_for_now(int threads, int64_t *preemptions);

/* How many processors the machine has. */
int cs_processors(void);

/* The kind of threads that the build chose: "openmp", "pthread" or "serial". */
const char *cs_threads_kind(void);

/* GCC has omp_pause_resource_all since version 9, before it declares support of OpenMP 5.0. */
#if defined(_OPENMP) && (_OPENMP >= 201811 || (!defined(__clang__) && __GNUC__ >= 9))
#define CS_CAN_RELEASE_THREADS 1
#else
#define CS_CAN_RELEASE_THREADS 0
#endif

/* Ends the worker threads before a fork(): a child process does not inherit them and would wait for
 * them forever. */
static inline void cs_threads_release(void)
{
#if CS_CAN_RELEASE_THREADS
    omp_pause_resource_all(omp_pause_hard);
#endif
}

#endif
