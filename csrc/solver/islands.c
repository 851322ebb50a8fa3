#include "solver/islands.h"

#include "core/clock.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/share.h"
#include "problem/part.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum {
    WORTH_CUTTING = 512,  /* contacts of a problem below which nothing is gained */
    WORTH_THREADS = 2048, /* and below which threads cost more than they gain */
    FEW = 32,             /* contacts that a cluster has at least, if there are as many; */
    FEW_IN_STAGES = 1024, /* where visits are made several at a time; */
    FEW_FACTORED = 1,     /* and where the work grows faster than the contacts */
};

typedef struct cs_cluster {
    cs_problem *problem;
    cs_solver *solver;
    int64_t *block; /* (blocks), ascending: of the whole */
    int64_t blocks;
    double *lambda, *b, *parameters; /* of one solve */
    signed char *index_set;          /* (rows): what it begins with, where the whole does */
    cs_result result;
    int64_t at; /* the row of its history that is looked at */
    cs_status status;
    cs_error error;
} cs_cluster;

typedef struct cs_islands {
    int64_t clusters;
    cs_cluster *cluster;
    int64_t *in_turn; /* (clusters), as they are begun */
    int64_t largest;
    int threads;
} cs_islands;

/* ---- work shared out ------------------------------------------------------------------------- */

typedef struct sharing {
    cs_solver *solver;
    cs_islands *islands;
    const cs_control *control;
    cs_status (*work)(struct sharing *all, cs_cluster *cluster, int thread);
    atomic_int halt;
    int interrupted;  /* only thread 0 asks the caller */
    int64_t shown;    /* iterations that the caller has been told of */
    double last_poll; /* of thread 0 as it waits for the others */
} sharing;

/* What clusters ask between sweeps: thread 0 asks the caller, the others whether it told them to end. */
static int ask_caller(void *context, const cs_progress *progress)
{
    sharing *all = context;
    const cs_control *control = all->control;
    if (all->interrupted) return -1;
    if (atomic_load_explicit(&all->halt, memory_order_relaxed)) return 1;
    if (!control || !control->poll) return 0;
    cs_progress told = progress ? *progress : (cs_progress){0};
    if (progress && progress->iteration > all->shown) all->shown = progress->iteration;
    told.iteration = all->shown;
    int answer = control->poll(control->context, progress ? &told : NULL);
    if (answer) atomic_store_explicit(&all->halt, 1, memory_order_relaxed);
    if (answer < 0) all->interrupted = 1;
    return answer;
}

static int ask_others(void *context, const cs_progress *progress)
{
    (void)progress;
    sharing *all = context;
    return atomic_load_explicit(&all->halt, memory_order_relaxed);
}

static void work_on_cluster(void *context, int64_t c, int thread)
{
    sharing *all = context;
    cs_cluster *cluster = &all->islands->cluster[c];
    cluster->status = all->work(all, cluster, thread);
}

static void wait_for_others(void *context)
{
    sharing *all = context;
    if (all->interrupted || cs_clock() - all->last_poll < 0.005) return;
    ask_caller(all, NULL);
    all->last_poll = cs_clock();
}

/* Does the work for every cluster; fails as if the first of those that failed had been alone. An
 * interruption comes before all: what the caller has raised must not be lost. */
static cs_status share_out(sharing *all, cs_error *error)
{
    cs_islands *islands = all->islands;
    cs_tasks tasks = {islands->clusters, islands->in_turn, work_on_cluster, wait_for_others, all};
    cs_share_out(&tasks, islands->threads);
    if (all->interrupted)
        return cs_fail(error, CS_INTERRUPTED, "interrupted at iteration %lld",
                       (long long)all->shown);
    for (int64_t c = 0; c < islands->clusters; c++) {
        if (!islands->cluster[c].status) continue;
        *error = islands->cluster[c].error;
        return islands->cluster[c].status;
    }
    return CS_OK;
}

/* ---- cutting --------------------------------------------------------------------------------- */

/* Whether an order visits the blocks of an island the same way whatever stands beside it. */
static int keeps_to_islands(const cs_solver *solver)
{
    const cs_order_options *options = &solver->options.order_options;
    const char *name = solver->order->name;
    if (solver->method->prepare || cs_is_flat(solver->method, solver->setting)) return 1;
    if (strcmp(name, "natural") == 0 || strcmp(name, "reverse") == 0) return 1;
    if (strcmp(name, "auto") == 0) return 1; /* each cluster has the one that suits it */
    return strcmp(name, "colored") == 0 && !options->balanced && !options->unsafe_below &&
           !options->parallel && !options->fixed_as_body;
}

