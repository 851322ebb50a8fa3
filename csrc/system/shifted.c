#include "system/shifted.h"

#include "core/error.h"
#include "linalg/small.h"
#include "linalg/sparse.h"
#include "system/blocks.h"

#include <math.h>
#include <string.h>

struct cs_shifted {
    const cs_problem *problem;
    const cs_block_matrix *matrix; /* A in constraint space, or NULL */
    cs_system_blocks blocks;
    cs_graph graph; /* of unknowns: the lower triangle with whole diagonal blocks */
    double *value;  /* beside its columns */
    double *root;   /* L, (m, m) each */
    double *inner;  /* body space: E^-1, (m, m) each; NULL without compliance, */
    double *q;      /* L E^-1 L^T, (m, m) each, */
    double *rest;   /* (rows) */
    double *x;      /* (unknowns) */
    cs_sparse_factor factor;
};

/* ---- set-up ---------------------------------------------------------------------------------- */

/* Non-zero: no memory. */
static int take_arrays(cs_shifted *s, cs_arena *arena)
{
    int64_t squares = s->blocks.squares, unknowns = s->graph.count;
    s->value = cs_arena_take_unset(arena, s->graph.start[unknowns], sizeof(double));
    s->root = cs_arena_take(arena, squares, sizeof(double));
    s->x = cs_arena_take(arena, unknowns, sizeof(double));
    if (s->matrix) return cs_arena_failed(arena);
    s->q = cs_arena_take(arena, squares, sizeof(double));
    s->rest = cs_arena_take(arena, s->problem->rows, sizeof(double));
    if (s->blocks.compliant) s->inner = cs_arena_take(arena, squares, sizeof(double));
    return cs_arena_failed(arena);
}

/* The pattern of the system and of its factor. Non-zero: no memory, or cancelled. */
static int lay_out(cs_shifted *s, cs_cancellation *cancellation, cs_arena *arena)
{
    cs_arena scratch = {0};
    cs_pattern pattern;
    int failed = cs_pattern_find(&pattern, s->problem, s->matrix, CS_FILL_MINIMUM_DEGREE,
                                 cancellation, &scratch) ||
                 cs_pattern_lower(&pattern, arena, &s->graph) ||
                 cs_system_blocks_take(&s->blocks, &pattern, cancellation, arena) ||
                 take_arrays(s, arena) ||
                 cs_sparse_take(&s->factor, &s->graph, cancellation, arena);
    cs_arena_clear(&scratch);
    return failed;
}

cs_status cs_shifted_take(const cs_problem *problem, cs_space space, int threads, cs_arena *arena,
                          const cs_control *control, cs_cancellation *cancellation,
                          cs_shifted **shifted, cs_error *error)
{
    cs_shifted *s = *shifted = cs_arena_take(arena, 1, sizeof *s);
    if (!s) return cs_no_memory(error, "a factor of A of %lld rows", (long long)problem->rows);
    s->problem = problem;

    /* Constraint space needs A; body space does not. */
    int bodies =
        !problem->matrix && (space == CS_SPACE_BODIES ||
                             (space == CS_SPACE_AUTO && problem->velocities < problem->rows));
    s->matrix = problem->matrix;
    if (!bodies && !s->matrix) {
        cs_block_matrix *assembled = NULL;
        cs_status status = cs_assemble(problem, threads, arena, control, &assembled, error);
        if (status) return status;
        s->matrix = assembled;
    }

    if (!lay_out(s, cancellation, arena)) return CS_OK;
    if (!cs_was_cancelled(cancellation))
        return cs_no_memory(error, "a factor of A of %lld rows", (long long)problem->rows);
    return cs_fail(error, CS_INTERRUPTED, "interrupted while laying out a factor of A");
}

double *cs_shifted_root(cs_shifted *s, int64_t block)
{
    return s->root + cs_system_block_at(&s->blocks, block).square;
}

/* ---- entries --------------------------------------------------------------------------------- */

/* Entries of the lower triangle in a row; the rows of a node have the same columns. */
static int64_t width_of(const cs_shifted *s, int64_t row)
{
    return s->graph.start[row + 1] - s->graph.start[row];
}

/* The value of entry (row, column), which is in the pattern. */
static double *entry(const cs_shifted *s, int64_t row, int64_t column)
{
    int64_t low = s->graph.start[row], high = s->graph.start[row + 1] - 1;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (s->graph.column[middle] < column) low = middle + 1;
        else high = middle;
    }
    return s->value + low;
}

/* ---- I + L^T A L in constraint space ---------------------------------------------------------- */

