/* Contact problems by pivoting: a mixed LCP for the friction bounds at hand, again and again.
 *
 *     bounds +-mu lambda_n of the last solve -> mixed LCP -> lambda -> measured, recorded, tested
 *            ^                                                              |
 *            '----------------------- not converged ------------------------'
 *
 * Without friction one solve is the answer. The first one leaves the tangents free, as S3 does,
 * unless impulses to begin with were given; each later one begins with the last index set. Where no
 * averaging was given, renewal.h says how bounds follow what is found.  S3
 * section 1.2.2, eq. 1.21 */
#include "solver/pivoting/contact.h"

#include "core/clock.h"
#include "core/error.h"

#include <math.h>
#include <string.h>

/* ---- what is taken --------------------------------------------------------------------------- */

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

/* Whether friction is to be that of a polyhedral cone: asked for, or given by the sets. */
static int wants_cone(const char *method, const cs_options *options, const cs_problem *problem)
{
    int wants = options->pivoting.directions > 0;
    for (int g = 0; g < problem->block_groups; g++)
        wants |= strcmp(problem->block_group[g].set->name, "polygon") == 0;
    return wants && cs_rule_find(method)->no_factors;
}

static cs_status check_cone(const char *name, const cs_options *options, const cs_problem *problem,
                            cs_error *error)
{
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        if (!cs_cone_takes(group))
            return cs_fail(error, CS_UNSUPPORTED,
                           "method='%s' with directions takes blocks of the sets free, box, "
                           "half_line, box_friction, disc, ellipse and polygon, and this problem "
                           "has blocks of set '%s'",
                           name, group->set->name);
        int round = strcmp(group->set->name, "disc") == 0 && group->rows == 3;
        round |= strcmp(group->set->name, "ellipse") == 0;
        if (round && options->pivoting.directions == 0)
            return cs_fail(error, CS_UNSUPPORTED,
                           "method='%s': this problem has blocks of set '%s' beside polygons: say "
                           "with how many directions=",
                           name, group->set->name);
    }
    return CS_OK;
}

static cs_status check_sets(const char *name, const cs_options *options, const cs_problem *problem,
                            cs_error *error)
{
    if (wants_cone(name, options, problem)) return check_cone(name, options, problem, error);
    for (int g = 0; g < problem->block_groups; g++)
        if (!is_taken(&problem->block_group[g]))
            return cs_fail(
                error, CS_UNSUPPORTED,
                "method='%s' takes blocks of the sets free, box, half_line and "
                "box_friction (or disc with one tangent), and this problem has blocks of "
                "set '%s' with %d rows: use sets=box_friction(mu), %sor a method that sweeps",
                name, problem->block_group[g].set->name, problem->block_group[g].rows,
                cs_rule_find(name)->no_factors ? "directions=, " : "");
    return CS_OK;
}

cs_status cs_pivoting_check_options(const cs_options *options, const char *name, cs_error *error)
{
    cs_options about_sweeps = *options;
    if (!options->averaging_adjacent)
        about_sweeps.averaging = NAN; /* a number: of friction bounds */
    cs_status status = cs_refuse_sweeps(&about_sweeps, name, NULL, error);
    if (!status && strcmp(options->dtype, "float64") != 0)
        status = cs_fail(error, CS_UNSUPPORTED, "dtype='%s': method='%s' computes in float64 only",
                         options->dtype, name);
    return status;
}

