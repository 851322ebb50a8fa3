/* Builds a problem: adds bodies and blocks, and replaces the values of a problem by new ones. The checks
 * of this input are here; those of a given A are in problem/block_matrix.c. */
#include "core/error.h"
#include "linalg/small.h"
#include "problem/problem.h"
#include "prox/prox.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A copy of `count` doubles in the problem's arena; NULL if memory runs out, which the arena remembers. */
static double *copy_values(cs_problem *problem, const double *values, int64_t count)
{
    double *copy = cs_arena_take_unset(&problem->arena, count, sizeof(double));
    if (copy && count) memcpy(copy, values, sizeof(double) * (size_t)count);
    return copy;
}

/* Fails if one of the copies above did not get its memory. */
static cs_status copies_status(const cs_problem *problem, cs_error *error)
{
    return cs_arena_status(&problem->arena, error, "the problem's copy of its arrays");
}

/* Whether a value is infinite or NaN. The exponent of such a number has all bits set, so that adding 1 to
 * it carries into the sign bit. The compiler vectorises this loop over integers. */
static int has_not_finite(const double *values, int64_t count)
{
    const uint64_t magnitude = UINT64_MAX >> 1, carry = (uint64_t)1 << 52;
    uint64_t found = 0;
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        found |= (bits & magnitude) + carry;
    }
    return found >> 63 != 0;
}

enum { PIECE = 2048 }; /* doubles checked at a time: 16 KiB, which fit the first-level cache */

/* The index of the first entry that is not finite, or -1. */
static int64_t find_not_finite(const double *values, int64_t count)
{
    for (int64_t first = 0; first < count; first += PIECE) {
        int64_t piece = count - first < PIECE ? count - first : PIECE;
        if (!has_not_finite(values + first, piece)) continue;
        while (isfinite(values[first])) first++;
        return first;
    }
    return -1;
}

/* Copies doubles and checks them in the same pass. bad <- the index of the first that is not finite,
 * or -1. */
