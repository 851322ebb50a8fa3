/* Newton steps on Fischer and Burmeister's function of a proximal step,
 *
 *     Phi(lambda, y) = 0,   y = xi + P (lambda - start),   xi = A lambda + b,   P = (rho R)^-1
 *
 * With U and V, its derivatives with respect to lambda and y, and M = U + V P (if steps are damped, as in
 * the method of Levenberg and Marquardt, nu R^-1 is added to P):
 *
 *     U dl + V (dxi + P dl) = -Phi  =>  dl = -c - S dxi,   c = M^-1 Phi,   S = M^-1 V
 *     dxi = A dl                    =>  (I + A S) dxi = -A c
 *
 * This is the system of the other kinds; the merit is |Phi|. The unknown impulses may lie outside of their
 * sets; their projection is judged. */
#include "methods/newton/fischer_burmeister.h"
#include "methods/newton/newton.h"

#include "linalg/small.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The data of one block. */
typedef struct view {
    const cs_block_group *group;
    const double *parameters, *r;
    int64_t row, square;        /* its first row; its first entry in system.slope */
    double weight[CS_MAX_ROWS]; /* P */
} view;

/* The data of block k of group g. */
static view view_of(const cs_newton_run *s, int g, int64_t k)
{
    const cs_block_group *group = &s->run.solver->problem->block_group[g];
    int64_t row = cs_group_row(group, k);
    view v = {
        .group = group,
        .parameters = cs_state_parameters(&s->run.state, group, k),
        .r = s->newton->r + row,
        .row = row,
        .square = s->newton->system.blocks.square[g] + k * group->rows * group->rows,
    };
    for (int i = 0; i < group->rows; i++) v.weight[i] = v.r[i] > 0 ? 1 / (s->rho * v.r[i]) : 0;
    return v;
}

/* phi (m), by_impulse (m, m), by_velocity (m, m) <- Phi, U and V of one block. Rows that no impulse moves
 * keep their impulses. */
static void evaluate_block(const cs_newton_run *s, const view *v, const double *lambda,
                           const double *xi, double *phi, double *by_impulse, double *by_velocity)
{
    const double *start = s->newton->start + v->row;
    double y[CS_MAX_ROWS];
    for (int i = 0; i < v->group->rows; i++)
        y[i] = xi[v->row + i] + v->weight[i] * (lambda[v->row + i] - start[i]);
    cs_fischer_burmeister(v->group, v->parameters, v->r, lambda + v->row, y, phi, by_impulse,
                          by_velocity);

    /* In rows that no impulse moves, Phi = 0 and its derivative keeps the impulse. */
    int rows = v->group->rows;
    for (int i = 0; i < rows; i++) {
        if (v->r[i] > 0) continue;
        phi[i] = 0;
        for (int j = 0; j < rows; j++) {
            by_impulse[i * rows + j] = i == j;
            by_velocity[i * rows + j] = 0;
        }
    }
}

/* newton->phi <- Phi. Returns |Phi|, the norm weighted by 1 / R, which has the unit of |g| of the other
 * kinds. */
static double evaluate(const cs_newton_run *s, const double *lambda, const double *xi)
{
    const cs_problem *problem = s->run.solver->problem;
    double square = 0;
    for (int g = 0; g < problem->block_groups; g++)
        for (int64_t k = 0; k < problem->block_group[g].count; k++) {
            view v = view_of(s, g, k);
            double by_impulse[CS_MAX_ROWS * CS_MAX_ROWS], by_velocity[CS_MAX_ROWS * CS_MAX_ROWS];
            double *phi = s->newton->phi + v.row;
            evaluate_block(s, &v, lambda, xi, phi, by_impulse, by_velocity);
            for (int i = 0; i < v.group->rows; i++)
                if (v.r[i] > 0) square += phi[i] * phi[i] / v.r[i];
        }
    return sqrt(square);
}

/* newton->move <- c, and S of one block. Returns non-zero if M is singular. */
static int linearize_block(cs_newton_run *s, const view *v)
{
    cs_newton *newton = s->newton;
    int rows = v->group->rows;
    double phi[CS_MAX_ROWS], damping[CS_MAX_ROWS], by_impulse[CS_MAX_ROWS * CS_MAX_ROWS];
    double by_velocity[CS_MAX_ROWS * CS_MAX_ROWS], inverse[CS_MAX_ROWS * CS_MAX_ROWS];
    double *slope = newton->system.slope + v->square, *c = newton->move + v->row;
    memset(c, 0, sizeof(double) * (size_t)rows);
    evaluate_block(s, v, newton->lambda, newton->xi, phi, by_impulse, by_velocity);

    /* M = U + V (P + damping). */
    for (int i = 0; i < rows; i++) damping[i] = v->r[i] > 0 ? s->damping / v->r[i] : 0;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++)
            by_impulse[i * rows + j] += by_velocity[i * rows + j] * (v->weight[j] + damping[j]);
    if (cs_invert(rows, by_impulse, inverse)) return -1;

    /* S = M^-1 V, c = M^-1 Phi. */
    cs_multiply_small(rows, inverse, by_velocity, slope);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++) c[i] += inverse[i * rows + j] * phi[j];
    return 0;
}

