#include "solver/shifted.h"

#include "core/error.h"
#include "linalg/small.h"
#include "linalg/sparse.h"
#include "problem/adjacency.h"

#include <math.h>
#include <string.h>

enum { POLL_EVERY = 1 << 15 }; /* entries of the factor between two polls, about */

struct cs_shifted {
    const cs_problem *problem;
    const cs_block_matrix *matrix; /* A in constraint space, or NULL */
    int64_t nodes;                 /* blocks or bodies */
    int64_t *place;                /* (nodes): the new number of each */
    int64_t *first;                /* (nodes + 1): the first unknown, by new numbers */
    /* Nodes at or below the diagonal, by new numbers, ascending; and how many unknowns come before. */
    int64_t *start, *column, *before;
    cs_graph graph;   /* of unknowns */
    double *value;    /* beside its columns */
    double *jacobian; /* body space: G_k of all blocks, */
    int64_t *scaled;  /* (blocks + 1) where each begins, */
    int64_t *partner; /* (blocks, 2): bodies, -1 immovable, */
    int64_t *square;  /* (blocks) where each begins in arrays of (m, m), */
    double *root;     /* L, (m, m) each, */
    double *inner;    /* E^-1, (m, m) each; NULL without compliance, */
    double *q;        /* L E^-1 L^T, (m, m) each, */
    double *rest;     /* (rows) */
    double *x;        /* unknowns */
    cs_sparse_factor factor;
};

static cs_status no_memory(const cs_problem *problem, cs_error *error)
{
    return cs_fail(error, CS_NO_MEMORY, "out of memory for a factor of A of %lld rows",
                   (long long)problem->rows);
}

/* ---- pattern --------------------------------------------------------------------------------- */

static int64_t node_size(const cs_shifted *s, int64_t node)
{
    if (s->matrix) return cs_block_group_of(s->problem, node)->rows;
    return cs_body_group_of(s->problem, node)->dof;
}

/* Calls for both directions of every pair of nodes that touch: counts into `start`, or fills. */
static void each_pair(const cs_shifted *s, int64_t *start, int64_t *column)
{
    const cs_block_matrix *A = s->matrix;
    int64_t blocks = s->problem->blocks;
    for (int64_t k = 0; k < blocks; k++) {
        int64_t from = A ? A->start[k] : 0, to = A ? A->start[k + 1] : 1;
        for (int64_t e = from; e < to; e++) {
            int64_t i = A ? k : s->partner[2 * k], j = A ? A->column[e] : s->partner[2 * k + 1];
            if (i < 0 || j < 0 || i == j) continue;
            int64_t at_i = start[i]++, at_j = start[j]++;
            if (!column) continue;
            column[at_i] = j;
            column[at_j] = i;
        }
    }
}

/* The graph of the nodes in their old numbers, without the diagonal, each neighbour once. */
static int find_graph(const cs_shifted *s, cs_arena *scratch, cs_graph *graph)
{
    int64_t n = s->nodes, total = 0, at = 0;
    int64_t *start = cs_arena_take(scratch, n + 1, sizeof(int64_t));
    int64_t *next = cs_arena_take(scratch, n + 1, sizeof(int64_t));
    if (!start || !next) return -1;
    each_pair(s, next, NULL);
    for (int64_t i = 0; i < n; i++) {
        int64_t count = next[i];
        start[i] = next[i] = total;
        total += count;
    }
    start[n] = total;
    int64_t *column = cs_arena_take(scratch, total, sizeof(int64_t));
    if (!column) return -1;
    each_pair(s, next, column);
    for (int64_t i = 0; i < n; i++) {
        int64_t from = start[i], to = next[i];
        cs_sort_ascending(column + from, to - from);
        start[i] = at;
        for (int64_t e = from; e < to; e++)
            if (e == from || column[e] != column[e - 1]) column[at++] = column[e];
    }
    start[n] = at;
    *graph = (cs_graph){n, start, column};
    return 0;
}