/* Adds half of L_k^T A_kl L_l at (k, l), or its transpose at (l, k), whichever lies below; on the diagonal
 * both. */
static void add_between(cs_shifted *s, const cs_system_block *k, const cs_system_block *l,
                        const double *value)
{
    int64_t p = k->place[0], q = l->place[0];
    int rows = k->rows, columns = l->rows, below = p >= q;
    double product[CS_MAX_ROWS * CS_MAX_ROWS], *a = product;
    double *to = below ? entry(s, p, q) : entry(s, q, p);
    int64_t width = width_of(s, below ? p : q);
    cs_system_between(rows, columns, s->root + k->square, value, s->root + l->square, product);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++, a++) {
            to[below ? i * width + j : j * width + i] += 0.5 * *a;
            if (p == q) to[j * width + i] += 0.5 * *a;
        }
}

/* Every stored block adds its half of the symmetric part, and every row of blocks an identity. */
static void fill_from_matrix(cs_shifted *s)
{
    const cs_block_matrix *A = s->matrix;
    for (int64_t k = 0; k < A->blocks; k++) {
        cs_system_block row = cs_system_block_at(&s->blocks, k);
        const double *value = A->value + A->first[k];
        for (int64_t e = A->start[k]; e < A->start[k + 1]; e++) {
            cs_system_block column = cs_system_block_at(&s->blocks, A->column[e]);
            add_between(s, &row, &column, value);
            value += row.rows * column.rows;
        }
        for (int i = 0; i < row.rows; i++) *entry(s, row.place[0] + i, row.place[0] + i) += 1;
    }
}

/* ---- H = I + F^T E^-1 F = I + G^T Q G in body space, Q = L E^-1 L^T --------------------------- */

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

/* E_k^-1 and Q_k. Non-zero: there is no inverse. */
static int find_inner(cs_shifted *s, const cs_system_block *v)
{
    int rows = v->rows;
    const double *root = s->root + v->square, *compliance = v->compliance;
    double sum[CS_MAX_ROWS * CS_MAX_ROWS], product[CS_MAX_ROWS * CS_MAX_ROWS];

    /* E = I without compliance. */
    if (!s->inner) {
        multiply_transposed(rows, root, root, s->q + v->square);
        return 0;
    }

    /* E = I + L^T Sigma L */
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++) {
            double *entry_of_sum = &sum[i * rows + j];
            *entry_of_sum = i == j;
            for (int c = 0; c < rows && compliance; c++)
                *entry_of_sum += root[c * rows + i] * compliance[c] * root[c * rows + j];
        }
    if (cs_invert(rows, sum, s->inner + v->square)) return -1;

    /* Q = L E^-1 L^T */
    cs_multiply_small(rows, root, s->inner + v->square, product);
    multiply_transposed(rows, product, root, s->q + v->square);
    return 0;
}

/* H <- H + G_side^T Q G_other at the places of these two bodies. */
static void add_product(cs_shifted *s, const cs_system_block *v, int side, int other)
{
    const double *x = v->scaled + cs_partner_offset(v->group, side);
    const double *y = v->scaled + cs_partner_offset(v->group, other);
    const double *weight = s->q + v->square;
    double *to = entry(s, v->place[side], v->place[other]);
    int64_t width = width_of(s, v->place[side]);
    int rows = v->rows, dof = v->group->dof[other];
    for (int r = 0; r < rows; r++) {
        /* Row r of Q G_other, */
        double product[CS_MAX_DOF] = {0};
        for (int c = 0; c < rows; c++)
            for (int j = 0; j < dof; j++) product[j] += weight[r * rows + c] * y[c * dof + j];

        /* multiplied by row r of G_side. */
        for (int i = 0; i < v->group->dof[side]; i++)
            for (int j = 0; j < dof; j++)
                to[i * width + j] += x[r * v->group->dof[side] + i] * product[j];
    }
}

/* Non-zero: a block of E has no inverse. */
static int fill_from_bodies(cs_shifted *s)
{
    for (int64_t i = 0; i < s->graph.count; i++) *entry(s, i, i) = 1;
    for (int g = 0; g < s->problem->block_groups; g++)
        for (int64_t k = 0; k < s->problem->block_group[g].count; k++) {
            cs_system_block v = cs_system_block_of(&s->blocks, g, k);
            if (find_inner(s, &v)) return -1;
            for (int a = 0; a < v.group->partners; a++)
                for (int b = 0; b < v.group->partners; b++)
                    if (v.place[b] >= 0 && v.place[a] >= v.place[b]) add_product(s, &v, a, b);
        }
    return 0;
}

