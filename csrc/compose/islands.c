/* Divides a problem into clusters of islands, and creates a solver for each (compose/islands.h). */
#include "compose/clusters.h"

#include "core/costs.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/share.h"
#include "problem/subproblem.h"

#include <string.h>

/* Whether the order visits the blocks of an island independently of all other islands. */
static int keeps_to_islands(const cs_solver *solver)
{
    const cs_order *order = solver->order;
    if (solver->method->without_sweeps || cs_is_flat(solver->method, solver->setting)) return 1;
    return order->by_islands && order->by_islands(&solver->options.order_options);
}

/* Whether the measures of the whole, for the stop rule and the history, follow from those of its islands. */
static int measures_apart(const cs_solver *solver)
{
    const cs_history *history = &solver->history;
    if (!solver->fixed_iterations && solver->stop->across != CS_LARGEST) return 0;
    for (int c = 0; c < history->columns - 2; c++)
        if (history->measure[c]->across == CS_NOT_APART) return 0;
    return 1;
}

/* Whether the islands can be solved separately. They cannot with Lemke's method, whose rays are those of the whole
 * problem; with a set whose prox calls the caller's code, which runs on one thread only; and with a factor R from the
 * eigenvalues of the whole A. */
static int can_be_cut(const cs_solver *solver)
{
    if (solver->method->as_a_whole || cs_problem_calls_back(solver->problem)) return 0;
    return keeps_to_islands(solver) && measures_apart(solver) && !cs_is_global(&solver->options);
}

/* The least number of contacts of a cluster. */
static int64_t least_contacts(const cs_solver *solver)
{
    if (solver->method->without_sweeps) return CS_WORTH_A_CLUSTER_FACTORED;
    int sequential = !cs_is_flat(solver->method, solver->setting) && !solver->order->fills_lanes;
    return sequential ? CS_WORTH_A_CLUSTER : CS_WORTH_A_CLUSTER_IN_STAGES;
}

/* Replaces label (blocks), the island of each block, by its cluster. Returns the number of clusters. Islands of similar
 * size share a cluster, because they tend to need similar numbers of iterations. Blocks without an island (-1), which
 * are immovable, form the last cluster. size, order (blocks) and place (blocks + 2) are scratch; size must be zero. */
static int64_t number_clusters(const cs_solver *solver, int64_t islands, int64_t *size,
                               int64_t *place, int64_t *order, int64_t *label)
{
    /* The islands by size, largest first. */
    int64_t blocks = solver->problem->blocks, least = least_contacts(solver);
    int64_t clusters = 0, contacts = 0, rest = 0;
    for (int64_t k = 0; k < blocks; k++)
        if (label[k] >= 0) size[label[k]]++;
        else rest = 1;
    cs_sort_largest_first(islands, size, blocks, place, order);

    /* Add islands to a cluster until it has enough contacts. From here on size[i] is the cluster of island i. */
    for (int64_t i = 0; i < islands; i++) {
        contacts += size[order[i]];
        size[order[i]] = clusters;
        if (contacts < least) continue;
        clusters++;
        contacts = 0;
    }
    clusters += contacts > 0;

    /* The cluster of each block. */
    for (int64_t k = 0; k < blocks; k++) label[k] = label[k] < 0 ? clusters : size[label[k]];
    return clusters + rest;
}

/* Allocates solver->parts, and lists the blocks of each cluster and the order in which threads take the clusters. */
static cs_status take_clusters(cs_solver *solver, int64_t clusters, const int64_t *label,
                               cs_arena *scratch, cs_error *error)
{
    /* The memory. */
    int64_t blocks = solver->problem->blocks;
    cs_islands *islands = cs_arena_take(&solver->arena, 1, sizeof *islands);
    int64_t *block = cs_arena_take(&solver->arena, blocks, sizeof(int64_t));
    int64_t *place = cs_arena_take(scratch, blocks + 2, sizeof(int64_t));
    int64_t *size = cs_arena_take(scratch, clusters, sizeof(int64_t));
    if (!islands || cs_arena_failed(scratch)) return cs_no_memory(error, "solving islands apart");
    islands->cluster = cs_arena_take(&solver->arena, clusters, sizeof(cs_cluster));
    islands->in_turn = cs_arena_take(&solver->arena, clusters, sizeof(int64_t));
    solver->index_found = solver->method->takes_index_sets
                              ? cs_arena_take(&solver->arena, solver->problem->rows, 1)
                              : NULL;
    if (cs_arena_failed(&solver->arena)) return cs_no_memory(error, "solving islands apart");
    islands->clusters = clusters;
    solver->parts = islands;

    /* The blocks of each cluster, ascending. */
    for (int64_t k = 0; k < blocks; k++) size[label[k]]++;
    for (int64_t c = 0; c < clusters; c++) {
        islands->cluster[c].block = block;
        block += size[c];
    }
    for (int64_t k = 0; k < blocks; k++) {
        cs_cluster *cluster = &islands->cluster[label[k]];
        cluster->block[cluster->blocks++] = k;
    }

    /* The clusters by size, largest first. */
    cs_sort_largest_first(clusters, size, blocks, place, islands->in_turn);
    islands->largest = islands->in_turn[0];
    return CS_OK;
}

