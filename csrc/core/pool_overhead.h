/* What a task costs beyond its work: the time of empty tasks, as S5 figure 7 measures it. */
#ifndef CS_POOL_OVERHEAD_H
#define CS_POOL_OVERHEAD_H

#include "core/pool.h"

/* CS_POOL_LATENCY: thread 0 forks one task and joins it, again and again. CS_POOL_THROUGHPUT: it forks all at once, then
 * joins all. */
typedef enum cs_pool_pattern { CS_POOL_LATENCY, CS_POOL_THROUGHPUT } cs_pool_pattern;

/* Mean seconds of each of `count` empty tasks, which the other threads run, or thread 0 if there are none. Asks
 * is_cancelled(context) on thread 0 meanwhile. Fails for a count below one or above CS_POOL_MOST_TASKS, fewer threads than
 * one or more than CS_POOL_MOST_THREADS, without memory, and if it was cancelled. */
cs_status cs_pool_overhead(cs_pool_kind kind, cs_pool_pattern pattern, int64_t count, int threads,
                           int (*is_cancelled)(void *context), void *context, double *seconds,
                           cs_error *error);

#endif