/* ---- factors --------------------------------------------------------------------------------- */

cs_status cs_shifted_factor(cs_shifted *s, const double *p, cs_cancellation *cancellation,
                            cs_error *error)
{
    /* L = P^-1/2 */
    memset(s->root, 0, sizeof(double) * (size_t)s->blocks.squares);
    for (int g = 0; g < s->problem->block_groups; g++)
        for (int64_t k = 0; k < s->problem->block_group[g].count; k++) {
            cs_system_block v = cs_system_block_of(&s->blocks, g, k);
            for (int i = 0; i < v.rows; i++)
                s->root[v.square + i * v.rows + i] = 1 / sqrt(p[v.row + i]);
        }
    return cs_shifted_factor_roots(s, cancellation, error);
}

cs_status cs_shifted_factor_roots(cs_shifted *s, cs_cancellation *cancellation, cs_error *error)
{
    /* The values, by the space. */
    memset(s->value, 0, sizeof(double) * (size_t)s->graph.start[s->graph.count]);
    if (s->matrix) fill_from_matrix(s);
    else if (fill_from_bodies(s))
        return cs_fail(error, CS_UNSUPPORTED, "A + P is singular within a block");

    /* Their factor. */
    cs_breakdown breakdown;
    cs_sparse_factorize(&s->factor, s->value, NULL, cancellation, &breakdown);
    if (breakdown.row < 0) return CS_OK;
    if (breakdown.cancelled) return cs_fail(error, CS_INTERRUPTED, "interrupted while factoring A");
    return cs_fail(error, CS_UNSUPPORTED,
                   "A + P is not positive definite: elimination leaves %s of unknown %lld; is A "
                   "itself indefinite?",
                   cs_number(breakdown.pivot).text, (long long)breakdown.row);
}

/* ---- solves ---------------------------------------------------------------------------------- */

void cs_shifted_multiply_roots(const cs_shifted *s, int transposed, const double *x, double *y)
{
    cs_system_multiply_squares(&s->blocks, s->root, transposed, x, y);
}

/* x <- G y. Unlike cs_system_add_product, it adds up all products of a row one after another. */
static void multiply(const cs_shifted *s, const double *y, double *x)
{
    for (int g = 0; g < s->problem->block_groups; g++)
        for (int64_t k = 0; k < s->problem->block_group[g].count; k++) {
            cs_system_block v = cs_system_block_of(&s->blocks, g, k);
            for (int r = 0; r < v.rows; r++) x[v.row + r] = 0;
            for (int side = 0; side < cs_block_partners(v.group); side++) {
                if (v.place[side] < 0) continue;
                int dof = v.group->dof[side];
                const double *G = v.scaled + cs_partner_offset(v.group, side);
                const double *own = y + v.place[side];
                for (int r = 0; r < v.rows; r++)
                    for (int i = 0; i < dof; i++) x[v.row + r] += G[r * dof + i] * own[i];
            }
        }
}

void cs_shifted_solve_roots(cs_shifted *s, double *x)
{
    /* Constraint space: the factor is that of the system itself. */
    if (s->matrix) {
        cs_system_to_unknowns(&s->blocks, x, s->x);
        cs_sparse_solve(&s->factor, NULL, s->x);
        cs_system_to_rows(&s->blocks, s->x, x);
        return;
    }

    /* Body space: x <- E^-1 (x - F H^-1 F^T E^-1 x), with F^T = G^T L. */
    if (s->inner) cs_system_multiply_squares(&s->blocks, s->inner, 0, x, s->rest);
    else memcpy(s->rest, x, sizeof(double) * (size_t)s->problem->rows);
    cs_shifted_multiply_roots(s, 0, s->rest, s->rest);
    cs_system_gather(&s->blocks, s->rest, s->x);
    cs_sparse_solve(&s->factor, NULL, s->x);
    multiply(s, s->x, s->rest);
    cs_shifted_multiply_roots(s, 1, s->rest, s->rest);
    for (int64_t i = 0; i < s->problem->rows; i++) x[i] -= s->rest[i];
    if (s->inner) cs_system_multiply_squares(&s->blocks, s->inner, 0, x, x);
}

void cs_shifted_solve(cs_shifted *s, double *x)
{
    /* (A + P)^-1 = L (I + L^T A L)^-1 L^T, as P = (L L^T)^-1. */
    cs_shifted_multiply_roots(s, 1, x, x);
    cs_shifted_solve_roots(s, x);
    cs_shifted_multiply_roots(s, 0, x, x);
}
