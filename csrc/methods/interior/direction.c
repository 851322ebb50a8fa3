#include "methods/interior/direction.h"

#include "problem/friction.h"

#include <math.h>

/* ---- the right side -------------------------------------------------------------------------- */

/* c <- the right side of the complementarity condition of a cone. For a corrector
 *
 *     c = v \ (sigma mu e - dx' o dy') - v,   dx' and dy' = c - dx' of the current step;
 *
 * for a predictor c = -v. On entry c is that of the current step. v \ u solves v o z = u. */
static void cone_push(const cs_solver *solver, const cs_interior_block *v, const cs_scaling *s,
                      const cs_aim *to, double *c)
{
    int rows = v->rows;
    if (to->corrects) {
        double dy[CS_CONE_ROWS], product[CS_CONE_ROWS];
        const double *dx = cs_interior_vector(solver, PUSH_HIGH) + v->row;
        for (int i = 0; i < rows; i++) dy[i] = c[i] - dx[i];
        cs_jordan_multiply(rows, dx, dy, product);
        for (int i = 0; i < rows; i++) product[i] = (i == 0 ? to->target : 0) - product[i];
        cs_jordan_divide(rows, s->v, product, c);
    }
    for (int i = 0; i < rows; i++) c[i] = (to->corrects ? c[i] : 0) - s->v[i];
}

/* PUSH_LOW, PUSH_HIGH <- the changes of the products force x gap that a row within bounds aims at. */
static void row_push(const cs_solver *solver, int64_t row, const cs_aim *to)
{
    for (int side = 0; side < 2; side++) {
        double gap = cs_interior_vector(solver, GAP_LOW + side)[row],
               force = cs_interior_vector(solver, LOW + side)[row];
        double *push = &cs_interior_vector(solver, PUSH_LOW + side)[row];

        /* No bound on this side. */
        *push = 0;
        if (!(gap > 0)) continue;

        double move = (side ? -1 : 1) * cs_interior_vector(solver, STEP)[row];
        double product = to->corrects ? move * cs_interior_vector(solver, DLOW + side)[row] : 0;
        *push = (to->corrects ? to->target - product : 0) - gap * force;
    }
}

/* RIGHT of a cone: U V^-1 c - U D^-1 r, since L = D^-1 U. */
static void find_right_of_cone(const cs_solver *solver, const cs_interior_block *v,
                               const cs_scaling *scaling, const cs_aim *aim)
{
    double *right = cs_interior_vector(solver, RIGHT) + v->row;
    double *c = cs_interior_vector(solver, PUSH_LOW) + v->row, z[CS_CONE_ROWS], of_r[CS_CONE_ROWS];
    double shift = cs_interior_proximal_of(solver, v);

    /* First c, then both terms. */
    cone_push(solver, v, scaling, aim, c);
    cs_interior_to_cone(v, cs_interior_vector(solver, R) + v->row, 1 / v->mu, z);
    cs_scale_shifted(scaling, shift, 0, z, of_r);
    cs_scale_shifted(scaling, shift, 1, c, z);
    for (int i = 0; i < v->rows; i++) right[i] = z[i] - of_r[i];
}

/* RIGHT of a row within bounds: (-r + c / (x - lo) - c' / (hi - x)) / sqrt(W). */
static void find_right_of_row(const cs_solver *solver, const cs_interior_block *v, int i,
                              double shift, const cs_aim *aim)
{
    int64_t row = v->row + i;
    double low = cs_interior_vector(solver, GAP_LOW)[row],
           high = cs_interior_vector(solver, GAP_HIGH)[row];
    double *right = &cs_interior_vector(solver, RIGHT)[row];
    row_push(solver, row, aim);
    *right = -cs_interior_vector(solver, R)[row];
    if (low > 0) *right += cs_interior_vector(solver, PUSH_LOW)[row] / low;
    if (high > 0) *right -= cs_interior_vector(solver, PUSH_HIGH)[row] / high;

    /* A fixed row has an infinite weight. */
    double weight =
        cs_interior_is_fixed(solver, v, i) ? INFINITY : cs_interior_weight_of(solver, row) + shift;
    *right /= sqrt(weight);
}

