/* Pools of tasks, of both kinds: each task is run once and joined once, whoever forks it. Compiled with ThreadSanitizer it
 * also shows that what a task has written is seen by who joins it. */
#include "core/pool.h"
#include "core/denormals.h"
#include "core/parallel.h"
#include "core/pool_overhead.h"
#include "testing.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

/* Tasks of the longest test: with both kinds 10^7 forks and joins, fewer where each takes twenty times as long. */
#if defined(__SANITIZE_THREAD__)
#define SANITIZES_THREADS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SANITIZES_THREADS 1
#endif
#endif
#ifdef SANITIZES_THREADS
enum { MOST_TASKS = 100000 };
#else
enum { MOST_TASKS = 2500000 };
#endif

static const cs_pool_kind KINDS[] = {CS_POOL_LOCK_FREE, CS_POOL_MUTEX};
enum { KIND_COUNT = 2 };
#define FOR_EACH_KIND(kind) \
    for (const cs_pool_kind *kind = KINDS; kind < KINDS + KIND_COUNT; kind++)

/* Runs a root with a pool of its own. */
static void run(cs_pool_kind kind, int64_t capacity, int threads, cs_pool_work work,
                void (*root)(void *context, cs_pool *pool), void *context)
{
    cs_arena arena = {0};
    cs_error error = {0};
    cs_pool *pool;
    CHECK_STATUS(cs_pool_make(&pool, kind, capacity, work, context, &arena, &error), CS_OK, &error);
    if (pool) cs_pool_run(pool, threads, root, context);
    cs_arena_clear(&arena);
}

static cs_task numbered(int64_t number) { return (cs_task){.input = {number}}; }

/* ---- each once --------------------------------------------------------------------------------------- */

enum { CAPACITY = 1000 };

typedef struct record {
    int64_t tasks, wrong; /* wrong: results */
    unsigned char ran[MOST_TASKS], joined[MOST_TASKS];
} record;

static record r;

static void count_run(void *context, cs_pool *pool, int thread, cs_task *task)
{
    (void)pool, (void)thread;
    record *all = context;
    all->ran[task->input[0]]++;
    task->result = 3 * task->input[0] + 1;
}

/* Joins at least so many, as far as there are any. */
static void count_joins(record *all, cs_pool *pool, int64_t count)
{
    cs_task done;
    for (int64_t i = 0; i < count && cs_pool_join(pool, 0, &done); i++) {
        all->joined[done.input[0]]++;
        all->wrong += done.result != 3 * done.input[0] + 1;
    }
}

/* Forks in runs of different lengths, and joins some after each: the pool is empty, full and in between. */
static void fork_in_runs(void *context, cs_pool *pool)
{
    record *all = context;
    uint64_t seed = 1;
    for (int64_t next = 0; next < all->tasks;) {
        int64_t length = (int64_t)(CAPACITY * (1 + test_random(&seed)) * 0.75);
        for (; length >= 0 && next < all->tasks; length--) {
            cs_task task = numbered(next);
            if (!cs_pool_fork(pool, 0, &task)) break;
            next++;
        }
        count_joins(all, pool, (int64_t)(CAPACITY * (1 + test_random(&seed)) * 0.75) + 1);
    }
    count_joins(all, pool, INT64_MAX);
    cs_task done;
    CHECK(!cs_pool_join(pool, 0, &done));
}

static void each_task_is_run_and_joined_once(cs_pool_kind kind, int threads, int64_t tasks)
{
    memset(&r, 0, sizeof r);
    r.tasks = tasks;
    run(kind, CAPACITY, threads, count_run, fork_in_runs, &r);
    int64_t not_once = 0;
    for (int64_t i = 0; i < tasks; i++) not_once += r.ran[i] != 1 || r.joined[i] != 1;
    CHECK(not_once == 0 && r.wrong == 0);
}

/* ---- trees ------------------------------------------------------------------------------------------- */

typedef struct tree {
    int64_t depth, forked, refused, sum;
    atomic_llong leaves; /* that were run */
} tree;

/* A node of a tree of tasks, input[0] levels above the leaves, whose number is input[1]: both children are forked, or run
 * where the pool is full. Its result is its number, and those of the nodes below that were not forked. */