cs_status cs_pivoting_check(const cs_options *options, const char *name, const cs_problem *problem,
                            cs_error *error)
{
    cs_status status = cs_pivoting_check_options(options, name, error);
    if (status) return status;
    int directions = options->pivoting.directions;
    if (directions != 0 && directions < 3)
        return cs_fail(error, CS_INVALID, "directions is %d: a friction cone has at least 3",
                       directions);
    return check_sets(name, options, problem, error);
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

cs_status cs_pivoting_matrix(const cs_problem *problem, cs_arena *arena, const cs_control *control,
                             cs_csr *matrix, cs_error *error)
{
    cs_arena scratch = {0};
    cs_block_matrix *blocks = problem->matrix;
    cs_status status = CS_OK;
    if (!blocks) status = cs_assemble(problem, &scratch, control, &blocks, error);
    if (!status) status = expand(problem, blocks, arena, matrix, error);
    cs_arena_clear(&scratch);
    return status;
}

cs_status cs_pivoting_take(cs_solver *solver, cs_error *error)
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
    p->previous = cs_arena_take(arena, rows, sizeof(double));
    if (!p->lo || !p->hi || !p->normal || !p->fixed || !p->index_set || !p->previous)
        goto no_memory;
    for (int g = 0; g < solver->problem->block_groups; g++)
        p->coupled |= is_box_friction(&solver->problem->block_group[g]);
    solver->pivoting = p;
    return CS_OK;
no_memory:
    return cs_fail(error, CS_NO_MEMORY, "out of memory for pivoting on %lld rows", (long long)rows);
}

/* What renews the bounds of friction, where averaging was not given. */
static cs_status prepare_renewal(cs_solver *solver, cs_error *error)
{
    const cs_problem *problem = solver->problem;
    int64_t count = 0;
    if (!isnan(solver->options.averaging)) return CS_OK;
    for (int g = 0; g < problem->block_groups; g++)
        if (is_box_friction(&problem->block_group[g])) count += problem->block_group[g].count;
    cs_renewal *renewal = solver->pivoting->renewal = cs_renewal_take(count, &solver->arena);
    if (!renewal)
        return cs_fail(error, CS_NO_MEMORY,
                       "out of memory for the friction bounds of %lld contacts", (long long)count);
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; is_box_friction(group) && k < group->count; k++)
            renewal->row[--count] = group->first_row + k * group->rows;
    }
    return CS_OK;
}

static cs_status prepare_cone(cs_solver *solver, const cs_csr *matrix, cs_error *error)
{
    cs_pivoting *p = solver->pivoting;
    p->coupled = 0;
    p->cone =
        cs_cone_take(solver->problem, matrix, solver->options.pivoting.directions, &solver->arena);
    return p->cone ? CS_OK
                   : cs_fail(error, CS_NO_MEMORY, "out of memory for a friction cone's unknowns");
}

void cs_pivoting_keep(cs_solver *solver)
{
    cs_pivoting *p = solver->pivoting;
    if (p && p->mlcp && !p->hybrid && solver->options.pivoting.reuse > 0) {
        cs_mlcp_destroy(solver->kept);
        solver->kept = p->mlcp;
        p->mlcp = NULL;
    }
    cs_pivoting_destroy(p);
    solver->pivoting = NULL;
}

/* What was kept takes the new values. */
static cs_status adopt_kept(cs_solver *solver, const cs_csr *matrix, cs_error *error)
{
    cs_status status = solver->kept ? cs_mlcp_update(solver->kept, matrix, error) : CS_OK;
    if (status) return status;
    solver->pivoting->mlcp = solver->kept;
    solver->kept = NULL;
    return CS_OK;
}

cs_status cs_pivoting_prepare(cs_solver *solver, const cs_control *control, cs_error *error)
{
    const cs_problem *problem = solver->problem;
    cs_arena scratch = {0};
    cs_csr matrix;
    cs_mlcp_options options = solver->options.pivoting;
    options.rule = solver->method->name;
    options.threads = solver->options.threads;
    options.islands = solver->options.islands;
    int cone = wants_cone(options.rule, &solver->options, problem);
    cs_status status = cs_pivoting_take(solver, error);
    if (!status)
        status =
            cs_pivoting_matrix(problem, cone ? &solver->arena : &scratch, control, &matrix, error);
    if (!status && cone) status = prepare_cone(solver, &matrix, error);
    if (!status && !cone) status = prepare_renewal(solver, error);
    if (!status && !cone) status = adopt_kept(solver, &matrix, error);
    if (!status && !cone && !solver->pivoting->mlcp)
        status = cs_mlcp_create(&solver->pivoting->mlcp, &matrix, &options, error);
    cs_arena_clear(&scratch);
    return status;
}