void cs_interior_find_right(cs_solver *solver, const cs_aim *aim)
{
    for (int g = 0; g < solver->problem->block_groups; g++)
        for (int64_t k = 0; k < solver->problem->block_group[g].count; k++) {
            cs_interior_block v = cs_interior_block_of(solver, g, k);
            cs_scaling scaling;
            if (v.cone && cs_interior_scaling_of(solver, &v, &scaling) == 0) {
                find_right_of_cone(solver, &v, &scaling, aim);
                continue;
            }
            double shift = cs_interior_proximal_of(solver, &v);
            for (int i = 0; i < v.rows; i++) find_right_of_row(solver, &v, i, shift, aim);
        }
}

/* ---- the forces ------------------------------------------------------------------------------ */

/* DLOW of a cone: dx' = U V^-1 z, dy = D V^-1 (c - dx'). */
static void find_forces_of_cone(const cs_solver *solver, const cs_interior_block *v,
                                const cs_scaling *scaling)
{
    double *change = cs_interior_vector(solver, DLOW) + v->row, dy[CS_CONE_ROWS];
    const double *c = cs_interior_vector(solver, PUSH_LOW) + v->row;
    double *dx = cs_interior_vector(solver, PUSH_HIGH) + v->row;
    cs_scale_shifted(scaling, cs_interior_proximal_of(solver, v), 1,
                     cs_interior_vector(solver, SCALED) + v->row, dx);
    for (int i = 0; i < v->rows; i++) dy[i] = c[i] - dx[i];
    cs_scale(scaling, -1, dy, change);
    change[0] *= v->mu;
}

/* DLOW or DHIGH of one bound: df = (c - f dx) / gap, where dx points to the inside. */
static void find_force_of_bound(const cs_solver *solver, int64_t row, int side)
{
    double gap = cs_interior_vector(solver, GAP_LOW + side)[row];
    double move = (side ? -1 : 1) * cs_interior_vector(solver, STEP)[row];
    double push = cs_interior_vector(solver, PUSH_LOW + side)[row];
    double force = cs_interior_vector(solver, LOW + side)[row];
    cs_interior_vector(solver, DLOW + side)[row] = gap > 0 ? (push - force * move) / gap : 0;
}

void cs_interior_find_forces(cs_solver *solver)
{
    for (int g = 0; g < solver->problem->block_groups; g++)
        for (int64_t k = 0; k < solver->problem->block_group[g].count; k++) {
            cs_interior_block v = cs_interior_block_of(solver, g, k);
            cs_scaling scaling;
            if (v.cone && cs_interior_scaling_of(solver, &v, &scaling) == 0) {
                find_forces_of_cone(solver, &v, &scaling);
                continue;
            }
            for (int64_t row = v.row; row < v.row + v.rows; row++)
                for (int side = 0; side < 2; side++) find_force_of_bound(solver, row, side);
        }
}

/* ---- step length ----------------------------------------------------------------------------- */

/* The fraction of the step for which x and y of a cone stay inside. */
static double reach_of_cone(const cs_solver *solver, const cs_interior_block *v)
{
    double at[CS_CONE_ROWS], along[CS_CONE_ROWS];
    cs_interior_to_cone(v, solver->lambda + v->row, v->mu, at);
    cs_interior_to_cone(v, cs_interior_vector(solver, STEP) + v->row, v->mu, along);
    double part = cs_cone_reach(v->rows, at, along);
    cs_interior_to_cone(v, cs_interior_vector(solver, LOW) + v->row, 1 / v->mu, at);
    cs_interior_to_cone(v, cs_interior_vector(solver, DLOW) + v->row, 1 / v->mu, along);
    return fmin(part, cs_cone_reach(v->rows, at, along));
}

