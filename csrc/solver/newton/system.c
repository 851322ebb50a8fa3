#include "solver/newton/system.h"

#include "core/compiler.h"
#include "linalg/small.h"

#include <math.h>
#include <string.h>

#define LIFT 1e-9  /* over what makes a matrix semidefinite */
#define SKEW 1e-12 /* what rounding does to a symmetric matrix */

/* ---- blocks ---------------------------------------------------------------------------------- */

/* One block and what belongs to it. */
typedef struct view {
    const cs_block_group *group;
    int rows;
    int64_t block, row, square;
    const double *compliance;
    double *scaled; /* G_k of the first body, then of the second */
    int64_t place[2];
} view;

CS_INLINE view view_of(const cs_newton_system *system, int g, int64_t index)
{
    const cs_block_group *group = &system->problem->block_group[g];
    int rows = group->rows;
    view v = {
        .group = group,
        .rows = rows,
        .block = group->first_block + index,
        .row = group->first_row + index * rows,
        .square = system->square[g] + index * rows * rows,
        .compliance = group->compliance ? group->compliance + index * rows : NULL,
    };
    if (!system->scaled) return v;
    v.scaled = system->scaled + system->first[g] + index * cs_jacobian_size(group);
    memcpy(v.place, system->place + 2 * v.block, sizeof v.place);
    return v;
}

static int64_t count_of(const cs_newton_system *system, int g)
{
    return system->problem->block_group[g].count;
}

/* y <- y + G^T x of one side */
CS_INLINE void add_transposed(int rows, int dof, const double *scaled, const double *x, double *y)
{
    for (int c = 0; c < dof; c++) {
        double sum = y[c];
        for (int i = 0; i < rows; i++) sum += scaled[i * dof + c] * x[i];
        y[c] = sum;
    }
}

/* y <- y + G_k^T x */
CS_INLINE void to_bodies(const view *v, const double *x, double *y)
{
    for (int side = 0; side < 2; side++) {
        int dof = v->group->dof[side];
        const double *scaled = v->scaled + side * v->rows * v->group->dof[0];
        double *own = y + v->place[side];
        if (v->place[side] < 0) continue;
        if (v->rows == 3 && dof == 6) add_transposed(3, 6, scaled, x, own);
        else add_transposed(v->rows, dof, scaled, x, own);
    }
}

/* x <- x + factor G y of one side */
CS_INLINE void add_product_of_side(int rows, int dof, const double *scaled, const double *y,
                                   double factor, double *x)
{
    for (int i = 0; i < rows; i++) {
        double even = 0, odd = 0;
        int c = 0;
        for (; c + 1 < dof; c += 2) {
            even += scaled[i * dof + c] * y[c];
            odd += scaled[i * dof + c + 1] * y[c + 1];
        }
        if (c < dof) even += scaled[i * dof + c] * y[c];
        x[i] += factor * (even + odd);
    }
}

/* x <- x + factor G_k y */
CS_INLINE void from_bodies(const view *v, const double *y, double factor, double *x)
{
    for (int side = 0; side < 2; side++) {
        int dof = v->group->dof[side];
        const double *scaled = v->scaled + side * v->rows * v->group->dof[0];
        const double *own = y + v->place[side];
        if (v->place[side] < 0) continue;
        if (v->rows == 3 && dof == 6) add_product_of_side(3, 6, scaled, own, factor, x);
        else add_product_of_side(v->rows, dof, scaled, own, factor, x);
    }
}

/* y <- a x, or a^T x, of a block (m, m) */
static void multiply_block(int rows, const double *a, int transposed, const double *x, double *y)
{
    for (int i = 0; i < rows; i++) {
        double sum = 0;
        for (int j = 0; j < rows; j++) sum += a[transposed ? j * rows + i : i * rows + j] * x[j];
        y[i] = sum;
    }
}

/* y <- a x for all blocks; they may be one. */
static void multiply_blocks(const cs_newton_system *system, const double *a, int transposed,
                            const double *x, double *y)
{
    for (int g = 0; g < system->problem->block_groups; g++)
        for (int64_t k = 0; k < count_of(system, g); k++) {
            view v = view_of(system, g, k);
            double own[CS_MAX_ROWS];
            multiply_block(v.rows, a + v.square, transposed, x + v.row, own);
            memcpy(y + v.row, own, sizeof(double) * (size_t)v.rows);
        }
}

/* ---- products with A ------------------------------------------------------------------------- */

static void multiply_given(const cs_problem *problem, const double *x, double *y)
{
    const cs_block_matrix *matrix = problem->matrix;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++) {
            int64_t block = group->first_block + k;
            const double *value = matrix->value + matrix->first[block];
            double *sum = y + group->first_row + k * group->rows;
            memset(sum, 0, sizeof(double) * (size_t)group->rows);
            for (int64_t e = matrix->start[block]; e < matrix->start[block + 1]; e++) {
                const double *part = x + cs_block_row(problem, matrix->column[e]);
                int columns = cs_block_group_of(problem, matrix->column[e])->rows;
                for (int i = 0; i < group->rows; i++)
                    for (int j = 0; j < columns; j++) sum[i] += value[i * columns + j] * part[j];
                value += group->rows * columns;
            }
        }
    }
}