/* The number of threads that share the clusters. */
static int choose_threads(const cs_solver *solver, int64_t clusters)
{
    int64_t worth = solver->method->without_sweeps ? 0 : CS_WORTH_THREADS_ISLANDS;
    if (solver->options.exact_threads) return cs_threads_exactly(solver->options.threads, clusters);
    return cs_threads_for(solver->options.threads, solver->problem->blocks, worth, clusters);
}

/* Several threads take the largest clusters first, so that no thread begins a long task when the others have finished.
 * A single thread takes the smallest ones first, so that few remain unsolved if max_seconds ends the solve: for it, the
 * order is reversed here. */
static void put_in_turn(cs_islands *islands)
{
    int64_t last = islands->clusters - 1, *in_turn = islands->in_turn;
    for (int64_t i = 0; islands->threads == 1 && i < last - i; i++) {
        int64_t larger = in_turn[i];
        in_turn[i] = in_turn[last - i];
        in_turn[last - i] = larger;
    }
}

/* Creates the problem, the solver and the arrays of one cluster (cs_sharing.work of the set-up). */
static cs_status make_cluster(cs_sharing *all, cs_cluster *cluster, int thread)
{
    cs_control control = cs_islands_control(all, thread);
    cs_error *error = &cluster->error;
    cs_status status = cs_subproblem(all->solver->problem, cluster->block, cluster->blocks,
                                     &cluster->problem, error);
    if (!status)
        status =
            cs_solver_make_part(&cluster->solver, all->solver, cluster->problem, &control, error);
    if (status) return status;

    /* Arrays for the data and the iterate of a solve. */
    const cs_problem *part = cluster->problem;
    cs_arena *arena = &cluster->solver->given;
    cluster->lambda = cs_arena_take(arena, part->rows, sizeof(double));
    cluster->b = cs_arena_take(arena, part->rows, sizeof(double));
    cluster->parameters = cs_arena_take(arena, part->parameters, sizeof(double));
    cluster->index_set = cs_arena_take(arena, part->rows, 1);
    return cs_arena_status(arena, error, "solving islands apart");
}

/* The `cut` of cs_composition_islands. */
static cs_status cut(cs_solver *solver, const cs_control *control, cs_error *error)
{
    /* Whether to divide the problem. */
    int64_t blocks = solver->problem->blocks, clusters = 0;
    if (!solver->options.islands || solver->within || !can_be_cut(solver)) {
        solver->island_count = 0; /* not reported */
        return CS_OK;
    }

    /* The clusters. */
    cs_arena scratch = {0};
    int64_t *label = cs_arena_take(&scratch, blocks, sizeof(int64_t));
    int64_t *size = cs_arena_take(&scratch, blocks, sizeof(int64_t));
    int64_t *order = cs_arena_take(&scratch, blocks, sizeof(int64_t));
    int64_t *place = cs_arena_take(&scratch, blocks + 2, sizeof(int64_t));
    cs_status status = cs_arena_status(&scratch, error, "solving islands apart");
    if (!status && blocks >= CS_WORTH_CUTTING && !solver->together) {
        memcpy(label, solver->judge.island, sizeof(int64_t) * (size_t)blocks);
        clusters = number_clusters(solver, solver->island_count, size, place, order, label);
    }
    if (clusters > 1) status = take_clusters(solver, clusters, label, &scratch, error);
    cs_arena_clear(&scratch);
    if (status || !solver->parts) return status;

    /* Their solvers, which several threads create. */
    cs_islands *islands = solver->parts;
    islands->threads = choose_threads(solver, clusters);
    put_in_turn(islands);
    cs_sharing all = {.solver = solver,
                      .islands = islands,
                      .control = control,
                      .work = make_cluster,
                      .sets_up = 1};
    return cs_islands_share_out(&all, error);
}

/* Destroys the solvers and the problems of the clusters. */
static void release(void *parts)
{
    cs_islands *islands = parts;
    for (int64_t c = 0; c < islands->clusters; c++) {
        cs_solver_destroy(islands->cluster[c].solver);
        cs_problem_destroy(islands->cluster[c].problem);
    }
}

/* info <- the sweeps of the largest cluster, and sums over all clusters. */
static void describe(const void *parts, cs_solver_info *info)
{
    const cs_islands *islands = parts;
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

const cs_composition cs_composition_islands = {
    .cut = cut,
    .solve = cs_islands_solve,
    .describe = describe,
    .release = release,
};

/* ---- the public entry ------------------------------------------------------------------------ */

cs_status cs_solver_create(cs_solver **result, const cs_problem *problem, const cs_options *options,
                           const cs_control *control, cs_error *error)
{
    return cs_solver_make(result, problem, options, &cs_composition_islands, NULL, control, error);
}
