#include "problem/products.h"

#include "core/clock.h"
#include "core/error.h"
#include "core/parallel.h"

#include <string.h>

/* The contacts for which another thread is worth being asked for. */
enum { WORTH_A_THREAD = 2 * CS_PRODUCT_PIECE };

/* The length of a piece. */
enum { PIECE = CS_PRODUCT_PIECE };

/* ---- one contact, one body ---------------------------------------------------------------------- */

/* velocity (dof) += J_k^T lambda_k for one partner */
CS_INLINE void add_transposed(int rows, int dof, const double *jacobian, const double *lambda,
                              double *velocity)
{
    for (int i = 0; i < rows; i++)
        for (int c = 0; c < dof; c++) velocity[c] += jacobian[i * dof + c] * lambda[i];
}

/* xi_k (rows) += J_k velocity for one partner */
CS_INLINE void add_product(int rows, int dof, const double *jacobian, const double *velocity,
                           double *xi)
{
    for (int i = 0; i < rows; i++) {
        double sum = 0;
        for (int c = 0; c < dof; c++) sum += jacobian[i * dof + c] * velocity[c];
        xi[i] += sum;
    }
}

/* Whether the group has the most frequent shape, three rows between bodies in space: constant sizes let the compiler
 * unroll its loops. */
static int is_spatial(const cs_block_group *group)
{
    return group->rows == 3 && cs_has_pairs_of(group, 6);
}

/* velocity += J_k^T lambda_k for one partner. Rows without an impulse behind the last one with one are left out: many
 * contacts separate, and directions that may be proofs have no friction. */
CS_INLINE void add_impulse(const cs_block_group *group, int spatial, int64_t index, int side,
                           const double *lambda, double *velocity)
{
    int rows = group->rows, dof = group->dof[side];
    while (rows > 0 && lambda[rows - 1] == 0) rows--;
    if (!rows) return;
    if (group->frame) {
        cs_frame_add_impulse(group->frame + index * CS_FRAME_NUMBERS, group->rows, side, lambda,
                             velocity);
        return;
    }
    const double *jacobian = cs_partner_jacobian(group, index, side, NULL);
    if (!spatial) add_transposed(rows, dof, jacobian, lambda, velocity);
    else if (rows == 1) add_transposed(1, 6, jacobian, lambda, velocity);
    else add_transposed(3, 6, jacobian, lambda, velocity);
}

/* velocity <- M^-1 velocity of one body */
static void apply_inverse_mass(const cs_body_group *group, int64_t index, double *velocity)
{
    double product[CS_MAX_DOF];
    int dof = group->dof;
    if (group->diagonal) {
        for (int c = 0; c < dof; c++) velocity[c] *= group->inverse_mass[index * dof + c];
        return;
    }
    const double *inverse = group->inverse_mass + index * dof * dof;
    for (int i = 0; i < dof; i++) {
        product[i] = 0;
        for (int c = 0; c < dof; c++) product[i] += inverse[i * dof + c] * velocity[c];
    }
    memcpy(velocity, product, sizeof(double) * (size_t)dof);
}

void cs_apply_inverse_mass(const cs_problem *problem, int64_t body, double *velocity)
{
    const cs_body_group *group = cs_body_group_of(problem, body);
    int64_t index = body - group->first_body;
    apply_inverse_mass(group, index, velocity + group->first_velocity + index * group->dof);
}

/* ---- contact by contact ------------------------------------------------------------------------- */

/* velocity += J^T lambda of the contacts from .. to - 1 of a group */
CS_INLINE void add_impulses_of(const cs_block_group *group, int spatial, int partners, int64_t from,
                               int64_t to, const double *lambda, double *velocity)
{
    for (int64_t k = from; k < to; k++)
        for (int side = 0; side < partners; side++) {
            int64_t at = group->velocity[partners * k + side];
            const double *impulse = lambda + cs_group_row(group, k);
            if (at >= 0) add_impulse(group, spatial, k, side, impulse, velocity + at);
        }
}

