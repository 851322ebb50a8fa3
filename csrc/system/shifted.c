#include "core/error.h"
#include "problem/adjacency.h"
#include "system/shifted_internal.h"

#include <string.h>

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

static void take_blocks(cs_shifted *s, cs_arena *arena)
{
    const cs_problem *problem = s->problem;
    int64_t at = 0;
    s->square = cs_arena_take(arena, problem->blocks, sizeof(int64_t));
    s->root = cs_arena_take(arena, squares_of(problem), sizeof(double));
    s->rest = cs_arena_take(arena, problem->rows, sizeof(double));
    if (cs_arena_failed(arena)) return;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++, at += group->rows * group->rows)
            s->square[group->first_block + k] = at;
    }
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
    if (cs_arena_failed(arena)) return CS_OK; /* which the caller asks */
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
                          const cs_control *control, cs_cancellation *cancellation,
                          cs_shifted **shifted, cs_error *error)
{
    cs_shifted *s = *shifted = cs_arena_take(arena, 1, sizeof *s);
    if (!s) return cs_no_memory(error, "a factor of A of %lld rows", (long long)problem->rows);
    s->problem = problem;
    int bodies =
        !problem->matrix && (space == CS_SPACE_BODIES ||
                             (space == CS_SPACE_AUTO && problem->velocities < problem->rows));
    s->nodes = bodies ? problem->bodies : problem->blocks;
    cs_status status = CS_OK;
    take_blocks(s, arena);
    if (bodies) {
        status = take_bodies(s, arena, error);
    } else if (problem->matrix) {
        s->matrix = problem->matrix;
    } else {
        cs_block_matrix *matrix = NULL;
        status = cs_assemble(problem, arena, control, &matrix, error);
        s->matrix = matrix;
    }
    if (status) return status;
    if (!cs_shifted_find_pattern(s, cancellation, arena)) return CS_OK;
    if (!cs_was_cancelled(cancellation))
        return cs_no_memory(error, "a factor of A of %lld rows", (long long)problem->rows);
    return cs_fail(error, CS_INTERRUPTED, "interrupted while laying out a factor of A");
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
            int64_t block = group->first_block + k, row = cs_group_row(group, k);
            const double *scaled = s->jacobian + s->scaled[block];
            for (int r = 0; r < group->rows && back; r++) rows[row + r] = 0;
            for (int side = 0; side < cs_block_partners(group); side++) {
                int64_t body = s->partner[2 * block + side];
                if (body < 0) continue;
                const double *G = scaled + cs_partner_offset(group, side);
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