/* Lower triangle of the nodes in their new order. */
static int find_lower(cs_shifted *s, const cs_graph *old, const int64_t *order, cs_arena *arena)
{
    int64_t n = s->nodes, at = 0;
    s->start = cs_arena_take(arena, n + 1, sizeof(int64_t));
    s->column = cs_arena_take(arena, n + old->start[n] / 2, sizeof(int64_t));
    s->before = cs_arena_take(arena, n + old->start[n] / 2, sizeof(int64_t));
    if (!s->start || !s->column || !s->before) return -1;
    for (int64_t p = 0; p < n; p++) {
        for (int64_t e = old->start[order[p]]; e < old->start[order[p] + 1]; e++)
            if (s->place[old->column[e]] < p) s->column[at++] = s->place[old->column[e]];
        s->column[at++] = p;
        cs_sort_ascending(s->column + s->start[p], at - s->start[p]);
        for (int64_t e = s->start[p], sum = 0; e < at; e++) {
            int64_t node = s->column[e];
            s->before[e] = sum;
            sum += s->first[node + 1] - s->first[node];
        }
        s->start[p + 1] = at;
    }
    return 0;
}

/* Unknowns of node p in its row of nodes. */
static int64_t width_of(const cs_shifted *s, int64_t p)
{
    return s->before[s->start[p + 1] - 1] + s->first[p + 1] - s->first[p];
}

static int find_unknowns(cs_shifted *s, cs_arena *arena)
{
    int64_t n = s->first[s->nodes], entries = 0, row = 0, at = 0;
    for (int64_t p = 0; p < s->nodes; p++)
        entries += width_of(s, p) * (s->first[p + 1] - s->first[p]);
    int64_t *start = cs_arena_take(arena, n + 1, sizeof(int64_t));
    int64_t *column = cs_arena_take(arena, entries, sizeof(int64_t));
    s->value = cs_arena_take(arena, entries, sizeof(double));
    s->x = cs_arena_take(arena, n, sizeof(double));
    if (!start || !column || !s->value || !s->x) return -1;
    for (int64_t p = 0; p < s->nodes; p++)
        for (int64_t i = s->first[p]; i < s->first[p + 1]; i++) {
            for (int64_t e = s->start[p]; e < s->start[p + 1]; e++)
                for (int64_t j = s->first[s->column[e]]; j < s->first[s->column[e] + 1]; j++)
                    column[at++] = j;
            start[++row] = at;
        }
    s->graph = (cs_graph){n, start, column};
    return cs_sparse_take(&s->factor, &s->graph, arena);
}

static cs_status find_pattern(cs_shifted *s, cs_arena *arena, cs_error *error)
{
    cs_arena scratch = {0};
    cs_graph graph;
    int64_t *order = cs_arena_take(&scratch, s->nodes, sizeof(int64_t));
    s->place = cs_arena_take(arena, s->nodes, sizeof(int64_t));
    s->first = cs_arena_take(arena, s->nodes + 1, sizeof(int64_t));
    int failed = !order || !s->place || !s->first || find_graph(s, &scratch, &graph);
    if (!failed) failed = cs_minimum_degree(&graph, order);
    for (int64_t p = 0; p < s->nodes && !failed; p++) {
        s->place[order[p]] = p;
        s->first[p + 1] = s->first[p] + node_size(s, order[p]);
    }
    failed = failed || find_lower(s, &graph, order, arena) || find_unknowns(s, arena);
    cs_arena_clear(&scratch);
    return failed ? no_memory(s->problem, error) : CS_OK;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static int64_t squares_of(const cs_problem *problem)
{
    int64_t squares = 0;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        squares += group->count * group->rows * group->rows;
    }
    return squares;
}

static cs_status take_blocks(cs_shifted *s, cs_arena *arena, cs_error *error)
{
    const cs_problem *problem = s->problem;
    int64_t at = 0;
    s->square = cs_arena_take(arena, problem->blocks, sizeof(int64_t));
    s->root = cs_arena_take(arena, squares_of(problem), sizeof(double));
    s->rest = cs_arena_take(arena, problem->rows, sizeof(double));
    if (!s->square || !s->root || !s->rest) return no_memory(problem, error);
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++, at += group->rows * group->rows)
            s->square[group->first_block + k] = at;
    }
    return CS_OK;
}

double *cs_shifted_root(cs_shifted *s, int64_t block) { return s->root + s->square[block]; }

/* ---- body space ------------------------------------------------------------------------------ */

