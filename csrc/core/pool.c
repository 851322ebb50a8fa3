#include "core/pool.h"

#include "core/back_off.h"
#include "core/clock.h"
#include "core/denormals.h"
#include "core/lock_free.h"
#include "core/locked_list.h"
#include "core/parallel.h"

/* Where a node is when no thread has it in hand: free, with a forked task, with a finished one. */
typedef enum place { FREE, FORKED, READY, PLACES } place;

/* Seconds between two questions whether to cancel; forks or joins after which it may be time. */
#define ASKS_EVERY 5e-3
enum { ASKS_AFTER = 1024 };

/* How many tasks one thread has forked: each on a cache line of its own. */
typedef struct tally {
    _Alignas(64) atomic_llong forked;
} tally;

struct cs_pool {
    cs_pool_kind kind;
    int64_t capacity;
    cs_pool_work work;
    void *context;
    cs_task *task; /* (capacity): by the items of nodes */

    /* The lists without locks, and the nodes in them; or those with locks, whose nodes are their own items. */
    cs_node *node; /* (capacity + 2) */
    cs_free_stack unused;
    cs_free_queue queue[PLACES];
    uint32_t *next; /* (capacity) */
    cs_locked_list list[PLACES];

    /* The question of thread 0, and when it was asked last. */
    int (*is_cancelled)(void *context);
    void *asked;
    double asked_at;

    /* A phase. */
    void (*root)(void *context, cs_pool *pool);
    void *root_context;
    int threads;
    cs_float_mode mode; /* of the caller */
    int joins;          /* thread 0 is in a join */
    int64_t joined;     /* by thread 0 */
    tally *tally;       /* (CS_POOL_MOST_THREADS) */
    _Alignas(64) atomic_int cancelled;
    atomic_int ended;   /* the root has returned, and no task is left */
    atomic_int workers; /* that have arrived */
};

/* ---- lists ----------------------------------------------------------------------------------------- */

/* Takes a node from a place; CS_NO_NODE if there is none. */
static inline uint32_t take(cs_pool *pool, place from)
{
    if (pool->kind == CS_POOL_MUTEX) return cs_locked_list_pop(&pool->list[from], pool->next);
    if (from == FREE) return cs_free_stack_pop(&pool->unused, pool->node);
    return cs_free_queue_pop(&pool->queue[from], pool->node);
}

static inline void put(cs_pool *pool, place to, uint32_t node)
{
    if (pool->kind == CS_POOL_MUTEX) cs_locked_list_push(&pool->list[to], pool->next, node);
    else if (to == FREE) cs_free_stack_push(&pool->unused, pool->node, node);
    else cs_free_queue_push(&pool->queue[to], pool->node, node);
}

/* The task of a node that the caller has in hand. */
static inline cs_task *task_of(cs_pool *pool, uint32_t node)
{
    return &pool->task[pool->kind == CS_POOL_MUTEX ? node : cs_item_of(&pool->node[node])];
}

/* Mutexes exist during a phase only. */
static void open_lists(cs_pool *pool)
{
    for (int p = 0; pool->kind == CS_POOL_MUTEX && p < PLACES; p++)
        cs_locked_list_open(&pool->list[p]);
}

static void end_lists(cs_pool *pool)
{
    for (int p = 0; pool->kind == CS_POOL_MUTEX && p < PLACES; p++)
        cs_locked_list_end(&pool->list[p]);
}

/* All nodes are free. */
static void init_lists(cs_pool *pool)
{
    uint32_t tasks = (uint32_t)pool->capacity;
    for (int p = 0; p < PLACES; p++) cs_locked_list_init(&pool->list[p]);
    if (pool->kind == CS_POOL_LOCK_FREE) {
        cs_free_stack_init(&pool->unused);
        cs_free_queue_init(&pool->queue[FORKED], pool->node, tasks);
        cs_free_queue_init(&pool->queue[READY], pool->node, tasks + 1);
        for (uint32_t i = 0; i < tasks; i++) cs_item_set(&pool->node[i], i);
    }
    open_lists(pool);
    for (uint32_t i = tasks; i-- > 0;) put(pool, FREE, i);
    end_lists(pool);
}

/* ---- tasks ----------------------------------------------------------------------------------------- */

