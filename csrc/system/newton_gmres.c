/* Solves with the systems of Newton's method: the exact factor, or GMRES preconditioned by the symmetric
 * one. */
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

/* y <- (I + A S) x */
static void apply(cs_newton_system *system, const double *x, double *y)
{
    cs_newton_multiply_blocks(system, system->slope, 0, x, system->work);
    cs_newton_multiply(system, system->work, y);
    for (int64_t i = 0; i < system->problem->rows; i++) y[i] += x[i];
}

static double weighed_dot(const cs_newton_system *system, const double *x, const double *y)
{
    int64_t rows = system->problem->rows, i = 0;
    double sum[4] = {0};
    for (; i + 4 <= rows; i += 4)
        for (int l = 0; l < 4; l++) sum[l] += system->scale[i + l] * x[i + l] * y[i + l];
    for (; i < rows; i++) sum[0] += system->scale[i] * x[i] * y[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* One column of Hessenberg's matrix, made triangular by Givens' rotations as it comes. */
typedef struct krylov {
    double column[CS_KRYLOV][CS_KRYLOV + 1];
    double cosine[CS_KRYLOV], sine[CS_KRYLOV], right[CS_KRYLOV + 1];
} krylov;

static void rotate(krylov *h, int k)
{
    double *c = h->column[k];
    for (int i = 0; i < k; i++) {
        double upper = h->cosine[i] * c[i] + h->sine[i] * c[i + 1];
        c[i + 1] = h->cosine[i] * c[i + 1] - h->sine[i] * c[i];
        c[i] = upper;
    }
    double length = hypot(c[k], c[k + 1]);
    h->cosine[k] = length > 0 ? c[k] / length : 1;
    h->sine[k] = length > 0 ? c[k + 1] / length : 0;
    c[k] = length;
    h->right[k + 1] = -h->sine[k] * h->right[k];
    h->right[k] *= h->cosine[k];
}

/* d <- sum of the basis, by back substitution. */
static void combine(const cs_newton_system *system, const krylov *h, int steps, double *d)
{
    int64_t rows = system->problem->rows;
    double part[CS_KRYLOV];
    memset(d, 0, sizeof(double) * (size_t)rows);
    for (int i = steps - 1; i >= 0; i--) {
        part[i] = h->right[i];
        for (int j = i + 1; j < steps; j++) part[i] -= h->column[j][i] * part[j];
        part[i] = h->column[i][i] > 0 ? part[i] / h->column[i][i] : 0;
        const double *v = system->basis + i * rows;
        for (int64_t r = 0; r < rows; r++) d[r] += part[i] * v[r];
    }
}

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

/* Right preconditioned GMRES (Saad and Schultz 1986). */
double cs_newton_solve(cs_newton_system *system, const double *r, double most, double *d)
{
    int64_t rows = system->problem->rows;
    double length = sqrt(weighed_dot(system, r, r)), residual = length;
    if (system->exact) {
        double left = solve_exactly(system, r, d);
        if (left <= most) return left;
        if (cs_newton_factor_symmetric(system)) return NAN;
    }
    if (!system->krylov || !(length > 0)) {
        memcpy(d, r, sizeof(double) * (size_t)rows);
        precondition(system, d);
        return 0;
    }
    double work = 2.0 * (double)system->panels.start[system->panels.count];
    krylov h;
    h.right[0] = length;
    for (int64_t i = 0; i < rows; i++) system->basis[i] = r[i] / length;
    int k = 0;
    while (k < CS_KRYLOV && residual > most) {
        double *next = system->basis + (k + 1) * rows;
        memcpy(d, system->basis + k * rows, sizeof(double) * (size_t)rows);
        precondition(system, d);
        apply(system, d, next);
        for (int i = 0; i <= k; i++) {
            const double *v = system->basis + i * rows;
            h.column[k][i] = weighed_dot(system, v, next);
            for (int64_t j = 0; j < rows; j++) next[j] -= h.column[k][i] * v[j];
        }
        double rest = sqrt(weighed_dot(system, next, next));
        h.column[k][k + 1] = rest;
        for (int64_t j = 0; j < rows && rest > 0; j++) next[j] /= rest;
        rotate(&h, k);
        residual = fabs(h.right[++k]);
        if (!(rest > 0) || cs_pulse_beat(system->pulse, work)) break;
    }
    system->krylov_steps += k;
    combine(system, &h, k, d);
    precondition(system, d);
    return residual;
}
