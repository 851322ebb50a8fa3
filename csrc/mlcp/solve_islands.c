/* Solves the islands independently, on several threads:
 *
 *     islands, largest first ──► thread 0: island 7, island 2 ...      a free thread takes the next one;
 *                            └─► thread 1: island 4, ...               thread 0 polls the caller
 *
 * Each island has its own arrays, so that the result does not depend on which thread solves it. Logs
 * and outcomes are collected in the order of the islands. */
#include "core/clock.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/share.h"
#include "mlcp/pivoting.h"

#include <math.h>
#include <string.h>

/* The data of one solve, which all threads share. */
typedef struct solving {
    cs_mlcp *mlcp;
    const double *b, *lo, *hi;
    const signed char *initial;
    signed char *index_set;
    const cs_control *control;
    atomic_int halt;
} solving;

/* Copies the island's part of the data. A row whose initial index refers to an infinite bound becomes free;
 * a row with equal bounds becomes low. */
static void load(cs_island *s, const solving *all)
{
    for (int64_t i = 0; i < s->rows; i++) {
        int64_t user = s->user[i];
        s->x[i] = 0;
        s->b[i] = all->b[user];
        s->lo[i] = all->lo[user];
        s->hi[i] = all->hi[user];
        s->state[i] = all->initial ? all->initial[user] : CS_INDEX_FREE;
        if (s->state[i] < 0 && !isfinite(s->lo[i])) s->state[i] = CS_INDEX_FREE;
        if (s->state[i] > 0 && !isfinite(s->hi[i])) s->state[i] = CS_INDEX_FREE;
        if (cs_is_fixed(s, i)) s->state[i] = CS_INDEX_LOW;
    }
}

/* Writes x, clamped to its bounds: free rows exceed them by rounding at most. */
static void unload(const cs_island *s, double *x, signed char *index_set)
{
    for (int64_t i = 0; i < s->rows; i++) {
        double value = s->x[i];
        if (value < s->lo[i]) value = s->lo[i];
        if (value > s->hi[i]) value = s->hi[i];
        x[s->user[i]] = value;
        if (index_set) index_set[s->user[i]] = s->state[i];
    }
}

/* Keeps the error of the first island that failed; an interruption takes precedence. */
static void note_failure(cs_pivot_worker *worker, int64_t p, cs_status status,
                         const cs_error *error)
{
    int first = worker->failed < 0 || p < worker->failed, interrupts = status == CS_INTERRUPTED;
    if (worker->interrupted || (!first && !interrupts)) return;
    worker->failed = p;
    worker->interrupted = interrupts;
    worker->error = *error;
}

/* Solves one island. Only thread 0 may poll the caller. */
static void solve_island(void *context, int64_t p, int thread)
{
    solving *all = context;
    cs_mlcp *mlcp = all->mlcp;
    cs_pivot_worker *worker = &mlcp->worker[thread];
    cs_island *s = &mlcp->island[p];
    cs_pivot_end *end = &s->end;
    *end = (cs_pivot_end){.log = &worker->log, .first = worker->log.rows, .failure.row = -1};
    cs_error error = {0};
    cs_pivot_run run = {
        .island = s,
        .options = &mlcp->options,
        .control = thread == 0 ? all->control : NULL,
        .log = &worker->log,
        .tolerance = CS_PIVOT_ROUNDING,
        .failure = &end->failure,
        .number = p,
        .max_steps = mlcp->options.max_pivots,
        .last_poll = worker->last_poll,
        .halt = &all->halt,
    };

    /* Zero means the default limit, a negative number no pivots at all. */
    if (!run.max_steps) run.max_steps = 100 + 20 * s->rows;
    if (run.max_steps < 0) run.max_steps = 0;

    /* Solve. */
    cs_cancellation cancellation = {.is_cancelled = cs_pivot_is_cancelled, .context = &run};
    s->cancellation = &cancellation;
    load(s, all);
    end->status = mlcp->rule->solve(&run, &error);
    s->cancellation = NULL;

    /* A stop keeps the current x; after an abort the solve fails, even if it ended before it noticed. */
    if (end->status == CS_INTERRUPTED && !run.aborted) {
        end->status = CS_OK;
        run.outcome = CS_MLCP_STOPPED;
    }
    if (!end->status && run.aborted) end->status = cs_pivot_interrupted(&run, &error);

    /* Hand out x and the counts, or note the failure. */
    if (!end->status) unload(s, mlcp->x, all->index_set);
    else note_failure(worker, p, end->status, &error);
    worker->last_poll = run.last_poll;
    end->rows = worker->log.rows - end->first;
    end->outcome = run.outcome;
    end->steps = run.steps;
    end->single_steps = run.single_steps;
    end->factorizations = run.factorizations;
    end->refinements = run.refinements;
    end->interior_steps = run.interior_steps;
    end->reuse = run.reuse;
}

/* Thread 0 has no island left to solve: it polls the caller, for Ctrl-C. */
static void wait_for_others(void *context)
{
    solving *all = context;
    cs_pivot_worker *worker = all->mlcp->worker;
    cs_pivot_run run = {
        .control = all->control, .halt = &all->halt, .last_poll = worker->last_poll};
    if (worker->interrupted) return;
    if (cs_pivot_poll(&run, &worker->error)) worker->interrupted = 1;
    worker->last_poll = run.last_poll;
}