/* Thread 0 asks whether to cancel, if it is time for it. */
static void ask(cs_pool *pool)
{
    if (!pool->is_cancelled || cs_pool_is_cancelled(pool)) return;
    double now = cs_clock();
    if (now - pool->asked_at < ASKS_EVERY) return;
    if (pool->is_cancelled(pool->asked)) cs_pool_cancel(pool);
    pool->asked_at = cs_clock();
}

int cs_pool_fork(cs_pool *pool, int thread, const cs_task *task)
{
    uint32_t node = take(pool, FREE);
    if (node == CS_NO_NODE) return 0;
    *task_of(pool, node) = *task;

    /* Count it before others can run it: only the thread itself writes its tally. */
    atomic_llong *forked = &pool->tally[thread].forked;
    long long before = atomic_load_explicit(forked, memory_order_relaxed);
    atomic_store_explicit(forked, before + 1, memory_order_relaxed);
    put(pool, FORKED, node);
    if (thread == 0 && (before + 1) % ASKS_AFTER == 0) ask(pool);
    return 1;
}

/* Runs a task that was taken, unless the phase is cancelled. */
static void run_task(cs_pool *pool, int thread, uint32_t node)
{
    if (!cs_pool_is_cancelled(pool)) pool->work(pool->context, pool, thread, task_of(pool, node));
    put(pool, READY, node);
}

/* Whether a task was forked and not joined. Called by thread 0, which has seen all that tasks did that it has joined: of a
 * task that was not, it has seen the forking, or that of one which led to it. */
static int is_any_left(cs_pool *pool)
{
    int64_t forked = 0;
    for (int t = 0; t < pool->threads; t++)
        forked += atomic_load_explicit(&pool->tally[t].forked, memory_order_relaxed);
    return forked > pool->joined;
}

/* Waits for a finished task, or a moment; CS_NO_NODE if there is none yet. looks: state, zero at first. */
static uint32_t await_ready(cs_pool *pool, int *looks)
{
    if (pool->kind == CS_POOL_MUTEX)
        return cs_locked_list_await_briefly(&pool->list[READY], pool->next);
    cs_back_off(looks);
    return CS_NO_NODE;
}

/* A finished task; CS_NO_NODE if all were joined. helps: thread 0 runs tasks meanwhile. */
static uint32_t next_ready(cs_pool *pool, int helps)
{
    for (int looks = 0;;) {
        uint32_t node = take(pool, READY);
        if (node != CS_NO_NODE || !is_any_left(pool)) return node;

        /* Continuation: run a task in place of waiting. */
        node = helps ? take(pool, FORKED) : CS_NO_NODE;
        if (node != CS_NO_NODE) {
            run_task(pool, 0, node);
            looks = 0;
            ask(pool);
            continue;
        }

        node = await_ready(pool, &looks);
        if (node != CS_NO_NODE) return node;
        if (cs_is_patient(looks) || pool->kind == CS_POOL_MUTEX) ask(pool);
    }
}

static int join(cs_pool *pool, int thread, cs_task *done, int helps)
{
    if (thread != 0 || pool->joins) return 0;
    pool->joins = 1;
    uint32_t node = next_ready(pool, helps);
    pool->joins = 0;
    if (node == CS_NO_NODE) return 0;
    *done = *task_of(pool, node);
    put(pool, FREE, node);
    if (++pool->joined % ASKS_AFTER == 0) ask(pool);
    return 1;
}

int cs_pool_join(cs_pool *pool, int thread, cs_task *done) { return join(pool, thread, done, 1); }

int cs_pool_await(cs_pool *pool, int thread, cs_task *done)
{
    /* The system may not have given it other threads, or not yet. */
    int alone = atomic_load_explicit(&pool->workers, memory_order_relaxed) == 0;
    return join(pool, thread, done, alone);
}

int64_t cs_pool_waiting(const cs_pool *pool)
{
    if (pool->kind == CS_POOL_LOCK_FREE) return cs_free_queue_count(&pool->queue[FORKED]);
    return atomic_load_explicit(&pool->list[FORKED].count, memory_order_relaxed);
}

int cs_pool_workers(const cs_pool *pool)
{
    return atomic_load_explicit(&pool->workers, memory_order_relaxed);
}

void cs_pool_cancel(cs_pool *pool)
{
    atomic_store_explicit(&pool->cancelled, 1, memory_order_relaxed);
}