static void branch(void *context, cs_pool *pool, int thread, cs_task *task)
{
    tree *all = context;
    task->result = task->input[1];
    if (task->input[0] == 0) {
        atomic_fetch_add_explicit(&all->leaves, 1, memory_order_relaxed);
        return;
    }
    for (int side = 0; side < 2; side++) {
        cs_task child = {{task->input[0] - 1, 2 * task->input[1] + side}, 0};
        if (cs_pool_fork(pool, thread, &child)) continue;
        branch(context, pool, thread, &child);
        task->result += child.result;
    }
}

static void sum_tree(void *context, cs_pool *pool)
{
    tree *all = context;
    cs_task task = {{all->depth, 1}, 0};
    CHECK(cs_pool_fork(pool, 0, &task));
    for (all->forked = all->sum = 0; cs_pool_join(pool, 0, &task); all->forked++)
        all->sum += task.result;
}

/* The numbers of all nodes are those below 2^(depth + 1), each once. */
static void tasks_fork_tasks(cs_pool_kind kind, int threads, int64_t capacity)
{
    tree all = {.depth = 14};
    int64_t nodes = (INT64_C(2) << all.depth) - 1;
    run(kind, capacity, threads, branch, sum_tree, &all);
    CHECK(all.sum == nodes * (nodes + 1) / 2);
    CHECK(all.leaves == (nodes + 1) / 2);
    CHECK(capacity < nodes ? all.forked <= nodes : all.forked == nodes);
}

/* ---- one thread, full and empty pools ---------------------------------------------------------------- */

typedef struct order {
    int64_t count, run[CAPACITY], nested;
} order;

static void note(void *context, cs_pool *pool, int thread, cs_task *task)
{
    order *all = context;
    cs_task other;
    CHECK(thread == 0);
    all->nested += cs_pool_join(pool, thread, &other); /* not for tasks */
    all->run[all->count++] = task->input[0];
}

static void fork_until_full(void *context, cs_pool *pool)
{
    order *all = context;
    cs_task task;
    CHECK(!cs_pool_join(pool, 0, &task));
    CHECK(cs_pool_waiting(pool) == 0 && cs_pool_workers(pool) == 0);
    for (int64_t i = 0; i < CAPACITY; i++) {
        task = numbered(i);
        CHECK(cs_pool_fork(pool, 0, &task));
        CHECK(cs_pool_waiting(pool) == i + 1);
    }
    CHECK(!cs_pool_fork(pool, 0, &task));
    CHECK(all->count == 0);

    /* A task that was joined leaves room for one. */
    for (int64_t i = 0; i < CAPACITY; i++) {
        CHECK(cs_pool_join(pool, 0, &task));
        CHECK(task.input[0] == i && all->count == i + 1);
        CHECK(cs_pool_waiting(pool) == CAPACITY - i - 1);
    }
    CHECK(!cs_pool_join(pool, 0, &task));
    CHECK(!cs_pool_await(pool, 0, &task));
    CHECK(cs_pool_fork(pool, 0, &task));
    all->count = 0;
    CHECK(cs_pool_await(pool, 0, &task) && all->count == 1);
}

static void one_thread_runs_the_oldest_first(cs_pool_kind kind)
{
    static order all;
    memset(&all, 0, sizeof all);
    run(kind, CAPACITY, 1, note, fork_until_full, &all);
    CHECK(all.nested == 0);
}

/* Tasks that were run count as long as they are not joined. */
static void fill(void *context, cs_pool *pool)
{
    (void)context;
    cs_task task;
    for (int64_t i = 0; i < CAPACITY; i++) {
        task = numbered(i);
        CHECK(cs_pool_fork(pool, 0, &task));
    }
    CHECK(!cs_pool_fork(pool, 0, &task));
    CHECK(cs_pool_join(pool, 0, &task));
    CHECK(cs_pool_fork(pool, 0, &task));
    CHECK(!cs_pool_fork(pool, 0, &task));
}

static void count_atomically(void *context, cs_pool *pool, int thread, cs_task *task)
{
    (void)pool, (void)thread, (void)task;
    atomic_fetch_add_explicit((atomic_llong *)context, 1, memory_order_relaxed);
}

/* The root of this test joins one task only. */
static void what_is_not_joined_is_run(cs_pool_kind kind, int threads)
{
    atomic_llong ran = 0;
    run(kind, CAPACITY, threads, count_atomically, fill, &ran);
    CHECK(ran == CAPACITY + 1);
}

