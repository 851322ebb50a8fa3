/* Solves a problem cluster by cluster: copies the data of each cluster, solves it, and combines the impulses, the
 * histories and the figures of all clusters. */
#include "compose/clusters.h"

#include "core/clock.h"
#include "solver/judge.h"

#include <math.h>
#include <string.h>

/* ---- one cluster ----------------------------------------------------------------------------- */

/* Copies the rows of the cluster's blocks from an array of the whole (rows) to one of the part if `gathers`, otherwise
 * back. */
static void copy_rows(const cs_problem *problem, const cs_cluster *cluster, double *whole,
                      double *part, int gathers)
{
    for (int64_t i = 0; i < cluster->blocks; i++) {
        const cs_block_group *group = cs_block_group_of(problem, cluster->block[i]);
        double *there = whole + cs_group_row(group, cluster->block[i] - group->first_block);
        size_t bytes = sizeof(double) * (size_t)group->rows;
        memcpy(gathers ? part : there, gathers ? there : part, bytes);
        part += group->rows;
    }
}

/* part <- the sets' parameters of the cluster's blocks, from those of the whole. */
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

/* The index set from which the cluster starts, copied from that of the whole; NULL if that is NULL. */
static const signed char *gather_index_set(const cs_solver *solver, const signed char *index_set,
                                           cs_cluster *cluster)
{
    signed char *at = cluster->index_set;
    for (int64_t i = 0; i < cluster->blocks && index_set; i++) {
        int64_t block = cluster->block[i];
        int rows = cs_block_group_of(solver->problem, block)->rows;
        memcpy(at, index_set + cs_block_row(solver->problem, block), (size_t)rows);
        at += rows;
    }
    return index_set ? cluster->index_set : NULL;
}

/* The row of the whole that is row `row` of the part. */
static int64_t row_of_whole(const cs_problem *problem, const cs_cluster *cluster, int64_t row)
{
    int64_t block = cs_row_block(cluster->problem, row);
    row -= cs_block_row(cluster->problem, block);
    return cs_block_row(problem, cluster->block[block]) + row;
}

/* Copies the index set that a cluster has found, if it was solved, to that of the whole. */
static void scatter_index_set(const cs_solver *solver, const cs_cluster *cluster)
{
    const signed char *at = cluster->solver->index_found;
    for (int64_t i = 0; i < cluster->blocks; i++) {
        int64_t block = cluster->block[i];
        size_t rows = (size_t)cs_block_group_of(solver->problem, block)->rows;
        signed char *there = solver->index_found + cs_block_row(solver->problem, block);
        if (!at) memset(there, CS_INDEX_UNKNOWN, rows);
        else memcpy(there, at, rows), at += rows;
    }
}

