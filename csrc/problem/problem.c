#include "problem/problem.h"

#include "core/error.h"
#include "core/parallel.h"

#include <string.h>

cs_status cs_problem_create(cs_problem **problem, cs_error *error)
{
    *problem = cs_allocate(1, sizeof **problem);
    return *problem ? CS_OK : cs_no_memory(error, "a problem");
}

void cs_problem_destroy(cs_problem *problem)
{
    if (!problem) return;
    cs_arena_clear(&problem->arena);
    cs_release(problem);
}

int64_t cs_problem_blocks(const cs_problem *problem) { return problem->blocks; }
int64_t cs_problem_rows(const cs_problem *problem) { return problem->rows; }
int64_t cs_problem_vertices(const cs_problem *problem)
{
    return problem->matrix ? problem->blocks : problem->bodies;
}
int64_t cs_problem_velocities(const cs_problem *problem) { return problem->velocities; }

int cs_problem_threads(const cs_problem *problem, int most, int64_t size, int64_t worth,
                       int64_t parts)
{
    if (problem->threads) return cs_threads_exactly(problem->threads, parts);
    return cs_threads_for(most, size, worth, parts);
}

const cs_body_group *cs_body_group_of(const cs_problem *problem, int64_t body)
{
    if (body < 0) return NULL;
    for (int g = 0; g < problem->body_groups; g++) {
        const cs_body_group *group = &problem->body_group[g];
        if (body < group->first_body + group->count) return group;
    }
    return NULL;
}

int64_t cs_moved_bodies(const cs_problem *problem, int64_t *moved)
{
    int64_t count = 0;

    /* Mark the movable partners of all blocks. */
    for (int64_t body = 0; body < problem->bodies; body++) moved[body] = 0;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *blocks = &problem->block_group[g];
        for (int64_t i = 0; i < 2 * blocks->count; i++)
            if (blocks->velocity[i] >= 0) moved[blocks->bodies[i]] = 1;
    }

    /* Replace the marks by the list of marked bodies, which never overtakes the marks still unread. */
    for (int64_t body = 0; body < problem->bodies; body++)
        if (moved[body]) moved[count++] = body;
    return count;
}

const cs_block_group *cs_block_group_of(const cs_problem *problem, int64_t block)
{
    int g = 0;
    while (block >= problem->block_group[g].first_block + problem->block_group[g].count) g++;
    return &problem->block_group[g];
}

int64_t cs_block_row(const cs_problem *problem, int64_t block)
{
    const cs_block_group *group = cs_block_group_of(problem, block);
    return cs_group_row(group, block - group->first_block);
}

int64_t cs_block_end(const cs_problem *problem, int64_t block)
{
    const cs_block_group *group = cs_block_group_of(problem, block);
    return cs_group_row(group, block - group->first_block + 1);
}

int64_t cs_row_block(const cs_problem *problem, int64_t row)
{
    const cs_block_group *group = problem->block_group;
    while (row >= cs_group_row(group, group->count)) group++;
    return group->first_block + (row - group->first_row) / group->rows;
}

/* scaled (m, d) <- J L for one partner */
static void scale_side(const cs_body_group *owner, int64_t body, int rows, const double *jacobian,
                       double *scaled)
{
    int dof = owner->dof;
    const double *root =
        owner->root + (body - owner->first_body) * (owner->diagonal ? dof : dof * dof);
    for (int i = 0; i < rows; i++)
        for (int c = 0; c < dof; c++) {
            if (owner->diagonal) {
                scaled[i * dof + c] = jacobian[i * dof + c] * root[c];
                continue;
            }
            double sum = 0; /* L is lower triangular */
            for (int e = c; e < dof; e++) sum += jacobian[i * dof + e] * root[e * dof + c];
            scaled[i * dof + c] = sum;
        }
}

void cs_scaled_jacobian(const cs_problem *problem, const cs_block_group *group, int64_t index,
                        double *scaled)
{
    double room[2][CS_FRAME_ENTRIES];
    const double *part[2];
    const int64_t *bodies = group->bodies + 2 * index, *velocity = group->velocity + 2 * index;
    double sum[CS_MAX_ROWS * CS_MAX_DOF];
    int twofold = bodies[0] == bodies[1] && velocity[0] >= 0, rows = group->rows;
    memset(scaled, 0, sizeof(double) * (size_t)cs_jacobian_size(group));

    /* J of both partners. */
    for (int side = 0; side < 2; side++)
        part[side] = cs_partner_jacobian(group, index, side, room[side]);

    /* If both partners are the same body, add J_0 and J_1 before multiplying. Where they cancel, adding
     * the products instead would leave a rounding error on the diagonal, and a row that no body can
     * move would look like a row that one can. */
    for (int i = 0; i < rows * group->dof[0] && twofold; i++) sum[i] = part[0][i] + part[1][i];

    /* Multiply the part of each movable partner by L. */
    for (int side = 0; side < (twofold ? 1 : 2); side++) {
        int entries = rows * group->dof[side];
        if (velocity[side] >= 0)
            scale_side(cs_body_group_of(problem, bodies[side]), bodies[side], rows,
                       twofold ? sum : part[side], scaled);
        scaled += entries;
    }
}

/* diagonal (m, m) <- A_kk of a given A; zero where A does not store the block. */
static void given_diagonal(const cs_problem *problem, const cs_block_group *group, int64_t index,
                           double *diagonal)
{
    const cs_block_matrix *matrix = problem->matrix;
    int64_t block = group->first_block + index;
    const double *value = matrix->value + matrix->first[block];
    memset(diagonal, 0, sizeof(double) * (size_t)(group->rows * group->rows));
    for (int64_t e = matrix->start[block]; e < matrix->start[block + 1]; e++) {
        int columns = cs_block_group_of(problem, matrix->column[e])->rows;
        if (matrix->column[e] == block)
            memcpy(diagonal, value, sizeof(double) * (size_t)(group->rows * group->rows));
        value += group->rows * columns;
    }
}

/* diagonal (m, m) += X X^T for X (m, dof). */
static void add_square(int rows, int dof, const double *x, double *diagonal)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++)
            for (int c = 0; c < dof; c++) diagonal[i * rows + j] += x[i * dof + c] * x[j * dof + c];
}

void cs_mass_diagonal(const cs_problem *problem, const cs_block_group *group, int64_t index,
                      double *diagonal)
{
    int rows = group->rows;
    if (problem->matrix) {
        given_diagonal(problem, group, index, diagonal);
        for (int i = 0; i < rows && group->included; i++)
            diagonal[i * rows + i] -= group->included[index * rows + i];
        return;
    }

    /* A_kk = G_k G_k^T, one partner after the other.  S1 eq. 3.3 */
    double scaled[2 * CS_MAX_ROWS * CS_MAX_DOF];
    cs_scaled_jacobian(problem, group, index, scaled);
    memset(diagonal, 0, sizeof(double) * (size_t)(rows * rows));
    add_square(rows, group->dof[0], scaled, diagonal);
    add_square(rows, group->dof[1], scaled + rows * group->dof[0], diagonal);
}

void cs_diagonal_block(const cs_problem *problem, const cs_block_group *group, int64_t index,
                       double *diagonal)
{
    int rows = group->rows;
    if (problem->matrix) {
        given_diagonal(problem, group, index, diagonal);
        return;
    }
    cs_mass_diagonal(problem, group, index, diagonal);
    for (int i = 0; i < rows && group->compliance; i++)
        diagonal[i * rows + i] += group->compliance[index * rows + i];
}