static cs_status take_bodies(cs_shifted *s, cs_arena *arena, cs_error *error)
{
    const cs_problem *problem = s->problem;
    cs_adjacency adjacency;
    cs_status status = cs_adjacency_build(problem, arena, 0, &adjacency, error);
    if (status) return status;
    int64_t doubles = 0;
    for (int g = 0; g < problem->block_groups; g++)
        doubles += problem->block_group[g].count * cs_jacobian_size(&problem->block_group[g]);
    s->partner = adjacency.body;
    s->scaled = cs_arena_take(arena, problem->blocks + 1, sizeof(int64_t));
    s->jacobian = cs_arena_take(arena, doubles, sizeof(double));
    s->q = cs_arena_take(arena, squares_of(problem), sizeof(double));
    int soft = 0;
    for (int g = 0; g < problem->block_groups; g++)
        soft |= problem->block_group[g].compliance != NULL;
    if (soft) s->inner = cs_arena_take(arena, squares_of(problem), sizeof(double));
    if (!s->scaled || !s->jacobian || !s->q || (soft && !s->inner))
        return no_memory(problem, error);
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++) {
            int64_t *at = &s->scaled[group->first_block + k];
            cs_scaled_jacobian(problem, group, k, s->jacobian + at[0]);
            at[1] = at[0] + cs_jacobian_size(group);
        }
    }
    return CS_OK;
}

cs_status cs_shifted_take(const cs_problem *problem, cs_space space, cs_arena *arena,
                          const cs_control *control, cs_shifted **shifted, cs_error *error)
{
    cs_shifted *s = *shifted = cs_arena_take(arena, 1, sizeof *s);
    if (!s) return no_memory(problem, error);
    s->problem = problem;
    int bodies =
        !problem->matrix && (space == CS_SPACE_BODIES ||
                             (space == CS_SPACE_AUTO && problem->velocities < problem->rows));
    s->nodes = bodies ? problem->bodies : problem->blocks;
    cs_status status = take_blocks(s, arena, error);
    if (status) return status;
    if (bodies) {
        status = take_bodies(s, arena, error);
    } else if (problem->matrix) {
        s->matrix = problem->matrix;
    } else {
        cs_block_matrix *matrix = NULL;
        status = cs_assemble(problem, arena, control, &matrix, error);
        s->matrix = matrix;
    }
    return status ? status : find_pattern(s, arena, error);
}

/* ---- values ---------------------------------------------------------------------------------- */

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
            int64_t width = width_of(s, below ? p : q);
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
        int64_t width = width_of(s, s->place[k]);
        for (int i = 0; i < rows; i++) own[i * width + i] += 1;
    }
}

/* value += G_side^T Q G_other of block k, at the place of their bodies. */
static void add_product(cs_shifted *s, const cs_block_group *group, int64_t k, int side, int other)
{
    int64_t block = group->first_block + k;
    int64_t p = s->place[s->partner[2 * block + side]], q = s->place[s->partner[2 * block + other]];
    const double *G = s->jacobian + s->scaled[block];
    const double *x = G + side * group->rows * group->dof[0];
    const double *y = G + other * group->rows * group->dof[0];
    int64_t width = width_of(s, p);
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
        int64_t width = width_of(s, p);
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

cs_status cs_shifted_factor(cs_shifted *s, const double *p, const cs_control *control,
                            cs_error *error)
{
    for (int64_t k = 0; k < s->problem->blocks; k++) {
        int rows = cs_block_group_of(s->problem, k)->rows;
        const double *shift = p + cs_block_row(s->problem, k);
        double *root = cs_shifted_root(s, k);
        memset(root, 0, sizeof(double) * (size_t)(rows * rows));
        for (int i = 0; i < rows; i++) root[i * rows + i] = 1 / sqrt(shift[i]);
    }
    return cs_shifted_factor_roots(s, control, error);
}

cs_status cs_shifted_factor_roots(cs_shifted *s, const cs_control *control, cs_error *error)
{
    const cs_sparse_factor *factor = &s->factor;
    int64_t n = s->graph.count, from = 0;
    cs_breakdown breakdown = {.row = -1};
    memset(s->value, 0, sizeof(double) * (size_t)s->graph.start[n]);
    if (s->matrix) fill_from_matrix(s);
    else if (fill_from_bodies(s))
        return cs_fail(error, CS_UNSUPPORTED, "A + P is singular within a block");
    cs_sparse_begin(&s->factor);
    while (from < n && breakdown.row < 0) {
        int64_t to = from + 1;
        while (to < n && factor->start[to] - factor->start[from] < POLL_EVERY) to++;
        cs_sparse_rows(&s->factor, s->value, NULL, from, to, &breakdown);
        from = to;
        if (control && control->poll && control->poll(control->context, NULL) < 0)
            return cs_fail(error, CS_INTERRUPTED, "interrupted while factoring A");
    }
    if (breakdown.row < 0) return CS_OK;
    return cs_fail(error, CS_UNSUPPORTED,
                   "A + P is not positive definite: elimination leaves %s of unknown %lld; is A "
                   "itself indefinite?",
                   cs_number(breakdown.pivot).text, (long long)breakdown.row);
}

/* ---- solves ---------------------------------------------------------------------------------- */

/* to <- from: rows into unknowns, or back. */
static void permute(cs_shifted *s, double *rows, int back)
{
    for (int64_t k = 0; k < s->problem->blocks; k++) {
        int64_t row = cs_block_row(s->problem, k), at = s->first[s->place[k]];
        int64_t count = s->first[s->place[k] + 1] - at;
        for (int64_t i = 0; i < count; i++)
            if (back) rows[row + i] = s->x[at + i];
            else s->x[at + i] = rows[row + i];
    }
}

/* y_k <- a_k x_k, or a_k^T x_k, for all blocks; they may be one. */
static void multiply_blocks(const cs_shifted *s, const double *a, int transposed, const double *x,
                            double *y)
{
    for (int64_t k = 0; k < s->problem->blocks; k++) {
        int rows = cs_block_group_of(s->problem, k)->rows;
        const double *own = a + s->square[k], *from = x + cs_block_row(s->problem, k);
        double sum[CS_MAX_ROWS] = {0};
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < rows; j++)
                sum[i] += own[transposed ? j * rows + i : i * rows + j] * from[j];
        memcpy(y + cs_block_row(s->problem, k), sum, sizeof(double) * (size_t)rows);
    }
}

