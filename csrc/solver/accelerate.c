/* The driver of methods in steps (solver/accelerate.h), and functions that these methods share. */
#include "solver/accelerate.h"

#include "backend/cpu.h"
#include "core/error.h"
#include "solver/checkpoint.h"
#include "solver/judge.h"
#include "solver/stages.h"

#include <math.h>
#include <string.h>

/* With momentum the residual may rise for a while although the method converges. Therefore an accelerated sweep
 * diverges only if its residual grows by RISE times the growth that ends plain sweeps, RISEN_SWEEPS times in a
 * row. */
#define RISE 3
enum { RISEN_SWEEPS = 10 };

/* Iterations after which u is recomputed, because sweeps and sums of points accumulate rounding errors in it. */
enum { REFRESH_F32 = 32, REFRESH_F64 = 256 };

int cs_one_point(const cs_solver *solver) { return (void)solver, 1; }
int cs_two_points(const cs_solver *solver) { return (void)solver, 2; }

static void refresh(cs_solver *solver) { cs_packing_refresh(&solver->packing); }

/* Brings the data that depend on lambda up to date after an extrapolation changed lambda: if the points do not
 * include u, and otherwise every now and then because of rounding. */
static void refresh_if_due(cs_steps_run *steps)
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

/* One sweep. `change` is |x - y|^2; that of a symmetric step is the sum over its two sweeps. */
static void sweep(cs_steps_run *steps)
{
    cs_run *run = &steps->run;
    cs_sweep_call call = {.most = 1, .backwards = steps->half};
    cs_run_sweep(run, &call);
    steps->change = steps->half ? steps->change + run->stats.merit : run->stats.merit;
    steps->half = run->solver->symmetric && !steps->half;
}

/* One step that the method computes itself, and the change of the impulses if a measure needs it. */
static cs_step step(cs_steps_run *steps)
{
    cs_run *run = &steps->run;
    cs_solver *solver = run->solver;
    size_t bytes = sizeof(double) * (size_t)solver->problem->rows;
    if (solver->previous) memcpy(solver->previous, solver->lambda, bytes);

    /* The step. */
    cs_step end = solver->method->steps->step(steps);
    if (solver->previous) cs_measure_change(&run->state, solver->previous, solver->lambda);
    run->state.residual = run->stats.residual;
    run->state.merit = steps->change = run->stats.merit;

    /* Neither an exhausted method nor a step that was stopped has a residual. */
    if (end == CS_EXHAUSTED || run->stopped) cs_run_forget_change(run);
    return end;
}

/* Whether the last step diverged: its merit is not finite, or the residual of several sweeps in a row is far above
 * the least one. A single such sweep may follow an extrapolation that went too far, which the method corrects
 * itself. */
static int diverged(cs_steps_run *steps)
{
    const cs_run *run = &steps->run;
    const cs_solver *solver = run->solver;
    if (!isfinite(run->stats.merit)) return 1;
    if (!solver->options.rollback || solver->method->steps->step) return 0;

    /* Count the sweeps in a row that are far above the least residual. */
    double scaled = run->stats.residual / run->scale;
    int rises = scaled > steps->least * cs_rollback_growth(solver) * RISE;
    steps->risen = rises ? steps->risen + 1 : 0;
    if (steps->risen < RISEN_SWEEPS) return 0;

    /* Residuals within the rounding errors of the impulses do not count. */
    steps->risen = 0;
    return run->stats.residual >
           cs_rounding_noise(solver->packing.dtype) * cs_run_largest_impulse(run);
}

/* Returns to the best iterate. Without a tolerance no iterate is judged, and the only one that is kept is the first;
 * then the present iterate remains, as long as it is finite. */
static void undo(cs_run *run)
{
    cs_steps_run *steps = (cs_steps_run *)run;
    if (run->best_number >= 0 || !isfinite(run->stats.merit)) restore_best(run);
    steps->least = INFINITY;
    steps->half = 0;
}

/* The next stage begins at the best iterate, with R as it was before rollbacks and without momentum. Without a tolerance
 * no iterate is judged, and it begins at the present one, which `undo` has left. */
