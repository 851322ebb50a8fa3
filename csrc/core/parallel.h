/* The OpenMP seam: nothing else names OpenMP. Without it everything runs on one thread, with the
 * same results, because work is cut into pieces by size and never by the number of threads. */
#ifndef CS_PARALLEL_H
#define CS_PARALLEL_H

#ifdef _OPENMP
#include <omp.h>
#define CS_PRAGMA(text) _Pragma(#text)
/* Runs the following loop on `threads` threads, in contiguous pieces. */
#define CS_PARALLEL_FOR(threads) CS_PRAGMA(omp parallel for schedule(static) num_threads(threads))
#else
#define CS_PARALLEL_FOR(threads) (void)(threads);
#endif

/* How many threads a parallel loop may use here. */
static inline int cs_threads_available(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

/* How many processors there are to run them. */
static inline int cs_processors(void)
{
#ifdef _OPENMP
    return omp_get_num_procs();
#else
    return 1;
#endif
}

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
