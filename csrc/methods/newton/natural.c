/* Newton steps on the natural map of a proximal step,
 *
 *     g(xi) = xi - b - A prox(lambda - rho R (xi + s)),   (I + A S) d = -g,   S = prox'(...) rho R
 */
#include "methods/newton/newton.h"
#include "methods/newton/slope.h"

#include "linalg/small.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* newton->shift <- De Saxce's shift at xi, mu |v_t|; zero for blocks without one. */
static void take_shift(cs_newton_run *s)
{
    const cs_problem *problem = s->run.solver->problem;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++) {
            const double *v = s->newton->xi + cs_group_row(group, k);
            double square = 0, *shift = &s->newton->shift[group->first_block + k];
            *shift = 0;
            if (!cs_slope_is_shifted(group, s->kind->shifted)) continue;
            for (int i = 1; i < group->rows; i++) square += v[i] * v[i];
            *shift = cs_state_parameters(&s->run.state, group, k)[0] * sqrt(square);
        }
    }
}

/* newton->impulses, S and newton->g at xi. Returns |g|, the norm weighted by R. */
static double evaluate(cs_newton_run *s, const double *xi)
{
    cs_newton *newton = s->newton;
    cs_newton_system *system = &newton->system;
    const cs_solver *solver = s->run.solver;
    const cs_problem *problem = solver->problem;
    int shifted = s->kind->shifted;

    /* Impulses and S, block by block. */
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        int rows = group->rows, cone = cs_slope_is_shifted(group, shifted);
        for (int64_t k = 0; k < group->count; k++) {
            int64_t row = cs_group_row(group, k);
            double *slope = system->slope + system->blocks.square[g] + k * rows * rows;
            double z[CS_MAX_ROWS];
            for (int i = 0; i < rows; i++) {
                double shift = i == 0 ? newton->shift[group->first_block + k] : 0;
                z[i] = newton->start[row + i] - s->rho * newton->r[row + i] * (xi[row + i] + shift);
            }
            cs_prox_slope(group, cone, cs_state_parameters(&s->run.state, group, k), z,
                          newton->impulses + row, slope);
            for (int i = 0; i < rows; i++)
                for (int j = 0; j < rows; j++) slope[i * rows + j] *= s->rho * newton->r[row + j];
        }
    }

    /* g = xi - b - A impulses, and its norm. */
    cs_newton_multiply(system, newton->impulses, newton->g);
    double square = 0;
    for (int64_t i = 0; i < problem->rows; i++) {
        newton->g[i] = xi[i] - solver->b[i] - newton->g[i];
        square += newton->r[i] * newton->g[i] * newton->g[i];
    }
    return sqrt(square);
}

/* The largest |R g|: an estimate of the natural map of the current impulses. */
static double error_of(const cs_newton_run *s)
{
    double largest = 0;
    for (int64_t i = 0; i < s->run.solver->problem->rows; i++)
        largest = fmax(largest, s->newton->r[i] * fabs(s->newton->g[i]));
    return largest;
}

/* |g| below this is rounding. */
static double noise(const cs_newton_run *s)
{
    const cs_solver *solver = s->run.solver;
    double square = 0;
    for (int64_t i = 0; i < solver->problem->rows; i++) {
        double size = fabs(s->newton->xi[i]) + fabs(solver->b[i]);
        square += s->newton->r[i] * size * size;
    }
    return 4 * DBL_EPSILON * sqrt(square);
}

/* S <- S (I + nu R^-1 S)^-1. With this S the system is that of A + nu R^-1 in place of A, as in the method
 * of Levenberg and Marquardt. Returns non-zero if the inverse does not exist. */
static int damp(cs_newton_run *s)
{
    cs_newton *newton = s->newton;
    const cs_problem *problem = s->run.solver->problem;
    for (int g = 0; g < problem->block_groups && s->damping > 0; g++) {
        const cs_block_group *group = &problem->block_group[g];
        int rows = group->rows;
        for (int64_t k = 0; k < group->count; k++) {
            const double *r = newton->r + cs_group_row(group, k);
            double *slope =
                newton->system.slope + newton->system.blocks.square[g] + k * rows * rows;

            /* I + nu R^-1 S of this block, and its inverse. */
            double sum[CS_MAX_ROWS * CS_MAX_ROWS], inverse[CS_MAX_ROWS * CS_MAX_ROWS];
            double damped[CS_MAX_ROWS * CS_MAX_ROWS];
            for (int i = 0; i < rows; i++)
                for (int j = 0; j < rows; j++) {
                    double part = r[i] > 0 ? s->damping / r[i] * slope[i * rows + j] : 0;
                    sum[i * rows + j] = (i == j) + part;
                }
            if (cs_invert(rows, sum, inverse)) return -1;
            cs_multiply_small(rows, slope, inverse, damped);
            memcpy(slope, damped, sizeof(double) * (size_t)(rows * rows));
        }
    }
    return 0;
}

/* Starts a proximal step: xi of its lambda, the shift, and g. Returns |g|. */
static double begin(cs_newton_run *s)
{
    cs_newton_begin_step(s);
    take_shift(s);
    return evaluate(s, s->newton->xi);
}

/* One Newton step on xi with a line search. */
static cs_step step(cs_newton_run *s, double *size)
{
    cs_newton *newton = s->newton;
    int64_t rows = s->run.solver->problem->rows;
    if (damp(s) || cs_newton_factor(&newton->system)) return CS_EXHAUSTED;
    cs_newton_solve(&newton->system, newton->g, s->linear * *size, newton->step);

    /* Halve the step until it is accepted. */
    double here = *size, length = 1;
    for (;; length /= 2) {
        for (int64_t i = 0; i < rows; i++)
            newton->trial[i] = newton->xi[i] - length * newton->step[i];
        *size = evaluate(s, newton->trial);
        if (cs_newton_accepts(*size, here, length)) break;
    }

    /* The trial becomes the iterate. */
    double *old = newton->xi;
    newton->xi = newton->trial;
    newton->trial = old;
    return CS_STEPPED;
}

static int takes(const cs_block_group *group) { return cs_slope_is_known(group, 0); }
static int takes_shifted(const cs_block_group *group) { return cs_slope_is_known(group, 1); }

const cs_newton_kind cs_newton_coulomb = {
    .sets = "sets with a derivative of their prox",
    .takes = takes,
    .patience = 1,
    .begin = begin,
    .step = step,
    .error = error_of,
    .noise = noise,
};

const cs_newton_kind cs_newton_de_saxce = {
    .sets = "the sets free, box, half_line, disc, tresca and second_order_cone",
    .takes = takes_shifted,
    .shifted = 1,
    .patience = 3,
    .begin = begin,
    .step = step,
    .error = error_of,
    .noise = noise,
};