/* ---- threads ------------------------------------------------------------------------------------------ */

typedef struct threads_record {
    cs_float_mode mode;
    atomic_int other_modes;
} threads_record;

static void note_thread(void *context, cs_pool *pool, int thread, cs_task *task)
{
    (void)pool;
    threads_record *all = context;
    if (cs_float_mode_here() != all->mode) atomic_fetch_add(&all->other_modes, 1);
    task->result = thread;
}

/* Once another thread is there, it runs all. */
static void await_each(void *context, cs_pool *pool)
{
    (void)context;
    for (int look = 0; look < 100000 && !cs_pool_workers(pool); look++) sched_yield();
    int workers = cs_pool_workers(pool);
    for (int i = 0; i < 100; i++) {
        cs_task task = {{0}, -1};
        CHECK(cs_pool_fork(pool, 0, &task));
        CHECK(cs_pool_await(pool, 0, &task));
        CHECK(workers ? task.result > 0 : task.result >= 0);
    }
}

static void others_run_what_is_awaited(cs_pool_kind kind, int threads)
{
    threads_record all = {0};
    cs_float_mode own = cs_flush_denormals();
    all.mode = cs_float_mode_here();
    run(kind, 1, threads, note_thread, await_each, &all);
    CHECK(cs_float_mode_here() == all.mode);
    CHECK(all.other_modes == 0);
    cs_restore_denormals(own);
}

/* ---- cancelled phases --------------------------------------------------------------------------------- */

typedef struct cancelling {
    int64_t at; /* the task that cancels */
    int begun;  /* cancelled before anything is forked */
    atomic_llong ran;
    int64_t joined, with_result;
    int asked;
} cancelling;

static void cancel_at(void *context, cs_pool *pool, int thread, cs_task *task)
{
    (void)thread;
    cancelling *all = context;
    atomic_fetch_add_explicit(&all->ran, 1, memory_order_relaxed);
    task->result = 1;
    if (task->input[0] == all->at) cs_pool_cancel(pool);
}

static void fork_and_join_all(void *context, cs_pool *pool)
{
    cancelling *all = context;
    if (all->begun) cs_pool_cancel(pool);
    CHECK(cs_pool_is_cancelled(pool) == all->begun);
    cs_task task;
    for (int64_t i = 0; i < CAPACITY; i++) {
        task = numbered(i);
        CHECK(cs_pool_fork(pool, 0, &task));
    }
    for (; cs_pool_join(pool, 0, &task); all->joined++) all->with_result += task.result;
    CHECK(cs_pool_is_cancelled(pool) == (all->begun || all->at < CAPACITY));
}

static void a_cancelled_phase_is_drained(cs_pool_kind kind, int threads)
{
    cs_arena arena = {0};
    cancelling all = {0};
    cs_pool *pool;
    CHECK_STATUS(cs_pool_make(&pool, kind, CAPACITY, cancel_at, &all, &arena, NULL), CS_OK, NULL);
    for (int begun = 0; begun < 2; begun++)
        for (int64_t at = 0; at <= CAPACITY; at += CAPACITY / 4) {
            all = (cancelling){.at = at, .begun = begun};
            cs_pool_run(pool, threads, fork_and_join_all, &all);
            CHECK(all.joined == CAPACITY && all.with_result == all.ran);
            if (begun) CHECK(all.ran == 0);
            else if (at == CAPACITY) CHECK(all.ran == CAPACITY);
            else CHECK(threads == 1 ? all.ran == at + 1 : all.ran >= 1);
        }
    cs_arena_clear(&arena);
}

/* Other threads work until the phase is cancelled; thread 0 does not wait for itself. */
static void work_until_cancelled(void *context, cs_pool *pool, int thread, cs_task *task)
{
    (void)context, (void)task;
    while (thread > 0 && !cs_pool_is_cancelled(pool)) sched_yield();
}

static int cancel_third(void *context)
{
    cancelling *all = context;
    return ++all->asked == 3;
}

/* Does not end before it is cancelled. */
static void fork_until_cancelled(void *context, cs_pool *pool)
{
    cs_pool_ask(pool, cancel_third, context);
    cs_task task = numbered(0);
    while (!cs_pool_is_cancelled(pool)) {
        CHECK(cs_pool_fork(pool, 0, &task));
        CHECK(cs_pool_join(pool, 0, &task));
    }
    cs_pool_ask(pool, NULL, NULL);
}

