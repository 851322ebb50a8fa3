/* The fixed-point iteration lambda <- prox(lambda - R (A lambda + b)) by sweeps: Jacobi and Gauss-Seidel differ
 * in the schedule of the sweep alone. The rollback of S1 section 3.5 is shared with the driver, solver/driver.c:
 *
 *     sweep -> diverged? -yes-> here: restore the best iterate; driver: R <- R / 2
 *                |no
 *              driver: record, test, poll -> next sweep */
#include "solver/checkpoint.h"

#include <math.h>

/* Mixed precision is also refreshed when the residual has fallen by this factor since the last refresh: the
 * error of the rounded factors would soon dominate. */
#define REFRESH_BELOW 1e-4
/* A correction moves impulses, and these move others: the next residual may be this many times larger than the
 * correction. */
#define CORRECTION_REACH 8

/* A solve under way. */
typedef struct iteration {
    cs_run run;
    cs_best_sweep best;
    double refreshed; /* residual of the sweep after which the last refresh was made */
    int backwards;    /* whether the next sweep is a backward one */
} iteration;

/* Restores the best iterate after a divergence. The sweeps that follow have another R. Their residuals over nu
 * start from the rejected one, so that growth is measured from there. */
static void undo(cs_run *run)
{
    iteration *it = (iteration *)run;
    cs_solver *solver = run->solver;
    double rejected = run->stats.residual / it->best.scale;
    int finite = isfinite(run->stats.merit) && isfinite(rejected);

    /* The best iterate, with what sweeps keep beside it. */
    cs_packing_restore(&solver->packing);
    cs_refresh(solver);
    cs_balance_forget(solver);

    /* Growth is measured from the rejected residual, and the next sweep goes in the direction in which the
     * best iterate was left. */
    it->best.best_is_current = 1;
    it->best.least = finite ? rejected : INFINITY;
    it->backwards = it->best.best_backwards;
}

/* The driver has halved R: residuals are divided by the new nu. */
static void shorten(cs_run *run) { ((iteration *)run)->best.scale = run->scale; }

/* Refreshes what sweeps keep beside lambda if it is due. The least residual is raised, so that the effect of
 * the correction does not count as divergence. */
static void refresh(iteration *it)
{
    /* Whether it is due. */
    cs_dtype dtype = it->run.solver->packing.dtype;
    int due = it->run.number % CS_REFRESH_EVERY == 0;
    if (it->run.number == 1) it->refreshed = it->run.stats.residual;
    if (dtype == CS_MIXED) due |= it->run.stats.residual < REFRESH_BELOW * it->refreshed;
    if (!due || dtype == CS_F64) return;

    /* Refresh, and note the residual. */
    it->best.least = fmax(it->best.least, CORRECTION_REACH * cs_refresh(it->run.solver));
    it->refreshed = it->run.stats.residual;
}

/* Whether the last sweep diverged. Its residual is far above the least one; it must also be larger than what
 * rounding errors alone may cause. */
static int diverged(const iteration *it)
{
    const cs_run *run = &it->run;
    return !isfinite(run->stats.merit) ||
           run->stats.residual >
               cs_rounding_noise(run->solver->packing.dtype) * cs_run_largest_impulse(run);
}

/* How many sweeps the backend may make in one call: up to the next one that is judged, recorded or
 * refreshed. */
static int64_t sweeps_at_once(const cs_run *run)
{
    const cs_solver *solver = run->solver;
    if (solver->options.record_every == 1)
        return 1; /* the usual case, answered without the cost of the rest */
    if (solver->packing.dtype == CS_MIXED || solver->factors.balance.factor) return 1;
    int64_t most = cs_run_sweeps_at_once(run);
    int64_t refreshed = CS_REFRESH_EVERY - (run->number - 1) % CS_REFRESH_EVERY;
    int refreshes = solver->packing.dtype == CS_F32 && solver->packing.keeps_velocities;
    return refreshes && most > refreshed ? refreshed : most;
}

/* The `step` of the iteration: one call of the backend, usually of one sweep, and the test for divergence. */
static cs_step advance(cs_run *run)
{
    iteration *it = (iteration *)run;

    /* The call. The backend sets the other members. */
    cs_sweep_call call;
    call.most = sweeps_at_once(run);
    call.backwards = it->backwards;
    call.alternates = run->solver->symmetric;
    call.best = &it->best;
    it->best.number = run->number - 1;
    cs_run_sweep(run, &call);
    if (run->status) return CS_DISCARDED;

    /* What the backend reports. */
    it->backwards = call.backwards;
    run->number += call.made - 1;
    if (call.alarm && diverged(it)) return CS_DIVERGED;

    /* The sweep is accepted. Balanced factors R follow its residuals. */
    if (call.alarm) cs_best_update(&it->best, &run->stats);
    cs_balance_steps(run->solver);
    refresh(it);
    return CS_STEPPED;
}

static void save(const cs_run *run, cs_saved_numbers *number)
{
    const iteration *it = (const iteration *)run;
    number->least = it->best.least;
    number->best_is_current = it->best.best_is_current;
    number->best_backwards = it->best.best_backwards;
    number->best_sweep = it->best.best_number;
    number->refreshed = it->refreshed;
    number->backwards = it->backwards;
}

static void load(cs_run *run, const cs_saved_numbers *number)
{
    iteration *it = (iteration *)run;
    it->best.scale = run->scale;
    it->best.least = number->least;
    it->best.best_is_current = number->best_is_current;
    it->best.best_backwards = number->best_backwards;
    it->best.best_number = number->best_sweep;
    it->refreshed = number->refreshed;
    it->backwards = number->backwards;
}

static const cs_iteration sweeps = {
    .of_sweeps = 1, .step = advance, .undo = undo, .shorten = shorten, .save = save, .load = load};

cs_status cs_fixed_point(cs_solver *solver, cs_budget *budget, cs_result *result, cs_error *error)
{
    iteration it = {
        .run = cs_run_begin(solver, budget, &sweeps, error),
        .best =
            {
                .scale = 1,
                .least = INFINITY,
                .margin = 1 + cs_rounding_noise(solver->packing.dtype), /* ties after a halving */
                .growth = solver->options.rollback ? cs_rollback_growth(solver) : INFINITY,
                .best_is_current = 1,
            },
    };

    /* Iterate. After a final divergence the best iterate is what is returned. */
    cs_refresh(solver);
    cs_status status = cs_run_iterate(&it.run, result);
    int restored = result->outcome == CS_DIVERGING;
    status = cs_run_end(&it.run, status, result);
    if (!status && restored) result->best_iteration = it.best.best_number;
    return status;
}