int cs_pool_is_cancelled(const cs_pool *pool)
{
    return atomic_load_explicit(&pool->cancelled, memory_order_relaxed);
}

void cs_pool_ask(cs_pool *pool, int (*is_cancelled)(void *context), void *context)
{
    pool->is_cancelled = is_cancelled;
    pool->asked = context;
}

/* ---- threads --------------------------------------------------------------------------------------- */

static void run_root(cs_pool *pool)
{
    pool->root(pool->root_context, pool);
    cs_task dropped;
    while (cs_pool_join(pool, 0, &dropped)) continue;

    /* The others wait for tasks. */
    atomic_store_explicit(&pool->ended, 1, memory_order_relaxed);
    if (pool->kind == CS_POOL_MUTEX) cs_locked_list_close(&pool->list[FORKED]);
}

/* Runs tasks until the phase has ended: threads that wait are suspended. */
static void work_suspended(cs_pool *pool, int thread)
{
    uint32_t node;
    while ((node = cs_locked_list_await(&pool->list[FORKED], pool->next)) != CS_NO_NODE)
        run_task(pool, thread, node);
}

/* The same without locks: threads look again, ever more rarely. */
static void work_looking(cs_pool *pool, int thread)
{
    for (int looks = 0; !atomic_load_explicit(&pool->ended, memory_order_relaxed);) {
        uint32_t node = take(pool, FORKED);
        if (node == CS_NO_NODE) {
            cs_back_off(&looks);
            continue;
        }
        run_task(pool, thread, node);
        looks = 0;
    }
}

static void take_part(void *context, int thread)
{
    cs_pool *pool = context;
    cs_float_mode own = cs_take_float_mode(pool->mode);
    if (thread > 0) atomic_fetch_add_explicit(&pool->workers, 1, memory_order_relaxed);
    if (thread == 0) run_root(pool);
    else if (pool->kind == CS_POOL_MUTEX) work_suspended(pool, thread);
    else work_looking(pool, thread);
    cs_restore_denormals(own);
}

/* ---- phases ---------------------------------------------------------------------------------------- */

cs_status cs_pool_make(cs_pool **pool, cs_pool_kind kind, int64_t capacity, cs_pool_work work,
                       void *context, cs_arena *arena, cs_error *error)
{
    *pool = NULL;
    if (capacity < 1 || capacity > CS_POOL_MOST_TASKS)
        return cs_fail(error, CS_INVALID, "capacity is %lld: a pool holds 1 to %lld tasks",
                       (long long)capacity, (long long)CS_POOL_MOST_TASKS);

    /* Take all memory, and ask once. */
    cs_pool *p = cs_arena_take(arena, 1, sizeof *p);
    cs_task *task = cs_arena_take_unset(arena, capacity, sizeof *task);
    tally *threads = cs_arena_take(arena, CS_POOL_MOST_THREADS, sizeof *threads);
    cs_node *node = NULL;
    uint32_t *next = NULL;
    if (kind == CS_POOL_LOCK_FREE) node = cs_arena_take(arena, capacity + 2, sizeof *node);
    else next = cs_arena_take_unset(arena, capacity, sizeof *next);
    cs_status status = cs_arena_status(arena, error, "a pool of %lld tasks", (long long)capacity);
    if (status) return status;

    p->kind = kind;
    p->capacity = capacity;
    p->work = work;
    p->context = context;
    p->task = task;
    p->tally = threads;
    p->node = node;
    p->next = next;
    init_lists(p);
    *pool = p;
    return CS_OK;
}

void cs_pool_run(cs_pool *pool, int threads, void (*root)(void *context, cs_pool *pool),
                 void *context)
{
    if (threads < 1) threads = 1;
    if (threads > CS_POOL_MOST_THREADS) threads = CS_POOL_MOST_THREADS;
    pool->root = root;
    pool->root_context = context;
    pool->threads = threads;
    pool->mode = cs_float_mode_here();
    pool->joins = 0;
    pool->joined = 0;
    pool->asked_at = cs_clock();
    for (int t = 0; t < threads; t++) atomic_init(&pool->tally[t].forked, 0);
    atomic_init(&pool->cancelled, 0);
    atomic_init(&pool->ended, 0);
    atomic_init(&pool->workers, 0);
    open_lists(pool);

    cs_parallel(threads, take_part, pool);

    end_lists(pool);
}