/* Solves one cluster (cs_sharing.work of a solve). */
static cs_status solve_cluster(cs_sharing *all, cs_cluster *cluster, int thread)
{
    /* The data of the cluster. */
    cs_solver *solver = all->solver;
    cs_control control = cs_islands_control(all, thread);
    copy_rows(solver->problem, cluster, solver->lambda, cluster->lambda, 1);
    copy_rows(solver->problem, cluster, solver->b, cluster->b, 1);
    gather_parameters(solver->problem, cluster, solver->parameters, cluster->parameters);
    cs_budget budget = {
        .control = &control,
        .deadline = all->budget->deadline,
        .index_set = gather_index_set(solver, all->budget->index_set, cluster),
    };

    /* The solve. */
    cluster->result = (cs_result){.impulses = cluster->lambda};
    cluster->at = 0;
    double start = cs_clock();
    cs_status status =
        cs_solver_run(cluster->solver, cluster->lambda, cluster->b, cluster->parameters, &budget,
                      &cluster->result, &cluster->error);
    cluster->busy = cs_clock() - start;
    cluster->unclocked = budget.unclocked;
    cluster->sweeping = budget.sweeping;

    /* A failure at a row of A is explained with the row's number in the whole. */
    const cs_row_failure *failure = &cluster->solver->failure;
    if (status != CS_UNSUPPORTED || failure->row < 0) return status;
    return cs_explain_failure(failure, solver->problem,
                              row_of_whole(solver->problem, cluster, failure->row),
                              &cluster->error);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* The row of a cluster's history at `iteration`: the last one that is not later. Successive calls must not go back to
 * earlier iterations. */
static const double *row_of(cs_cluster *cluster, double iteration)
{
    const cs_result *result = &cluster->result;
    while (cluster->at + 1 < result->history_rows &&
           result->history[(cluster->at + 1) * result->columns] <= iteration)
        cluster->at++;
    return result->history + cluster->at * result->columns;
}

/* Combines the value of a measure with that of one more cluster, by sum or maximum. NaN remains NaN. */
static double combine(cs_across across, double value, double more)
{
    if (across == CS_SUM) return value + more;
    return isnan(more) || more > value ? more : value;
}

/* row <- the history of the whole at `iteration`. A cluster whose solve ended before contributes the measures of its
 * last iterate, and 0 to measures of the last sweep. */
static void fill_row(const cs_solver *solver, double iteration, double *row)
{
    /* Column 0 is the iteration, column 1 the sum of the clusters' seconds. */
    const cs_history *history = &solver->history;
    for (int c = 0; c < history->columns; c++) row[c] = 0;
    row[0] = iteration;
    for (int64_t i = 0; i < cs_islands_of(solver)->clusters; i++) {
        const double *part = row_of(&cs_islands_of(solver)->cluster[i], iteration);
        row[1] += part[1];

        /* The measures. */
        for (int c = 2; c < history->columns; c++) {
            const cs_measure *measure = history->measure[c - 2];
            double value = measure->of_sweep && part[0] < iteration ? 0 : part[c];
            row[c] = isnan(row[c]) ? row[c] : combine(measure->across, row[c], value);
        }
    }
}

/* Writes the history of the whole. Its seconds are the sums of the clusters' seconds, scaled so that they go from
 * `begun` to `ended`. */
static cs_status write_history(cs_solver *solver, int64_t iterations, double begun, double ended,
                               cs_error *error)
{
    /* Every `record_every`-th iteration, and the last one. */
    cs_history *history = &solver->history;
    int64_t every = solver->options.record_every, rows = iterations / every + 2;
    cs_status status = cs_history_reserve(history, rows, error);
    if (status) return status;
    for (int64_t i = 0;; i += every) {
        if (i > iterations) i = iterations;
        fill_row(solver, (double)i, history->value + history->rows++ * history->columns);
        if (i == iterations) break;
    }

    /* Scale the seconds. */
    double all = cs_history_last(history)[1], scale = all > 0 ? (ended - begun) / all : 0;
    for (int64_t r = 0; r < history->rows; r++) {
        double *seconds = &history->value[r * history->columns + 1];
        *seconds = fmin(begun + scale * *seconds, ended);
    }
    return CS_OK;
}

/* Whether an earlier link of the part has the same method as its i-th link. */
static int came_before(const cs_result *part, int i)
{
    for (int j = 0; j < i; j++)
        if (strcmp(part->link[j].method, part->link[i].method) == 0) return 1;
    return 0;
}

/* Adds the links of one part to those of the whole, `all`: one for each method, in the order of their first
 * occurrence. */
static void add_links(cs_link *all, const cs_result *part, cs_result *result)
{
    for (int i = 0; i < part->links; i++) {
        /* The link of the whole with that method, or a new one. */
        const cs_link *more = &part->link[i];
        int at = 0;
        while (at < result->links && strcmp(all[at].method, more->method) != 0) at++;
        if (at == result->links) {
            all[result->links++] = *more;
            continue;
        }

        /* Add the figures; the outcome is the worst one. */
        all[at].iterations += more->iterations;
        all[at].seconds += more->seconds;
        all[at].islands += !came_before(part, i);
        all[at].reached = fmax(all[at].reached, more->reached);
        if (cs_outcome_is_worse(more->outcome, all[at].outcome)) {
            all[at].outcome = more->outcome;
            all[at].why = more->why;
        }
    }
    result->link = all;
}

/* Adds the figures of the method in one part to those of the whole; NaN: there was none so far. */
static void add_figures(const cs_result *part, cs_result *result)
{
    for (int i = 0; i < part->figures; i++) {
        double *sum = &result->figure_value[i], value = part->figure_value[i];
        if (isnan(*sum)) *sum = value;
        else if (part->figure[i].largest) *sum = fmax(*sum, value);
        else if (!isnan(value)) *sum += value;
    }
}

/* Adds the result of one part to that of the whole. */
static void add_result(cs_solver *solver, const cs_result *part, cs_result *result)
{
    /* The worst outcome. */
    if (cs_outcome_is_worse(part->outcome, result->outcome)) {
        result->outcome = part->outcome;
        memcpy(result->band, part->band, sizeof result->band);
    }

    /* Maxima. */
    if (part->iterations > result->iterations) result->iterations = part->iterations;
    if (part->best_iteration > result->best_iteration)
        result->best_iteration = part->best_iteration;
    if (part->rollbacks > result->rollbacks) result->rollbacks = part->rollbacks;

    /* Sums. */
    result->block_products += part->block_products;
    add_figures(part, result);
    result->unfinished_blocks += part->unfinished_blocks;

    /* The links, and how pivoting ended: "converged" only if it did in all parts. */
    if (part->links) add_links(cs_islands_of(solver)->link, part, result);
    if (!part->pivoting) return;
    if (!result->pivoting || strcmp(part->pivoting, "converged") != 0)
        result->pivoting = part->pivoting;
}

/* Adds the certificate of a cluster whose outcome is that of the whole. The bound is the least one of all. */
static void add_certificate(cs_solver *solver, cs_cluster *cluster, cs_result *result)
{
    const cs_result *part = &cluster->result;
    double *whole = solver->judge.ray.certificate.direction;
    if (!part->certificate || part->outcome != result->outcome) return;
    if (!result->certificate) memset(whole, 0, sizeof(double) * (size_t)solver->problem->rows);
    result->certified =
        result->certificate ? fmin(result->certified, part->certified) : part->certified;
    result->certificate = whole;
    /* copy_rows only reads the part here. */
    copy_rows(solver->problem, cluster, whole, (double *)(uintptr_t)part->certificate, 0);
}

/* The rounding floor of the whole is the largest one of its clusters. */
static void add_floor(const cs_cluster *cluster, cs_result *result)
{
    const cs_result *part = &cluster->result;
    if (isnan(part->floor) || part->floor <= result->floor) return;
    result->floor = part->floor;
    result->floor_block = part->floor_block < 0 ? -1 : cluster->block[part->floor_block];
}

/* solver->lambda and result <- those of all clusters. */
static void add_up(cs_solver *solver, cs_result *result)
{
    /* Neutral values; the pointers to the caller's arrays remain. */
    cs_result sum = *result;
    sum.outcome = CS_CONVERGED;
    sum.iterations = sum.best_iteration = 0;
    sum.rollbacks = 0;
    sum.block_products = sum.unfinished_blocks = 0;
    sum.pivoting = NULL;
    sum.links = 0;
    sum.floor = sum.certified = NAN;
    sum.floor_block = -1;
    sum.certificate = NULL;
    for (int i = 0; i < 3; i++) sum.band[i] = NAN;
    for (int i = 0; i < sum.figures; i++) sum.figure_value[i] = NAN;

    /* Results and floors. */
    for (int64_t c = 0; c < cs_islands_of(solver)->clusters; c++) {
        cs_cluster *cluster = &cs_islands_of(solver)->cluster[c];
        copy_rows(solver->problem, cluster, solver->lambda, cluster->lambda, 0);
        if (solver->index_found) scatter_index_set(solver, cluster);
        add_result(solver, &cluster->result, &sum);
        add_floor(cluster, &sum);
    }

    /* Certificates, which need the outcome of the whole. */
    for (int64_t c = 0; c < cs_islands_of(solver)->clusters; c++)
        add_certificate(solver, &cs_islands_of(solver)->cluster[c], &sum);
    *result = sum;
}

/* Evaluates the last row of the history, except measures of the last sweep, for the impulses of the whole. */
static void measure_whole(cs_solver *solver, cs_state *state)
{
    cs_history *history = &solver->history;
    double *row = cs_history_last(history);
    for (int c = 2; c < history->columns; c++)
        if (!history->measure[c - 2]->of_sweep)
            row[c] = cs_measure_value(history->measure[c - 2], state);
}

/* Divides the `seconds` of all clusters as the sum of what each of them took is divided: leaves out their recording,
 * for example, and counts their sweeps. */
static void divide_seconds(const cs_islands *islands, double seconds, cs_budget *budget)
{
    double busy = 0, unclocked = 0, sweeping = 0;
    for (int64_t c = 0; c < islands->clusters; c++) {
        busy += islands->cluster[c].busy;
        unclocked += islands->cluster[c].unclocked;
        sweeping += islands->cluster[c].sweeping;
    }
    if (!(busy > 0)) return;
    budget->unclocked += seconds * (unclocked / busy);
    budget->sweeping += seconds * (sweeping / busy);
}

/* Fills the result with the impulses of the whole, which are evaluated if that is asked for, or for the history. The
 * latter is recording. */
static void hand_out(cs_solver *solver, cs_budget *budget, cs_result *result)
{
    cs_state state = cs_state_of(solver);
    int asked = cs_is_asked_for(solver, budget, result);
    int records = cs_history_needs_state(&solver->history);
    double since = asked ? cs_check_begins(solver, budget) : cs_seconds(budget);
    if (asked || records) {
        cs_settle(solver);
        cs_evaluate(solver, &state);
    }

    /* cs_hand_out calls the last iteration the best one; after divergence it is an earlier one. */
    int64_t best = result->best_iteration;
    cs_hand_out(solver, asked || records ? &state : NULL, result->iterations, result);
    if (result->outcome == CS_DIVERGING) result->best_iteration = best;
    if (asked) cs_check_ends(solver, budget, since);
    else cs_leave_out(budget, since);
    cs_hand_out_impulses(solver, result);
    cs_hand_out_velocity(solver, solver->lambda, result);

    /* The history. */
    since = cs_seconds(budget);
    if (asked || records) measure_whole(solver, &state);
    cs_leave_out(budget, since);
}

cs_status cs_islands_solve(cs_solver *solver, cs_budget *budget, cs_result *result, cs_error *error)
{
    /* Solve the clusters. Their own clocks tell what of it is not counted, also of the caller's functions. */
    cs_islands *islands = solver->parts;
    cs_sharing all = {.solver = solver,
                      .islands = islands,
                      .control = budget->control,
                      .budget = budget,
                      .work = solve_cluster};
    double begun = cs_seconds(budget), unclocked = budget->unclocked;
    cs_status status = cs_islands_share_out(&all, error);
    if (status) return status;
    budget->unclocked = unclocked;
    divide_seconds(islands, cs_seconds(budget) - begun, budget);

    /* Combine their results. */
    double ended = cs_seconds(budget);
    add_up(solver, result);
    double since = cs_seconds(budget);
    status = write_history(solver, result->iterations, begun, ended, error);
    if (status) return status;
    cs_leave_out(budget, since);
    hand_out(solver, budget, result);
    return CS_OK;
}
