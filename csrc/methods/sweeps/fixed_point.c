/* lambda <- prox(lambda - R (A lambda + b)), sweep after sweep, with S1's rollback.
 *
 *     sweep -> diverged? -yes-> restore the best iterate, R <- nu R
 *                |no
 *              record, test, poll -> next sweep */
#include "solver/driver.h"

#include <math.h>
#include <string.h>

/* S1 section 3.5 */
#define ROLLBACK_FACTOR 0.5
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
    double scale;        /* nu: product of the rollbacks so far */
    double best;         /* smallest residual / nu so far */
    int64_t best_number; /* after which sweep it was reached */
    double refreshed;    /* residual of the sweep after which all was refreshed */
    int best_is_current; /* lambda still is the best iterate */
    int backwards;       /* the next sweep; the one that followed the best iterate */
    int best_backwards;
    int rollbacks;
} iteration;

static size_t impulse_bytes(const cs_solver *solver)
{
    return (size_t)solver->packed.impulses * cs_real_size(solver->packed.dtype);
}

/* Residuals tie where R has just been halved: rounding must not tell which iterate is the best. */
static double tie_margin(const cs_solver *solver)
{
    return 1 + cs_rounding_noise(solver->packed.dtype);
}

/* Whether the last sweep moved the impulses more than they ever moved, rounding apart. Residuals
 * are compared over nu: halving R halves them by itself. */
static int diverged(const iteration *it)
{
    if (!isfinite(it->run.stats.merit)) return 1;
    if (!it->run.solver->options.rollback) return 0;
    double scaled = it->run.stats.residual / it->scale;
    if (scaled <= it->best * cs_rollback_growth(it->run.solver) * tie_margin(it->run.solver))
        return 0;
    return it->run.stats.residual >
           cs_rounding_noise(it->run.solver->packed.dtype) * cs_run_largest_impulse(&it->run);
}

static void restore_best(iteration *it)
{
    cs_solver *solver = it->run.solver;
    memcpy(solver->packed.lambda, solver->best, impulse_bytes(solver));
    cs_refresh(solver);
    it->best_is_current = 1;
    cs_balance_forget(solver);
    it->backwards = it->best_backwards;
}

/* Restores the best iterate and halves R; returns 0 when that has been done often enough. With
 * another R it is another iteration, whose residual over nu begins where the last one was given up:
 * growth is counted from there. A sweep that was taken back has no residual. */
static int roll_back(iteration *it)
{
    double rejected = it->run.stats.residual / it->scale;
    restore_best(it);
    cs_run_forget_change(&it->run);
    it->best = isfinite(it->run.stats.merit) && isfinite(rejected) ? rejected : INFINITY;
    if (it->rollbacks == it->run.solver->options.rollback) return 0;
    it->rollbacks++;
    it->scale *= ROLLBACK_FACTOR;
    it->run.solver->steps_scale = it->scale;
    cs_scale_steps(&it->run.solver->packed, ROLLBACK_FACTOR);
    return 1;
}

/* The iterate about to be left was the best so far: keep it. */
static void keep_best(iteration *it)
{
    if (!it->best_is_current) return;
    it->run.solver->packed.kept = it->run.solver->best;
    it->best_backwards = it->backwards;
}

/* Where rounding asks for it. What the correction moves is no divergence. */
static void refresh(iteration *it)
{
    cs_dtype dtype = it->run.solver->packed.dtype;
    int due = it->run.number % REFRESH_EVERY == 0;
    if (it->run.number == 1) it->refreshed = it->run.stats.residual;
    if (dtype == CS_MIXED) due |= it->run.stats.residual < REFRESH_BELOW * it->refreshed;
    if (!due || dtype == CS_F64) return;
    it->best = fmax(it->best, CORRECTION_REACH * cs_refresh(it->run.solver));
    it->refreshed = it->run.stats.residual;
}

/* One sweep and what follows at once from it. */
static cs_step advance(cs_run *run)
{
    iteration *it = (iteration *)run;
    cs_solver *solver = run->solver;
    keep_best(it);
    if (solver->previous) cs_get_impulses(&solver->packed, solver->previous);
    solver->packed.backwards = it->backwards;
    cs_sweep(&solver->packed, &run->stats);
    it->backwards = solver->symmetric && !it->backwards;
    if (solver->previous) {
        cs_get_impulses(&solver->packed, solver->lambda);
        cs_measure_change(&run->state, solver->previous, solver->lambda);
    }
    run->state.residual = run->stats.residual;
    run->state.merit = run->stats.merit;
    if (diverged(it)) return roll_back(it) ? CS_TAKEN_BACK : CS_DIVERGED;

    /* A sweep that is kept may have led to the best iterate so far, and changes the factors R. */
    double scaled = run->stats.residual / it->scale;
    cs_balance_steps(solver);
    it->best_is_current = scaled <= it->best * tie_margin(solver);
    if (it->best_is_current) {
        it->best = fmin(it->best, scaled);
        it->best_number = run->number;
    }
    refresh(it);
    return CS_STEPPED;
}

static const cs_iteration sweeps = {.step = advance};

cs_status cs_fixed_point(cs_solver *solver, cs_budget *budget, cs_result *result, cs_error *error)
{
    iteration it = {
        .run = cs_run_begin(solver, budget, &sweeps, error),
        .scale = 1,
        .best = INFINITY,
        .best_is_current = 1,
    };
    cs_refresh(solver);
    cs_status status = cs_run_iterate(&it.run, result);
    int restored = result->outcome == CS_DIVERGING;
    status = cs_run_end(&it.run, status, result);
    if (!status && restored) result->best_iteration = it.best_number;
    result->rollbacks = it.rollbacks;
    return status;
}
