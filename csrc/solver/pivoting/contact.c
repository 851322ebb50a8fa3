/* Contact problems by pivoting: a mixed LCP for the friction bounds at hand, again and again.
 *
 *     bounds +-mu lambda_n of the last solve -> mixed LCP -> lambda -> measured, recorded, tested
 *            ^                                                              |
 *            '----------------------- not converged ------------------------'
 *
 * Without friction one solve is the answer. The first one leaves the tangents free, as S3 does,
 * unless impulses to begin with were given; each later one begins with the last index set.  S3
 * section 1.2.2, eq. 1.21 */
#include "solver/pivoting/pivoting.h"

#include "core/clock.h"
#include "core/error.h"
#include "problem/problem.h"
#include "solver/method.h"

#include <math.h>
#include <string.h>

typedef struct cs_pivoting {
    cs_mlcp *mlcp;
    int coupled;            /* friction depends on normal impulses */
    double *lo, *hi;        /* (rows) */
    double *normal;         /* (rows): the normal impulse that bounds a tangential row */
    double *fixed;          /* (rows): impulses to begin with, kept where none changes anything */
    signed char *index_set; /* (rows) */
} cs_pivoting;

/* ---- what is taken --------------------------------------------------------------------------- */

static cs_status refuse(const char *method, const char *option, const char *value, cs_error *error)
{
    return cs_fail(error, CS_UNSUPPORTED,
                   "%s='%s' is for methods that sweep over contacts, which method='%s' does not",
                   option, value, method);
}

static int is_box_friction(const cs_block_group *group)
{
    int planar_disc = strcmp(group->set->name, "disc") == 0 && group->rows == 2;
    return planar_disc || strcmp(group->set->name, "box_friction") == 0;
}

static int is_taken(const cs_block_group *group)
{
    const char *name = group->set->name;
    return is_box_friction(group) || strcmp(name, "free") == 0 || strcmp(name, "box") == 0 ||
           strcmp(name, "half_line") == 0;
}

static cs_status check_sets(const char *name, const cs_problem *problem, cs_error *error)
{
    for (int g = 0; g < problem->block_groups; g++)
        if (!is_taken(&problem->block_group[g]))
            return cs_fail(
                error, CS_UNSUPPORTED,
                "method='%s' takes blocks of the sets free, box, half_line and "
                "box_friction (or disc with one tangent), and this problem has blocks of "
                "set '%s' with %d rows: use sets=box_friction(mu), or a method that "
                "sweeps",
                name, problem->block_group[g].set->name, problem->block_group[g].rows);
    return CS_OK;
}

cs_status cs_pivoting_check(const cs_options *options, const char *name, const cs_problem *problem,
                            cs_error *error)
{
    static const char *const no_words[] = {"order", "local", "velocities"};
    const char *given[] = {options->order, options->local, options->velocities};
    for (int i = 0; i < 3; i++)
        if (strcmp(given[i], "auto") != 0) return refuse(name, no_words[i], given[i], error);
    if (options->order_options.permutation) return refuse(name, "order", "given", error);
    if (strcmp(options->scheme, "auto") != 0 && strcmp(options->scheme, "matrix") != 0)
        return refuse(name, "scheme", options->scheme, error);
    if (!options->r_factor) return refuse(name, "r_factor", "a number", error);
    if (strcmp(options->r_factor, "local") != 0)
        return refuse(name, "r_factor", options->r_factor, error);
    if (strcmp(options->bound, "current") != 0) return refuse(name, "bound", options->bound, error);
    if (options->relaxation != 1)
        return refuse(name, "relaxation", cs_number(options->relaxation).text, error);
    if (options->rollback != cs_options_default().rollback)
        return refuse(name, "rollback", cs_number(options->rollback).text, error);
    if (options->averaging_adjacent) return refuse(name, "averaging", "adjacent", error);
    if (strcmp(options->dtype, "float64") != 0)
        return cs_fail(error, CS_UNSUPPORTED, "dtype='%s': method='%s' computes in float64 only",
                       options->dtype, name);
    return check_sets(name, problem, error);
}

/* ---- set-up ---------------------------------------------------------------------------------- */