/* Whether the measures of the whole follow from those of its islands. */
static int measures_apart(const cs_solver *solver)
{
    const cs_history *history = &solver->history;
    if (!solver->fixed_iterations && solver->stop->across != CS_LARGEST) return 0;
    for (int c = 0; c < history->columns - 2; c++)
        if (history->measure[c]->across == CS_NOT_APART) return 0;
    return 1;
}

static int can_be_cut(const cs_solver *solver)
{
    if (strcmp(solver->method->name, "lemke") == 0) return 0; /* whose rays are of the whole */
    for (int g = 0; g < solver->problem->block_groups; g++)
        if (solver->problem->block_group[g].set->alone) return 0;
    return keeps_to_islands(solver) && measures_apart(solver) && !cs_is_global(&solver->options);
}

static int64_t least_contacts(const cs_solver *solver)
{
    if (solver->method->prepare) return FEW_FACTORED;
    const char *name = solver->order->name;
    int stages = strcmp(name, "colored") == 0 || strcmp(name, "auto") == 0;
    int sequential = !cs_is_flat(solver->method, solver->setting) && !stages;
    return sequential ? FEW : FEW_IN_STAGES;
}

/* label (blocks): from islands to clusters; returns how many. Islands of one size come together: they
 * tend to converge together. What nothing moves is a cluster of its own, the last. */
static int64_t number_clusters(const cs_solver *solver, int64_t islands, int64_t *size,
                               int64_t *place, int64_t *order, int64_t *label)
{
    int64_t blocks = solver->problem->blocks, least = least_contacts(solver);
    int64_t clusters = 0, contacts = 0, rest = 0;
    for (int64_t k = 0; k < blocks; k++)
        if (label[k] >= 0) size[label[k]]++;
        else rest = 1;
    cs_sort_largest_first(islands, size, blocks, place, order);
    for (int64_t i = 0; i < islands; i++) {
        contacts += size[order[i]];
        size[order[i]] = clusters;
        if (contacts < least) continue;
        clusters++;
        contacts = 0;
    }
    clusters += contacts > 0;
    for (int64_t k = 0; k < blocks; k++) label[k] = label[k] < 0 ? clusters : size[label[k]];
    return clusters + rest;
}

static cs_status no_memory(cs_error *error)
{
    return cs_fail(error, CS_NO_MEMORY, "out of memory for solving islands apart");
}

static cs_status take_clusters(cs_solver *solver, int64_t clusters, const int64_t *label,
                               cs_arena *scratch, cs_error *error)
{
    int64_t blocks = solver->problem->blocks;
    cs_islands *islands = cs_arena_take(&solver->arena, 1, sizeof *islands);
    int64_t *block = cs_arena_take(&solver->arena, blocks, sizeof(int64_t));
    int64_t *place = cs_arena_take(scratch, blocks + 2, sizeof(int64_t));
    int64_t *size = cs_arena_take(scratch, clusters, sizeof(int64_t));
    if (!islands || !block || !place || !size) return no_memory(error);
    islands->cluster = cs_arena_take(&solver->arena, clusters, sizeof(cs_cluster));
    islands->in_turn = cs_arena_take(&solver->arena, clusters, sizeof(int64_t));
    if (!islands->cluster || !islands->in_turn) return no_memory(error);
    islands->clusters = clusters;
    solver->islands = islands;
    for (int64_t k = 0; k < blocks; k++) size[label[k]]++;
    for (int64_t c = 0; c < clusters; c++) {
        islands->cluster[c].block = block;
        block += size[c];
    }
    for (int64_t k = 0; k < blocks; k++) {
        cs_cluster *cluster = &islands->cluster[label[k]];
        cluster->block[cluster->blocks++] = k;
    }
    cs_sort_largest_first(clusters, size, blocks, place, islands->in_turn);
    islands->largest = islands->in_turn[0];
    return CS_OK;
}

static int choose_threads(const cs_solver *solver, int64_t clusters)
{
    int64_t asked = solver->options.threads;
    int few = solver->problem->blocks < WORTH_THREADS && !solver->method->prepare;
    if (!asked) asked = few ? 1 : cs_threads_available();
    return (int)(asked < clusters ? asked : clusters);
}

