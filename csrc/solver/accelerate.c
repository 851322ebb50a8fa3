#include "solver/accelerate.h"

#include "backend/cpu.h"
#include "core/error.h"
#include "solver/judge.h"

#include <math.h>
#include <string.h>

/* Momentum rises in passing: divergence is so many times what it is for plain sweeps, and lasts. */
#define RISE 3
enum { RISEN_SWEEPS = 10 };
/* Sums of points and sweeps gather rounding errors in u. */
enum { REFRESH_F32 = 32, REFRESH_F64 = 256 };

int cs_one_point(const cs_solver *solver) { return (void)solver, 1; }
int cs_two_points(const cs_solver *solver) { return (void)solver, 2; }

static void refresh(cs_solver *solver) { cs_packing_refresh(&solver->packing); }

/* What the sweeps keep beside lambda, after lambda was changed by others than a sweep. */
static void agree(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    int every = solver->packing.dtype == CS_F64 ? REFRESH_F64 : REFRESH_F32;
    int64_t made = steps->run.number - steps->run.budget->made;
    if (!solver->packing.keeps_velocities || made % every == 0) refresh(solver);
}

/* ---- the best iterate ------------------------------------------------------------------------ */

static void keep_best(cs_run *run) { cs_packing_keep(&run->solver->packing); }

static void restore_best(cs_run *run)
{
    cs_packing_restore(&run->solver->packing);
    refresh(run->solver);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void sweep(cs_steps_run *steps)
{
    cs_run *run = &steps->run;
    cs_sweep_call call = {.most = 1, .backwards = steps->half};
    cs_run_sweep(run, &call);
    steps->change = steps->half ? steps->change + run->stats.merit : run->stats.merit;
    steps->half = run->solver->symmetric && !steps->half;
}

static cs_step step(cs_steps_run *steps)
{
    cs_run *run = &steps->run;
    cs_solver *solver = run->solver;
    size_t bytes = sizeof(double) * (size_t)solver->problem->rows;
    if (solver->previous) memcpy(solver->previous, solver->lambda, bytes);
    cs_step end = solver->method->steps->step(steps);
    if (solver->previous) cs_measure_change(&run->state, solver->previous, solver->lambda);
    run->state.residual = run->stats.residual;
    run->state.merit = steps->change = run->stats.merit;
    if (end == CS_EXHAUSTED || run->stopped) cs_run_forget_change(run);
    return end;
}

/* Not finite, or far above the least for several sweeps: a single one may be a step too far that the
 * method itself takes back. */
static int diverged(cs_steps_run *steps)
{
    const cs_run *run = &steps->run;
    const cs_solver *solver = run->solver;
    if (!isfinite(run->stats.merit)) return 1;
    if (!solver->options.rollback || solver->method->steps->step) return 0;
    double scaled = run->stats.residual / run->scale;
    int rises = scaled > steps->least * cs_rollback_growth(solver) * RISE;
    steps->risen = rises ? steps->risen + 1 : 0;
    if (steps->risen < RISEN_SWEEPS) return 0;
    steps->risen = 0;
    return run->stats.residual >
           cs_rounding_noise(solver->packing.dtype) * cs_run_largest_impulse(run);
}

/* Back to the best iterate, without momentum. Where nothing is judged there is no best iterate, and a finite
 * one is better than the first. */
static void undo(cs_run *run)
{
    cs_steps_run *steps = (cs_steps_run *)run;
    if (run->best_number >= 0 || !isfinite(run->stats.merit)) restore_best(run);
    steps->least = INFINITY;
    steps->half = 0;
}

static void shorten(cs_run *run) { run->solver->method->steps->begin((cs_steps_run *)run); }

/* One sweep, or a step of the method's own. */
static cs_step advance(cs_run *run)
{
    cs_steps_run *steps = (cs_steps_run *)run;
    cs_step end = CS_STEPPED;
    if (run->solver->method->steps->step) end = step(steps);
    else sweep(steps);
    if (run->status) return end;
    if (diverged(steps)) return CS_DIVERGED;
    steps->least = fmin(steps->least, run->stats.residual / run->scale);
    return end;
}

static void extrapolate(cs_run *run)
{
    cs_steps_run *steps = (cs_steps_run *)run;
    const cs_steps *method = run->solver->method->steps;
    if (steps->half || !method->extrapolate) return;
    method->extrapolate(steps);
    agree(steps);
}

static const cs_iteration over_sweeps = {
    .step = advance,
    .next = extrapolate,
    .undo = undo,
    .shorten = shorten,
    .keep = keep_best,
    .restore = restore_best,
};

/* Steps of a method's own do not use R. */
static const cs_iteration own_steps = {
    .step = advance,
    .next = extrapolate,
    .undo = undo,
    .keep = keep_best,
    .restore = restore_best,
};

/* ---- all ------------------------------------------------------------------------------------- */

static void begin(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    memset(solver->points->scalars, 0, solver->method->steps->scalars);
    cs_stagnation_begin(&solver->points->stagnation);
    refresh(solver);
    solver->method->steps->begin(steps);
}

cs_status cs_accelerate(cs_solver *solver, cs_budget *budget, cs_result *result, cs_error *error)
{
    const cs_iteration *iteration = solver->method->steps->step ? &own_steps : &over_sweeps;
    cs_steps_run steps = {
        .run = cs_run_begin(solver, budget, iteration, error),
        .scalars = solver->points->scalars,
        .least = INFINITY,
    };
    steps.run.stagnation = &solver->points->stagnation;
    steps.run.patience = solver->setting[CS_PATIENCE];
    budget->overtaken = 0;
    begin(&steps);
    keep_best(&steps.run);
    cs_status status = cs_run_iterate(&steps.run, result);
    status = cs_run_end(&steps.run, status, result);
    result->restarts = steps.restarts;
    result->corrections = steps.corrections;
    return status;
}

/* ---- methods without sweeps ------------------------------------------------------------------ */

cs_status cs_prepare_steps(cs_solver *solver, cs_budget *budget, cs_error *error)
{
    (void)budget;
    int64_t rows = solver->problem->rows;
    solver->packing.backend = &cs_backend_cpu;
    cs_status status = cs_cpu_hold(&solver->packing, solver->lambda, rows, &solver->arena, error);
    const cs_steps *steps = solver->method->steps;
    if (!status) status = cs_points_take(solver, steps->points(solver), steps->scalars, error);
    if (status) return status;
    solver->points->zero = cs_arena_take(&solver->arena, rows, sizeof(double));
    return cs_arena_status(&solver->arena, error, "the workspace");
}

void cs_project(const cs_solver *solver, double *z)
{
    const cs_problem *problem = solver->problem;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        const double *parameter = solver->parameters + group->first_parameter;
        for (int64_t k = 0; k < group->count; k++)
            group->set->prox_f64(group->rows, z + cs_group_row(group, k),
                                 parameter + k * group->parameters, NULL);
    }
}

double cs_largest_diagonal(int rows, const double *rho)
{
    double largest = 0;
    for (int i = 0; i < rows; i++)
        if (rho[i] > 0) largest = fmax(largest, 1 / rho[i]);
    return largest > 0 ? largest : 1;
}

void cs_multiply(cs_solver *solver, const double *x, double *y)
{
    cs_residual_at(solver, x, solver->points->zero, y);
}
