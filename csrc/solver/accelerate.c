#include "solver/accelerate.h"

#include "core/clock.h"
#include "core/error.h"
#include "solver/judge.h"

#include <math.h>
#include <string.h>

/* Momentum rises in passing: divergence is so many times what it is for plain sweeps, and lasts. */
#define RISE 3
#define ROLLBACK_FACTOR 0.5
enum { RISEN_SWEEPS = 10 };
/* Sweeps before a pace is told; and these over those that the alternative method would cost, before it takes over:
 * once the scaled natural map is small, and before (CS_LATE_SHARE). What that method finds on its way is of little use
 * before it arrives, so that sweeps that bring a small one come first. */
enum { PACE_SWEEPS = 40 };
#define PACE_SHARE 0.25
#define SMALL 1e-2
/* Sums of points and sweeps gather rounding errors in u. */
enum { REFRESH_F32 = 32, REFRESH_F64 = 256 };

int cs_one_point(const cs_solver *solver) { return (void)solver, 1; }
int cs_two_points(const cs_solver *solver) { return (void)solver, 2; }
int cs_three_points(const cs_solver *solver) { return (void)solver, 3; }

static void refresh(cs_solver *solver)
{
    solver->scheme->refresh[solver->packed.dtype](&solver->packed);
}

/* What the sweeps keep beside lambda, after lambda was changed by others than a sweep. */
static void agree(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    int every = solver->packed.dtype == CS_F64 ? REFRESH_F64 : REFRESH_F32;
    const cs_budget *budget = steps->run.budget;
    int64_t before = budget->checkpoint ? budget->checkpoint->made : 0;
    int64_t made = steps->run.number - budget->made + before;
    if (!solver->packed.velocity || made % every == 0) refresh(solver);
}

/* ---- the best iterate ------------------------------------------------------------------------ */

static size_t impulse_bytes(const cs_solver *solver)
{
    return (size_t)solver->packed.impulses * cs_real_size(solver->packed.dtype);
}

/* By what iterates are compared, where they are judged at all. */
static double judgement(cs_steps_run *steps)
{
    const cs_natural_map *map = cs_natural_map_of(&steps->run.state);
    return steps->run.solver->options.rtol > 0 ? map->scaled : map->impulse;
}

static void keep_best(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    double here = judgement(steps);
    if (steps->has_best && !(here < steps->best)) return;
    memcpy(solver->best, solver->packed.lambda, impulse_bytes(solver));
    steps->best = here;
    steps->best_number = steps->run.number;
    steps->has_best = 1;
}

