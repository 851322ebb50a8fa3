/* The factor behind a system of Newton's method: T of every block, H filled with it, and Cholesky's factor
 * of H, or L U where S itself is eliminated. */
#include "linalg/small.h"
#include "system/newton_system.h"

#include <math.h>
#include <string.h>

#define LIFT 1e-9  /* over what makes a matrix semidefinite */
#define SKEW 1e-12 /* what rounding does to a symmetric matrix */

/* ---- H in body space -------------------------------------------------------------------------- */

/* H_ab <- H_ab + G_a^T T' G_b of body a and all bodies b, as far as the diagonal. */
static void add_rows(cs_panels *panels, const cs_system_block *v, int a,
                     const double *const *scaled, double *const *product)
{
    const cs_block_group *group = v->group;
    for (int c = 0; c < group->dof[a]; c++)
        for (int b = 0; b < group->partners; b++) {
            if (v->place[b] < 0 || v->place[b] > v->place[a]) continue;
            int dof = group->dof[b], most = v->place[b] < v->place[a] ? dof : c + 1;
            double *entry = cs_panels_entry(panels, v->place[a] + c, v->place[b]);

            /* Sum over the rows of the contact, then add to a row of H: neighbours in it are CS_PANEL
             * numbers apart. */
            double sum[CS_MAX_DOF];
            memset(sum, 0, sizeof(double) * (size_t)most);
            for (int i = 0; i < v->rows; i++) {
                double factor = product[a][i * group->dof[a] + c];
                for (int e = 0; e < most; e++) sum[e] += factor * scaled[b][i * dof + e];
            }
            for (int e = 0; e < most; e++) entry[e * CS_PANEL] += sum[e];
        }
}

/* H_ab <- H_ab + G_a^T S G_b in whole rows, of L U. */
CS_INLINE void add_tile(int rows, int dof, int other, const double *scaled, const double *product,
                        cs_profile *profile, int64_t row, int64_t column)
{
    for (int c = 0; c < dof; c++) {
        double *entry = cs_profile_row(profile, row + c) + column;
        for (int e = 0; e < other; e++) {
            double sum = entry[e];
            for (int i = 0; i < rows; i++) sum += scaled[i * dof + c] * product[i * other + e];
            entry[e] = sum;
        }
    }
}

/* H <- H + G_k^T S G_k: all pairs of bodies. */
static void add_tiles(cs_profile *profile, const cs_system_block *v, const double *const *scaled,
                      double *const *product)
{
    const int *dof = v->group->dof;
    const int64_t *place = v->place;
    for (int a = 0; a < v->group->partners; a++)
        for (int b = 0; b < v->group->partners; b++) {
            if (place[a] < 0 || place[b] < 0) continue;
            if (v->rows == 3 && dof[a] == 6 && dof[b] == 6)
                add_tile(3, 6, 6, scaled[a], product[b], profile, place[a], place[b]);
            else
                add_tile(v->rows, dof[a], dof[b], scaled[a], product[b], profile, place[a],
                         place[b]);
        }
}

/* T' G, or S G, of one side */
CS_INLINE void multiply_side(int rows, int dof, const double *slope, const double *scaled,
                             double *product)
{
    for (int i = 0; i < rows; i++)
        for (int c = 0; c < dof; c++) {
            double sum = 0;
            for (int j = 0; j < rows; j++) sum += slope[i * rows + j] * scaled[j * dof + c];
            product[i * dof + c] = sum;
        }
}

