/* Products with |A|, from which rounding floors follow: |A| |lambda| + |b|. */
#include "problem/products.h"

#include <math.h>
#include <string.h>

/* One product. Threads share the bodies, then the blocks: a body adds the impulses of its blocks in the order in which
 * one thread would, block by block. */
typedef struct magnitude {
    const cs_problem *problem;
    const cs_adjacency *adjacency;
    const double *lambda, *b; /* `b` NULL: zero */
    double *velocity, *sum;
} magnitude;

/* ---- bodies -------------------------------------------------------------------------------------- */

/* velocity (dof) += |J_k^T| |lambda_k| of one partner */
CS_INLINE void add_impulse(int rows, int dof, const double *jacobian, const double *impulse,
                           double *velocity)
{
    for (int i = 0; i < rows; i++)
        for (int c = 0; c < dof; c++) velocity[c] += fabs(jacobian[i * dof + c] * impulse[i]);
}

/* The same for one partner of block `index` of a group. Constant sizes let the compiler unroll the loops. */
static void add_partner(const magnitude *m, const cs_block_group *group, int64_t index, int side,
                        double *velocity)
{
    int rows = group->rows, dof = group->dof[side];
    double room[CS_FRAME_ENTRIES];
    const double *jacobian = cs_partner_jacobian(group, index, side, room);
    const double *impulse = m->lambda + cs_group_row(group, index);
    if (rows == 3 && dof == 6) add_impulse(3, 6, jacobian, impulse, velocity);
    else add_impulse(rows, dof, jacobian, impulse, velocity);
}

/* velocity <- |M^-1| velocity of one body */
static void apply_inverse_mass(const cs_body_group *group, int64_t index, double *velocity)
{
    double product[CS_MAX_DOF];
    int dof = group->dof;
    const double *inverse = group->inverse_mass + index * cs_inverse_mass_size(group);
    for (int i = 0; i < dof; i++) {
        product[i] = group->diagonal ? fabs(inverse[i]) * velocity[i] : 0;
        for (int c = 0; c < dof && !group->diagonal; c++)
            product[i] += fabs(inverse[i * dof + c]) * velocity[c];
    }
    memcpy(velocity, product, sizeof(double) * (size_t)dof);
}

/* velocity <- |M^-1| |J^T| |lambda| of one body, whose blocks ascend. */
static void move_body(const magnitude *m, const cs_body_group *owner, int64_t body)
{
    const cs_adjacency *adjacency = m->adjacency;
    const cs_block_group *group = m->problem->block_group;
    int64_t index = body - owner->first_body;
    double *velocity = m->velocity + owner->first_velocity + index * owner->dof;
    memset(velocity, 0, sizeof(double) * (size_t)owner->dof);
    for (int64_t e = adjacency->start[body]; e < adjacency->start[body + 1]; e++) {
        int64_t block = cs_entry_block(adjacency, adjacency->entry[e]);
        while (block >= group->first_block + group->count) group++;
        add_partner(m, group, block - group->first_block,
                    cs_entry_partner(adjacency, adjacency->entry[e]), velocity);
    }
    apply_inverse_mass(owner, index, velocity);
}

/* The same for all bodies, block by block. */
static void move_all(const magnitude *m)
{
    const cs_problem *problem = m->problem;
    memset(m->velocity, 0, sizeof(double) * (size_t)problem->velocities);
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++)
            for (int side = 0; side < cs_block_partners(group); side++)
                if (cs_partner_moves(group, k, side))
                    add_partner(m, group, k, side,
                                m->velocity + cs_partner_velocity(group, k, side));
    }
    for (int g = 0; g < problem->body_groups; g++) {
        const cs_body_group *group = &problem->body_group[g];
        for (int64_t i = 0; i < group->count; i++)
            apply_inverse_mass(group, i, m->velocity + group->first_velocity + i * group->dof);
    }
}

/* ---- blocks -------------------------------------------------------------------------------------- */

