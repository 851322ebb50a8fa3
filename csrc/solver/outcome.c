/* Functions of an iterate that every method shares: the stop rule, the report to the caller's control, and the
 * results of a solve. */
#include "core/error.h"
#include "core/loop.h"
#include "solver/judge.h"

#include <math.h>

cs_state cs_state_of(const cs_solver *solver)
{
    return (cs_state){
        .problem = solver->problem,
        .b = solver->b,
        .parameters = solver->parameters,
        .rho = solver->factors.rho,
        .scale = solver->judge.scale,
        .rtol = solver->fixed_iterations ? 0 : solver->options.rtol,
        .atol = solver->fixed_iterations ? 0 : solver->options.atol,
        .quality_r = solver->options.quality_r,
        .residual = NAN,
        .merit = NAN,
        .delta_element = NAN,
        .delta_norm = NAN,
        .no_tolerance = solver->fixed_iterations,
        .threads = cs_judge_threads(solver),
        .ranks = solver->ranks,
        .sums = solver->sums.schedule ? &solver->sums : NULL,
        .lambda = solver->lambda,
        .xi = solver->xi,
    };
}

double cs_stop_bound(const cs_solver *solver)
{
    return solver->stop->is_ratio ? 1 : solver->options.atol;
}

int cs_stop_rule(const cs_solver *solver, cs_state *state, int64_t number)
{
    const cs_measure *stop = solver->stop;
    if (solver->fixed_iterations || (stop->of_sweep && !number)) return 0;
    if (stop == &cs_measure_natural_map) return cs_natural_map_of(state)->met;
    return cs_measure_value(stop, state) <= cs_stop_bound(solver);
}

cs_status cs_ask(const cs_solver *solver, const cs_control *control, int64_t number, int *stopped,
                 cs_error *error)
{
    /* The report: the last row of the history, and the impulses if they are asked for. */
    const cs_history *history = &solver->history;
    cs_progress progress = {
        .iteration = number,
        .max_iterations = solver->options.max_iterations,
        .row = cs_history_last(history),
        .columns = history->columns,
        .impulses = control->every_iteration ? solver->lambda : NULL,
    };

    /* The answer: 0 to continue, 1 to stop, -1 to abort. */
    int answer = control->poll(control->context, &progress);
    if (answer < 0)
        return cs_fail(error, CS_INTERRUPTED, "interrupted at iteration %lld", (long long)number);
    *stopped |= answer > 0;
    return CS_OK;
}

const char *cs_outcome_reason(cs_outcome outcome)
{
    switch (outcome) {
    case CS_CONVERGED: return "converged: the tolerance is met";
    case CS_STALLED: return "stagnated: the natural map no longer decreases";
    case CS_WANDERING: return "stagnated: the natural map oscillates without decreasing";
    case CS_DIVERGING: return "diverged: the residual grows even with the smallest R";
    case CS_STOPPED: return "stopped by the callback";
    case CS_MAX_SECONDS: return "stopped: max_seconds is reached";
    case CS_INACCURATE: return "stopped: rounding errors may exceed the tolerance";
    case CS_INFEASIBLE: return "stopped: the problem has no solution";
    case CS_UNBOUNDED: return "stopped: the impulses grow without bound";
    default: return "stopped: its iterations are used up";
    }
}

int cs_outcome_is_worse(cs_outcome a, cs_outcome b)
{
    static const int rank[] = {
        [CS_CONVERGED] = 0,   [CS_INACCURATE] = 1, [CS_MAX_ITERATIONS] = 2, [CS_STALLED] = 3,
        [CS_WANDERING] = 4,   [CS_DIVERGING] = 5,  [CS_UNBOUNDED] = 6,      [CS_INFEASIBLE] = 9,
        [CS_MAX_SECONDS] = 8, [CS_STOPPED] = 9};
    return rank[a] > rank[b];
}

int cs_is_asked_for(const cs_solver *solver, const cs_budget *budget, const cs_result *result)
{
    int several = cs_ranks_count(solver->ranks) > 1;
    return !solver->fixed_iterations || budget->is_link || result->residual_velocities || several ||
           solver->there;
}

/* result <- the natural map of an iterate. */
static void hand_out_state(cs_state *state, cs_result *result)
{
    const cs_natural_map *map = cs_natural_map_of(state);
    result->evaluated = 1;
    result->natural_map = map->impulse;
    result->natural_map_scaled = map->scaled;
    result->worst_block = map->worst_block;
    result->worst_row = map->worst.row;
    result->worst_velocity = cs_defect_velocity(&map->worst);
}

void cs_hand_out_arrays(const cs_solver *solver, cs_result *result)
{
    const cs_problem *problem = solver->problem;
    int threads = cs_judge_threads(solver);
    size_t size = sizeof(double);
    double *xi = result->residual_velocities, *velocity = result->velocity_change;
    if (xi) cs_loop_copy(threads, xi, solver->xi, problem->rows, size);
    if (velocity) cs_loop_copy(threads, velocity, solver->velocity, problem->velocities, size);
    if (solver->ghosts) cs_ranks_take_ghosts(solver->ranks, solver->velocity, solver->ghosts);
}