/* H <- H + G_k^T T' G_k, or with S in place of T' where the factor is exact. */
static void add_contact(cs_newton_system *system, const cs_system_block *v)
{
    const double *symmetric = system->symmetric + v->square;
    const cs_block_group *group = v->group;
    const double *scaled[CS_MAX_PARTNERS];
    double all[CS_MAX_JACOBIAN], *product[CS_MAX_PARTNERS];
    for (int a = 0; a < group->partners; a++) {
        scaled[a] = v->scaled + cs_partner_offset(group, a);
        product[a] = all + cs_partner_offset(group, a);
    }

    /* An open contact adds nothing. */
    int nothing = 1;
    for (int i = 0; i < v->rows * v->rows; i++) nothing &= symmetric[i] == 0;
    if (nothing) return;

    for (int a = 0; a < group->partners; a++) {
        int dof = group->dof[a];
        if (v->rows == 3 && dof == 6) multiply_side(3, 6, symmetric, scaled[a], product[a]);
        else multiply_side(v->rows, dof, symmetric, scaled[a], product[a]);
    }
    if (system->exact) add_tiles(&system->profile, v, scaled, product);
    for (int a = 0; a < group->partners && !system->exact; a++)
        if (v->place[a] >= 0) add_rows(&system->panels, v, a, scaled, product);
}

static void fill_from_bodies(cs_newton_system *system)
{
    for (int g = 0; g < system->problem->block_groups; g++)
        for (int64_t k = 0; k < system->problem->block_group[g].count; k++) {
            cs_system_block v = cs_system_block_of(&system->blocks, g, k);
            add_contact(system, &v);
        }
}

/* ---- H in constraint space -------------------------------------------------------------------- */

/* H <- H + L_k^T 1/2 (A_kl + A_lk^T) L_l, of which every stored block adds its half. */
static void add_product(cs_newton_system *system, const cs_system_block *k,
                        const cs_system_block *l, const double *value)
{
    double product[CS_MAX_ROWS * CS_MAX_ROWS];
    cs_system_between(k->rows, l->rows, system->root + k->square, value, system->root + l->square,
                      product);
    for (int j = 0; j < l->rows; j++)
        for (int i = 0; i < k->rows; i++) {
            int64_t a = k->place[0] + i, b = l->place[0] + j;
            double part = product[i * l->rows + j];
            if (a != b) part /= 2;
            *cs_panels_entry(&system->panels, a > b ? a : b, a > b ? b : a) += part;
        }
}

static void fill_from_matrix(cs_newton_system *system)
{
    const cs_block_matrix *A = system->problem->matrix;
    for (int64_t k = 0; k < A->blocks; k++) {
        cs_system_block row = cs_system_block_at(&system->blocks, k);
        const double *value = A->value + A->first[k];
        for (int64_t e = A->start[k]; e < A->start[k + 1]; e++) {
            cs_system_block column = cs_system_block_at(&system->blocks, A->column[e]);
            add_product(system, &row, &column, value);
            value += row.rows * column.rows;
        }
    }
}

/* H: the identity, then what each contact or block of A adds. */
static void fill(cs_newton_system *system)
{
    if (system->exact) cs_profile_clear(&system->profile);
    else cs_panels_clear(&system->panels);
    for (int64_t i = 0; i < system->blocks.unknowns; i++) {
        if (system->exact) cs_profile_row(&system->profile, i)[i] = 1;
        else *cs_panels_entry(&system->panels, i, i) = 1;
    }
    if (system->problem->matrix) fill_from_matrix(system);
    else fill_from_bodies(system);
}

/* ---- T and the factor ------------------------------------------------------------------------ */

/* Makes a symmetric matrix positive semidefinite: where its least eigenvalue is negative, that much and a
 * little more is added to its diagonal. */
static void lift(int rows, double *a)
{
    double root[CS_MAX_ROWS * CS_MAX_ROWS], negative[CS_MAX_ROWS * CS_MAX_ROWS];
    if (cs_semidefinite_cholesky(rows, a, root) < 0) return;

    /* The least eigenvalue of a is the largest one of -a, with its sign changed. */
    for (int i = 0; i < rows * rows; i++) negative[i] = -a[i];
    double most = fmax(0, cs_largest_eigenvalue(rows, negative));
    for (int i = 0; i < rows; i++) a[i * rows + i] += (1 + LIFT) * most;
}

static int differ(double a, double b) { return fabs(a - b) > SKEW * (fabs(a) + fabs(b)); }

/* T of one block: the symmetric part of S, without the entries that join two coupled sets unless these
 * entries are symmetric. Returns whether T differs from S. */