/* A by scalar rows, from rows of blocks. */
static cs_status expand(const cs_problem *problem, const cs_block_matrix *blocks, cs_arena *arena,
                        cs_csr *matrix, cs_error *error)
{
    int64_t entries = blocks->first[blocks->blocks], at = 0, row = 0;
    int64_t *start = cs_arena_take(arena, problem->rows + 1, sizeof(int64_t));
    int64_t *column = cs_arena_take(arena, entries, sizeof(int64_t));
    double *value = cs_arena_take(arena, entries, sizeof(double));
    if (!start || !column || !value)
        return cs_fail(error, CS_NO_MEMORY, "out of memory for A of %lld rows",
                       (long long)problem->rows);
    for (int64_t k = 0; k < blocks->blocks; k++) {
        int rows = cs_block_group_of(problem, k)->rows;
        for (int i = 0; i < rows; i++) {
            const double *block = blocks->value + blocks->first[k];
            for (int64_t e = blocks->start[k]; e < blocks->start[k + 1]; e++) {
                int columns = cs_block_group_of(problem, blocks->column[e])->rows;
                int64_t first = cs_block_row(problem, blocks->column[e]);
                for (int j = 0; j < columns; j++, at++) {
                    column[at] = first + j;
                    value[at] = block[i * columns + j];
                }
                block += rows * columns;
            }
            start[++row] = at;
        }
    }
    *matrix = (cs_csr){problem->rows, start, column, value};
    return CS_OK;
}

static cs_status take_pivoting(cs_solver *solver, cs_error *error)
{
    int64_t rows = solver->problem->rows;
    cs_arena *arena = &solver->arena;
    cs_pivoting *p = cs_arena_take(arena, 1, sizeof *p);
    if (!p) goto no_memory;
    p->lo = cs_arena_take(arena, rows, sizeof(double));
    p->hi = cs_arena_take(arena, rows, sizeof(double));
    p->normal = cs_arena_take(arena, rows, sizeof(double));
    p->fixed = cs_arena_take(arena, rows, sizeof(double));
    p->index_set = cs_arena_take(arena, rows, 1);
    if (!solver->previous) solver->previous = cs_arena_take(arena, rows, sizeof(double));
    if (!p->lo || !p->hi || !p->normal || !p->fixed || !p->index_set || !solver->previous)
        goto no_memory;
    for (int g = 0; g < solver->problem->block_groups; g++)
        p->coupled |= is_box_friction(&solver->problem->block_group[g]);
    solver->pivoting = p;
    return CS_OK;
no_memory:
    return cs_fail(error, CS_NO_MEMORY, "out of memory for pivoting on %lld rows", (long long)rows);
}

cs_status cs_pivoting_prepare(cs_solver *solver, const cs_control *control, cs_error *error)
{
    const cs_problem *problem = solver->problem;
    cs_arena scratch = {0};
    cs_block_matrix *assembled = NULL;
    cs_csr matrix;
    cs_mlcp_options options = solver->options.pivoting;
    options.rule = solver->method->name;
    cs_status status = take_pivoting(solver, error);
    if (!status && !problem->matrix)
        status = cs_assemble(problem, &scratch, control, &assembled, error);
    if (!status)
        status = expand(problem, problem->matrix ? problem->matrix : assembled, &scratch, &matrix,
                        error);
    if (!status) status = cs_mlcp_create(&solver->pivoting->mlcp, &matrix, &options, error);
    cs_arena_clear(&scratch);
    return status;
}

void cs_pivoting_destroy(cs_pivoting *pivoting)
{
    if (pivoting) cs_mlcp_destroy(pivoting->mlcp);
}

void cs_pivoting_describe(const cs_pivoting *pivoting, cs_solver_info *info)
{
    cs_mlcp_info mlcp;
    cs_mlcp_describe(pivoting->mlcp, &mlcp);
    info->engine = mlcp.engine;
    info->islands = mlcp.islands;
    info->bytes += mlcp.bytes;
}

/* ---- solving --------------------------------------------------------------------------------- */

typedef struct iteration {
    cs_solver *solver;
    cs_pivoting *pivoting;
    const cs_control *control;
    cs_state state;
    int64_t number;
    int begins_anew; /* no impulses to begin with: tangents are free at first, and all rows */
    double seconds;
    int converged, stopped;
} iteration;

/* The bounds of one block, tangents by `normal`; rows that no impulse moves keep theirs. */
static void bound_block(iteration *it, const cs_block_group *group, int64_t index)
{
    cs_pivoting *p = it->pivoting;
    const double *parameters = cs_state_parameters(&it->state, group, index);
    int64_t row = group->first_row + index * group->rows;
    int box = strcmp(group->set->name, "box") == 0, friction = is_box_friction(group);
    for (int i = 0; i < group->rows; i++) {
        double *lo = &p->lo[row + i], *hi = &p->hi[row + i];
        *lo = -INFINITY;
        *hi = INFINITY;
        if (box) {
            *lo = parameters[i];
            *hi = parameters[group->rows + i];
        } else if (!group->set->bilateral && i == 0) {
            *lo = 0;
        } else if (friction && !it->begins_anew) {
            *hi = parameters[0] * p->normal[row];
            *lo = -*hi;
        } else if (!group->set->bilateral && !friction) {
            *lo = *hi = 0; /* a frictionless contact's tangents */
        }
        if (it->state.rho[row + i] == 0) *lo = *hi = p->fixed[row + i];
    }
}