/* Several threads begin with the largest, so that none is left with a long one when the others have
 * ended; a single one with the smallest, so that few are left untouched where the time is up. */
static void put_in_turn(cs_islands *islands)
{
    int64_t last = islands->clusters - 1, *in_turn = islands->in_turn;
    for (int64_t i = 0; islands->threads == 1 && i < last - i; i++) {
        int64_t larger = in_turn[i];
        in_turn[i] = in_turn[last - i];
        in_turn[last - i] = larger;
    }
}

static cs_status make_cluster(sharing *all, cs_cluster *cluster, int thread)
{
    (void)thread;
    cs_error *error = &cluster->error;
    cs_status status = cs_problem_part(all->solver->problem, cluster->block, cluster->blocks,
                                       &cluster->problem, error);
    if (!status)
        status = cs_solver_create_within(&cluster->solver, all->solver, cluster->problem, error);
    if (status) return status;
    const cs_problem *part = cluster->problem;
    cs_arena *arena = &cluster->solver->given;
    cluster->lambda = cs_arena_take(arena, part->rows, sizeof(double));
    cluster->b = cs_arena_take(arena, part->rows, sizeof(double));
    cluster->parameters = cs_arena_take(arena, part->parameters, sizeof(double));
    cluster->index_set = cs_arena_take(arena, part->rows, 1);
    int complete = cluster->lambda && cluster->b && cluster->parameters && cluster->index_set;
    return complete ? CS_OK : no_memory(error);
}

cs_status cs_islands_cut(cs_solver *solver, const cs_control *control, cs_error *error)
{
    int64_t blocks = solver->problem->blocks, clusters = 0;
    solver->island_count = 0;
    if (!solver->options.islands || solver->within || !can_be_cut(solver)) return CS_OK;
    cs_arena scratch = {0};
    int64_t *label = cs_arena_take(&scratch, blocks, sizeof(int64_t));
    int64_t *size = cs_arena_take(&scratch, blocks, sizeof(int64_t));
    int64_t *order = cs_arena_take(&scratch, blocks, sizeof(int64_t));
    int64_t *place = cs_arena_take(&scratch, blocks + 2, sizeof(int64_t));
    cs_status status = label && size && order && place ? CS_OK : no_memory(error);
    if (!status) status = cs_problem_islands(solver->problem, label, &solver->island_count, error);
    if (!status && blocks >= WORTH_CUTTING && !solver->together)
        clusters = number_clusters(solver, solver->island_count, size, place, order, label);
    if (clusters > 1) status = take_clusters(solver, clusters, label, &scratch, error);
    cs_arena_clear(&scratch);
    if (status || !solver->islands) return status;
    solver->islands->threads = choose_threads(solver, clusters);
    put_in_turn(solver->islands);
    sharing all = {solver, solver->islands, control, make_cluster, 0, 0, 0, 0};
    return share_out(&all, error);
}

void cs_islands_destroy(cs_islands *islands)
{
    for (int64_t c = 0; islands && c < islands->clusters; c++) {
        cs_solver_destroy(islands->cluster[c].solver);
        cs_problem_destroy(islands->cluster[c].problem);
    }
}

void cs_islands_describe(const cs_islands *islands, cs_solver_info *info)
{
    cs_solver_info part;
    cs_solver_describe(islands->cluster[islands->largest].solver, &part);
    cs_take_sweeps(info, &part);
    info->threads = islands->threads;
    info->clusters = islands->clusters;
    for (int64_t c = 0; c < islands->clusters; c++) {
        cs_solver_describe(islands->cluster[c].solver, &part);
        info->bytes += part.bytes;
        info->matrix_blocks += part.matrix_blocks;
    }
}

/* ---- solving --------------------------------------------------------------------------------- */

/* Copies `width` numbers of each block between an array of the whole and one of the part. */
static void copy_rows(const cs_problem *problem, const cs_cluster *cluster, double *whole,
                      double *part, int gathers)
{
    for (int64_t i = 0; i < cluster->blocks; i++) {
        const cs_block_group *group = cs_block_group_of(problem, cluster->block[i]);
        double *there =
            whole + group->first_row + (cluster->block[i] - group->first_block) * group->rows;
        size_t bytes = sizeof(double) * (size_t)group->rows;
        memcpy(gathers ? part : there, gathers ? there : part, bytes);
        part += group->rows;
    }
}

