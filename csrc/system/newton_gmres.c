/* Products with A, and solves with the systems of Newton's method: by L U of H with S, or by GMRES with the
 * symmetric factor as preconditioner. */
#include "linalg/krylov.h"
#include "problem/products.h"
#include "system/newton_system.h"

#include <math.h>
#include <string.h>

void cs_newton_multiply(cs_newton_system *system, const double *x, double *y)
{
    const cs_problem *problem = system->problem;
    if (problem->rows) memset(y, 0, sizeof(double) * (size_t)problem->rows);
    if (problem->matrix) {
        cs_add_products(problem, x, NULL, y);
        return;
    }

    /* A x = G (G^T x) + Sigma x */
    cs_system_gather(&system->blocks, x, system->y);
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        int64_t first = cs_group_row(group, 0);
        for (int64_t i = 0; i < group->count * group->rows && group->compliance; i++)
            y[first + i] = group->compliance[i] * x[first + i];
    }
    cs_system_add_product(&system->blocks, 1, system->y, y);
}

/* ---- the factor -------------------------------------------------------------------------------- */

/* In constraint space: r <- (I + A T)^-1 r = r - A L H^-1 L^T r */
static void precondition_given(cs_newton_system *system, double *r)
{
    const cs_system_blocks *blocks = &system->blocks;
    cs_system_multiply_squares(blocks, system->root, 1, r, system->work);
    cs_system_to_unknowns(blocks, system->work, system->y);
    cs_panels_solve(&system->panels, system->y);
    cs_system_to_rows(blocks, system->y, system->work);
    cs_system_multiply_squares(blocks, system->root, 0, system->work, system->work);
    cs_newton_multiply(system, system->work, system->right);
    for (int64_t i = 0; i < system->problem->rows; i++) r[i] -= system->right[i];
}

/* r <- (I + A T)^-1 r, or (I + A S)^-1 r with the exact factor */
static void precondition(void *context, double *r)
{
    cs_newton_system *system = context;
    const cs_system_blocks *blocks = &system->blocks;
    if (system->problem->matrix) {
        precondition_given(system, r);
        return;
    }

    /* In body space: r <- (I + Sigma T)^-1 (r - G H^-1 G^T T' r) */
    cs_system_multiply_squares(blocks, system->symmetric, 0, r, system->work);
    cs_system_gather(blocks, system->work, system->y);
    if (system->exact) cs_profile_solve(&system->profile, system->y);
    else cs_panels_solve(&system->panels, system->y);
    cs_system_add_product(blocks, -1, system->y, r);
    if (system->inverse) cs_system_multiply_squares(blocks, system->inverse, 0, r, r);
}

/* ---- as an operator ---------------------------------------------------------------------------- */

/* y <- (I + A S) x */
static void apply(void *context, const double *x, double *y)
{
    cs_newton_system *system = context;
    cs_system_multiply_squares(&system->blocks, system->slope, 0, x, system->work);
    cs_newton_multiply(system, system->work, y);
    for (int64_t i = 0; i < system->problem->rows; i++) y[i] += x[i];
}

/* Weighted by rho: |x|^2 is the work that velocities x could do. */
static double weighted_dot(void *context, const double *x, const double *y)
{
    const cs_newton_system *system = context;
    int64_t rows = system->problem->rows, i = 0;
    double sum[4] = {0};
    for (; i + 4 <= rows; i += 4)
        for (int l = 0; l < 4; l++) sum[l] += system->scale[i + l] * x[i + l] * y[i + l];
    for (; i < rows; i++) sum[0] += system->scale[i] * x[i] * y[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* ---- solves ------------------------------------------------------------------------------------ */

/* d <- (I + A S)^-1 r with the exact factor. Returns |residual|, which rounding alone leaves. */
static double solve_exactly(cs_newton_system *system, const double *r, double *d)
{
    int64_t rows = system->problem->rows;
    memcpy(d, r, sizeof(double) * (size_t)rows);
    precondition(system, d);

    /* Elimination without interchanges may lose digits: the residual shows how many. */
    double *left = system->basis;
    apply(system, d, left);
    for (int64_t i = 0; i < rows; i++) left[i] = r[i] - left[i];
    return sqrt(weighted_dot(system, left, left));
}

double cs_newton_solve(cs_newton_system *system, const double *r, double most, double *d)
{
    int64_t rows = system->problem->rows, made = 0;

    /* The exact factor, unless it leaves too large a residual. */
    if (system->exact) {
        double left = solve_exactly(system, r, d);
        if (left <= most) return left;
        if (cs_newton_factor_symmetric(system)) return NAN;
    }

    /* The symmetric factor alone, if S is T and A is symmetric: then it is exact. */
    if (!system->krylov || !(weighted_dot(system, r, r) > 0)) {
        memcpy(d, r, sizeof(double) * (size_t)rows);
        precondition(system, d);
        return 0;
    }

    /* GMRES, preconditioned by the symmetric factor. */
    cs_operator matrix = {
        .count = rows,
        .context = system,
        .multiply = apply,
        .precondition = precondition,
        .dot = weighted_dot,
        .work = 2.0 * (double)system->panels.start[system->panels.count],
        .cancellation = system->cancellation,
    };
    double residual = cs_gmres(&matrix, r, most, system->basis, d, &made);
    system->krylov_steps += made;
    return residual;
}