static void set_bounds(iteration *it)
{
    const cs_problem *problem = it->solver->problem;
    for (int g = 0; g < problem->block_groups; g++)
        for (int64_t k = 0; k < problem->block_group[g].count; k++)
            bound_block(it, &problem->block_group[g], k);
}

/* The normal impulses that bound friction move on towards those just found. */
static void average_normals(iteration *it, double weight)
{
    cs_pivoting *p = it->pivoting;
    for (int64_t i = 0; i < it->solver->problem->rows; i++) {
        double found = fmax(it->solver->lambda[i], 0);
        p->normal[i] += weight * (found - p->normal[i]);
    }
}

/* An index set from impulses: what is at a bound, or nearly so, is tight. */
static void guess_index_set(iteration *it)
{
    const double near = 1e-6;
    cs_pivoting *p = it->pivoting;
    for (int64_t i = 0; i < it->solver->problem->rows; i++) {
        double lambda = it->solver->lambda[i], margin = near * fabs(lambda);
        p->index_set[i] = lambda <= p->lo[i] + margin   ? CS_INDEX_LOW
                          : lambda >= p->hi[i] - margin ? CS_INDEX_HIGH
                                                        : CS_INDEX_FREE;
    }
}

/* The message of a matrix that is not positive definite, in the words of the problem. */
static cs_status explain(const cs_solver *solver, cs_error *error)
{
    const cs_pivot_failure *failure = &solver->pivoting->mlcp->failure;
    const cs_problem *problem = solver->problem;
    int64_t block = 0;
    if (failure->row < 0) return CS_UNSUPPORTED;
    while (cs_block_row(problem, block + 1) <= failure->row) block++;
    return cs_fail(error, CS_UNSUPPORTED,
                   "A is not positive definite to rounding: elimination leaves %s of A[%lld, %lld] "
                   "= %s, row %lld of contact %lld; a compliance of %.1e there would cure it",
                   cs_number(failure->pivot).text, (long long)failure->row, (long long)failure->row,
                   cs_number(failure->entry).text,
                   (long long)(failure->row - cs_block_row(problem, block)), (long long)block,
                   failure->cure);
}

/* Solves with the bounds at hand; what has changed goes into the state. */
static cs_status advance(iteration *it, cs_result *result, cs_error *error)
{
    cs_solver *solver = it->solver;
    cs_pivoting *p = it->pivoting;
    int64_t rows = solver->problem->rows;
    double start = cs_clock();
    int first = it->number++ == 0;
    if (!first) average_normals(it, it->begins_anew ? 1 : solver->options.averaging);
    if (!first) it->begins_anew = 0;
    set_bounds(it);
    if (first && !it->begins_anew) guess_index_set(it);
    int begins = (first && it->begins_anew) || p->mlcp->rule->no_factors;
    cs_mlcp_result answer = {.x = solver->lambda, .index_set = p->index_set};
    memcpy(solver->previous, solver->lambda, sizeof(double) * (size_t)rows);
    cs_status status = cs_mlcp_solve(p->mlcp, solver->b, p->lo, p->hi, begins ? NULL : p->index_set,
                                     it->control, &answer, error);
    if (status) return status == CS_UNSUPPORTED ? explain(solver, error) : status;
    it->stopped = answer.outcome == CS_MLCP_STOPPED;
    result->pivots += answer.pivots;
    result->single_pivots += answer.single_pivots;
    result->factorizations += answer.factorizations;
    result->pivoting = cs_mlcp_outcome_name(answer.outcome);
    it->state.residual = it->state.merit = 0;
    for (int64_t i = 0; i < rows; i++) {
        double change = solver->lambda[i] - solver->previous[i];
        it->state.residual = fmax(it->state.residual, fabs(change));
        it->state.merit += change * change;
    }
    cs_measure_change(&it->state, solver->previous, solver->lambda);
    it->seconds += cs_clock() - start;
    return CS_OK;
}

/* Whether the stop rule holds for the state as it is now. */
static int stop_rule(iteration *it)
{
    cs_solver *solver = it->solver;
    if (solver->fixed_iterations || (solver->stop->of_sweep && !it->number)) return 0;
    if (solver->stop == cs_measure_find("natural_map")) return cs_natural_map_of(&it->state)->met;
    double bound = solver->stop->is_ratio ? 1 : solver->options.atol;
    return solver->stop->evaluate(&it->state) <= bound;
}

static cs_status check_and_record(iteration *it, cs_error *error)
{
    cs_solver *solver = it->solver;
    double start = cs_clock();
    cs_residual_velocity(solver->problem, solver->lambda, solver->b, solver->velocity, solver->xi);
    it->state.have_natural_map = 0;
    it->converged = stop_rule(it);
    it->seconds += cs_clock() - start;
    int last = it->converged || it->number == solver->options.max_iterations;
    if (it->number % solver->options.record_every != 0 && !last) return CS_OK;
    cs_status status = cs_history_reserve(&solver->history, 1, error);
    if (!status) cs_history_append(&solver->history, it->number, it->seconds, &it->state, 1);
    return status;
}

