/* What sweeps keep beside lambda, made anew.
 *
 * In mixed precision a sweep multiplies A' = G' G'^T of factors rounded to float, and its fixed
 * point would be that of A'. As in iterative refinement the difference at the present lambda is put
 * into b, computed in double from the problem's own arrays:
 *
 *     b' = (A lambda + b) - A' lambda,      so that  A' lambda + b' = A lambda + b
 *
 * While lambda moves by d from there, the error is (A' - A) d: it shrinks with the steps. */
#include "core/error.h"
#include "solver/judge.h"

#include <math.h>

static double correct(cs_solver *solver)
{
    cs_packing *packing = &solver->packing;
    const cs_backend *backend = packing->backend;
    double *before = solver->corrected[0], *after = solver->corrected[1], largest = 0;
    backend->get_data(packing->state, before);
    cs_packing_get(packing, solver->lambda);
    cs_residual_at(solver, solver->lambda, solver->b, solver->xi);
    backend->put_data(packing->state, solver->xi, solver->parameters);
    backend->subtract_products(packing->state);
    backend->get_data(packing->state, after);
    for (int64_t i = 0; i < solver->problem->rows; i++)
        largest = fmax(largest, solver->factors.r[i] * fabs(after[i] - before[i]));
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