/* The fraction of the step, at most `part`, for which the gap and the force of a bound stay positive. */
static double reach_of_bound(const cs_solver *solver, int64_t row, int side, double part)
{
    double gap = cs_interior_vector(solver, GAP_LOW + side)[row];
    double force = cs_interior_vector(solver, LOW + side)[row];
    double move = (side ? -1 : 1) * cs_interior_vector(solver, STEP)[row];
    double change = cs_interior_vector(solver, DLOW + side)[row];
    if (!(gap > 0)) return part;
    if (move < 0) part = fmin(part, -gap / move);
    return change < 0 ? fmin(part, -force / change) : part;
}

double cs_interior_reach(const cs_solver *solver)
{
    double part = 1;
    for (int g = 0; g < solver->problem->block_groups; g++)
        for (int64_t k = 0; k < solver->problem->block_group[g].count; k++) {
            cs_interior_block v = cs_interior_block_of(solver, g, k);
            if (v.cone) {
                part = fmin(part, reach_of_cone(solver, &v));
                continue;
            }
            for (int64_t row = v.row; row < v.row + v.rows; row++)
                for (int side = 0; side < 2; side++) part = reach_of_bound(solver, row, side, part);
        }
    return part;
}

double cs_interior_mean_product(const cs_solver *solver, const cs_interior *own, double part)
{
    double sum = 0;
    for (int g = 0; g < solver->problem->block_groups; g++)
        for (int64_t k = 0; k < solver->problem->block_group[g].count; k++) {
            cs_interior_block v = cs_interior_block_of(solver, g, k);
            for (int64_t row = v.row; row < v.row + v.rows; row++) {
                double move = part * cs_interior_vector(solver, STEP)[row];
                double low = cs_interior_vector(solver, LOW)[row] +
                             part * cs_interior_vector(solver, DLOW)[row];
                double high = cs_interior_vector(solver, HIGH)[row] +
                              part * cs_interior_vector(solver, DHIGH)[row];

                /* Cones: x y itself. */
                if (v.cone) {
                    sum += (solver->lambda[row] + move) * low;
                    continue;
                }

                /* Bounds: gaps times forces. */
                double gap_low = cs_interior_vector(solver, GAP_LOW)[row];
                double gap_high = cs_interior_vector(solver, GAP_HIGH)[row];
                if (gap_low > 0) sum += (gap_low + move) * low;
                if (gap_high > 0) sum += (gap_high - move) * high;
            }
        }
    return own->degree > 0 ? sum / own->degree : 0;
}

double cs_interior_mean_defect(const cs_solver *solver, const cs_interior *own)
{
    double sum = 0;
    for (int g = 0; g < solver->problem->block_groups; g++)
        for (int64_t k = 0; k < solver->problem->block_group[g].count; k++) {
            cs_interior_block v = cs_interior_block_of(solver, g, k);
            if (v.cone && cs_has_discs(v.group))
                sum += solver->lambda[v.row] * fabs(cs_interior_vector(solver, R)[v.row]);
        }
    return own->degree > 0 ? sum / own->degree : 0;
}

void cs_interior_move(cs_solver *solver, double part, cs_sweep_stats *stats)
{
    for (int64_t row = 0; row < solver->problem->rows; row++) {
        double change = part * cs_interior_vector(solver, STEP)[row];

        /* x, y and forces. */
        solver->lambda[row] += change;
        cs_count_change(stats, change);
        cs_interior_vector(solver, LOW)[row] += part * cs_interior_vector(solver, DLOW)[row];
        cs_interior_vector(solver, HIGH)[row] += part * cs_interior_vector(solver, DHIGH)[row];

        /* Gaps are updated by the same change. Computed from x again, they would lose digits near a bound. */
        if (cs_interior_vector(solver, GAP_LOW)[row] > 0)
            cs_interior_vector(solver, GAP_LOW)[row] += change;
        if (cs_interior_vector(solver, GAP_HIGH)[row] > 0)
            cs_interior_vector(solver, GAP_HIGH)[row] -= change;
    }
}
