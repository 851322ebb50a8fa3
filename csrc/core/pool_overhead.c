#include "core/pool_overhead.h"

#include "core/back_off.h"
#include "core/clock.h"

/* Seconds for which thread 0 waits for the others, which the system may not give. */
#define MOST_WAIT 0.1

typedef struct measurement {
    void (*pattern)(cs_pool *pool, int64_t count);
    int64_t count, warm_up; /* tasks that are measured, and that are run before */
    int others;             /* threads that are expected beside thread 0 */
    double seconds;
} measurement;

static void do_nothing(void *context, cs_pool *pool, int thread, cs_task *task)
{
    (void)context, (void)pool, (void)thread, (void)task;
}

static void await_workers(cs_pool *pool, int others)
{
    double begun = cs_clock();
    for (int looks = 0; cs_pool_workers(pool) < others && cs_clock() - begun < MOST_WAIT;)
        cs_back_off(&looks);
}

static void fork_and_await_each(cs_pool *pool, int64_t count)
{
    cs_task task = {{0}, 0};
    for (int64_t i = 0; i < count && !cs_pool_is_cancelled(pool); i++) {
        cs_pool_fork(pool, 0, &task);
        cs_pool_await(pool, 0, &task);
    }
}

static void fork_all_and_await_all(cs_pool *pool, int64_t count)
{
    cs_task task = {{0}, 0};
    for (int64_t i = 0; i < count && !cs_pool_is_cancelled(pool); i++) cs_pool_fork(pool, 0, &task);
    while (cs_pool_await(pool, 0, &task)) continue;
}

static void measure(void *context, cs_pool *pool)
{
    /* Before, bring caches, memory and threads to where they are later. */
    measurement *m = context;
    await_workers(pool, m->others);
    m->pattern(pool, m->warm_up);

    double begun = cs_clock();
    m->pattern(pool, m->count);
    m->seconds = (cs_clock() - begun) / (double)m->count;
}

cs_status cs_pool_overhead(cs_pool_kind kind, cs_pool_pattern pattern, int64_t count, int threads,
                           int (*is_cancelled)(void *context), void *context, double *seconds,
                           cs_error *error)
{
    if (count < 1 || count > CS_POOL_MOST_TASKS)
        return cs_fail(error, CS_INVALID, "count is %lld, but must be 1 to %lld tasks",
                       (long long)count, (long long)CS_POOL_MOST_TASKS);
    if (threads < 1 || threads > CS_POOL_MOST_THREADS)
        return cs_fail(error, CS_INVALID, "threads is %d, but must be 1 to %d", threads,
                       CS_POOL_MOST_THREADS);

    cs_arena arena = {0};
    cs_pool *pool;
    measurement m = {fork_and_await_each, count, count / 10 + 1, threads - 1, 0};
    if (pattern == CS_POOL_THROUGHPUT) {
        m.pattern = fork_all_and_await_all;
        m.warm_up = count; /* uses all memory */
    }
    int64_t capacity = pattern == CS_POOL_LATENCY ? 1 : count;
    cs_status status = cs_pool_make(&pool, kind, capacity, do_nothing, NULL, &arena, error);
    if (status) goto out;

    cs_pool_ask(pool, is_cancelled, context);
    cs_pool_run(pool, threads, measure, &m);
    if (cs_pool_is_cancelled(pool))
        status = cs_fail(error, CS_INTERRUPTED, "the measurement was interrupted");
    *seconds = m.seconds;

out:
    cs_arena_clear(&arena);
    return status;
}