/* Resets the workers for a new solve. */
static void begin(cs_mlcp *mlcp)
{
    mlcp->failure.row = -1;
    for (int t = 0; t < mlcp->threads; t++) {
        cs_pivot_worker *worker = &mlcp->worker[t];
        worker->log.rows = 0;
        worker->failed = -1;
        worker->interrupted = 0;
        worker->last_poll = cs_clock();
    }
}

/* Returns the failure of the first island in their order, as a serial solve would report it; an
 * interruption takes precedence. */
static cs_status first_failure(cs_mlcp *mlcp, cs_error *error)
{
    const cs_pivot_worker *first = NULL;
    if (mlcp->worker[0].interrupted) {
        *error = mlcp->worker[0].error;
        return CS_INTERRUPTED;
    }

    /* Each worker knows the first of its own failures. */
    for (int t = 0; t < mlcp->threads; t++) {
        const cs_pivot_worker *worker = &mlcp->worker[t];
        if (worker->failed < 0) continue;
        if (!first || worker->failed < first->failed) first = worker;
    }

    /* Report it. */
    if (!first) return CS_OK;
    mlcp->failure = mlcp->island[first->failed].end.failure;
    *error = first->error;
    return mlcp->island[first->failed].end.status;
}

/* Joins the logs of all islands, in their order. */
static cs_status gather_logs(cs_mlcp *mlcp, cs_error *error)
{
    int64_t rows = 0, width = CS_LOG_COLUMNS;
    for (int64_t p = 0; p < mlcp->islands; p++) rows += mlcp->island[p].end.rows;
    cs_status status = cs_pivot_log_reserve(&mlcp->log, rows, error);
    mlcp->log.rows = 0;
    for (int64_t p = 0; p < mlcp->islands && !status; p++) {
        const cs_pivot_end *end = &mlcp->island[p].end;
        if (!end->rows) continue;
        memcpy(mlcp->log.value + mlcp->log.rows * width, end->log->value + end->first * width,
               sizeof(double) * (size_t)(end->rows * width));
        mlcp->log.rows += end->rows;
    }
    return status;
}

/* Adds the counts of all islands to the result. The outcome is that of the last island that has not
 * converged, except that a stop takes precedence. */
static void add_up(const cs_mlcp *mlcp, cs_mlcp_result *result)
{
    for (int64_t p = 0; p < mlcp->islands; p++) {
        const cs_pivot_end *end = &mlcp->island[p].end;
        result->pivots += end->steps;
        result->single_pivots += end->single_steps;
        result->factorizations += end->factorizations;
        result->refinements += end->refinements;
        result->interior_steps += end->interior_steps;
        result->reuse.solves += end->reuse.solves;
        result->reuse.steps += end->reuse.steps;
        result->reuse.failed += end->reuse.failed;
        int decides = end->outcome != CS_MLCP_CONVERGED && result->outcome != CS_MLCP_STOPPED;
        if (decides) result->outcome = end->outcome;
    }
}

cs_status cs_mlcp_solve_islands(cs_mlcp *mlcp, const double *b, const double *lo, const double *hi,
                                const signed char *initial, const cs_control *control,
                                cs_mlcp_result *result, cs_error *error)
{
    solving all = {mlcp, b, lo, hi, initial, result->index_set, control, 0};
    cs_tasks tasks = {mlcp->islands, mlcp->largest_first, solve_island, wait_for_others, &all};
    begin(mlcp);
    cs_share_out(&tasks, mlcp->threads);
    cs_status status = first_failure(mlcp, error);
    if (!status) status = gather_logs(mlcp, error);
    if (!status) add_up(mlcp, result);
    return status;
}

cs_status cs_mlcp_assign_islands(cs_mlcp *mlcp, cs_error *error)
{
    cs_arena scratch = {0};
    int64_t *place = cs_arena_take(&scratch, mlcp->rows + 2, sizeof(int64_t));
    int64_t *size = cs_arena_take(&scratch, mlcp->islands, sizeof(int64_t));

    /* Choose the number of threads. */
    mlcp->threads = mlcp->options.exact_threads
                        ? cs_threads_exactly(mlcp->options.threads, mlcp->islands)
                        : cs_threads_for(mlcp->options.threads, mlcp->rows, CS_WORTH_THREADS_MLCP,
                                         mlcp->islands);
    mlcp->worker = cs_arena_take(&mlcp->arena, mlcp->threads, sizeof(cs_pivot_worker));
    mlcp->largest_first = cs_arena_take(&mlcp->arena, mlcp->islands, sizeof(int64_t));

    /* Sort the islands by size. */
    cs_status status = cs_arena_status(&scratch, error, "sharing islands out");
    if (!status) status = cs_arena_status(&mlcp->arena, error, "sharing islands out");
    if (!status) {
        for (int64_t p = 0; p < mlcp->islands; p++) size[p] = mlcp->island[p].rows;
        cs_sort_largest_first(mlcp->islands, size, mlcp->rows, place, mlcp->largest_first);
    }
    cs_arena_clear(&scratch);
    return status;
}