static int next_stage(cs_run *run, const cs_result *result)
{
    cs_steps_run *steps = (cs_steps_run *)run;
    cs_solver *solver = run->solver;
    if (!solver->method->steps->stage || !cs_stages_next(steps, result)) return 0;
    if (solver->factors.scale != 1)
        cs_packing_put_steps(&solver->packing, solver->factors.r, solver->factors.step);
    run->scale = solver->factors.scale = 1;
    run->rollbacks = 0;
    if (run->best_number >= 0) restore_best(run);
    steps->least = INFINITY;
    steps->risen = steps->half = 0;
    solver->method->steps->begin(steps);
    return 1;
}

/* Begins again without momentum, after R was halved. */
static void shorten(cs_run *run) { run->solver->method->steps->begin((cs_steps_run *)run); }

/* One iteration: a sweep, or a step that the method computes itself. */
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

/* Moves from the judged iterate x to the point y where the next sweep begins; not within a symmetric step. */
static void extrapolate(cs_run *run)
{
    cs_steps_run *steps = (cs_steps_run *)run;
    const cs_steps *method = run->solver->method->steps;
    if (steps->half || !method->extrapolate) return;
    method->extrapolate(steps);
    refresh_if_due(steps);
}

static void save(const cs_run *run, cs_saved_numbers *number)
{
    const cs_steps_run *steps = (const cs_steps_run *)run;
    number->least = steps->least;
    number->change = steps->change;
    number->risen = steps->risen;
    number->half = steps->half;
}

static void load(cs_run *run, const cs_saved_numbers *number)
{
    cs_steps_run *steps = (cs_steps_run *)run;
    steps->least = number->least;
    steps->change = number->change;
    steps->risen = number->risen;
    steps->half = number->half;
}

static const cs_iteration over_sweeps = {
    .step = advance,
    .next = extrapolate,
    .undo = undo,
    .shorten = shorten,
    .next_stage = next_stage,
    .keep = keep_best,
    .restore = restore_best,
    .save = save,
    .load = load,
};

/* For methods that compute their steps themselves. They do not use R, so that there is nothing to shorten. */
static const cs_iteration own_steps = {
    .step = advance,
    .next = extrapolate,
    .undo = undo,
    .keep = keep_best,
    .restore = restore_best,
};

/* ---- the solve ------------------------------------------------------------------------------- */

/* Clears what an earlier solve left: the method's variables, its momentum and the stagnation test. */
static void begin(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    memset(solver->points->scalars, 0, solver->method->steps->scalars);
    refresh(solver);
    solver->method->steps->begin(steps);
}

cs_status cs_accelerate(cs_solver *solver, cs_budget *budget, cs_result *result, cs_error *error)
{
    /* The run; its stagnation test is that of the method's own option `patience`. */
    const cs_iteration *iteration = solver->method->steps->step ? &own_steps : &over_sweeps;
    cs_steps_run steps = {
        .run = cs_run_begin(solver, budget, iteration, error),
        .scalars = solver->points->scalars,
        .least = INFINITY,
    };
    budget->overtaken = 0;
    if (solver->method->steps->stage) budget->patience = 1; /* as in links of a chain */

    /* The iterations; the first iterate is the best one so far. */
    begin(&steps);
    keep_best(&steps.run);
    cs_status status = cs_run_iterate(&steps.run, result);
    status = cs_run_end(&steps.run, status, result);
    if (!solver->method->steps->stage) return status;
    budget->patience = 0;
    if (!status) cs_stages_end(&steps, result);
    return status;
}

/* ---- methods without sweeps ------------------------------------------------------------------ */

cs_status cs_prepare_steps(cs_solver *solver, cs_budget *budget, cs_error *error)
{
    /* Points without a packing, and the method's room for them. */
    (void)budget;
    int64_t rows = solver->problem->rows;
    solver->packing.backend = &cs_backend_cpu;
    cs_status status = cs_cpu_hold(&solver->packing, solver->lambda, rows, &solver->arena, error);
    const cs_steps *steps = solver->method->steps;
    if (!status) status = cs_points_take(solver, steps->points(solver), steps->scalars, error);
    if (status) return status;

    /* The zeros that cs_multiply uses for b. */
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