static void gather(cs_newton_system *system, const double *x)
{
    memset(system->y, 0, sizeof(double) * (size_t)system->size);
    for (int g = 0; g < system->problem->block_groups; g++)
        for (int64_t k = 0; k < count_of(system, g); k++) {
            view v = view_of(system, g, k);
            to_bodies(&v, x + v.row, system->y);
        }
}

void cs_newton_multiply(cs_newton_system *system, const double *x, double *y)
{
    if (!system->scaled) {
        multiply_given(system->problem, x, y);
        return;
    }
    gather(system, x);
    for (int g = 0; g < system->problem->block_groups; g++)
        for (int64_t k = 0; k < count_of(system, g); k++) {
            view v = view_of(system, g, k);
            for (int i = 0; i < v.rows; i++)
                y[v.row + i] = v.compliance ? v.compliance[i] * x[v.row + i] : 0;
            from_bodies(&v, system->y, 1, y + v.row);
        }
}

/* ---- H --------------------------------------------------------------------------------------- */

/* H <- H + G_k^T T' G_k: the rows of body a's columns, as far as the diagonal. */
static void add_rows(cs_panels *panels, const view *v, int a, double *const *scaled,
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

static void add_whole_contact(cs_newton_system *system, const view *v, double *const *scaled,
                              double *const *product)
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

static void add_contact(cs_newton_system *system, const view *v)
{
    const double *symmetric = system->symmetric + v->square;
    const cs_block_group *group = v->group;
    int rows = v->rows;
    double *scaled[2] = {v->scaled, v->scaled + rows * group->dof[0]};
    double both[CS_MAX_ROWS * 2 * CS_MAX_DOF];
    double *product[2] = {both, both + rows * group->dof[0]};
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
        for (int64_t k = 0; k < count_of(system, g); k++) {
            view v = view_of(system, g, k);
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
static int take_compliance(cs_newton_system *system, const view *v)
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
        for (int64_t k = 0; k < count_of(system, g); k++) {
            view v = view_of(system, g, k);
            system->krylov |=
                take_symmetric(v.group, system->slope + v.square, system->symmetric + v.square);
        }
}

/* H with T, and its factor; or with S where `exact`. Non-zero where that breaks down. */
static int factor(cs_newton_system *system)
{
    for (int g = 0; g < system->problem->block_groups; g++)
        for (int64_t k = 0; k < count_of(system, g); k++) {
            view v = view_of(system, g, k);
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
    cs_panels_factor(&system->panels, system->pulse, &breakdown);
    return breakdown.row >= 0;
}

/* The symmetric way, after the exact one has failed. */
static int factor_symmetric(cs_newton_system *system)
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
    return system->exact ? factor_symmetric(system) : -1;
}

/* ---- solving --------------------------------------------------------------------------------- */

/* r <- (I + A T)^-1 r */
static void precondition(cs_newton_system *system, double *r)
{
    const cs_problem *problem = system->problem;
    int64_t rows = problem->rows;
    if (!system->scaled) {
        multiply_blocks(system, system->root, 1, r, system->work);
        for (int g = 0; g < problem->block_groups; g++)
            for (int64_t k = 0; k < count_of(system, g); k++) {
                view v = view_of(system, g, k);
                memcpy(system->y + system->place[v.block], system->work + v.row,
                       sizeof(double) * (size_t)v.rows);
            }
        cs_panels_solve(&system->panels, system->y);
        for (int g = 0; g < problem->block_groups; g++)
            for (int64_t k = 0; k < count_of(system, g); k++) {
                view v = view_of(system, g, k);
                multiply_block(v.rows, system->root + v.square, 0,
                               system->y + system->place[v.block], system->work + v.row);
            }
        cs_newton_multiply(system, system->work, system->right);
        for (int64_t i = 0; i < rows; i++) r[i] -= system->right[i];
        return;
    }
    multiply_blocks(system, system->symmetric, 0, r, system->work);
    gather(system, system->work);
    if (system->exact) cs_profile_solve(&system->profile, system->y);
    else cs_panels_solve(&system->panels, system->y);
    for (int g = 0; g < problem->block_groups; g++)
        for (int64_t k = 0; k < count_of(system, g); k++) {
            view v = view_of(system, g, k);
            from_bodies(&v, system->y, -1, r + v.row);
        }
    if (system->inverse) multiply_blocks(system, system->inverse, 0, r, r);
}

/* y <- (I + A S) x */
static void apply(cs_newton_system *system, const double *x, double *y)
{
    multiply_blocks(system, system->slope, 0, x, system->work);
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
        if (factor_symmetric(system)) return NAN;
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