static void add_impulses(const cs_block_group *group, int64_t from, int64_t to,
                         const double *lambda, double *velocity)
{
    int spatial = is_spatial(group), partners = group->partners;
    if (partners == CS_PAIR) add_impulses_of(group, spatial, CS_PAIR, from, to, lambda, velocity);
    else add_impulses_of(group, 0, partners, from, to, lambda, velocity);
}

void cs_add_impulses_of_blocks(const cs_problem *problem, const double *lambda, int64_t begin,
                               int64_t end, double *velocity)
{
    for (int g = 0; g < problem->block_groups; g++) {
        int64_t from, to;
        if (cs_group_part(&problem->block_group[g], begin, end, &from, &to))
            add_impulses(&problem->block_group[g], from, to, lambda, velocity);
    }
}

/* xi += J velocity of the contacts from .. to - 1 of a group */
CS_INLINE void add_velocities_of(const cs_block_group *group, int spatial, int partners,
                                 int64_t from, int64_t to, const double *velocity, double *xi)
{
    int rows = group->rows;
    for (int64_t k = from; k < to; k++)
        for (int side = 0; side < partners; side++) {
            int64_t at = group->velocity[partners * k + side];
            double *sum = xi + cs_group_row(group, k);
            if (at < 0) continue;
            if (group->frame) {
                cs_frame_add_velocity(group->frame + k * CS_FRAME_NUMBERS, rows, side,
                                      velocity + at, sum);
                continue;
            }
            const double *jacobian = cs_partner_jacobian(group, k, side, NULL);
            if (spatial) add_product(3, 6, jacobian, velocity + at, sum);
            else add_product(rows, group->dof[side], jacobian, velocity + at, sum);
        }
}

static void add_velocities(const cs_block_group *group, int64_t from, int64_t to,
                           const double *velocity, double *xi)
{
    int spatial = is_spatial(group), partners = group->partners;
    if (partners == CS_PAIR) add_velocities_of(group, spatial, CS_PAIR, from, to, velocity, xi);
    else add_velocities_of(group, 0, partners, from, to, velocity, xi);
}

/* xi += A lambda in the rows of the contacts from .. to - 1 of a group, for a given A */
static void multiply_rows(const cs_problem *problem, const cs_block_group *group, int64_t from,
                          int64_t to, const double *lambda, double *xi)
{
    const cs_block_matrix *matrix = problem->matrix;
    for (int64_t k = from; k < to; k++) {
        int64_t block = group->first_block + k;
        double *row = xi + cs_group_row(group, k);
        const double *value = matrix->value + matrix->first[block];
        for (int64_t e = matrix->start[block]; e < matrix->start[block + 1]; e++) {
            const cs_block_group *other = cs_block_group_of(problem, matrix->column[e]);
            const double *part =
                lambda + cs_group_row(other, matrix->column[e] - other->first_block);
            for (int i = 0; i < group->rows; i++)
                for (int j = 0; j < other->rows; j++) row[i] += *value++ * part[j];
        }
    }
}

/* xi += Sigma lambda of the contacts from .. to - 1 of a group */
static void add_compliance(const cs_block_group *group, int64_t from, int64_t to,
                           const double *lambda, double *xi)
{
    if (!group->compliance) return;
    for (int64_t i = from * group->rows; i < to * group->rows; i++)
        xi[group->first_row + i] += group->compliance[i] * lambda[group->first_row + i];
}

/* xi += A lambda of the contacts from .. to - 1 of a group, with velocity = M^-1 J^T lambda */
static void add_rows(const cs_problem *problem, const cs_block_group *group, int64_t from,
                     int64_t to, const double *lambda, const double *velocity, double *xi)
{
    if (problem->matrix) {
        multiply_rows(problem, group, from, to, lambda, xi);
        return;
    }
    add_velocities(group, from, to, velocity, xi);
    add_compliance(group, from, to, lambda, xi);
}

