#include "methods/interior/blocks.h"

#include "problem/friction.h"

#include <math.h>

#define PROXIMAL 1e-8 /* number added to W, relative to the diagonal of A */

cs_interior_block cs_interior_block_of(const cs_solver *solver, int g, int64_t k)
{
    const cs_block_group *group = &solver->problem->block_group[g];
    cs_interior_block v = {
        .group = group,
        .parameters = solver->parameters + group->first_parameter + k * group->parameters,
        .block = group->first_block + k,
        .row = cs_group_row(group, k),
        .rows = group->rows,
    };
    if (cs_has_discs(group) || cs_has_cones(group)) v.mu = v.parameters[0];
    v.cone = v.mu > 0 && solver->factors.rho[v.row] > 0;
    return v;
}

/* The bounds of row i. A contact that is not treated as a cone has x_n >= 0, and no friction. */
static void bounds_of(const cs_interior_block *v, int i, double *low, double *high)
{
    int free = v->group->set->bilateral, box = v->group->set->bounds;
    *low = free ? -INFINITY : box ? v->parameters[i] : 0;
    *high = free ? INFINITY : box ? v->parameters[v->rows + i] : 0;
    if (!free && !box && i == 0) *high = INFINITY;
}

int cs_interior_is_fixed(const cs_solver *solver, const cs_interior_block *v, int i)
{
    double low, high;
    bounds_of(v, i, &low, &high);
    return low == high || !(solver->factors.rho[v->row + i] > 0);
}

double cs_interior_proximal_of(const cs_solver *solver, const cs_interior_block *v)
{
    return PROXIMAL * cs_largest_diagonal(v->rows, solver->factors.rho + v->row);
}

double cs_interior_weight_of(const cs_solver *solver, int64_t row)
{
    double gap_low = cs_interior_vector(solver, GAP_LOW)[row],
           gap_high = cs_interior_vector(solver, GAP_HIGH)[row];
    double sum = gap_low > 0 ? cs_interior_vector(solver, LOW)[row] / gap_low : 0;
    return gap_high > 0 ? sum + cs_interior_vector(solver, HIGH)[row] / gap_high : sum;
}

void cs_interior_to_cone(const cs_interior_block *v, const double *x, double power, double *z)
{
    z[0] = power * x[0];
    for (int i = 1; i < v->rows; i++) z[i] = x[i];
}

int cs_interior_scaling_of(const cs_solver *solver, const cs_interior_block *v, cs_scaling *scaling)
{
    double x[CS_CONE_ROWS], y[CS_CONE_ROWS];
    cs_interior_to_cone(v, solver->lambda + v->row, v->mu, x);
    cs_interior_to_cone(v, cs_interior_vector(solver, LOW) + v->row, 1 / v->mu, y);
    return cs_scaling_of(v->rows, x, y, scaling);
}

/* ---- initial values -------------------------------------------------------------------------- */

/* max |b_i|, or 1 if b is zero: the initial size of forces. */
static double largest_b(const cs_solver *solver)
{
    double largest = 0;
    for (int64_t i = 0; i < solver->problem->rows; i++) largest = fmax(largest, fabs(solver->b[i]));
    return largest > 0 ? largest : 1;
}

/* Sets the initial gap and force of one bound of a row; side 0: lower, 1: upper. */
static void begin_bound(cs_solver *solver, cs_interior *own, int64_t row, int side, double gap,
                        double force)
{
    cs_interior_vector(solver, GAP_LOW + side)[row] = gap;
    cs_interior_vector(solver, LOW + side)[row] = force;
    own->degree++;
}

/* Sets the initial x of a row within bounds, and its gaps and forces. */
static void begin_row(cs_solver *solver, cs_interior *own, const cs_interior_block *v, int i,
                      double force)
{
    int64_t row = v->row + i;
    double low, high, *x = solver->lambda + row, away = force * solver->factors.rho[row];
    bounds_of(v, i, &low, &high);
    if (!(v->mu > 0)) *x = fmin(fmax(*x, low), high);

    /* Without gaps and forces the row stays where it is, or moves freely. */
    cs_interior_vector(solver, GAP_LOW)[row] = cs_interior_vector(solver, GAP_HIGH)[row] = 0;
    cs_interior_vector(solver, LOW)[row] = cs_interior_vector(solver, HIGH)[row] = 0;
    if (cs_interior_is_fixed(solver, v, i)) return;

    /* Keep x away from its bounds, at most in the middle. */
    if (isfinite(low) && isfinite(high)) away = fmin(away, (high - low) / 2);
    if (isfinite(low)) *x = fmax(*x, low + away);
    if (isfinite(high)) *x = fmin(*x, high - away);

    if (isfinite(low)) begin_bound(solver, own, row, 0, *x - low, force);
    if (isfinite(high)) begin_bound(solver, own, row, 1, high - *x, force);
}

/* Sets the initial values of one block. */
static void begin_block(cs_solver *solver, cs_interior *own, const cs_interior_block *v,
                        double force)
{
    if (!v->cone) {
        /* A cone on immovable bodies has no gaps; its impulses only have to lie in the cone. */
        if (v->mu > 0)
            v->group->set->prox_f64(v->rows, solver->lambda + v->row, v->parameters, NULL);
        for (int i = 0; i < v->rows; i++) begin_row(solver, own, v, i, force);
        return;
    }

    /* y on the axis of its cone; x is raised along its axis until it is inside. */
    double *x = solver->lambda + v->row, *y = cs_interior_vector(solver, LOW) + v->row, square = 0;
    for (int i = 1; i < v->rows; i++) {
        square += x[i] * x[i];
        y[i] = 0;
    }
    y[0] = force;
    x[0] = fmax(x[0], sqrt(square) / v->mu) + force * solver->factors.rho[v->row];
    own->degree++;
    own->shifted |= cs_has_discs(v->group);
}

void cs_interior_begin(cs_solver *solver, cs_interior *own)
{
    double force = largest_b(solver);
    for (int g = 0; g < solver->problem->block_groups; g++)
        for (int64_t k = 0; k < solver->problem->block_group[g].count; k++) {
            cs_interior_block v = cs_interior_block_of(solver, g, k);
            begin_block(solver, own, &v, force);
        }
}