void cs_pivoting_destroy(cs_pivoting *pivoting)
{
    if (pivoting) cs_mlcp_destroy(pivoting->mlcp);
}

const double *cs_pivoting_ray(const cs_pivoting *pivoting)
{
    return pivoting && pivoting->cone ? pivoting->cone->ray : NULL;
}

void cs_pivoting_describe(const cs_pivoting *pivoting, cs_solver_info *info)
{
    if (pivoting->cone) {
        info->engine = "polyhedral";
        info->islands = pivoting->cone->islands;
        return;
    }
    cs_mlcp_info mlcp;
    cs_mlcp_describe(pivoting->mlcp, &mlcp);
    info->engine = mlcp.engine;
    info->islands = mlcp.islands;
    info->bytes += mlcp.bytes;
}

/* ---- solving --------------------------------------------------------------------------------- */

/* The bounds of one block, tangents by `normal`; rows that no impulse moves keep theirs. */
static void bound_block(cs_pivoting_run *it, const cs_block_group *group, int64_t index)
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

int cs_pivoting_takes_index_set(const cs_method *method)
{
    const cs_rule *rule = cs_rule_find(method->name);
    return rule && !rule->no_factors;
}

static void set_bounds(cs_pivoting_run *it)
{
    const cs_problem *problem = it->solver->problem;
    for (int g = 0; g < problem->block_groups; g++)
        for (int64_t k = 0; k < problem->block_group[g].count; k++)
            bound_block(it, &problem->block_group[g], k);
}

/* The normal impulses that bound friction move on towards those just found. */
static void average_normals(cs_pivoting_run *it, double weight)
{
    cs_pivoting *p = it->pivoting;
    for (int64_t i = 0; i < it->solver->problem->rows; i++) {
        double found = fmax(it->solver->lambda[i], 0);
        p->normal[i] += weight * (found - p->normal[i]);
    }
}

static void renew_normals(cs_pivoting_run *it)
{
    cs_solver *solver = it->solver;
    cs_renewal *renewal = it->pivoting->renewal;
    if (it->begins_anew || !renewal)
        average_normals(it, it->begins_anew ? 1 : solver->options.averaging);
    else
        cs_renewal_next(renewal, it->state.rho, solver->lambda,
                        cs_natural_map_of(&it->state)->scaled, it->pivoting->normal);
}

/* An index set from impulses: what is at a bound, or nearly so, is tight. */
static void guess_index_set(cs_pivoting_run *it)
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

int64_t cs_pivoting_failed_row(const cs_solver *solver)
{
    return solver->pivoting ? solver->pivoting->mlcp->failure.row : -1;
}

cs_status cs_pivoting_explain(const cs_solver *solver, const cs_problem *problem, int64_t row,
                              cs_error *error)
{
    const cs_pivot_failure *failure = &solver->pivoting->mlcp->failure;
    int64_t block = 0;
    while (cs_block_row(problem, block + 1) <= row) block++;
    return cs_fail(error, CS_UNSUPPORTED,
                   "A is not positive definite to rounding: elimination leaves %s of A[%lld, %lld] "
                   "= %s, row %lld of contact %lld; a compliance of %.1e there would cure it",
                   cs_number(failure->pivot).text, (long long)row, (long long)row,
                   cs_number(failure->entry).text, (long long)(row - cs_block_row(problem, block)),
                   (long long)block, failure->cure);
}

/* The message of a matrix that is not positive definite, in the words of the problem. */
static cs_status explain(const cs_solver *solver, cs_error *error)
{
    int64_t row = cs_pivoting_failed_row(solver);
    return row < 0 ? CS_UNSUPPORTED : cs_pivoting_explain(solver, solver->problem, row, error);
}

