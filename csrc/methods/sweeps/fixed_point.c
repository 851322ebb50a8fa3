/* lambda <- prox(lambda - R (A lambda + b)), sweep after sweep, with S1's rollback.
 *
 *     sweep -> diverged? -yes-> restore the best iterate, R <- nu R
 *                |no
 *              record, test, poll -> next sweep */
#include "solver/driver.h"

#include <math.h>

/* Single precision loses the agreement between u and lambda over many small updates; with factors
 * in single precision A lambda is that of other factors. */
enum { REFRESH_EVERY = 32 };
/* In mixed precision also when residuals have become so small since: what is left is soon the error
 * of the factors. */
#define REFRESH_BELOW 1e-4
/* A correction moves impulses by itself, and others by what it moves. */
#define CORRECTION_REACH 8

typedef struct iteration {
    cs_run run;
    cs_best_sweep best;
    double refreshed; /* residual of the sweep after which all was refreshed */
    int backwards;    /* the next sweep */
} iteration;

/* Back to the best iterate. The next one is another iteration, with another R, whose residual over nu
 * begins where this one was given up: growth is counted from there. */
static void undo(cs_run *run)
{
    iteration *it = (iteration *)run;
    cs_solver *solver = run->solver;
    double rejected = run->stats.residual / it->best.scale;
    int finite = isfinite(run->stats.merit) && isfinite(rejected);
    cs_packing_restore(&solver->packing);
    cs_refresh(solver);
    cs_balance_forget(solver);
    it->best.best_is_current = 1;
    it->best.least = finite ? rejected : INFINITY;
    it->backwards = it->best.best_backwards;
}

static void shorten(cs_run *run) { ((iteration *)run)->best.scale = run->scale; }

/* Where rounding asks for it. What the correction moves is no divergence. */
static void refresh(iteration *it)
{
    cs_dtype dtype = it->run.solver->packing.dtype;
    int due = it->run.number % REFRESH_EVERY == 0;
    if (it->run.number == 1) it->refreshed = it->run.stats.residual;
    if (dtype == CS_MIXED) due |= it->run.stats.residual < REFRESH_BELOW * it->refreshed;
    if (!due || dtype == CS_F64) return;
    it->best.least = fmax(it->best.least, CORRECTION_REACH * cs_refresh(it->run.solver));
    it->refreshed = it->run.stats.residual;
}

/* Whether the last sweep, whose residual is far above the least, moved the impulses more than rounding does. */
static int diverged(const iteration *it)
{
    const cs_run *run = &it->run;
    return !isfinite(run->stats.merit) ||
           run->stats.residual >
               cs_rounding_noise(run->solver->packing.dtype) * cs_run_largest_impulse(run);
}

/* How many sweeps the backend may make by itself: up to the next one that something follows from here. */
static int64_t sweeps_at_once(const cs_run *run)
{
    const cs_solver *solver = run->solver;
    if (solver->options.record_every == 1)
        return 1; /* the usual case, for which this costs nothing */
    if (solver->packing.dtype == CS_MIXED || solver->factors.balance.factor) return 1;
    int64_t most = cs_run_sweeps_at_once(run);
    int64_t refreshed = REFRESH_EVERY - (run->number - 1) % REFRESH_EVERY;
    return solver->packing.dtype == CS_F32 && most > refreshed ? refreshed : most;
}

/* Sweeps, as a rule one, and what follows at once from the last of them. */
static cs_step advance(cs_run *run)
{
    iteration *it = (iteration *)run;
    cs_sweep_call call; /* what the backend says needs no value before */
    call.most = sweeps_at_once(run);
    call.backwards = it->backwards;
    call.alternates = run->solver->symmetric;
    call.best = &it->best;
    it->best.number = run->number - 1;
    cs_run_sweep(run, &call);
    if (run->status) return CS_DISCARDED;
    it->backwards = call.backwards;
    run->number += call.made - 1;
    if (call.alarm && diverged(it)) return CS_DIVERGED;

    /* A sweep that is kept may change the factors R. */
    if (call.alarm) cs_best_update(&it->best, &run->stats);
    cs_balance_steps(run->solver);
    refresh(it);
    return CS_STEPPED;
}

static const cs_iteration sweeps = {.step = advance, .undo = undo, .shorten = shorten};

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
    cs_refresh(solver);
    cs_status status = cs_run_iterate(&it.run, result);
    int restored = result->outcome == CS_DIVERGING;
    status = cs_run_end(&it.run, status, result);
    if (!status && restored) result->best_iteration = it.best.best_number;
    return status;
}
