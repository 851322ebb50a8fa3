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
        for (int64_t i = 0; i < blocks->partners * blocks->count; i++)
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

/* Whether a movable partner is the same body as one before it. */
static int is_repeated(const int64_t *bodies, int partner)
{
    for (int before = 0; before < partner; before++)
        if (bodies[before] == bodies[partner]) return 1;
    return 0;
}

/* J of a partner, or the sum of those of all partners that are the same body, in `sum`. */
static const double *joined_part(const cs_block_group *group, int64_t index, int partner,
                                 double *room, double *sum)
{
    const int64_t *bodies = group->bodies + group->partners * index;
    const double *part = cs_partner_jacobian(group, index, partner, room);
    int entries = group->rows * group->dof[partner];
    for (int other = partner + 1; other < group->partners; other++) {
        if (bodies[other] != bodies[partner]) continue;
        double others_room[CS_FRAME_ENTRIES];
        const double *others = cs_partner_jacobian(group, index, other, others_room);
        for (int i = 0; i < entries; i++) sum[i] = part[i] + others[i];
        part = sum;
    }
    return part;
}

void cs_scaled_jacobian(const cs_problem *problem, const cs_block_group *group, int64_t index,
                        double *scaled)
{
    double room[CS_FRAME_ENTRIES], sum[CS_MAX_ROWS * CS_MAX_DOF];
    const int64_t *bodies = group->bodies + group->partners * index;
    memset(scaled, 0, sizeof(double) * (size_t)cs_jacobian_size(group));

    /* Multiply the part of each movable partner by L. If several partners are the same body, add their parts before
     * multiplying. Where they cancel, adding the products instead would leave a rounding error on the diagonal, and a
     * row that no body can move would look like a row that one can. */
    for (int s = 0; s < group->partners; s++) {
        if (!cs_partner_moves(group, index, s) || is_repeated(bodies, s)) continue;
        const double *part = joined_part(group, index, s, room, sum);
        scale_side(cs_body_group_of(problem, bodies[s]), bodies[s], group->rows, part,
                   scaled + cs_partner_offset(group, s));
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
    double scaled[CS_MAX_JACOBIAN];
    cs_scaled_jacobian(problem, group, index, scaled);
    memset(diagonal, 0, sizeof(double) * (size_t)(rows * rows));
    for (int s = 0; s < group->partners; s++)
        add_square(rows, group->dof[s], scaled + cs_partner_offset(group, s), diagonal);
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