/* The whole problem at once, friction being that of a polyhedral cone. */
static cs_status run_cone(cs_pivoting_run *it, cs_result *result, cs_error *error)
{
    cs_solver *solver = it->solver;
    cs_cone_solve solve = {
        .b = solver->b,
        .parameters = solver->parameters,
        .rho = solver->rho,
        .control = it->control,
        .max_pivots = solver->options.pivoting.max_pivots,
        .lambda = solver->lambda,
    };
    memcpy(solver->lambda, it->pivoting->fixed, sizeof(double) * (size_t)solver->problem->rows);
    cs_status status = cs_cone_run(it->pivoting->cone, &solve, error);
    result->pivots += solve.pivots;
    result->single_pivots += solve.pivots;
    result->pivoting = cs_mlcp_outcome_name(solve.outcome);
    it->stopped = solve.outcome == CS_MLCP_STOPPED;
    return status;
}

/* What caches did in one more solve. */
static void add_counts(cs_cache_counts *sum, const cs_cache_counts *last)
{
    sum->hits += last->hits;
    sum->misses += last->misses;
    sum->evictions += last->evictions;
    sum->entries = last->entries;
    sum->bytes = last->bytes;
    if (last->most_bytes > sum->most_bytes) sum->most_bytes = last->most_bytes;
}

/* Solves with the bounds at hand. */
static cs_status run_mlcp(cs_pivoting_run *it, cs_result *result, cs_error *error)
{
    cs_solver *solver = it->solver;
    cs_pivoting *p = it->pivoting;
    int first = it->number == it->solver->made + 1;
    int brief = first && p->coupled ? solver->brief : 0;
    if (!first) renew_normals(it);
    if (!first) it->begins_anew = 0;
    p->mlcp->options.max_pivots = brief ? brief : solver->options.pivoting.max_pivots;
    set_bounds(it);
    if (first && !it->begins_anew) guess_index_set(it);
    const signed char *initial = first && it->begins_anew ? solver->index_set : p->index_set;
    if (p->mlcp->rule->no_factors) initial = NULL;
    cs_status status = cs_pivoting_mlcp(it, solver->b, initial, solver->lambda, result, error);
    it->too_long = brief && it->unfinished;
    return status;
}

cs_status cs_pivoting_mlcp(cs_pivoting_run *it, const double *b, const signed char *initial,
                           double *x, cs_result *result, cs_error *error)
{
    cs_pivoting *p = it->pivoting;
    cs_mlcp_result answer = {.x = x, .index_set = p->index_set};
    cs_status status =
        cs_mlcp_solve(p->mlcp, b, p->lo, p->hi, initial, it->control, &answer, error);
    if (status) return status == CS_UNSUPPORTED ? explain(it->solver, error) : status;
    result->reuse.solves += answer.reuse.solves;
    result->reuse.steps += answer.reuse.steps;
    result->reuse.failed += answer.reuse.failed;
    it->stopped = answer.outcome == CS_MLCP_STOPPED;
    it->unfinished = answer.outcome == CS_MLCP_MAX_PIVOTS;
    result->pivots += answer.pivots;
    result->single_pivots += answer.single_pivots;
    result->factorizations += answer.factorizations;
    result->pivoting = cs_mlcp_outcome_name(answer.outcome);
    add_counts(&result->cache, &answer.cache);
    return CS_OK;
}

/* One solve; what has changed goes into the state. */
static cs_status advance(cs_pivoting_run *it, cs_result *result, cs_error *error)
{
    cs_solver *solver = it->solver;
    int64_t rows = solver->problem->rows;
    double start = cs_clock();
    it->number++;
    memcpy(it->pivoting->previous, solver->lambda, sizeof(double) * (size_t)rows);
    cs_status status = it->step(it, result, error);
    if (status) return status;
    it->state.residual = it->state.merit = 0;
    for (int64_t i = 0; i < rows; i++) {
        double change = solver->lambda[i] - it->pivoting->previous[i];
        it->state.residual = fmax(it->state.residual, fabs(change));
        it->state.merit += change * change;
    }
    cs_measure_change(&it->state, it->pivoting->previous, solver->lambda);
    it->seconds += cs_clock() - start;
    return CS_OK;
}

