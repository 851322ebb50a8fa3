/* I + L^T A L by rows and columns of blocks, or H by bodies, filled into its pattern and factored. */
#include "core/error.h"
#include "linalg/small.h"
#include "system/shifted_internal.h"

#include <math.h>
#include <string.h>

/* The place among the values of the block of nodes p >= q, by new numbers. */
static double *entry(cs_shifted *s, int64_t p, int64_t q)
{
    int64_t low = s->start[p], high = s->start[p + 1] - 1;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (s->column[middle] < q) low = middle + 1;
        else high = middle;
    }
    return s->value + s->graph.start[s->first[p]] + s->before[low];
}

/* product <- L_k^T a L_l, a an (m_k, m_l) block of A. */
static void between_roots(const cs_shifted *s, int64_t k, int64_t l, const double *a,
                          double *product)
{
    int rows = cs_block_group_of(s->problem, k)->rows;
    int columns = cs_block_group_of(s->problem, l)->rows;
    const double *left = s->root + s->square[k], *right = s->root + s->square[l];
    double half[CS_MAX_ROWS * CS_MAX_ROWS];
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            double sum = 0;
            for (int c = 0; c < columns; c++) sum += a[i * columns + c] * right[c * columns + j];
            half[i * columns + j] = sum;
        }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            double sum = 0;
            for (int c = 0; c < rows; c++) sum += left[c * rows + i] * half[c * columns + j];
            product[i * columns + j] = sum;
        }
}

/* The symmetric part: both triangles of A are added into the lower one, each by half. */
static void fill_from_matrix(cs_shifted *s)
{
    const cs_block_matrix *A = s->matrix;
    for (int64_t k = 0; k < A->blocks; k++) {
        int rows = cs_block_group_of(s->problem, k)->rows;
        const double *value = A->value + A->first[k];
        for (int64_t e = A->start[k]; e < A->start[k + 1]; e++) {
            int columns = cs_block_group_of(s->problem, A->column[e])->rows;
            int64_t p = s->place[k], q = s->place[A->column[e]];
            int below = p >= q;
            double *to = below ? entry(s, p, q) : entry(s, q, p);
            int64_t width = cs_shifted_width(s, below ? p : q);
            double product[CS_MAX_ROWS * CS_MAX_ROWS], *a = product;
            between_roots(s, k, A->column[e], value, product);
            value += rows * columns;
            for (int i = 0; i < rows; i++)
                for (int j = 0; j < columns; j++, a++) {
                    to[below ? i * width + j : j * width + i] += 0.5 * *a;
                    if (p == q) to[j * width + i] += 0.5 * *a;
                }
        }
        double *own = entry(s, s->place[k], s->place[k]);
        int64_t width = cs_shifted_width(s, s->place[k]);
        for (int i = 0; i < rows; i++) own[i * width + i] += 1;
    }
}

/* value += G_side^T Q G_other of block k, at the place of their bodies. */
static void add_product(cs_shifted *s, const cs_block_group *group, int64_t k, int side, int other)
{
    int64_t block = group->first_block + k;
    int64_t p = s->place[s->partner[2 * block + side]], q = s->place[s->partner[2 * block + other]];
    const double *G = s->jacobian + s->scaled[block];
    const double *x = G + cs_partner_offset(group, side);
    const double *y = G + cs_partner_offset(group, other);
    int64_t width = cs_shifted_width(s, p);
    double *to = entry(s, p, q);
    int rows = group->rows, dof = group->dof[other];
    const double *weight = s->q + s->square[block];
    for (int r = 0; r < rows; r++) {
        double product[CS_MAX_DOF] = {0};
        for (int c = 0; c < rows; c++)
            for (int j = 0; j < dof; j++) product[j] += weight[r * rows + c] * y[c * dof + j];
        for (int i = 0; i < group->dof[side]; i++)
            for (int j = 0; j < dof; j++)
                to[i * width + j] += x[r * group->dof[side] + i] * product[j];
    }
}

/* c <- a b^T */
static void multiply_transposed(int rows, const double *a, const double *b, double *c)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++) {
            double sum = 0;
            for (int k = 0; k < rows; k++) sum += a[i * rows + k] * b[j * rows + k];
            c[i * rows + j] = sum;
        }
}

/* E_k^-1 and L_k E_k^-1 L_k^T. Non-zero: there is none. */
static int find_inner(cs_shifted *s, const cs_block_group *group, int64_t k)
{
    int rows = group->rows;
    int64_t at = s->square[group->first_block + k];
    const double *root = s->root + at, *soft = group->compliance;
    double sum[CS_MAX_ROWS * CS_MAX_ROWS], product[CS_MAX_ROWS * CS_MAX_ROWS];
    if (!s->inner) {
        multiply_transposed(rows, root, root, s->q + at);
        return 0;
    }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++) {
            double *entry_of_sum = &sum[i * rows + j];
            *entry_of_sum = i == j;
            for (int c = 0; c < rows && soft; c++)
                *entry_of_sum += root[c * rows + i] * soft[k * rows + c] * root[c * rows + j];
        }
    if (cs_invert(rows, sum, s->inner + at)) return -1;
    cs_multiply_small(rows, root, s->inner + at, product);
    multiply_transposed(rows, product, root, s->q + at);
    return 0;
}

static int fill_from_bodies(cs_shifted *s)
{
    const cs_problem *problem = s->problem;
    for (int64_t p = 0; p < s->nodes; p++) {
        double *own = entry(s, p, p);
        int64_t width = cs_shifted_width(s, p);
        for (int64_t i = 0; i < s->first[p + 1] - s->first[p]; i++) own[i * width + i] = 1;
    }
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++) {
            if (find_inner(s, group, k)) return -1;
            const int64_t *body = s->partner + 2 * (group->first_block + k);
            for (int a = 0; a < 2; a++)
                for (int b = 0; b < 2; b++)
                    if (body[a] >= 0 && body[b] >= 0 && s->place[body[a]] >= s->place[body[b]])
                        add_product(s, group, k, a, b);
        }
    }
    return 0;
}

cs_status cs_shifted_factor(cs_shifted *s, const double *p, cs_cancellation *cancellation,
                            cs_error *error)
{
    for (int64_t k = 0; k < s->problem->blocks; k++) {
        int rows = cs_block_group_of(s->problem, k)->rows;
        const double *shift = p + cs_block_row(s->problem, k);
        double *root = cs_shifted_root(s, k);
        memset(root, 0, sizeof(double) * (size_t)(rows * rows));
        for (int i = 0; i < rows; i++) root[i * rows + i] = 1 / sqrt(shift[i]);
    }
    return cs_shifted_factor_roots(s, cancellation, error);
}

cs_status cs_shifted_factor_roots(cs_shifted *s, cs_cancellation *cancellation, cs_error *error)
{
    int64_t n = s->graph.count;
    cs_breakdown breakdown;
    memset(s->value, 0, sizeof(double) * (size_t)s->graph.start[n]);
    if (s->matrix) fill_from_matrix(s);
    else if (fill_from_bodies(s))
        return cs_fail(error, CS_UNSUPPORTED, "A + P is singular within a block");
    cs_sparse_factorize(&s->factor, s->value, NULL, cancellation, &breakdown);
    if (breakdown.row < 0) return CS_OK;
    if (breakdown.cancelled) return cs_fail(error, CS_INTERRUPTED, "interrupted while factoring A");
    return cs_fail(error, CS_UNSUPPORTED,
                   "A + P is not positive definite: elimination leaves %s of unknown %lld; is A "
                   "itself indefinite?",
                   cs_number(breakdown.pivot).text, (long long)breakdown.row);
}