static int take_symmetric(const cs_block_group *group, const double *slope, double *symmetric)
{
    int rows = group->rows, dropped = 0, skew = 0;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++) {
            /* Entries between two sets are N, which comes from the dependence of a bound; where friction
             * is a cone, S is symmetric as a whole and they belong to T. */
            int apart = group->coupled_set[i] != group->coupled_set[j];
            apart = apart && slope[i * rows + j] != slope[j * rows + i];
            dropped |= apart;

            symmetric[i * rows + j] = apart ? 0 : (slope[i * rows + j] + slope[j * rows + i]) / 2;
            skew |= !apart && differ(slope[i * rows + j], slope[j * rows + i]);
        }
    if (skew) lift(rows, symmetric);
    return dropped || skew;
}

/* (I + Sigma T)^-1 and T' = T (I + Sigma T)^-1 of one block. Non-zero: there is no inverse. */
static int take_compliance(cs_newton_system *system, const cs_system_block *v)
{
    int rows = v->rows;
    double *symmetric = system->symmetric + v->square, *inverse = system->inverse + v->square;
    double sum[CS_MAX_ROWS * CS_MAX_ROWS], product[CS_MAX_ROWS * CS_MAX_ROWS];

    /* I + Sigma T and its inverse. */
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++)
            sum[i * rows + j] =
                (i == j) + (v->compliance ? v->compliance[i] : 0) * symmetric[i * rows + j];
    if (cs_invert(rows, sum, inverse)) return -1;

    /* T' takes the place of T. */
    cs_multiply_small(rows, symmetric, inverse, product);
    memcpy(symmetric, product, sizeof(double) * (size_t)(rows * rows));
    return 0;
}

/* T of all blocks, and whether I + A T differs from I + A S, so that GMRES is needed. */
static void take_all_symmetric(cs_newton_system *system)
{
    system->krylov = system->problem->matrix && system->problem->matrix->asymmetry > 0;
    for (int g = 0; g < system->problem->block_groups; g++)
        for (int64_t k = 0; k < system->problem->block_group[g].count; k++) {
            cs_system_block v = cs_system_block_of(&system->blocks, g, k);
            system->krylov |=
                take_symmetric(v.group, system->slope + v.square, system->symmetric + v.square);
        }
}

/* What H is filled from: T' or, where `exact`, S; and with a given A the root L of T. Non-zero: a block is
 * singular or indefinite. */
static int take_blocks(cs_newton_system *system)
{
    for (int g = 0; g < system->problem->block_groups; g++)
        for (int64_t k = 0; k < system->problem->block_group[g].count; k++) {
            cs_system_block v = cs_system_block_of(&system->blocks, g, k);
            size_t bytes = sizeof(double) * (size_t)(v.rows * v.rows);
            double *symmetric = system->symmetric + v.square;
            if (system->exact) memcpy(symmetric, system->slope + v.square, bytes);
            if (system->inverse && take_compliance(system, &v)) return -1;
            if (system->root &&
                cs_semidefinite_cholesky(v.rows, symmetric, system->root + v.square) >= 0)
                return -1;
        }
    return 0;
}

/* H with T' and its Cholesky factor; or with S and L U where `exact`. Non-zero: breakdown, or cancelled. */
static int factor(cs_newton_system *system)
{
    if (take_blocks(system)) return -1;
    fill(system);
    system->factors++;
    if (system->exact) return cs_profile_factor(&system->profile);
    cs_breakdown breakdown;
    cs_panels_factor(&system->panels, system->cancellation, &breakdown);
    return breakdown.row >= 0;
}

int cs_newton_factor_symmetric(cs_newton_system *system)
{
    system->exact = 0;
    take_all_symmetric(system);
    return factor(system);
}

int cs_newton_factor(cs_newton_system *system)
{
    take_all_symmetric(system);

    /* L U of H with S, if S is not T and L U pays; else, or if it breaks down, Cholesky's factor. */
    system->exact = system->krylov && system->profile.value;
    if (!factor(system)) return 0;
    return system->exact ? cs_newton_factor_symmetric(system) : -1;
}