static cs_status record(cs_pivoting_run *it, cs_error *error)
{
    cs_history *history = &it->solver->history;
    cs_status status = cs_history_reserve(history, 1, error);
    if (!status) cs_history_append(history, it->number, it->seconds, &it->state, 1);
    return status;
}

static cs_status check_and_record(cs_pivoting_run *it, cs_error *error)
{
    cs_solver *solver = it->solver;
    double start = cs_clock();
    cs_residual_velocity(solver->problem, solver->lambda, solver->b, solver->velocity, solver->xi);
    it->state.have_natural_map = 0;
    it->converged = cs_stop_rule(solver, &it->state, it->number);
    it->seconds += cs_clock() - start;
    int last = it->converged || it->number == solver->options.max_iterations;
    return it->number % solver->options.record_every == 0 || last ? record(it, error) : CS_OK;
}

/* Without friction another solve would find the same. */
static int is_final(const cs_pivoting_run *it)
{
    return !it->pivoting->coupled && it->number > it->solver->made && !it->solver->fixed_iterations;
}

static cs_status iterate(cs_pivoting_run *it, cs_result *result, cs_error *error)
{
    const cs_options *options = &it->solver->options;
    const cs_control *control = it->control;
    cs_status status = check_and_record(it, error);
    result->outcome = CS_MAX_ITERATIONS;
    while (!status && !it->converged && !is_final(it) && it->number < options->max_iterations) {
        status = advance(it, result, error);
        if (!status) status = check_and_record(it, error);
        if (!status && control && control->poll)
            status = cs_ask(it->solver, control, it->number, &it->stopped, error);
        int late = cs_clock() >= it->solver->deadline;
        if (late) result->outcome = CS_MAX_SECONDS;
        if (status || it->stopped || late || it->too_long) break;
    }
    if (it->stopped) result->outcome = CS_STOPPED;
    if (it->converged) result->outcome = CS_CONVERGED;
    return status;
}

/* Ends the history with the last solve, which may lie between two that are recorded. */
static cs_status record_end(cs_pivoting_run *it, cs_error *error)
{
    const cs_history *history = &it->solver->history;
    const double *row = history->value + (history->rows - 1) * history->columns;
    return row[0] == (double)it->number ? CS_OK : record(it, error);
}

/* Brings the impulses to begin with into the normals and what is fixed. */
static void begin(cs_pivoting_run *it)
{
    cs_solver *solver = it->solver;
    it->begins_anew = 1;
    if (it->pivoting->renewal) cs_renewal_begin(it->pivoting->renewal);
    for (int64_t i = 0; i < solver->problem->rows; i++) {
        it->begins_anew &= solver->lambda[i] == 0;
        it->pivoting->fixed[i] = solver->lambda[i];
        it->pivoting->normal[i] = fmax(solver->lambda[i], 0);
    }
}

cs_status cs_pivoting_solve(cs_solver *solver, const cs_control *control, cs_result *result,
                            cs_error *error)
{
    cs_pivoting_step step = solver->pivoting->cone ? run_cone : run_mlcp;
    return cs_pivoting_iterate(solver, control, step, result, error);
}

cs_status cs_pivoting_iterate(cs_solver *solver, const cs_control *control, cs_pivoting_step step,
                              cs_result *result, cs_error *error)
{
    cs_pivoting_run it = {
        .solver = solver,
        .pivoting = solver->pivoting,
        .control = control,
        .number = solver->made,
        .seconds = solver->spent,
        .step = step,
        .state = cs_state_of(solver),
    };
    result->rollbacks = 0;
    result->unfinished_blocks = 0;
    result->pivots = result->single_pivots = result->factorizations = 0;
    result->pivoting = "converged";
    result->cache = (cs_cache_counts){0};
    result->reuse = (cs_reuse_counts){0};
    begin(&it);
    cs_status status = iterate(&it, result, error);
    if (!status) status = record_end(&it, error);
    if (!status) cs_hand_out(solver, &it.state, it.number, it.seconds, result);
    solver->outrun = it.too_long && !it.converged;
    return status;
}
