#include "problem/copy_arrays.h"

#include "core/clock.h"
#include "core/parallel.h"
#include "core/phases.h"
#include "problem/check_arrays.h"
#include "prox/prox.h"

#include <stdatomic.h>
#include <string.h>

enum { PIECE = 512 }; /* bodies or blocks of one task */

/* What the tasks share. `group` and what is given are those of bodies or of blocks. */
typedef struct copy {
    const cs_problem *problem;
    cs_body_group *bodies;
    const double *inverse_mass;
    cs_block_group *blocks;
    const cs_blocks *given;
    cs_pace *pace;    /* of earlier copies; or NULL */
    atomic_int wrong; /* whether some piece did not pass its checks */
} copy;

/* to <- from. Returns whether all numbers are finite. One loop reads each number once. */
static int copy_finite(double *restrict to, const double *from, int64_t count)
{
    const uint64_t magnitude = UINT64_MAX >> 1, carry = (uint64_t)1 << 52;
    uint64_t found = 0;
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &from[i], sizeof bits);
        memcpy(&to[i], &bits, sizeof bits);
        found |= (bits & magnitude) + carry; /* as in cs_has_not_finite */
    }
    return found >> 63 == 0;
}

static void fail(copy *c) { atomic_store_explicit(&c->wrong, 1, memory_order_relaxed); }

/* Runs a task for each piece of `count` bodies or blocks that together have so many numbers. */
static void run_pieces(copy *c, int64_t count, int64_t numbers,
                       void (*run)(void *context, int64_t phase, int64_t task))
{
    cs_phase pieces = {.tasks = (count + PIECE - 1) / PIECE};
    cs_phases phases = {1, &pieces, run, c};
    int exact = c->problem->threads;
    int64_t parts = exact ? pieces.tasks : numbers / CS_WORTH_A_COPY;
    int threads = cs_problem_threads(c->problem, 0, numbers, CS_WORTH_THREADS_COPY, parts);

    /* Repeated copies are shared as the pace says. It counts seconds a number, because copies differ in size. */
    int paced = c->pace && !exact && threads > 1;
    if (paced && !cs_pace_shares(c->pace)) threads = 1;
    double start = paced ? cs_clock() : 0;
    cs_phases_run(&phases, threads);
    if (paced) cs_pace_learn(c->pace, threads > 1, (cs_clock() - start) / (double)numbers);
}

