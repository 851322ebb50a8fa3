/* Solves with the systems of Newton's method: the exact factor, or GMRES preconditioned by the symmetric
 * one. */
#include "linalg/krylov.h"
#include "system/newton_blocks.h"

#include <math.h>
#include <string.h>

/* r <- (I + A T)^-1 r */
static void precondition(cs_newton_system *system, double *r)
{
    const cs_problem *problem = system->problem;
    int64_t rows = problem->rows;
    if (!system->scaled) {
        cs_newton_multiply_blocks(system, system->root, 1, r, system->work);
        for (int g = 0; g < problem->block_groups; g++)
            for (int64_t k = 0; k < cs_newton_count_of(system, g); k++) {
                cs_newton_view v = cs_newton_view_of(system, g, k);
                memcpy(system->y + system->place[v.block], system->work + v.row,
                       sizeof(double) * (size_t)v.rows);
            }
        cs_panels_solve(&system->panels, system->y);
        for (int g = 0; g < problem->block_groups; g++)
            for (int64_t k = 0; k < cs_newton_count_of(system, g); k++) {
                cs_newton_view v = cs_newton_view_of(system, g, k);
                cs_newton_multiply_block(v.rows, system->root + v.square, 0,
                                         system->y + system->place[v.block], system->work + v.row);
            }
        cs_newton_multiply(system, system->work, system->right);
        for (int64_t i = 0; i < rows; i++) r[i] -= system->right[i];
        return;
    }
    cs_newton_multiply_blocks(system, system->symmetric, 0, r, system->work);
    cs_newton_gather(system, system->work);
    if (system->exact) cs_profile_solve(&system->profile, system->y);
    else cs_panels_solve(&system->panels, system->y);
    cs_newton_add_product(system, -1, r);
    if (system->inverse) cs_newton_multiply_blocks(system, system->inverse, 0, r, r);
}

/* ---- as an operator ---------------------------------------------------------------------------- */

/* y <- (I + A S) x */
static void apply(void *context, const double *x, double *y)
{
    cs_newton_system *system = context;
    cs_newton_multiply_blocks(system, system->slope, 0, x, system->work);
    cs_newton_multiply(system, system->work, y);
    for (int64_t i = 0; i < system->problem->rows; i++) y[i] += x[i];
}

static void precondition_by_factor(void *context, double *r) { precondition(context, r); }

/* Weighed by rho: |x| is the work that velocities x could do. */
static double weighed_dot(void *context, const double *x, const double *y)
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
    double *left = system->basis;
    apply(system, d, left);
    for (int64_t i = 0; i < rows; i++) left[i] = r[i] - left[i];
    return sqrt(weighed_dot(system, left, left));
}

double cs_newton_solve(cs_newton_system *system, const double *r, double most, double *d)
{
    int64_t rows = system->problem->rows, made = 0;

    /* The exact factor, where there is one and it does. */
    if (system->exact) {
        double left = solve_exactly(system, r, d);
        if (left <= most) return left;
        if (cs_newton_factor_symmetric(system)) return NAN;
    }

    /* The symmetric one alone, where it is exact. */
    if (!system->krylov || !(weighed_dot(system, r, r) > 0)) {
        memcpy(d, r, sizeof(double) * (size_t)rows);
        precondition(system, d);
        return 0;
    }

    cs_operator matrix = {
        .count = rows,
        .context = system,
        .multiply = apply,
        .precondition = precondition_by_factor,
        .dot = weighed_dot,
        .work = 2.0 * (double)system->panels.start[system->panels.count],
        .cancellation = system->cancellation,
    };
    double residual = cs_gmres(&matrix, r, most, system->basis, d, &made);
    system->krylov_steps += made;
    return residual;
}