void cs_shifted_multiply_roots(const cs_shifted *s, int transposed, const double *x, double *y)
{
    multiply_blocks(s, s->root, transposed, x, y);
}

/* x += G^T rows, or rows <- G x. */
static void multiply(cs_shifted *s, double *rows, int back)
{
    const cs_problem *problem = s->problem;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++) {
            int64_t block = group->first_block + k, row = group->first_row + k * group->rows;
            const double *G = s->jacobian + s->scaled[block];
            for (int r = 0; r < group->rows && back; r++) rows[row + r] = 0;
            for (int side = 0; side < 2; G += group->rows * group->dof[side], side++) {
                int64_t body = s->partner[2 * block + side];
                if (body < 0) continue;
                double *x = s->x + s->first[s->place[body]];
                for (int r = 0; r < group->rows; r++)
                    for (int i = 0; i < group->dof[side]; i++) {
                        double value = G[r * group->dof[side] + i];
                        if (back) rows[row + r] += value * x[i];
                        else x[i] += value * rows[row + r];
                    }
            }
        }
    }
}

void cs_shifted_solve_roots(cs_shifted *s, double *x)
{
    if (s->matrix) {
        permute(s, x, 0);
        cs_sparse_solve(&s->factor, NULL, s->x);
        permute(s, x, 1);
        return;
    }
    if (s->inner) multiply_blocks(s, s->inner, 0, x, s->rest);
    else memcpy(s->rest, x, sizeof(double) * (size_t)s->problem->rows);
    multiply_blocks(s, s->root, 0, s->rest, s->rest);
    if (s->graph.count) memset(s->x, 0, sizeof(double) * (size_t)s->graph.count);
    multiply(s, s->rest, 0);
    cs_sparse_solve(&s->factor, NULL, s->x);
    multiply(s, s->rest, 1);
    multiply_blocks(s, s->root, 1, s->rest, s->rest);
    for (int64_t i = 0; i < s->problem->rows; i++) x[i] -= s->rest[i];
    if (s->inner) multiply_blocks(s, s->inner, 0, x, x);
}

void cs_shifted_solve(cs_shifted *s, double *x)
{
    multiply_blocks(s, s->root, 1, x, x);
    cs_shifted_solve_roots(s, x);
    multiply_blocks(s, s->root, 0, x, x);
}

int64_t cs_shifted_unknowns(const cs_shifted *s) { return s->graph.count; }
int64_t cs_shifted_fill(const cs_shifted *s) { return s->factor.start[s->graph.count]; }
