/* The factor behind a system of Newton's method: T of every block, H filled with it, and Cholesky's factor
 * of H, or L U where S itself is eliminated. */
#include "system/newton_blocks.h"

#include "linalg/small.h"

#include <math.h>
#include <string.h>

#define LIFT 1e-9  /* over what makes a matrix semidefinite */
#define SKEW 1e-12 /* what rounding does to a symmetric matrix */

/* ---- H --------------------------------------------------------------------------------------- */

/* H <- H + G_k^T T' G_k: the rows of body a's columns, as far as the diagonal. */
static void add_rows(cs_panels *panels, const cs_newton_view *v, int a, double *const *scaled,
                     double *const *product)
{
    const cs_block_group *group = v->group;
    for (int c = 0; c < group->dof[a]; c++)
        for (int b = 0; b < 2; b++) {
            if (v->place[b] < 0 || v->place[b] > v->place[a]) continue;
            int dof = group->dof[b], most = v->place[b] < v->place[a] ? dof : c + 1;
            double *entry = cs_panels_entry(panels, v->place[a] + c, v->place[b]);
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

/* S G of one side */
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

static void add_whole_contact(cs_newton_system *system, const cs_newton_view *v,
                              double *const *scaled, double *const *product)
{
    const int *dof = v->group->dof;
    const int64_t *place = v->place;
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 2; b++) {
            if (place[a] < 0 || place[b] < 0) continue;
            if (v->rows == 3 && dof[a] == 6 && dof[b] == 6)
                add_tile(3, 6, 6, scaled[a], product[b], &system->profile, place[a], place[b]);
            else
                add_tile(v->rows, dof[a], dof[b], scaled[a], product[b], &system->profile, place[a],
                         place[b]);
        }
}

static void add_contact(cs_newton_system *system, const cs_newton_view *v)
{
    const double *symmetric = system->symmetric + v->square;
    const cs_block_group *group = v->group;
    int rows = v->rows;
    double *scaled[2] = {v->scaled, v->scaled + cs_partner_offset(group, 1)};
    double both[CS_MAX_ROWS * 2 * CS_MAX_DOF];
    double *product[2] = {both, both + cs_partner_offset(group, 1)};
    int nothing = 1;
    for (int i = 0; i < rows * rows; i++) nothing &= symmetric[i] == 0;
    if (nothing) return;
    for (int a = 0; a < 2; a++) {
        int dof = group->dof[a];
        if (rows == 3 && dof == 6) multiply_side(3, 6, symmetric, scaled[a], product[a]);
        else multiply_side(rows, dof, symmetric, scaled[a], product[a]);
    }
    if (system->exact) add_whole_contact(system, v, scaled, product);
    for (int a = 0; a < 2 && !system->exact; a++)
        if (v->place[a] >= 0) add_rows(&system->panels, v, a, scaled, product);
}

/* H <- H + L_k^T 1/2 (A_kl + A_lk^T) L_l, of which every stored block adds its half. */
static void add_product(cs_newton_system *system, int64_t k, int64_t l, const double *value)
{
    const cs_problem *problem = system->problem;
    const cs_block_group *row = cs_block_group_of(problem, k),
                         *column = cs_block_group_of(problem, l);
    int m = row->rows, n = column->rows;
    const double *left =
        system->root + system->square[row - problem->block_group] + (k - row->first_block) * m * m;
    const double *right = system->root + system->square[column - problem->block_group] +
                          (l - column->first_block) * n * n;
    for (int j = 0; j < n; j++) {
        double product[CS_MAX_ROWS] = {0};
        for (int i = 0; i < m; i++)
            for (int c = j; c < n; c++) product[i] += value[i * n + c] * right[c * n + j];
        for (int i = 0; i < m; i++) {
            double sum = 0;
            for (int c = i; c < m; c++) sum += left[c * m + i] * product[c];
            int64_t a = system->place[k] + i, b = system->place[l] + j;
            double part = a == b ? sum : sum / 2;
            *cs_panels_entry(&system->panels, a > b ? a : b, a > b ? b : a) += part;
        }
    }
}

static void fill(cs_newton_system *system)
{
    const cs_problem *problem = system->problem;
    if (system->exact) cs_profile_clear(&system->profile);
    else cs_panels_clear(&system->panels);
    for (int64_t i = 0; i < system->size; i++) {
        if (system->exact) cs_profile_row(&system->profile, i)[i] = 1;
        else *cs_panels_entry(&system->panels, i, i) = 1;
    }
    for (int g = 0; g < problem->block_groups; g++)
        for (int64_t k = 0; k < cs_newton_count_of(system, g); k++) {
            cs_newton_view v = cs_newton_view_of(system, g, k);
            if (system->scaled) {
                add_contact(system, &v);
                continue;
            }
            const cs_block_matrix *matrix = problem->matrix;
            const double *value = matrix->value + matrix->first[v.block];
            for (int64_t e = matrix->start[v.block]; e < matrix->start[v.block + 1]; e++) {
                add_product(system, v.block, matrix->column[e], value);
                value += v.rows * cs_block_group_of(problem, matrix->column[e])->rows;
            }
        }
}

/* ---- T and the factor ------------------------------------------------------------------------ */

/* Makes a symmetric matrix positive semidefinite, where it is not, by as much on its diagonal. */
static void lift(int rows, double *a)
{
    double root[CS_MAX_ROWS * CS_MAX_ROWS], negative[CS_MAX_ROWS * CS_MAX_ROWS];
    if (cs_semidefinite_cholesky(rows, a, root) < 0) return;
    for (int i = 0; i < rows * rows; i++) negative[i] = -a[i];
    double most = fmax(0, cs_largest_eigenvalue(rows, negative));
    for (int i = 0; i < rows; i++) a[i * rows + i] += (1 + LIFT) * most;
}

static int differ(double a, double b) { return fabs(a - b) > SKEW * (fabs(a) + fabs(b)); }

/* T of one block: S without what leads from one coupled set to another, unless it is symmetric. Returns
 * whether T is another than S. */
static int take_symmetric(const cs_block_group *group, const double *slope, double *symmetric)
{
    int rows = group->rows, dropped = 0, skew = 0;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++) {
            int apart = group->coupled_set[i] != group->coupled_set[j];
            /* Where friction is a cone, S is symmetric as a whole. */
            apart = apart && slope[i * rows + j] != slope[j * rows + i];
            dropped |= apart;
            symmetric[i * rows + j] = apart ? 0 : (slope[i * rows + j] + slope[j * rows + i]) / 2;
            skew |= !apart && differ(slope[i * rows + j], slope[j * rows + i]);
        }
    if (skew) lift(rows, symmetric);
    return dropped || skew;
}