/* sum (rows) += |J_k| velocity of one partner */
CS_INLINE void add_velocity(int rows, int dof, const double *jacobian, const double *velocity,
                            double *sum)
{
    for (int i = 0; i < rows; i++)
        for (int c = 0; c < dof; c++) sum[i] += fabs(jacobian[i * dof + c]) * velocity[c];
}

/* sum += |J_k| velocity + Sigma_k |lambda_k| of one block */
static void add_block(const magnitude *m, const cs_block_group *group, int64_t index)
{
    int rows = group->rows;
    int64_t row = cs_group_row(group, index);
    double room[CS_FRAME_ENTRIES];
    for (int side = 0; side < cs_block_partners(group); side++) {
        int dof = group->dof[side];
        if (!cs_partner_moves(group, index, side)) continue;
        const double *jacobian = cs_partner_jacobian(group, index, side, room);
        const double *velocity = m->velocity + cs_partner_velocity(group, index, side);
        if (rows == 3 && dof == 6) add_velocity(3, 6, jacobian, velocity, m->sum + row);
        else add_velocity(rows, dof, jacobian, velocity, m->sum + row);
    }
    for (int i = 0; i < rows && group->compliance; i++)
        m->sum[row + i] += group->compliance[index * rows + i] * fabs(m->lambda[row + i]);
}

/* Adds the magnitude of one entry of a given A. */
static void add_entry(void *context, int64_t row, int64_t column, double entry)
{
    const magnitude *m = context;
    m->sum[row] += fabs(entry * m->lambda[column]);
}

/* sum <- |A| |lambda| + |b| of the blocks begin .. end - 1 */
static void sum_blocks(const magnitude *m, int64_t begin, int64_t end)
{
    const cs_problem *problem = m->problem;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        int64_t k, last;
        if (!cs_group_part(group, begin, end, &k, &last)) continue;
        for (int64_t i = cs_group_row(group, k); i < cs_group_row(group, last); i++)
            m->sum[i] = m->b ? fabs(m->b[i]) : 0;
        for (; k < last && !problem->matrix; k++) add_block(m, group, k);
    }
    if (problem->matrix) cs_each_entry(problem, begin, end, add_entry, (void *)(uintptr_t)m);
}

/* ---- all of it ----------------------------------------------------------------------------------- */

static int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }

/* A task of phase 0 moves bodies, one of phase 1 sums the rows of blocks. */
static void run_task(void *context, int64_t phase, int64_t task)
{
    const magnitude *m = context;
    int64_t begin = task * CS_PRODUCT_PIECE, end = begin + CS_PRODUCT_PIECE;
    if (phase == 1) sum_blocks(m, begin, lesser(end, m->problem->blocks));
    for (int64_t body = begin; body < lesser(end, m->problem->bodies) && phase == 0; body++)
        move_body(m, cs_body_group_of(m->problem, body), body);
}

void cs_magnitude(const cs_shared_products *shared, const cs_problem *problem, const double *lambda,
                  const double *b, double *velocity, double *sum)
{
    magnitude m = {problem, &shared->adjacency, lambda, b, velocity, sum};
    if (cs_products_threads(shared) > 1) {
        cs_run_product(shared, run_task, &m, velocity);
        return;
    }

    /* One thread goes block by block. */
    if (!problem->matrix) move_all(&m);
    if (shared->complete) shared->complete(shared->context, velocity);
    sum_blocks(&m, 0, problem->blocks);
}

/* sum += |A|^T |x| for a given A, entry by entry */
static void add_transposed(void *context, int64_t row, int64_t column, double entry)
{
    const magnitude *m = context;
    m->sum[column] += fabs(entry * m->lambda[row]);
}

void cs_magnitude_transposed(const cs_shared_products *shared, const cs_problem *problem,
                             const double *x, double *velocity, double *sum)
{
    /* A = J M^-1 J^T + Sigma is symmetric. */
    if (!problem->matrix) {
        cs_magnitude(shared, problem, x, NULL, velocity, sum);
        return;
    }
    memset(sum, 0, sizeof(double) * (size_t)problem->rows);
    magnitude m = {.problem = problem, .lambda = x, .sum = sum};
    cs_each_entry(problem, 0, problem->blocks, add_transposed, &m);
}