void cs_velocity_change(const cs_problem *problem, const double *lambda, double *velocity)
{
    memset(velocity, 0, sizeof(double) * (size_t)problem->velocities);
    if (problem->matrix) return; /* a problem with a given A has no bodies */
    for (int g = 0; g < problem->block_groups; g++)
        add_impulses(&problem->block_group[g], 0, problem->block_group[g].count, lambda, velocity);
    for (int g = 0; g < problem->body_groups; g++) {
        const cs_body_group *group = &problem->body_group[g];
        for (int64_t i = 0; i < group->count; i++)
            apply_inverse_mass(group, i, velocity + group->first_velocity + i * group->dof);
    }
}

/* xi += A lambda, with velocity = M^-1 J^T lambda */
static void add_all_rows(const cs_problem *problem, const double *lambda, const double *velocity,
                         double *xi)
{
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        add_rows(problem, group, 0, group->count, lambda, velocity, xi);
    }
}

void cs_add_products(const cs_problem *problem, const double *lambda, double *velocity, double *xi)
{
    if (!problem->matrix) cs_velocity_change(problem, lambda, velocity);
    add_all_rows(problem, lambda, velocity, xi);
}

/* to <- from; NULL: zeros */
static void copy_rows(double *to, const double *from, int64_t rows)
{
    size_t bytes = sizeof(double) * (size_t)rows;
    if (!from) memset(to, 0, bytes);
    else if (rows && from != to) memcpy(to, from, bytes);
}

void cs_residual_velocity(const cs_problem *problem, const double *lambda, const double *b,
                          double *velocity, double *xi)
{
    copy_rows(xi, b, problem->rows);
    cs_add_products(problem, lambda, velocity, xi);
}

/* ---- by several threads ------------------------------------------------------------------------- */

/* One product with A. */
typedef struct product {
    const cs_problem *problem;
    const cs_adjacency *adjacency;
    const double *lambda, *b;
    double *velocity, *xi;
} product;

/* velocity <- M^-1 J^T lambda of one body. Its contacts ascend, as they do contact by contact: sums have the same
 * bits. */
static void move_body(const product *p, const cs_body_group *owner, int64_t body)
{
    const cs_problem *problem = p->problem;
    const cs_adjacency *adjacency = p->adjacency;
    const cs_block_group *group = problem->block_group;
    int64_t index = body - owner->first_body;
    double *velocity = p->velocity + owner->first_velocity + index * owner->dof;
    memset(velocity, 0, sizeof(double) * (size_t)owner->dof);
    for (int64_t e = adjacency->start[body]; e < adjacency->start[body + 1]; e++) {
        int64_t block = cs_entry_block(adjacency, adjacency->entry[e]);
        int side = cs_entry_partner(adjacency, adjacency->entry[e]);
        while (block >= group->first_block + group->count) group++;
        int64_t k = block - group->first_block;
        const double *impulse = p->lambda + cs_group_row(group, k);
        add_impulse(group, is_spatial(group), k, side, impulse, velocity);
    }
    apply_inverse_mass(owner, index, velocity);
}

static int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }

static void move_bodies(const product *p, int64_t piece)
{
    int64_t end = lesser((piece + 1) * PIECE, p->problem->bodies);
    for (int64_t body = piece * PIECE; body < end; body++)
        move_body(p, cs_body_group_of(p->problem, body), body);
}

void cs_residual_of_blocks(const cs_problem *problem, const double *lambda, const double *b,
                           const double *velocity, int64_t begin, int64_t end, double *xi)
{
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        int64_t from, to;
        if (!cs_group_part(group, begin, end, &from, &to)) continue;
        int64_t row = cs_group_row(group, from);
        copy_rows(xi + row, b ? b + row : NULL, (to - from) * group->rows);
        add_rows(problem, group, from, to, lambda, velocity, xi);
    }
}

/* xi <- A lambda + b of the contacts of a piece, which may belong to several groups */
static void multiply_piece(const product *p, int64_t piece)
{
    int64_t begin = piece * PIECE, end = lesser(begin + PIECE, p->problem->blocks);
    cs_residual_of_blocks(p->problem, p->lambda, p->b, p->velocity, begin, end, p->xi);
}

static void run_task(void *context, int64_t phase, int64_t task)
{
    if (phase == 0) move_bodies(context, task);
    else multiply_piece(context, task);
}