static void gather_parameters(const cs_problem *problem, const cs_cluster *cluster,
                              const double *whole, double *part)
{
    for (int64_t i = 0; i < cluster->blocks; i++) {
        const cs_block_group *group = cs_block_group_of(problem, cluster->block[i]);
        int64_t index = cluster->block[i] - group->first_block;
        const double *there = whole + group->first_parameter + index * group->parameters;
        if (group->parameters) memcpy(part, there, sizeof(double) * (size_t)group->parameters);
        part += group->parameters;
    }
}

/* What the cluster begins with, where the whole begins with an index set. */
static const signed char *gather_index_set(const cs_solver *solver, cs_cluster *cluster)
{
    signed char *at = cluster->index_set;
    for (int64_t i = 0; i < cluster->blocks && solver->index_set; i++) {
        int64_t block = cluster->block[i];
        int rows = cs_block_group_of(solver->problem, block)->rows;
        memcpy(at, solver->index_set + cs_block_row(solver->problem, block), (size_t)rows);
        at += rows;
    }
    return solver->index_set ? cluster->index_set : NULL;
}

/* The number in the whole of a row of the part. */
static int64_t row_of_whole(const cs_problem *problem, const cs_cluster *cluster, int64_t row)
{
    int64_t block = 0;
    while (cs_block_row(cluster->problem, block + 1) <= row) block++;
    row -= cs_block_row(cluster->problem, block);
    return cs_block_row(problem, cluster->block[block]) + row;
}

static cs_status solve_cluster(sharing *all, cs_cluster *cluster, int thread)
{
    cs_solver *solver = all->solver;
    cs_control control = {thread == 0 ? ask_caller : ask_others, all, 0};
    copy_rows(solver->problem, cluster, solver->lambda, cluster->lambda, 1);
    copy_rows(solver->problem, cluster, solver->b, cluster->b, 1);
    gather_parameters(solver->problem, cluster, solver->parameters, cluster->parameters);
    cluster->solver->index_set = gather_index_set(solver, cluster);
    cluster->result = (cs_result){.impulses = cluster->lambda};
    cluster->at = 0;
    cs_status status =
        cs_solver_solve(cluster->solver, cluster->lambda, cluster->b, cluster->parameters, &control,
                        &cluster->result, &cluster->error);
    int64_t row = status == CS_UNSUPPORTED ? cs_pivoting_failed_row(cluster->solver) : -1;
    if (row < 0) return status;
    return cs_pivoting_explain(cluster->solver, solver->problem,
                               row_of_whole(solver->problem, cluster, row), &cluster->error);
}

/* The row of a cluster's history that tells of this iteration, or its last one. */
static const double *row_of(cs_cluster *cluster, double iteration)
{
    const cs_result *result = &cluster->result;
    while (cluster->at + 1 < result->history_rows &&
           result->history[(cluster->at + 1) * result->columns] <= iteration)
        cluster->at++;
    return result->history + cluster->at * result->columns;
}

/* One more value of a measure into that of the whole. NaN stays. */
static double combine(cs_across across, double value, double more)
{
    if (across == CS_SUM) return value + more;
    return isnan(more) || more > value ? more : value;
}

/* One row of the whole. A cluster at rest changes nothing, and is as it ended. */
static void append_row(const cs_solver *solver, double iteration, double *row)
{
    const cs_history *history = &solver->history;
    for (int c = 0; c < history->columns; c++) row[c] = 0;
    row[0] = iteration;
    for (int64_t i = 0; i < solver->islands->clusters; i++) {
        const double *part = row_of(&solver->islands->cluster[i], iteration);
        row[1] += part[1];
        for (int c = 2; c < history->columns; c++) {
            const cs_measure *measure = history->measure[c - 2];
            double value = measure->of_sweep && part[0] < iteration ? 0 : part[c];
            row[c] = isnan(row[c]) ? row[c] : combine(measure->across, row[c], value);
        }
    }
}

/* The history of the whole. Seconds are the clusters' summed up, as shares of the time that all took. */
static cs_status write_history(cs_solver *solver, int64_t iterations, double seconds,
                               cs_error *error)
{
    cs_history *history = &solver->history;
    int64_t every = solver->options.record_every, rows = iterations / every + 2;
    cs_status status = cs_history_reserve(history, rows, error);
    if (status) return status;
    for (int64_t i = 0;; i += every) {
        if (i > iterations) i = iterations;
        append_row(solver, (double)i, history->value + history->rows++ * history->columns);
        if (i == iterations) break;
    }
    double *last = history->value + (history->rows - 1) * history->columns;
    double share = last[1] > 0 ? seconds / last[1] : 0;
    for (int64_t r = 0; r < history->rows; r++) history->value[r * history->columns + 1] *= share;
    return CS_OK;
}