/* T' and (I + Sigma T)^-1 of one block. */
static int take_compliance(cs_newton_system *system, const cs_newton_view *v)
{
    int rows = v->rows;
    double *symmetric = system->symmetric + v->square, *inverse = system->inverse + v->square;
    double sum[CS_MAX_ROWS * CS_MAX_ROWS], product[CS_MAX_ROWS * CS_MAX_ROWS] = {0};
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++)
            sum[i * rows + j] =
                (i == j) + (v->compliance ? v->compliance[i] : 0) * symmetric[i * rows + j];
    if (cs_invert(rows, sum, inverse)) return -1;
    for (int i = 0; i < rows; i++)
        for (int c = 0; c < rows; c++)
            for (int j = 0; j < rows; j++)
                product[i * rows + j] += symmetric[i * rows + c] * inverse[c * rows + j];
    memcpy(symmetric, product, sizeof(double) * (size_t)(rows * rows));
    return 0;
}

/* T of all blocks; whether that leaves anything to GMRES. */
static void take_all_symmetric(cs_newton_system *system)
{
    system->krylov = system->problem->matrix && system->problem->matrix->asymmetry > 0;
    for (int g = 0; g < system->problem->block_groups; g++)
        for (int64_t k = 0; k < cs_newton_count_of(system, g); k++) {
            cs_newton_view v = cs_newton_view_of(system, g, k);
            system->krylov |=
                take_symmetric(v.group, system->slope + v.square, system->symmetric + v.square);
        }
}

/* H with T, and its factor; or with S where `exact`. Non-zero where that breaks down. */
static int factor(cs_newton_system *system)
{
    for (int g = 0; g < system->problem->block_groups; g++)
        for (int64_t k = 0; k < cs_newton_count_of(system, g); k++) {
            cs_newton_view v = cs_newton_view_of(system, g, k);
            size_t bytes = sizeof(double) * (size_t)(v.rows * v.rows);
            double *symmetric = system->symmetric + v.square;
            if (system->exact) memcpy(symmetric, system->slope + v.square, bytes);
            if (system->inverse && take_compliance(system, &v)) return -1;
            if (system->root &&
                cs_semidefinite_cholesky(v.rows, symmetric, system->root + v.square) >= 0)
                return -1;
        }
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
    system->exact = system->krylov && system->profile.value;
    if (!factor(system)) return 0;
    return system->exact ? cs_newton_factor_symmetric(system) : -1;
}