static int64_t end_of(int64_t first, int64_t count)
{
    return count - first < PIECE ? count : first + PIECE;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

/* Marks the bodies with M^-1 = 0. */
static void find_immovable(cs_body_group *group, int64_t first, int64_t end)
{
    int64_t size = cs_inverse_mass_size(group);
    for (int64_t body = first; body < end; body++) {
        const double *inverse = group->inverse_mass + body * size;
        int64_t i = 0;
        while (i < size && inverse[i] == 0) i++;
        group->immovable[body] = i == size;
    }
}

static void copy_body_piece(void *context, int64_t phase, int64_t task)
{
    (void)phase;
    copy *c = context;
    cs_body_group *group = c->bodies;
    int64_t first = task * PIECE, end = end_of(first, group->count);
    int64_t size = cs_inverse_mass_size(group);
    if (!copy_finite(group->inverse_mass + first * size, c->inverse_mass + first * size,
                     (end - first) * size))
        fail(c);
    if (cs_factor_bodies(group, first, end, NULL)) fail(c);
    find_immovable(group, first, end);
}

cs_status cs_copy_bodies(const cs_problem *problem, cs_body_group *group,
                         const double *inverse_mass, cs_pace *pace, cs_error *error)
{
    copy c = {.problem = problem, .bodies = group, .inverse_mass = inverse_mass, .pace = pace};
    run_pieces(&c, group->count, group->count * cs_inverse_mass_size(group), copy_body_piece);
    return c.wrong ? cs_check_bodies(group, error) : CS_OK;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

void cs_find_velocities(const cs_problem *problem, cs_block_group *group, int64_t first,
                        int64_t end)
{
    const cs_body_group *only = problem->body_groups == 1 ? problem->body_group : NULL;
    int partners = group->partners;
    for (int64_t i = partners * first; i < partners * end; i++) {
        const cs_body_group *owner =
            only && group->bodies[i] >= 0 ? only : cs_body_group_of(problem, group->bodies[i]);
        int64_t place = owner ? group->bodies[i] - owner->first_body : 0;
        int moving = owner && !owner->immovable[place];
        group->velocity[i] = moving ? owner->first_velocity + place * owner->dof : -1;
    }
}

/* Whether the partners of the blocks first ... end - 1 fit. If there is one group of bodies, that of a body need not be
 * searched for. */
static int partners_fit(const cs_problem *problem, const cs_blocks *blocks, int64_t first,
                        int64_t end)
{
    int fit = 1;
    if (problem->body_groups != 1) {
        for (int64_t k = first; k < end && fit; k++) fit = cs_partners_fit(problem, blocks, k);
        return fit;
    }
    int dof = problem->body_group[0].dof, partners = cs_partners_of(blocks);
    for (int side = 0; side < partners; side++) {
        int64_t most = dof == blocks->dof[side] ? problem->bodies - 1 : -1;
        const int64_t *body = blocks->bodies + side;
        for (int64_t k = first; k < end; k++)
            fit &= (body[partners * k] >= -1) & (body[partners * k] <= most);
    }
    return fit;
}

/* Copies the body numbers of a piece, and finds the places of the velocities. */
static void copy_partners(copy *c, int64_t first, int64_t end)
{
    cs_block_group *group = c->blocks;
    cs_blocks copied = {.bodies = group->bodies};
    int partners = group->partners;
    cs_describe_partners(group, &copied);
    memcpy(group->bodies + partners * first, c->given->bodies + partners * first,
           sizeof(int64_t) * (size_t)(partners * (end - first)));
    if (!partners_fit(c->problem, &copied, first, end)) {
        fail(c);
        return;
    }
    cs_find_velocities(c->problem, group, first, end);
}

/* Copies the diagonal of Sigma of a piece. */
static void copy_compliance(copy *c, int64_t first, int64_t end)
{
    int rows = c->blocks->rows, fits = 1;
    double *to = c->blocks->compliance + first * rows;
    fits &= copy_finite(to, c->given->compliance + first * rows, (end - first) * rows);
    for (int64_t i = 0; i < (end - first) * rows; i++) fits &= to[i] >= 0;
    if (!fits) fail(c);
}

/* Copies the parameters of a piece. Those of a set that calls the caller's code are checked later, by one thread. */
static void copy_parameters(copy *c, int64_t first, int64_t end)
{
    const cs_block_group *group = c->blocks;
    int each = group->parameters;
    double *to = group->parameter + first * each;
    if (each)
        memcpy(to, c->given->parameters + first * each,
               sizeof(double) * (size_t)((end - first) * each));
    if (!group->set->alone &&
        cs_check_parameters(group->set, end - first, group->rows, each, to, 0, NULL))
        fail(c);
}

static void copy_block_piece(void *context, int64_t phase, int64_t task)
{
    (void)phase;
    copy *c = context;
    const cs_blocks *given = c->given;
    const cs_block_group *group = c->blocks;
    int64_t first = task * PIECE, end = end_of(first, group->count), blocks = end - first;
    int64_t size = cs_jacobian_size(group), row = first * group->rows;
    int fits = 1;
    if (given->jacobian)
        fits &= copy_finite(group->jacobian + first * size, given->jacobian + first * size,
                            blocks * size);
    if (given->frame)
        fits &= copy_finite(group->frame + first * CS_FRAME_NUMBERS,
                            given->frame + first * CS_FRAME_NUMBERS, blocks * CS_FRAME_NUMBERS);
    if (given->b) fits &= copy_finite(group->b + row, given->b + row, blocks * group->rows);
    if (!fits) fail(c);
    if (given->bodies) copy_partners(c, first, end);
    if (given->parameters) copy_parameters(c, first, end);
    if (given->compliance) copy_compliance(c, first, end);
    if (given->included)
        memcpy(group->included + row, given->included + row,
               sizeof(double) * (size_t)(blocks * group->rows));
}

/* The numbers of one block in the arrays that are given. */
static int64_t numbers_of(const cs_block_group *group, const cs_blocks *given)
{
    int64_t of_rows = (given->b ? 1 : 0) + (given->compliance ? 1 : 0) + (given->included ? 1 : 0);
    return of_rows * group->rows + (given->jacobian ? cs_jacobian_size(group) : 0) +
           (given->frame ? CS_FRAME_NUMBERS : 0) + (given->bodies ? group->partners : 0) +
           (given->parameters ? group->parameters : 0);
}

/* `given`, with the copies in place of the arrays. */
static cs_blocks copies_of(const cs_block_group *group, const cs_blocks *given)
{
    cs_blocks copies = *given;
    if (given->jacobian) copies.jacobian = group->jacobian;
    if (given->frame) copies.frame = group->frame;
    if (given->bodies) copies.bodies = group->bodies;
    if (given->b) copies.b = group->b;
    if (given->parameters) copies.parameters = group->parameter;
    if (given->compliance) copies.compliance = group->compliance;
    return copies;
}

cs_status cs_copy_blocks(const cs_problem *problem, cs_block_group *group, const cs_blocks *given,
                         cs_pace *pace, cs_error *error)
{
    copy c = {.problem = problem, .blocks = group, .given = given, .pace = pace};
    run_pieces(&c, group->count, group->count * numbers_of(group, given), copy_block_piece);
    if (!c.wrong && !group->set->alone) return CS_OK;
    cs_blocks copies = copies_of(group, given);
    return cs_check_blocks(problem, group, &copies, error);
}