/* newton->move <- dl, newton->step <- dxi. Returns non-zero if there is no step. A residual q of the linear
 * system causes a residual V q in Phi; the tolerance of the system is therefore relative to |Phi| (`here`),
 * as |A c| is often far larger. */
static int find_step(cs_newton_run *s, double here)
{
    cs_newton *newton = s->newton;
    cs_newton_system *system = &newton->system;
    const cs_problem *problem = s->run.solver->problem;

    /* c and S of all blocks. */
    for (int g = 0; g < problem->block_groups; g++)
        for (int64_t k = 0; k < problem->block_group[g].count; k++) {
            view v = view_of(s, g, k);
            if (linearize_block(s, &v)) return -1;
        }

    /* d with (I + A S) d = A c, which is -dxi. */
    if (cs_newton_factor(system)) return -1;
    cs_newton_multiply(system, newton->move, newton->g);
    cs_newton_solve(system, newton->g, s->linear * here, newton->step);

    /* dl = -c + S d. */
    for (int g = 0; g < problem->block_groups; g++)
        for (int64_t k = 0; k < problem->block_group[g].count; k++) {
            view v = view_of(s, g, k);
            int rows = v.group->rows;
            const double *slope = system->slope + v.square, *d = newton->step + v.row;
            for (int i = 0; i < rows; i++) {
                double sum = -newton->move[v.row + i];
                for (int j = 0; j < rows; j++) sum += slope[i * rows + j] * d[j];
                newton->move[v.row + i] = sum;
            }
        }

    /* dxi = A dl for this dl. */
    cs_newton_multiply(system, newton->move, newton->step);
    return 0;
}

/* newton->impulses <- the projection of the impulses on their sets, which is judged. */
static void hand_out(cs_newton_run *s)
{
    cs_solver *solver = s->run.solver;
    size_t bytes = sizeof(double) * (size_t)solver->problem->rows;
    memcpy(s->newton->impulses, s->newton->lambda, bytes);
    cs_project(solver, s->newton->impulses);
}

/* Starts a proximal step from its lambda. Returns |Phi|. */
static double begin(cs_newton_run *s)
{
    cs_newton *newton = s->newton;
    size_t bytes = sizeof(double) * (size_t)s->run.solver->problem->rows;
    cs_newton_begin_step(s);
    memcpy(newton->lambda, newton->start, bytes);
    hand_out(s);
    return evaluate(s, newton->lambda, newton->xi);
}

/* Exchanges two pointers. */
static void swap(double **a, double **b)
{
    double *old = *a;
    *a = *b;
    *b = old;
}

/* One Newton step on lambda and xi with a line search. */
static cs_step step(cs_newton_run *s, double *size)
{
    cs_newton *newton = s->newton;
    int64_t rows = s->run.solver->problem->rows;
    double here = *size;
    if (find_step(s, here)) return CS_EXHAUSTED;

    /* Halve the step until it is accepted. */
    double length = 1;
    for (;; length /= 2) {
        for (int64_t i = 0; i < rows; i++) {
            newton->another[i] = newton->lambda[i] + length * newton->move[i];
            newton->trial[i] = newton->xi[i] + length * newton->step[i];
        }
        *size = evaluate(s, newton->another, newton->trial);
        if (cs_newton_accepts(*size, here, length)) break;
    }

    /* The trial becomes the iterate. */
    swap(&newton->lambda, &newton->another);
    swap(&newton->xi, &newton->trial);
    hand_out(s);
    return CS_STEPPED;
}

/* The largest |Phi|: an estimate of the natural map. */
static double error_of(const cs_newton_run *s)
{
    double largest = 0;
    for (int64_t i = 0; i < s->run.solver->problem->rows; i++)
        largest = fmax(largest, fabs(s->newton->phi[i]));
    return largest;
}

/* |Phi| below this is rounding. */
static double noise(const cs_newton_run *s)
{
    const cs_newton *newton = s->newton;
    double square = 0;
    for (int64_t i = 0; i < s->run.solver->problem->rows; i++) {
        double r = newton->r[i];
        if (!(r > 0)) continue;
        double size =
            fabs(newton->lambda[i]) + r * (fabs(newton->xi[i]) + fabs(s->run.solver->b[i]));
        square += size * size / r;
    }
    return 4 * DBL_EPSILON * sqrt(square);
}

const cs_newton_kind cs_newton_fischer_burmeister = {
    .sets = "the sets free, box, half_line, disc, box_friction and second_order_cone",
    .takes = cs_fischer_burmeister_is_known,
    .shifted = 1,
    .impulses = 1,
    .patience = 3,
    .begin = begin,
    .step = step,
    .error = error_of,
    .noise = noise,
};