int cs_threads_of_products(const cs_problem *problem, int asked, int exact)
{
    int64_t parts = problem->blocks / WORTH_A_THREAD;
    if (exact) return cs_threads_exactly(asked, parts);
    return cs_threads_for(asked, problem->blocks, CS_WORTH_THREADS_SWEEP, parts);
}

cs_status cs_share_products(const cs_problem *problem, int threads, int paced, cs_arena *arena,
                            cs_shared_products *shared, cs_error *error)
{
    *shared = (cs_shared_products){.threads = threads,
                                   .paced = paced,
                                   .pace = shared->pace,
                                   .complete = shared->complete,
                                   .context = shared->context};
    if (threads <= 1) return CS_OK;
    int64_t bodies = problem->matrix ? 0 : problem->bodies;
    shared->phase = cs_arena_take(arena, 2, sizeof(cs_phase));
    if (cs_arena_failed(arena)) return cs_no_memory(error, "the workspace");
    shared->phase[0].tasks = (bodies + PIECE - 1) / PIECE;
    shared->phase[1].tasks = (problem->blocks + PIECE - 1) / PIECE;
    return bodies ? cs_adjacency_share(problem, threads, arena, &shared->adjacency, error) : CS_OK;
}

void cs_run_product(const cs_shared_products *shared,
                    void (*run)(void *context, int64_t phase, int64_t task), void *context,
                    double *velocity)
{
    cs_phases phases = {2, shared->phase, run, context};
    int threads = cs_products_threads(shared);
    if (!shared->complete) {
        cs_phases_run(&phases, threads);
        return;
    }
    cs_phases_run_part(&phases, 0, 1, threads);
    shared->complete(shared->context, velocity);
    cs_phases_run_part(&phases, 1, 2, threads);
}

void cs_shared_velocities(const cs_shared_products *shared, const cs_problem *problem,
                          const double *lambda, double *velocity)
{
    if (!problem->matrix) cs_shared_velocity_change(shared, problem, lambda, velocity);
    if (shared->complete) shared->complete(shared->context, velocity);
}

void cs_shared_residual_velocity(cs_shared_products *shared, const cs_problem *problem,
                                 const double *lambda, const double *b, double *velocity,
                                 double *xi)
{
    double start = cs_clock();
    int shares = cs_products_threads(shared) > 1;
    product p = {problem, &shared->adjacency, lambda, b, velocity, xi};
    if (shares) cs_run_product(shared, run_task, &p, velocity);
    else {
        /* One thread goes contact by contact. */
        copy_rows(xi, b, problem->rows);
        if (!problem->matrix) cs_velocity_change(problem, lambda, velocity);
        if (shared->complete) shared->complete(shared->context, velocity);
        add_all_rows(problem, lambda, velocity, xi);
    }
    if (shared->paced && shared->threads > 1)
        cs_pace_learn(&shared->pace, shares, cs_clock() - start);
}

void cs_shared_velocity_change(const cs_shared_products *shared, const cs_problem *problem,
                               const double *lambda, double *velocity)
{
    if (cs_products_threads(shared) <= 1) {
        cs_velocity_change(problem, lambda, velocity);
        return;
    }
    product p = {problem, &shared->adjacency, lambda, NULL, velocity, NULL};
    cs_phases bodies = {1, shared->phase, run_task, &p};
    cs_phases_run(&bodies, shared->threads);
}

/* y += A^T x for a given A, entry by entry */
typedef struct transposed {
    const double *x;
    double *y;
} transposed;

static void add_entry(void *context, int64_t row, int64_t column, double entry)
{
    const transposed *p = context;
    p->y[column] += entry * p->x[row];
}

void cs_multiply_transposed(cs_shared_products *shared, const cs_problem *problem, const double *x,
                            double *velocity, double *y)
{
    /* A = J M^-1 J^T + Sigma is symmetric. */
    if (!problem->matrix) {
        cs_shared_residual_velocity(shared, problem, x, NULL, velocity, y);
        return;
    }
    copy_rows(y, NULL, problem->rows);
    cs_each_entry(problem, 0, problem->blocks, add_entry, &(transposed){x, y});
}
