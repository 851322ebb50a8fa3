/* Builds a problem: adds bodies and blocks. The checks of their arrays are in problem/check_arrays.c, those of a
 * given A in problem/block_matrix.c. */
#include "core/error.h"
#include "problem/check_arrays.h"
#include "problem/copy_arrays.h"
#include "prox/prox.h"

#include <stdio.h>

/* Room for `count` doubles in the problem's arena. */
static double *take(cs_problem *problem, int64_t count)
{
    return cs_arena_take_unset(&problem->arena, count, sizeof(double));
}

/* Fails if an array above did not get its memory. */
static cs_status copies_status(const cs_problem *problem, cs_error *error)
{
    return cs_arena_status(&problem->arena, error, "the problem's copy of its arrays");
}

/* ---- bodies ---------------------------------------------------------------------------------- */

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

    /* Copy and factor the inverse masses; a failure leaves the problem unchanged. */
    cs_arena_mark before = cs_arena_position(&problem->arena);
    int64_t entries = bodies->count * cs_inverse_mass_size(group);
    group->inverse_mass = take(problem, entries);
    group->root = take(problem, entries);
    group->immovable = cs_arena_take_unset(&problem->arena, bodies->count, 1);
    cs_status status = copies_status(problem, error);
    if (!status) status = cs_copy_bodies(problem, group, bodies->inverse_mass, NULL, error);
    if (status) {
        cs_arena_rewind(&problem->arena, before);
        return status;
    }

    /* From here on the group is part of the problem. */
    problem->body_groups++;
    problem->bodies += group->count;
    problem->velocities += group->count * group->dof;
    return CS_OK;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

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

/* Whether blocks act on bodies. */
static int have_jacobians(const cs_blocks *blocks) { return blocks->jacobian || blocks->frame; }

/* Checks the shape of blocks that have frames. */
static cs_status check_frames(const cs_blocks *blocks, cs_error *error)
{
    if (blocks->jacobian)
        return cs_fail(error, CS_INVALID, "blocks have both a Jacobian and frames: give one");
    if (cs_partners_of(blocks) != CS_PAIR)
        return cs_fail(error, CS_INVALID, "blocks with frames act on 2 bodies, not on %d",
                       cs_partners_of(blocks));
    if (blocks->dof[0] != 6 || blocks->dof[1] != 6 || blocks->rows == 2 || blocks->rows > 5)
        return cs_fail(error, CS_INVALID,
                       "blocks with frames have %d rows on bodies with %d and %d degrees of "
                       "freedom: 1, 3, 4 or 5 rows on bodies with 6 are needed",
                       blocks->rows, blocks->dof[0], blocks->dof[1]);
    return CS_OK;
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
    if (problem->block_groups &&
        cs_has_jacobians(&problem->block_group[0]) != have_jacobians(blocks))
        return cs_fail(error, CS_INVALID, "either every block has a Jacobian, or A is given");
    return blocks->frame ? check_frames(blocks, error) : CS_OK;
}

/* Allocates the arrays of a group of blocks. */
static cs_status take_blocks(cs_problem *problem, cs_block_group *group, const cs_blocks *blocks,
                             cs_error *error)
{
    int64_t rows = group->count * group->rows, sides = group->partners * group->count;
    group->b = take(problem, rows);
    group->parameter = take(problem, group->count * group->parameters);
    if (blocks->compliance) group->compliance = take(problem, rows);
    if (blocks->included) group->included = take(problem, rows);
    if (blocks->jacobian) group->jacobian = take(problem, group->count * cs_jacobian_size(group));
    if (blocks->frame) group->frame = take(problem, group->count * CS_FRAME_NUMBERS);
    if (have_jacobians(blocks)) {
        group->bodies = cs_arena_take_unset(&problem->arena, sides, sizeof(int64_t));
        group->velocity = cs_arena_take_unset(&problem->arena, sides, sizeof(int64_t));
    }
    return copies_status(problem, error);
}

cs_status cs_problem_add_blocks(cs_problem *problem, const cs_blocks *blocks, cs_error *error)
{
    cs_status status = check_kind(problem, blocks, error);
    if (status) return status;

    /* Describe the group. */
    const cs_set *set = cs_set_find(blocks->set);
    int each = set->variable ? blocks->parameters_each : set->parameters(blocks->rows);
    cs_block_group *group = &problem->block_group[problem->block_groups];
    *group = (cs_block_group){
        .count = blocks->count,
        .rows = blocks->rows,
        .partners = have_jacobians(blocks) ? cs_partners_of(blocks) : 0,
        .first_block = problem->blocks,
        .first_row = problem->rows,
        .set = set,
        .parameters = each,
        .first_parameter = problem->parameters,
    };
    set->coupling(group->rows, group->coupled_set);
    if (!cs_blocks_fit(blocks)) return cs_check_blocks(problem, group, blocks, error);
    for (int s = 0; s < group->partners; s++) {
        group->dof[s] = blocks->dof[s];
        group->column[s + 1] = group->column[s] + group->dof[s];
    }

    /* Copy and check the arrays; a failure leaves the problem unchanged. */
    cs_arena_mark before = cs_arena_position(&problem->arena);
    status = take_blocks(problem, group, blocks, error);
    cs_blocks given = *blocks;
    if (!have_jacobians(blocks)) given.bodies = NULL; /* a given A has no bodies */
    if (!status) status = cs_copy_blocks(problem, group, &given, NULL, error);
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