void cs_hand_out(const cs_solver *solver, cs_state *state, int64_t number, cs_result *result)
{
    /* The figures of the solve, and its history. */
    result->iterations = result->best_iteration = number;
    result->history = solver->history.value;
    result->history_rows = solver->history.rows;
    result->columns = solver->history.columns;

    /* What an evaluation gives. */
    result->evaluated = 0;
    result->natural_map = result->natural_map_scaled = result->worst_velocity = NAN;
    result->worst_block = -1;
    result->worst_row = 0;
    if (!state) return;
    hand_out_state(state, result);
    if (!solver->judge.there) cs_hand_out_arrays(solver, result);
}

void cs_hand_out_impulses(const cs_solver *solver, cs_result *result)
{
    if (result->impulses)
        cs_loop_copy(cs_judge_threads(solver), result->impulses, solver->lambda,
                     solver->problem->rows, sizeof(double));
}

void cs_hand_out_velocity(const cs_solver *solver, const double *impulses, cs_result *result)
{
    if (result->velocity_change && !result->evaluated)
        cs_solver_velocity_change(solver, impulses, result->velocity_change);
}

void cs_solver_velocity_change(const cs_solver *solver, const double *impulses, double *velocity)
{
    cs_shared_velocity_change(&solver->products, solver->problem, impulses, velocity);
    if (solver->ghosts) cs_ranks_put_ghosts(solver->ranks, solver->ghosts, velocity);
}

void cs_solver_ghosts(cs_solver *solver, double *ghosts) { solver->ghosts = ghosts; }

/* Residual velocities at impulses whose velocities are known. */
typedef struct residuals {
    const cs_problem *problem;
    const double *impulses, *velocity;
    double *xi; /* b before */
} residuals;

static void add_residuals(void *context, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    const residuals *r = context;
    cs_residual_of_blocks(r->problem, r->impulses, r->xi, r->velocity, begin, end, r->xi);
}

/* The arrays of a result on one of several ranks, whose figures the solve has found. It leaves the solver as it is on other
 * ranks, which may read nothing: what is loaded there, and V. */
static void evaluate_arrays(cs_solver *solver, const double *b, cs_result *result)
{
    /* The velocities of all bodies. */
    const cs_problem *problem = solver->problem;
    int threads = cs_judge_threads(solver);
    size_t size = sizeof(double);
    double *xi = result->residual_velocities;
    cs_solver_velocity_change(solver, result->impulses, solver->velocity);
    if (result->velocity_change)
        cs_loop_copy(threads, result->velocity_change, solver->velocity, problem->velocities, size);
    if (!xi) return;

    /* b, and the velocities of contacts. */
    if (b) cs_loop_copy(threads, xi, b, problem->rows, size);
    else cs_take_own_b(solver, xi);
    residuals r = {problem, result->impulses, solver->velocity, xi};
    cs_loop(threads, problem->blocks, add_residuals, &r);
}

cs_status cs_solver_evaluate(cs_solver *solver, const double *b, const double *parameters,
                             cs_result *result, cs_error *error)
{
    /* A rank does not prepare anew by itself, after a device has failed. */
    if (solver->ranks && solver->version != solver->problem->version)
        return cs_fail(error, CS_INVALID, "the solver has failed since this result was computed");
    if (cs_ranks_count(solver->ranks) > 1) {
        evaluate_arrays(solver, b, result);
        return CS_OK;
    }
    cs_status status = cs_solver_load(solver, b, parameters, error);
    if (status) return status;
    solver->judge.begun = 0;
    cs_loop_copy(cs_judge_threads(solver), solver->lambda, result->impulses, solver->problem->rows,
                 sizeof(double));

    /* A single rank leaves its transport alone, which may be at work in another thread. */
    cs_state state = cs_state_of(solver);
    state.ranks = NULL;
    cs_evaluate_result(solver, &state);
    hand_out_state(&state, result);
    cs_hand_out_arrays(solver, result);
    result->worst_block = cs_ranks_contact(solver->ranks, result->worst_block);
    return CS_OK;
}

cs_status cs_explain_failure(const cs_row_failure *failure, const cs_problem *problem, int64_t row,
                             cs_error *error)
{
    int64_t block = cs_row_block(problem, row);
    return cs_fail(
        error, CS_UNSUPPORTED,
        "A is not positive definite to rounding: elimination leaves %s of A[%lld, %lld] "
        "= %s, row %lld of contact %lld; a compliance of %.1e on every row would cure it, "
        "and method='auto' needs none",
        cs_number(failure->pivot).text, (long long)row, (long long)row,
        cs_number(failure->entry).text, (long long)(row - cs_block_row(problem, block)),
        (long long)block, failure->cure);
}
