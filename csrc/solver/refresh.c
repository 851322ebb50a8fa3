/* Recomputes the data that sweeps keep beside lambda.
 *
 * In mixed precision, sweeps multiply by A' = G' G'^T, where G' is G rounded to float, and converge to the solution
 * for A'. As in iterative refinement, b is corrected by the difference of both products at the present lambda,
 * computed in double precision from the problem's own data:
 *
 *     b' = (A lambda + b) - A' lambda,      so that  A' lambda + b' = A lambda + b
 *
 * If lambda then moves by d, the error of the residual velocity is (A' - A) d, which shrinks with the steps. */
#include "core/error.h"
#include "solver/judge.h"

#include <math.h>

/* Corrects b. Returns max_i R_ii |b'_i - b_i|: how far the correction alone can move an impulse. */
static double correct(cs_solver *solver)
{
    /* b' (above). */
    cs_packing *packing = &solver->packing;
    const cs_backend *backend = packing->backend;
    double *before = solver->corrected[0], *after = solver->corrected[1], largest = 0;
    backend->get_data(packing->state, before);
    cs_packing_get(packing, solver->lambda);
    cs_residual_at(solver, solver->lambda, solver->b, solver->xi);
    backend->correct_b(packing->state, solver->xi);
    backend->subtract_products(packing->state);
    backend->get_data(packing->state, after);

    /* The largest change of an impulse. */
    for (int64_t i = 0; i < solver->problem->rows; i++)
        largest = fmax(largest, solver->factors.r[i] * fabs(after[i] - before[i]));
    cs_ranks_largest(solver->ranks, &largest, 1);
    return largest;
}

double cs_refresh(cs_solver *solver)
{
    cs_packing_refresh(&solver->packing);
    return solver->packing.dtype == CS_MIXED ? correct(solver) : 0;
}

cs_status cs_refresh_take(cs_solver *solver, cs_error *error)
{
    int64_t rows = solver->problem->rows;
    if (solver->packing.dtype != CS_MIXED) return CS_OK;
    for (int i = 0; i < 2; i++)
        solver->corrected[i] = cs_arena_take(&solver->arena, rows, sizeof(double));
    return cs_arena_status(&solver->arena, error, "mixed precision");
}