static void restore_best(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    memcpy(solver->packed.lambda, solver->best, impulse_bytes(solver));
    refresh(solver);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void sweep(cs_steps_run *steps)
{
    cs_run *run = &steps->run;
    cs_solver *solver = run->solver;
    if (solver->previous) cs_get_impulses(&solver->packed, solver->previous);
    solver->packed.backwards = steps->half;
    cs_sweep(&solver->packed, &run->stats);
    if (solver->previous) {
        cs_get_impulses(&solver->packed, solver->lambda);
        cs_measure_change(&run->state, solver->previous, solver->lambda);
    }
    run->state.residual = run->stats.residual;
    run->state.merit = run->stats.merit;
    steps->change = steps->half ? steps->change + run->stats.merit : run->stats.merit;
    steps->half = solver->symmetric && !steps->half;
}

/* What did not come about has no residual that a stop rule could take for a small one. */
static void forget_change(cs_state *state)
{
    state->residual = state->merit = NAN;
    state->delta_element = state->delta_norm = NAN;
}

static void step(cs_steps_run *steps)
{
    cs_run *run = &steps->run;
    cs_solver *solver = run->solver;
    size_t bytes = sizeof(double) * (size_t)solver->problem->rows;
    if (solver->previous) memcpy(solver->previous, solver->lambda, bytes);
    solver->method->steps->step(steps);
    if (solver->previous) cs_measure_change(&run->state, solver->previous, solver->lambda);
    run->state.residual = run->stats.residual;
    run->state.merit = steps->change = run->stats.merit;
    if (steps->exhausted || run->stopped) forget_change(&run->state);
}

/* Not finite, or far above the least for several sweeps: a single one may be a step too far that the
 * method itself takes back. */
static int diverged(cs_steps_run *steps)
{
    const cs_run *run = &steps->run;
    const cs_solver *solver = run->solver;
    if (!isfinite(run->stats.merit)) return 1;
    if (!solver->options.rollback || solver->method->steps->step) return 0;
    double scaled = run->stats.residual / steps->scale;
    int rises = scaled > steps->least * cs_rollback_growth(solver) * RISE;
    steps->risen = rises ? steps->risen + 1 : 0;
    if (steps->risen < RISEN_SWEEPS) return 0;
    steps->risen = 0;
    return run->stats.residual >
           cs_rounding_noise(solver->packed.dtype) * cs_run_largest_impulse(run);
}

/* Back to the best iterate, with half of R and without momentum; 0 where that is hopeless. */
static int roll_back(cs_steps_run *steps)
{
    cs_run *run = &steps->run;
    cs_solver *solver = run->solver;
    /* Where nothing is judged there is no best iterate, and a finite one is better than the first. */
    if (steps->has_best || !isfinite(run->stats.merit)) restore_best(steps);
    forget_change(&run->state);
    steps->least = INFINITY;
    steps->half = 0;
    if (steps->rollbacks == solver->options.rollback || solver->method->steps->step) return 0;
    steps->rollbacks++;
    steps->scale *= ROLLBACK_FACTOR;
    solver->steps_scale = steps->scale;
    cs_scale_steps(&solver->packed, ROLLBACK_FACTOR);
    solver->method->steps->begin(steps);
    return 1;
}

/* Halving tests want the natural map also where the stop rule looks at sweeps alone. */
static void judge_for_patience(cs_steps_run *steps)
{
    cs_run *run = &steps->run;
    const cs_solver *solver = run->solver;
    int patient = run->budget->patience > 0 || solver->setting[CS_PATIENCE] > 0;
    if (run->known || !patient || run->number % solver->options.check_every != 0) return;
    double start = cs_clock();
    cs_run_evaluate(run);
    run->seconds += cs_clock() - start;
}

/* One sweep, judged. Returns 0 where the solve has to end. */
static int advance(cs_steps_run *steps, cs_status *status, cs_error *error)
{
    cs_run *run = &steps->run;
    double start = cs_clock();
    run->number++;
    if (run->solver->method->steps->step) step(steps);
    else sweep(steps);
    if ((*status = steps->status)) return 0;
    int lost = diverged(steps), healthy = lost ? roll_back(steps) : 1;
    if (!lost) steps->least = fmin(steps->least, run->stats.residual / steps->scale);
    run->seconds += cs_clock() - start;
    *status = cs_run_check(run, error);
    if (!*status && !run->solver->fixed_iterations) judge_for_patience(steps);
    if (!*status && run->known && !run->solver->fixed_iterations) keep_best(steps);
    return healthy && !*status && !run->converged;
}

static void extrapolate(cs_steps_run *steps)
{
    double start = cs_clock();
    const cs_steps *method = steps->run.solver->method->steps;
    if (method->extrapolate) {
        method->extrapolate(steps);
        agree(steps);
    }
    steps->run.seconds += cs_clock() - start;
}

/* Whether the halving test has failed, or there is no further step; the verdict goes to the result. */
static int is_hopeless(cs_steps_run *steps, cs_result *result)
{
    cs_run *run = &steps->run;
    cs_stagnation *stagnation = &run->solver->points->stagnation;
    double made = (double)(stagnation->since - run->budget->made);
    int64_t patience =
        (int64_t)fmax(run->solver->setting[CS_PATIENCE], run->budget->patience * made);
    if (run->solver->fixed_iterations) return 0;
    if (steps->exhausted && !run->known) cs_run_evaluate(run);
    if (!run->known) return 0;
    double scaled = cs_natural_map_of(&run->state)->scaled;
    if (!cs_stagnation_test(stagnation, run->number, scaled, patience) && !steps->exhausted)
        return 0;
    result->outcome = cs_stagnation_verdict(stagnation, result->band);
    return 1;
}

/* Sweeps to the tolerance at the pace since an earlier mark; marks lie twice as far apart as those
 * before them. */
static double sweeps_left(cs_steps_run *steps)
{
    const cs_options *options = &steps->run.solver->options;
    int64_t number = steps->run.number - steps->run.budget->made;
    cs_pace_mark *mark = steps->mark;
    double tolerance = options->rtol > 0 ? options->rtol : options->atol;
    double gained = log(mark[0].best / steps->best), left = log(steps->best / tolerance);
    double pace = gained / (double)(number - mark[0].number);
    if (number >= 2 * mark[1].number) {
        mark[0] = mark[1];
        mark[1] = (cs_pace_mark){number, steps->best};
    }
    return pace > 0 ? left / pace : INFINITY;
}

/* Returns 0 where the solve has to end: that failed, or the caller says so. */
static int ask_alternative(cs_steps_run *steps)
{
    cs_run *run = &steps->run;
    const cs_budget *budget = run->budget;
    cs_pulse pulse = {.leaves_off = cs_run_leaves_off, .context = run};
    double start = cs_clock();
    steps->status =
        budget->alternative(budget->alternative_context, &pulse, &steps->alternative, steps->error);
    run->seconds += cs_clock() - start;
    if (steps->status != CS_INTERRUPTED || !run->stopped) return !steps->status;
    steps->status = CS_OK;
    *steps->error = (cs_error){0};
    return 0;
}

/* Whether the alternative method is expected to reach the tolerance sooner. */
static int is_overtaken(cs_steps_run *steps, cs_result *result)
{
    cs_run *run = &steps->run;
    cs_budget *budget = run->budget;
    int64_t number = run->number - budget->made;
    if (!budget->alternative || !run->known) return 0;
    double left = sweeps_left(steps);
    double share = cs_natural_map_of(&run->state)->scaled <= SMALL ? PACE_SHARE : CS_LATE_SHARE;
    if (number < PACE_SWEEPS) return 0;
    if (!(steps->alternative > 0) && !ask_alternative(steps)) return 0;
    if ((double)number < share * steps->alternative || !(left > steps->alternative)) return 0;
    result->outcome = CS_MAX_ITERATIONS;
    budget->overtaken = 1;
    return 1;
}

static cs_status iterate(cs_steps_run *steps, cs_result *result, cs_error *error)
{
    cs_run *run = &steps->run;
    const cs_options *options = &run->solver->options;
    cs_status status = cs_run_check(run, error);
    memcpy(run->solver->best, run->solver->packed.lambda, impulse_bytes(run->solver));
    if (!status && run->known && !run->solver->fixed_iterations) keep_best(steps);
    for (int i = 0; i < 2; i++) steps->mark[i].best = steps->best;
    result->outcome = CS_MAX_ITERATIONS;
    if (steps->goes_on && !status && !run->converged) extrapolate(steps);
    while (!status && !run->converged && run->number < options->max_iterations) {
        int goes_on = advance(steps, &status, error);
        if (!goes_on && !status && !run->converged) result->outcome = CS_DIVERGING;
        if (!status) status = steps->status ? steps->status : cs_run_poll(run, error);
        if (run->stopped) result->outcome = CS_STOPPED;
        if (status || run->stopped || !goes_on) break;
        if (is_hopeless(steps, result) || is_overtaken(steps, result)) break;
        status = steps->status;
        if (run->stopped) result->outcome = CS_STOPPED;
        if (status || run->stopped || run->number == options->max_iterations) break;
        int lost = isnan(run->state.merit);
        if (!steps->half && !lost) extrapolate(steps);
    }
    if (run->converged) result->outcome = CS_CONVERGED;
    return status;
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

cs_status cs_checkpoint_take(cs_solver *solver, const cs_method *method, int points,
                             cs_checkpoint *checkpoint, cs_error *error)
{
    cs_status status = cs_points_make(solver, points + 1, method->steps->scalars,
                                      &checkpoint->points, &checkpoint->scalars, error);
    if (!status) checkpoint->here = checkpoint->points[points];
    return status;
}

static void begin(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    memset(solver->points->scalars, 0, solver->method->steps->scalars);
    cs_stagnation_begin(&solver->points->stagnation);
    refresh(solver);
    solver->method->steps->begin(steps);
}

static void resume(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    const cs_checkpoint *from = steps->run.budget->checkpoint;
    cs_point_copy(solver, cs_point_here(solver), from->here);
    cs_get_impulses(&solver->packed, solver->lambda);
    if (!solver->packed.velocity) refresh(solver);
    if (from->scale != 1) cs_scale_steps(&solver->packed, from->scale);
    solver->steps_scale = steps->scale = from->scale;
    steps->least = from->least;
    steps->change = from->change;
    steps->risen = from->risen;
    steps->half = from->half;
    steps->goes_on = !from->half && !from->lost;
    cs_stagnation_resume(&solver->points->stagnation, steps->run.budget->made, from->reference);
}

static void leave(const cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    cs_checkpoint *to = steps->run.budget->checkpoint;
    cs_point_copy(solver, to->here, cs_point_here(solver));
    to->scale = steps->scale;
    to->least = steps->least;
    to->change = steps->change;
    to->risen = steps->risen;
    to->half = steps->half;
    to->lost = isnan(steps->run.state.merit);
    to->reference = solver->points->stagnation.reference;
    to->made += steps->run.number - steps->run.budget->made;
}

/* ---- all ------------------------------------------------------------------------------------- */

cs_status cs_accelerate(cs_solver *solver, cs_budget *budget, cs_result *result, cs_error *error)
{
    cs_steps_run steps = {
        .run = cs_run_begin(solver, budget),
        .scalars = solver->points->scalars,
        .scale = 1,
        .least = INFINITY,
        .error = error,
    };
    budget->overtaken = 0;
    for (int i = 0; i < 3; i++) result->band[i] = NAN;
    if (budget->checkpoint && budget->checkpoint->made) resume(&steps);
    else begin(&steps);
    cs_status status = iterate(&steps, result, error);
    if (budget->checkpoint) leave(&steps);
    /* Without a tolerance the last iterate is what was asked for. */
    int restores = !status && steps.has_best && !steps.run.converged;
    if (restores) cs_get_impulses(&solver->packed, solver->lambda);
    if (restores) cs_keep_for_rays(solver);
    if (restores) restore_best(&steps);
    status = cs_run_end(&steps.run, status, restores, result, error);
    if (restores) result->best_iteration = steps.best_number;
    result->rollbacks = steps.rollbacks;
    result->restarts = steps.restarts;
    result->corrections = steps.corrections;
    return status;
}

/* ---- methods without sweeps ------------------------------------------------------------------ */

cs_status cs_prepare_steps(cs_solver *solver, cs_budget *budget, cs_error *error)
{
    (void)budget;
    int64_t rows = solver->problem->rows;
    solver->packed.lambda = solver->lambda;
    solver->packed.impulses = rows;
    solver->best = cs_arena_take(&solver->arena, rows, sizeof(double));
    cs_status status = cs_points_take(solver, error);
    if (status) return status;
    solver->points->zero = cs_arena_take(&solver->arena, rows, sizeof(double));
    return solver->best && solver->points->zero
               ? CS_OK
               : cs_fail(error, CS_NO_MEMORY, "out of memory for the workspace");
}

void cs_project(const cs_solver *solver, double *z)
{
    const cs_problem *problem = solver->problem;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        const double *parameter = solver->parameters + group->first_parameter;
        for (int64_t k = 0; k < group->count; k++)
            group->set->prox_f64(group->rows, z + group->first_row + k * group->rows,
                                 parameter + k * group->parameters, NULL);
    }
}

void cs_multiply(cs_solver *solver, const double *x, double *y)
{
    cs_residual_velocity(solver->problem, x, solver->points->zero, solver->velocity, y);
}