static double *copy_finite(cs_problem *problem, const double *values, int64_t count, int64_t *bad)
{
    double *copy = cs_arena_take_unset(&problem->arena, count, sizeof(double));
    *bad = -1;
    for (int64_t first = 0; copy && first < count; first += PIECE) {
        int64_t piece = count - first < PIECE ? count - first : PIECE;
        memcpy(copy + first, values + first, sizeof(double) * (size_t)piece);
        if (!has_not_finite(copy + first, piece)) continue;
        *bad = first + find_not_finite(copy + first, piece);
        break;
    }
    return copy;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

/* The largest accepted |M^-1 - M^-T| over the largest entry: the input may come from single precision. */
#define SYMMETRY 1e-6

/* Checks that an inverse mass (dof, dof) is symmetric. */
static cs_status check_symmetric(int dof, const double *block, int64_t body, cs_error *error)
{
    double largest = 0;
    for (int i = 0; i < dof * dof; i++) largest = fmax(largest, fabs(block[i]));
    for (int i = 0; i < dof; i++)
        for (int j = i + 1; j < dof; j++)
            if (fabs(block[i * dof + j] - block[j * dof + i]) > SYMMETRY * largest)
                return cs_fail(error, CS_INVALID,
                               "Minv[%lld, %d, %d] is %s but Minv[%lld, %d, %d] is %s: an inverse "
                               "mass is symmetric",
                               (long long)body, i, j, cs_number(block[i * dof + j]).text,
                               (long long)body, j, i, cs_number(block[j * dof + i]).text);
    return CS_OK;
}

/* root <- sqrt(M^-1) of diagonal inverse masses, which must not be negative. */
static cs_status factor_diagonal(cs_body_group *group, cs_error *error)
{
    int dof = group->dof;
    for (int64_t i = 0; i < group->count * dof; i++) {
        double entry = group->inverse_mass[i];
        if (entry < 0)
            return cs_fail(error, CS_INVALID,
                           "Minv[%lld, %lld] is %s: an inverse mass is 0 (immovable) or more",
                           (long long)(group->first_body + i / dof), (long long)(i % dof),
                           cs_number(entry).text);
        group->root[i] = sqrt(entry);
    }
    return CS_OK;
}

/* root <- L with L L^T = M^-1 of full inverse masses, which must be symmetric and semidefinite. */
static cs_status factor_blocks(cs_body_group *group, cs_error *error)
{
    int dof = group->dof;
    for (int64_t body = 0; body < group->count; body++) {
        const double *block = group->inverse_mass + body * dof * dof;
        long long number = (long long)(group->first_body + body);
        cs_status status = check_symmetric(dof, block, number, error);
        if (status) return status;
        int row = cs_semidefinite_cholesky(dof, block, group->root + body * dof * dof);
        if (row >= 0)
            return cs_fail(error, CS_INVALID,
                           "Minv[%lld] is indefinite, found at row %d (Minv[%lld, %d, %d] is %s): "
                           "an inverse mass has no negative eigenvalue",
                           number, row, number, row, row, cs_number(block[row * dof + row]).text);
    }
    return CS_OK;
}

/* Marks the bodies with M^-1 = 0. */
static void find_immovable(cs_body_group *group)
{
    int64_t size = group->dof * (group->diagonal ? 1 : group->dof);
    for (int64_t body = 0; body < group->count; body++) {
        const double *inverse = group->inverse_mass + body * size;
        int64_t i = 0;
        while (i < size && inverse[i] == 0) i++;
        group->immovable[body] = i == size;
    }
}

/* Reports the entry of the inverse masses that is not finite, with its indices as the user sees them. */
static cs_status report_inverse_mass(const cs_body_group *group, int64_t entry, double value,
                                     cs_error *error)
{
    int64_t dof = group->dof, size = group->diagonal ? dof : dof * dof;
    long long body = (long long)(group->first_body + entry / size),
              rest = (long long)(entry % size);
    if (group->diagonal)
        return cs_fail(error, CS_INVALID, "Minv[%lld, %lld] is %g: every entry must be finite",
                       body, rest, value);
    return cs_fail(error, CS_INVALID, "Minv[%lld, %lld, %lld] is %g: every entry must be finite",
                   body, rest / dof, rest % dof, value);
}

cs_status cs_problem_add_bodies(cs_problem *problem, const cs_bodies *bodies, cs_error *error)
{
    /* Check the call. */
    if (problem->body_groups == CS_MAX_GROUPS)
        return cs_fail(error, CS_INVALID, "a problem takes at most %d groups of bodies",
                       CS_MAX_GROUPS);
    if (problem->block_groups)
        return cs_fail(error, CS_INVALID, "add all bodies before the first block");
    if (bodies->dof < 1 || bodies->dof > CS_MAX_DOF || bodies->count < 0)
        return cs_fail(error, CS_INVALID,
                       "Minv describes bodies with %d degrees of freedom; 1 to %d are allowed",
                       bodies->dof, CS_MAX_DOF);

    /* Describe the group, so that messages can name its bodies by their numbers. */
    cs_body_group *group = &problem->body_group[problem->body_groups];
    *group = (cs_body_group){
        .count = bodies->count,
        .dof = bodies->dof,
        .diagonal = bodies->diagonal,
        .first_body = problem->bodies,
        .first_velocity = problem->velocities,
    };
    int64_t entries = bodies->count * bodies->dof * (bodies->diagonal ? 1 : bodies->dof);
    int64_t bad = find_not_finite(bodies->inverse_mass, entries);
    if (bad >= 0) return report_inverse_mass(group, bad, bodies->inverse_mass[bad], error);

    /* Copy and factor the inverse masses; a failure leaves the problem unchanged. */
    cs_arena_mark before = cs_arena_position(&problem->arena);
    group->inverse_mass = copy_values(problem, bodies->inverse_mass, entries);
    group->root = cs_arena_take_unset(&problem->arena, entries, sizeof(double));
    group->immovable = cs_arena_take_unset(&problem->arena, bodies->count, 1);
    cs_status status = copies_status(problem, error);
    if (!status)
        status = group->diagonal ? factor_diagonal(group, error) : factor_blocks(group, error);
    if (status) {
        cs_arena_rewind(&problem->arena, before);
        return status;
    }
    find_immovable(group);

    /* From here on the group is part of the problem. */
    problem->body_groups++;
    problem->bodies += group->count;
    problem->velocities += group->count * group->dof;
    return CS_OK;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Checks that body numbers exist and that the columns of J match the bodies' degrees of freedom. */
static cs_status check_bodies(const cs_problem *problem, const cs_blocks *blocks, cs_error *error)
{
    long long first = (long long)problem->blocks;
    for (int64_t i = 0; i < 2 * blocks->count; i++) {
        int64_t body = blocks->bodies[i];
        long long block = first + (long long)(i / 2);
        int side = (int)(i % 2);
        if (body < -1 || body >= problem->bodies)
            return cs_fail(error, CS_INVALID,
                           "bodies[%lld, %d] is %lld: body numbers run from -1 (the fixed world) "
                           "to %lld",
                           block, side, (long long)body, (long long)problem->bodies - 1);
        const cs_body_group *group = cs_body_group_of(problem, body);
        if (group && group->dof != blocks->dof[side])
            return cs_fail(error, CS_INVALID,
                           "bodies[%lld, %d] is %lld, which has %d degrees of freedom, but J has "
                           "%d columns for it",
                           block, side, (long long)body, group->dof, blocks->dof[side]);
    }
    return CS_OK;
}

/* Copies J, and reports an entry that is not finite with its indices as the user sees them. */
static cs_status keep_jacobian(cs_problem *problem, const cs_blocks *blocks, cs_block_group *group,
                               cs_error *error)
{
    int64_t size = (int64_t)blocks->rows * (blocks->dof[0] + blocks->dof[1]), bad;
    group->jacobian = copy_finite(problem, blocks->jacobian, blocks->count * size, &bad);
    if (bad < 0) return copies_status(problem, error);

    /* Split the index into block, partner, row and column. */
    int64_t first_side = (int64_t)blocks->rows * blocks->dof[0], rest = bad % size;
    int side = rest >= first_side;
    if (side) rest -= first_side;
    return cs_fail(error, CS_INVALID, "J[%lld, %d, %lld, %lld] is %g: every entry must be finite",
                   (long long)(problem->blocks + bad / size), side,
                   (long long)(rest / blocks->dof[side]), (long long)(rest % blocks->dof[side]),
                   blocks->jacobian[bad]);
}

/* velocity (count, 2) <- the index of each partner's first velocity; -1 for the fixed world and immovable
 * bodies. */
static void find_velocities(const cs_problem *problem, cs_block_group *group)
{
    for (int64_t i = 0; i < 2 * group->count; i++) {
        const cs_body_group *owner = cs_body_group_of(problem, group->bodies[i]);
        int64_t place = owner ? group->bodies[i] - owner->first_body : 0;
        int moving = owner && !owner->immovable[place];
        group->velocity[i] = moving ? owner->first_velocity + place * owner->dof : -1;
    }
}

/* Checks and copies J and the body numbers. */
static cs_status copy_jacobian(cs_problem *problem, cs_block_group *group, const cs_blocks *blocks,
                               cs_error *error)
{
    for (int side = 0; side < 2; side++)
        if (blocks->dof[side] < 0 || blocks->dof[side] > CS_MAX_DOF)
            return cs_fail(error, CS_INVALID,
                           "J has %d columns for bodies[:, %d]; at most %d are allowed",
                           blocks->dof[side], side, CS_MAX_DOF);

    /* Check and copy. */
    cs_status status = check_bodies(problem, blocks, error);
    if (!status) status = keep_jacobian(problem, blocks, group, error);
    if (status) return status;

    /* Note the partners of each block and where their velocities are. */
    group->dof[0] = blocks->dof[0];
    group->dof[1] = blocks->dof[1];
    group->bodies = cs_arena_take_unset(&problem->arena, 2 * group->count, sizeof(int64_t));
    group->velocity = cs_arena_take_unset(&problem->arena, 2 * group->count, sizeof(int64_t));
    status = copies_status(problem, error);
    if (status) return status;
    if (group->count)
        memcpy(group->bodies, blocks->bodies, sizeof(int64_t) * 2 * (size_t)group->count);
    find_velocities(problem, group);
    return CS_OK;
}

/* Checks and copies the diagonal of Sigma. */
static cs_status copy_compliance(cs_problem *problem, cs_block_group *group,
                                 const cs_blocks *blocks, cs_error *error)
{
    int64_t entries = group->count * group->rows;
    if (!blocks->jacobian)
        return cs_fail(error, CS_INVALID,
                       "compliance is for problems with Jacobians: add it to "
                       "the diagonal of a given A");
    for (int64_t i = 0; i < entries; i++)
        if (!(blocks->compliance[i] >= 0) || isinf(blocks->compliance[i]))
            return cs_fail(error, CS_INVALID,
                           "compliance[%lld, %lld] is %s: a finite number, 0 or more, is needed",
                           (long long)(problem->blocks + i / group->rows),
                           (long long)(i % group->rows), cs_number(blocks->compliance[i]).text);
    group->compliance = copy_values(problem, blocks->compliance, entries);
    return CS_OK;
}

/* Copies the part of Sigma that a given A contains. */
static cs_status copy_included(cs_problem *problem, cs_block_group *group, const cs_blocks *blocks,
                               cs_error *error)
{
    if (blocks->jacobian)
        return cs_fail(error, CS_INVALID, "included is for a given A: compliance is added to A");
    group->included = copy_values(problem, blocks->included, group->count * group->rows);
    return CS_OK;
}

/* The numbers of rows that a set accepts, as text: "2 or 3", "from 1 to 6". */
static cs_text rows_of_set(const cs_set *set)
{
    int taken[CS_MAX_ROWS], count = 0;
    for (int rows = 1; rows <= CS_MAX_ROWS; rows++)
        if (set->parameters(rows) >= 0) taken[count++] = rows;
    cs_text text = {{0}};
    size_t room = sizeof text.text;
    if (count == 1) snprintf(text.text, room, "%d", taken[0]);
    if (count == 2) snprintf(text.text, room, "%d or %d", taken[0], taken[1]);
    if (count > 2) snprintf(text.text, room, "from %d to %d", taken[0], taken[count - 1]);
    return text;
}

/* Checks everything about a group of blocks but its arrays: the shape, the set, and whether the problem
 * can still take it. */
static cs_status check_kind(const cs_problem *problem, const cs_blocks *blocks, cs_error *error)
{
    if (problem->block_groups == CS_MAX_GROUPS)
        return cs_fail(error, CS_INVALID, "a problem takes at most %d groups of blocks",
                       CS_MAX_GROUPS);
    if (blocks->rows < 1 || blocks->rows > CS_MAX_ROWS || blocks->count < 0)
        return cs_fail(error, CS_INVALID, "blocks have %d rows; 1 to %d are allowed", blocks->rows,
                       CS_MAX_ROWS);
    const cs_set *set = cs_set_find(blocks->set);
    if (!set)
        return cs_fail(error, CS_UNKNOWN_NAME, "sets: there is no set '%s'",
                       cs_word(blocks->set).text);
    if (set->parameters(blocks->rows) < 0)
        return cs_fail(error, CS_INVALID,
                       "sets: '%s' does not take blocks of %d row%s: it takes %s", set->name,
                       blocks->rows, blocks->rows == 1 ? "" : "s", rows_of_set(set).text);
    if (set->variable && blocks->parameters_each < set->parameters(blocks->rows))
        return cs_fail(error, CS_INVALID, "sets: '%s' takes at least %d parameters a block, not %d",
                       set->name, set->parameters(blocks->rows), blocks->parameters_each);
    if (problem->matrix)
        return cs_fail(error, CS_INVALID, "A is given already: add all blocks before it");
    if (problem->block_groups && !problem->block_group[0].jacobian != !blocks->jacobian)
        return cs_fail(error, CS_INVALID, "either every block has a Jacobian, or A is given");
    return CS_OK;
}

/* Copies the arrays of a group of blocks. */
static cs_status copy_blocks(cs_problem *problem, cs_block_group *group, const cs_blocks *blocks,
                             cs_error *error)
{
    cs_status status = CS_OK;
    if (blocks->jacobian) status = copy_jacobian(problem, group, blocks, error);
    if (!status && blocks->compliance) status = copy_compliance(problem, group, blocks, error);
    if (!status && blocks->included) status = copy_included(problem, group, blocks, error);
    if (status) return status;
    group->b = copy_values(problem, blocks->b, group->count * group->rows);
    group->parameter = copy_values(problem, blocks->parameters, group->count * group->parameters);
    return copies_status(problem, error);
}

cs_status cs_problem_add_blocks(cs_problem *problem, const cs_blocks *blocks, cs_error *error)
{
    /* Check the call and b. */
    cs_status status = check_kind(problem, blocks, error);
    if (status) return status;
    int64_t bad = find_not_finite(blocks->b, blocks->count * blocks->rows);
    if (bad >= 0)
        return cs_fail(error, CS_INVALID, "b[%lld, %lld] is %g: every entry must be finite",
                       (long long)(problem->blocks + bad / blocks->rows),
                       (long long)(bad % blocks->rows), blocks->b[bad]);

    /* Describe the group. */
    const cs_set *set = cs_set_find(blocks->set);
    int each = set->variable ? blocks->parameters_each : set->parameters(blocks->rows);
    cs_block_group *group = &problem->block_group[problem->block_groups];
    *group = (cs_block_group){
        .count = blocks->count,
        .rows = blocks->rows,
        .first_block = problem->blocks,
        .first_row = problem->rows,
        .set = set,
        .parameters = each,
        .first_parameter = problem->parameters,
    };

    /* Check the parameters of the set, which then tells which rows it couples. */
    status = cs_check_parameters(set, blocks->count, blocks->rows, each, blocks->parameters,
                                 problem->blocks, error);
    if (status) return status;
    set->coupling(group->rows, group->coupled_set);

    /* Copy the arrays; a failure leaves the problem unchanged. */
    cs_arena_mark before = cs_arena_position(&problem->arena);
    status = copy_blocks(problem, group, blocks, error);
    if (status) {
        cs_arena_rewind(&problem->arena, before);
        return status;
    }

    /* From here on the group is part of the problem. */
    problem->block_groups++;
    problem->blocks += group->count;
    problem->rows += group->count * group->rows;
    problem->parameters += group->count * group->parameters;
    return CS_OK;
}

/* ---- new values ------------------------------------------------------------------------------ */

/* Whether two problems differ in values only: same groups, sizes, sets and body numbers. */
static int same_structure(const cs_problem *a, const cs_problem *b)
{
    int same = a->body_groups == b->body_groups && a->block_groups == b->block_groups &&
               !a->matrix == !b->matrix;
    for (int g = 0; g < a->body_groups && same; g++)
        same = a->body_group[g].count == b->body_group[g].count &&
               a->body_group[g].dof == b->body_group[g].dof;
    for (int g = 0; g < a->block_groups && same; g++) {
        const cs_block_group *x = &a->block_group[g], *y = &b->block_group[g];
        same = x->count == y->count && x->rows == y->rows && x->dof[0] == y->dof[0] &&
               x->dof[1] == y->dof[1] && x->set == y->set && x->parameters == y->parameters;
        for (int64_t i = 0; i < 2 * x->count && same && x->bodies; i++)
            same = x->bodies[i] == y->bodies[i];
    }
    return same;
}

cs_status cs_problem_replace(cs_problem *problem, cs_problem *with, cs_error *error)
{
    if (!same_structure(problem, with))
        return cs_fail(error, CS_INVALID,
                       "the new values have another structure (contacts, rows, bodies, sets)");

    /* Exchange the contents: the caller destroys `with`, and the old values with it. */
    cs_problem old = *problem;
    *problem = *with;
    *with = old;

    /* Give both a version that neither had, so that solvers of either notice the change. */
    int64_t newest = old.version > problem->version ? old.version : problem->version;
    problem->version = with->version = newest + 1;
    return CS_OK;
}
