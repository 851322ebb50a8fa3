/* The seam to threads: nothing else names OpenMP or POSIX threads. Which of them is behind it is chosen
 * when the library is built: OpenMP, POSIX threads (CS_PTHREADS), or neither, when everything runs on
 * one thread, with the same results, because work is cut into pieces by size and never by the number
 * of threads.
 *
 * With POSIX threads, threads are made for every call and end with it. That costs more than OpenMP,
 * whose threads wait for the next call; but ThreadSanitizer understands it, and no child process has
 * to do without them. */
#ifndef CS_PARALLEL_H
#define CS_PARALLEL_H

#include <stdint.h>

#ifdef _OPENMP
#include <omp.h>
#endif

/* Calls work(context, t) for every t below `threads`, at once where threads are to be had and one
 * after another where they are not; returns when all calls have. */
void cs_parallel(int threads, void (*work)(void *context, int thread), void *context);

/* Pieces, at most CS_MOST_PIECES, into which short work on `count` things is cut for so many threads:
 * where a piece would be hardly worth a thread there are fewer. */
enum { CS_MOST_PIECES = 64, CS_WORTH_A_PIECE = 2048 };
static inline int cs_pieces(int threads, int64_t count)
{
    int64_t most = count / CS_WORTH_A_PIECE + 1;
    if (most > CS_MOST_PIECES) most = CS_MOST_PIECES;
    return threads < most ? threads : (int)most;
}

/* How many threads a parallel call may use here. */
int cs_threads_available(void);

/* How many processors there are to run them. */
int cs_processors(void);

/* What is behind all this: "openmp", "pthread" or "serial". */
const char *cs_threads_kind(void);

/* GCC has the call since version 9, long before it claims all of OpenMP 5.0. */
#if defined(_OPENMP) && (_OPENMP >= 201811 || (!defined(__clang__) && __GNUC__ >= 9))
#define CS_CAN_RELEASE_THREADS 1
#else
#define CS_CAN_RELEASE_THREADS 0
#endif

/* Lets go of the worker threads: a child process would wait for them in vain. */
static inline void cs_threads_release(void)
{
#if CS_CAN_RELEASE_THREADS
    omp_pause_resource_all(omp_pause_hard);
#endif
}

#endif