static cs_status poll(iteration *it, cs_error *error)
{
    const cs_control *control = it->control;
    const cs_history *history = &it->solver->history;
    if (!control || !control->poll) return CS_OK;
    cs_progress progress = {
        .iteration = it->number,
        .max_iterations = it->solver->options.max_iterations,
        .row = history->value + (history->rows - 1) * history->columns,
        .columns = history->columns,
        .impulses = control->every_iteration ? it->solver->lambda : NULL,
    };
    int answer = control->poll(control->context, &progress);
    if (answer < 0)
        return cs_fail(error, CS_INTERRUPTED, "interrupted at iteration %lld",
                       (long long)it->number);
    it->stopped |= answer > 0;
    return CS_OK;
}

/* Without friction another solve would find the same. */
static int is_final(const iteration *it)
{
    return !it->pivoting->coupled && it->number && !it->solver->fixed_iterations;
}

static cs_status iterate(iteration *it, cs_result *result, cs_error *error)
{
    const cs_options *options = &it->solver->options;
    cs_status status = check_and_record(it, error);
    result->outcome = CS_MAX_ITERATIONS;
    while (!status && !it->converged && !is_final(it) && it->number < options->max_iterations) {
        status = advance(it, result, error);
        if (!status) status = check_and_record(it, error);
        if (!status) status = poll(it, error);
        if (status || it->stopped) break;
    }
    if (it->stopped) result->outcome = CS_STOPPED;
    if (it->converged) result->outcome = CS_CONVERGED;
    return status;
}

/* Ends the history with the last solve, which may lie between two that are recorded. */
static cs_status record_end(iteration *it, cs_error *error)
{
    cs_history *history = &it->solver->history;
    const double *row = history->value + (history->rows - 1) * history->columns;
    if (row[0] == (double)it->number) return CS_OK;
    cs_status status = cs_history_reserve(history, 1, error);
    if (!status) cs_history_append(history, it->number, it->seconds, &it->state, 1);
    return status;
}

static void finish(iteration *it, cs_result *result)
{
    cs_solver *solver = it->solver;
    const cs_natural_map *map = cs_natural_map_of(&it->state);
    size_t bytes = sizeof(double) * (size_t)solver->problem->rows;
    result->iterations = result->best_iteration = it->number;
    result->seconds = it->seconds;
    result->natural_map = map->impulse;
    result->natural_map_scaled = map->scaled;
    result->worst_block = map->worst_block;
    result->history = solver->history.value;
    result->history_rows = solver->history.rows;
    result->columns = solver->history.columns;
    if (result->impulses && bytes) memcpy(result->impulses, solver->lambda, bytes);
    if (result->residual_velocities && bytes)
        memcpy(result->residual_velocities, solver->xi, bytes);
    if (result->velocity_change)
        cs_velocity_change(solver->problem, solver->lambda, result->velocity_change);
}

/* Brings the impulses to begin with into the normals and what is fixed. */
static void begin(iteration *it)
{
    cs_solver *solver = it->solver;
    it->begins_anew = 1;
    for (int64_t i = 0; i < solver->problem->rows; i++) {
        it->begins_anew &= solver->lambda[i] == 0;
        it->pivoting->fixed[i] = solver->lambda[i];
        it->pivoting->normal[i] = fmax(solver->lambda[i], 0);
        it->state.largest_b = fmax(it->state.largest_b, fabs(solver->b[i]));
    }
}

cs_status cs_pivoting_solve(cs_solver *solver, const cs_control *control, cs_result *result,
                            cs_error *error)
{
    iteration it = {
        .solver = solver,
        .pivoting = solver->pivoting,
        .control = control,
        .state = {.problem = solver->problem,
                  .b = solver->b,
                  .parameters = solver->parameters,
                  .rho = solver->rho,
                  .rtol = solver->fixed_iterations ? 0 : solver->options.rtol,
                  .atol = solver->fixed_iterations ? 0 : solver->options.atol,
                  .quality_r = solver->options.quality_r,
                  .residual = NAN,
                  .merit = NAN,
                  .delta_element = NAN,
                  .delta_norm = NAN,
                  .no_tolerance = solver->fixed_iterations,
                  .lambda = solver->lambda,
                  .xi = solver->xi},
    };
    result->rollbacks = 0;
    result->unfinished_blocks = 0;
    result->pivots = result->single_pivots = result->factorizations = 0;
    result->pivoting = "converged";
    begin(&it);
    cs_status status = iterate(&it, result, error);
    if (!status) status = record_end(&it, error);
    if (!status) finish(&it, result);
    return status;
}