static void thread_0_asks_whether_to_cancel(cs_pool_kind kind, int threads)
{
    cancelling all = {0};
    run(kind, 1, threads, work_until_cancelled, fork_until_cancelled, &all);
    CHECK(all.asked == 3);
}

/* ---- failures ----------------------------------------------------------------------------------------- */

static void bad_input_is_refused(cs_pool_kind kind)
{
    const int64_t capacities[] = {INT64_MIN, -1, 0, CS_POOL_MOST_TASKS + 1};
    cs_arena arena = {0};
    cs_error error = {0};
    for (int i = 0; i < 4; i++) {
        cs_pool *pool = (cs_pool *)&arena;
        CHECK_STATUS(cs_pool_make(&pool, kind, capacities[i], note, NULL, &arena, &error),
                     CS_INVALID, &error);
        CHECK(!pool && strstr(error.message, "capacity is "));
    }

    /* The arena takes a block for each of these arrays. */
    int64_t live = cs_memory_live();
    int failures = 0;
    for (cs_pool *pool = NULL; !pool; failures++) {
        cs_memory_fail_after(failures);
        cs_status status = cs_pool_make(&pool, kind, 100000, note, NULL, &arena, &error);
        CHECK((status == CS_NO_MEMORY) == !pool);
        cs_arena_clear(&arena);
        CHECK(cs_memory_live() == live);
    }
    cs_memory_fail_after(-1);
    CHECK(failures > 1);
}

static int cancel_now(void *context)
{
    (void)context;
    return 1;
}

static void overheads_are_measured(cs_pool_kind kind)
{
    cs_error error = {0};
    const cs_pool_pattern patterns[] = {CS_POOL_LATENCY, CS_POOL_THROUGHPUT};
    for (int p = 0; p < 2; p++) {
        for (int threads = 1; threads <= 3; threads++) {
            double seconds = 0;
            CHECK_STATUS(
                cs_pool_overhead(kind, patterns[p], 200, threads, NULL, NULL, &seconds, &error),
                CS_OK, &error);
            CHECK(seconds > 0);
        }
        double none = 0;
        CHECK_STATUS(cs_pool_overhead(kind, patterns[p], 0, 1, NULL, NULL, &none, &error),
                     CS_INVALID, &error);
        CHECK_STATUS(cs_pool_overhead(kind, patterns[p], 1, 0, NULL, NULL, &none, &error),
                     CS_INVALID, &error);
        CHECK_STATUS(cs_pool_overhead(kind, patterns[p], 1, CS_POOL_MOST_THREADS + 1, NULL, NULL,
                                      &none, &error),
                     CS_INVALID, &error);
    }

    /* Longer than the time between two questions, and much longer than this test may take. */
    double seconds;
    CHECK_STATUS(
        cs_pool_overhead(kind, CS_POOL_THROUGHPUT, 1 << 20, 1, cancel_now, NULL, &seconds, &error),
        CS_INTERRUPTED, &error);
    CHECK_STATUS(cs_pool_overhead(kind, CS_POOL_LATENCY, CS_POOL_MOST_TASKS, 1, cancel_now, NULL,
                                  &seconds, &error),
                 CS_INTERRUPTED, &error);
}

int main(void)
{
    int more_than_processors = cs_processors() + 3;
    FOR_EACH_KIND(kind)
    {
        each_task_is_run_and_joined_once(*kind, cs_processors() > 1 ? 2 : 1, MOST_TASKS);
        for (int threads = 1; threads <= more_than_processors; threads++) {
            each_task_is_run_and_joined_once(*kind, threads, 20000);
            tasks_fork_tasks(*kind, threads, INT64_C(1) << 15);
            tasks_fork_tasks(*kind, threads, 100);
            tasks_fork_tasks(*kind, threads, 1);
            what_is_not_joined_is_run(*kind, threads);
            others_run_what_is_awaited(*kind, threads);
            a_cancelled_phase_is_drained(*kind, threads);
            thread_0_asks_whether_to_cancel(*kind, threads);
        }
        tasks_fork_tasks(*kind, 2 * CS_POOL_MOST_THREADS, 100);
        one_thread_runs_the_oldest_first(*kind);
        bad_input_is_refused(*kind);
        overheads_are_measured(*kind);
    }
    return test_result();
}