static void add_result(cs_solver *solver, const cs_result *part, cs_result *result)
{
    if (cs_outcome_is_worse(part->outcome, result->outcome)) {
        result->outcome = part->outcome;
        memcpy(result->band, part->band, sizeof result->band);
    }
    if (part->iterations > result->iterations) result->iterations = part->iterations;
    if (part->best_iteration > result->best_iteration)
        result->best_iteration = part->best_iteration;
    if (part->rollbacks > result->rollbacks) result->rollbacks = part->rollbacks;
    if (part->restarts > result->restarts) result->restarts = part->restarts;
    result->block_products += part->block_products;
    result->inner_iterations += part->inner_iterations;
    result->corrections.tried += part->corrections.tried;
    result->corrections.kept += part->corrections.kept;
    result->unfinished_blocks += part->unfinished_blocks;
    result->pivots += part->pivots;
    result->single_pivots += part->single_pivots;
    result->factorizations += part->factorizations;
    result->reuse.solves += part->reuse.solves;
    result->reuse.steps += part->reuse.steps;
    result->reuse.failed += part->reuse.failed;
    result->cache.hits += part->cache.hits;
    result->cache.misses += part->cache.misses;
    result->cache.evictions += part->cache.evictions;
    result->cache.entries += part->cache.entries;
    result->cache.bytes += part->cache.bytes;
    result->cache.most_bytes += part->cache.most_bytes;
    if (part->links) cs_chain_add(solver, part, result);
    if (!part->pivoting) return;
    if (!result->pivoting || strcmp(part->pivoting, "converged") != 0)
        result->pivoting = part->pivoting;
}

static void add_up(cs_solver *solver, cs_result *result)
{
    cs_result sum = *result; /* the caller's buffers */
    sum.outcome = CS_CONVERGED;
    sum.iterations = sum.best_iteration = 0;
    sum.rollbacks = sum.restarts = 0;
    sum.block_products = sum.unfinished_blocks = 0;
    sum.pivots = sum.single_pivots = sum.factorizations = 0;
    sum.pivoting = NULL;
    sum.links = 0;
    for (int i = 0; i < 3; i++) sum.band[i] = NAN;
    sum.cache = (cs_cache_counts){0};
    sum.reuse = (cs_reuse_counts){0};
    for (int64_t c = 0; c < solver->islands->clusters; c++) {
        cs_cluster *cluster = &solver->islands->cluster[c];
        copy_rows(solver->problem, cluster, solver->lambda, cluster->lambda, 0);
        add_result(solver, &cluster->result, &sum);
    }
    *result = sum;
}

/* The last row tells of the impulses returned, measured as one. */
static void measure_whole(cs_solver *solver, cs_state *state)
{
    cs_history *history = &solver->history;
    double *row = history->value + (history->rows - 1) * history->columns;
    cs_residual_velocity(solver->problem, solver->lambda, solver->b, solver->velocity, solver->xi);
    for (int c = 2; c < history->columns; c++)
        if (!history->measure[c - 2]->of_sweep) row[c] = history->measure[c - 2]->evaluate(state);
}

cs_status cs_islands_solve(cs_solver *solver, const cs_control *control, cs_result *result,
                           cs_error *error)
{
    cs_islands *islands = solver->islands;
    sharing all = {solver, islands, control, solve_cluster, 0, 0, 0, 0};
    double start = cs_clock(), largest = cs_state_of(solver).largest_b;
    for (int64_t c = 0; c < islands->clusters; c++) {
        islands->cluster[c].solver->whole_b = largest;
        islands->cluster[c].solver->deadline = solver->deadline;
    }
    cs_status status = share_out(&all, error);
    if (status) return status;
    double seconds = cs_clock() - start;
    add_up(solver, result);
    status = write_history(solver, result->iterations, seconds, error);
    if (status) return status;
    cs_state state = cs_state_of(solver);
    measure_whole(solver, &state);
    int64_t best = result->best_iteration;
    cs_hand_out(solver, &state, result->iterations, seconds, result);
    if (result->outcome == CS_DIVERGING) result->best_iteration = best;
    return CS_OK;
}
