/* r_factor="global": one r for all rows, from the extreme eigenvalues of A (S1 eq. 3.24),
 *
 *     r = 2 / (alpha_min + alpha_max),   or 1.9 / alpha_max if A is singular.
 *
 * alpha_max is the largest Ritz value plus the bound of its error: an alpha_max that is too small could make the
 * iteration diverge. alpha_min is used only if its error is small relative to it, and if it is larger than rounding
 * errors. Otherwise A is treated as singular; the error is small, because alpha_min is then small, too. */
#include "core/error.h"
#include "solver/solver.h"

#include <math.h>
#include <string.h>

#define SINGULAR 1e-10 /* largest alpha_min / alpha_max of a matrix that is singular to rounding */
#define SMALLEST_FOUND 0.1 /* largest relative error of an alpha_min that is used */
#define SINGULAR_FACTOR 1.9

typedef struct symmetric_product {
    const double *x;
    double *y;
} symmetric_product;

/* Adds the contribution of one entry of A to y = 1/2 (A + A^T) x. A given A may be slightly unsymmetric. */
static void add_entry(void *context, int64_t row, int64_t column, double entry)
{
    const symmetric_product *p = context;
    p->y[row] += 0.5 * entry * p->x[column];
    p->y[column] += 0.5 * entry * p->x[row];
}

void cs_multiply_symmetric(void *context, const double *x, double *y)
{
    cs_symmetric_part *p = context;
    if (!p->problem->matrix) {
        cs_shared_residual_velocity(p->shared, p->problem, x, NULL, p->velocity, y);
        return;
    }
    memset(y, 0, sizeof(double) * (size_t)p->problem->rows);
    cs_each_entry(p->problem, 0, p->problem->blocks, add_entry, &(symmetric_product){x, y});
}

void cs_lanczos_start(const cs_problem *problem, const double *rho, double *start)
{
    uint64_t state = 1;
    for (int64_t i = 0; i < problem->rows; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        double number = (double)(state >> 11) / 9007199254740992.0 - 0.5;
        start[i] = rho[i] > 0 ? number : 0;
    }
}

double cs_global_value(const cs_spectrum *spectrum)
{
    double largest = spectrum->largest + spectrum->largest_error;
    double smallest = spectrum->smallest;
    if (!(largest > 0)) return 0;
    int regular =
        smallest > SINGULAR * largest && spectrum->smallest_error <= SMALLEST_FOUND * smallest;
    return regular ? 2 / (smallest + largest) : SINGULAR_FACTOR / largest;
}

cs_status cs_global_factor(cs_solver *solver, cs_error *error)
{
    /* The extreme eigenvalues of A. */
    const cs_problem *problem = solver->problem;
    cs_arena scratch = {0};
    cs_symmetric_part p = {
        .problem = problem,
        .shared = &solver->products,
        .velocity = cs_arena_take(&scratch, problem->velocities, sizeof(double)),
    };
    double *start = cs_arena_take(&scratch, problem->rows, sizeof(double));
    cs_status status = CS_OK;
    if (cs_arena_failed(&scratch) ||
        cs_solver_lanczos(solver, cs_multiply_symmetric, &p, start, &solver->factors.spectrum))
        status = cs_no_memory(error, "the eigenvalues of A");

    /* R. */
    double r = cs_global_value(&solver->factors.spectrum);
    for (int64_t i = 0; i < problem->rows; i++)
        solver->factors.r[i] = solver->factors.rho[i] > 0 ? r * solver->options.relaxation : 0;
    cs_arena_clear(&scratch);
    return status;
}
