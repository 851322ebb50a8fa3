/* A pool of tasks that are forked and joined: work whose tasks are not known when a phase begins (S5 section 5.3). Where
 * they are, core/phases.h and core/share.h cost less.
 *
 *     fork ──► task pool ──► a thread runs the task ──► ready queue ──► join
 *                                 └─ fork                               (the root alone)
 *
 * `fork` puts a task into the task pool, a queue from which threads take the oldest one. A task that has been run goes to
 * the ready queue. `join` takes one from there, and runs others while none is ready (continuation). The root runs on
 * thread 0, forks the first tasks and joins all: those that tasks have forked, too.
 *
 * There are two kinds with the same interface. CS_POOL_LOCK_FREE has queues without locks (core/lock_free.h), and threads
 * that find no task look again, ever more rarely. CS_POOL_MUTEX has queues with a lock each (core/locked_list.h), on which
 * these threads are suspended.
 *
 * Neither which thread runs a task nor the order in which tasks become ready is the same in two runs: results must
 * depend on neither. */
#ifndef CS_POOL_H
#define CS_POOL_H

#include "core/error.h"
#include "core/memory.h"

#include <stdint.h>

typedef enum cs_pool_kind { CS_POOL_LOCK_FREE, CS_POOL_MUTEX } cs_pool_kind;

typedef struct cs_pool cs_pool;

typedef struct cs_task {
    int64_t input[2]; /* of the caller's */
    int64_t
        result; /* what the work has written; what was forked if the phase was cancelled before */
} cs_task;

/* Runs one task, and may fork others. thread: the number of the thread that runs it. */
typedef void (*cs_pool_work)(void *context, cs_pool *pool, int thread, cs_task *task);

/* Most tasks that a pool holds, and most threads that share one. */
#define CS_POOL_MOST_TASKS (INT64_C(1) << 30)
enum { CS_POOL_MOST_THREADS = 256 };

/* A pool that holds `capacity` tasks which were forked and not yet joined. It lives as long as the arena. Fails for a
 * capacity below one or above CS_POOL_MOST_TASKS, and without memory. */
cs_status cs_pool_make(cs_pool **pool, cs_pool_kind kind, int64_t capacity, cs_pool_work work,
                       void *context, cs_arena *arena, cs_error *error);

/* Runs root(context, pool) on thread 0; the other threads run tasks until the root has returned and no task is left: what
 * it has not joined is run and dropped. All have the caller's mode for denormals. On one thread `join` runs the tasks, the
 * oldest first. Not for two calls at once on one pool, nor for one within another. */
void cs_pool_run(cs_pool *pool, int threads, void (*root)(void *context, cs_pool *pool),
                 void *context);

/* Puts a copy of a task into the task pool. `thread` is the calling thread: 0 for the root. Returns 0 if the pool holds as
 * many tasks as it can: the caller then runs the task itself. */
int cs_pool_fork(cs_pool *pool, int thread, const cs_task *task);

/* Moves a finished task into `done`, whichever is ready first. While none is, the caller runs tasks, or waits if there are
 * none. Returns 0 if all tasks that were forked have been joined. Only the root may join: other
 * threads, and tasks that a join runs, get 0. */
int cs_pool_join(cs_pool *pool, int thread, cs_task *done);

/* The same, but the caller runs no task as long as others do: to measure what it costs to have one run by another thread. */
int cs_pool_await(cs_pool *pool, int thread, cs_task *done);

/* How many tasks are in the task pool, as of a moment ago: while there are some, no thread lacks work. */
int64_t cs_pool_waiting(const cs_pool *pool);

/* How many of the other threads have begun their part: none if the system gives none. */
int cs_pool_workers(const cs_pool *pool);

/* Cancels the phase, from any thread: tasks that have not begun become ready without being run, so that the root joins the
 * rest soon. The next call of cs_pool_run begins anew. */
void cs_pool_cancel(cs_pool *pool);
int cs_pool_is_cancelled(const cs_pool *pool);

/* What thread 0 asks, every 5 ms at most, between tasks and while it waits: non-zero cancels the phase. NULL: nothing. */
void cs_pool_ask(cs_pool *pool, int (*is_cancelled)(void *context), void *context);

#endif
