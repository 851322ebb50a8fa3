/* Replaces the values of a problem. New values go into second arrays, which are exchanged with the first ones once all
 * of them are checked. */
#include "core/error.h"
#include "problem/copy_arrays.h"

#include <string.h>

/* ---- some of the values ---------------------------------------------------------------------- */

/* The groups as they will be after the update. */
typedef struct draft {
    cs_body_group *bodies;
    cs_block_group *blocks;
    cs_arena scratch;
} draft;

/* The array of group g in a list that may be NULL. */
static const double *given(const double *const *list, int g) { return list ? list[g] : NULL; }

/* Exchanges an array with the second one, which is allocated if there is none yet. */
static void exchange(cs_problem *problem, double **array, double **next, int64_t count)
{
    double *second = *next;
    if (!second) second = cs_arena_take_unset(&problem->arena, count, sizeof(double));
    *next = *array;
    *array = second;
}

/* Copies inverse masses into the drafted group. */
static cs_status draft_bodies(cs_problem *problem, cs_body_group *group, const double *inverse_mass,
                              cs_error *error)
{
    int64_t numbers = group->count * cs_inverse_mass_size(group);
    unsigned char *immovable = group->next.immovable;
    if (!immovable) immovable = cs_arena_take_unset(&problem->arena, group->count, 1);
    group->next.immovable = group->immovable;
    group->immovable = immovable;
    exchange(problem, &group->inverse_mass, &group->next.inverse_mass, numbers);
    exchange(problem, &group->root, &group->next.root, numbers);
    cs_status status = cs_arena_status(&problem->arena, error, "the problem's copy of its arrays");
    return status ? status : cs_copy_bodies(problem, group, inverse_mass, &problem->pace, error);
}

/* Copies J, b and parameters into the drafted group; NULL keeps them. */
static cs_status draft_blocks(cs_problem *problem, cs_block_group *group, const cs_blocks *values,
                              cs_error *error)
{
    if (values->jacobian)
        exchange(problem, &group->jacobian, &group->next.jacobian,
                 group->count * cs_jacobian_size(group));
    if (values->frame)
        exchange(problem, &group->frame, &group->next.frame, group->count * CS_FRAME_NUMBERS);
    if (values->b) exchange(problem, &group->b, &group->next.b, group->count * group->rows);
    if (values->parameters)
        exchange(problem, &group->parameter, &group->next.parameter,
                 group->count * group->parameters);
    cs_status status = cs_arena_status(&problem->arena, error, "the problem's copy of its arrays");
    return status ? status : cs_copy_blocks(problem, group, values, &problem->pace, error);
}

/* What describes the coupling of a group, in messages. */
static const char *source_of(const cs_block_group *group)
{
    return group->jacobian ? "J" : group->frame ? "frames" : "A";
}

/* Fills the draft with copies of what is given. */
static cs_status fill_draft(cs_problem *problem, draft *d, const cs_values *values, cs_error *error)
{
    /* Begin with the groups as they are. */
    d->bodies = cs_arena_take(&d->scratch, problem->body_groups, sizeof *d->bodies);
    d->blocks = cs_arena_take(&d->scratch, problem->block_groups, sizeof *d->blocks);
    cs_status status = cs_arena_status(&d->scratch, error, "an update of the problem");
    if (status) return status;
    memcpy(d->bodies, problem->body_group, (size_t)problem->body_groups * sizeof *d->bodies);
    memcpy(d->blocks, problem->block_group, (size_t)problem->block_groups * sizeof *d->blocks);

    /* Copy and check what is given. */
    for (int g = 0; g < problem->body_groups && !status; g++) {
        const double *inverse_mass = given(values->inverse_mass, g);
        if (inverse_mass) status = draft_bodies(problem, &d->bodies[g], inverse_mass, error);
    }
    for (int g = 0; g < problem->block_groups && !status; g++) {
        cs_block_group *group = &d->blocks[g];
        cs_blocks blocks = {
            .rows = group->rows,
            .jacobian = given(values->jacobian, g),
            .frame = given(values->frame, g),
            .b = given(values->b, g),
            .parameters = given(values->parameters, g),
        };
        cs_describe_partners(group, &blocks);
        if ((blocks.jacobian && !group->jacobian) || (blocks.frame && !group->frame))
            return cs_fail(error, CS_INVALID, "%s is given, but the problem was made from %s",
                           blocks.frame ? "frame" : "J", source_of(group));
        if (blocks.jacobian || blocks.frame || blocks.b || blocks.parameters)
            status = draft_blocks(problem, group, &blocks, error);
    }
    return status;
}

/* Makes the draft the problem's groups, and notes what has changed. */
static void adopt_draft(cs_problem *problem, const draft *d, const cs_values *values)
{
    int mass = 0, jacobian = 0, coupling = 0;
    problem->version++;
    for (int g = 0; g < problem->body_groups; g++) {
        const cs_body_group *group = &d->bodies[g];
        if (!given(values->inverse_mass, g)) continue;
        mass = 1;
        coupling |= memcmp(group->immovable, group->next.immovable, (size_t)group->count) != 0;
        problem->body_group[g] = *group;
    }
    for (int g = 0; g < problem->block_groups; g++) {
        jacobian |= given(values->jacobian, g) || given(values->frame, g);
        problem->block_group[g] = d->blocks[g];
    }
    if (mass) problem->mass_version = problem->version;
    if (mass || jacobian) problem->matrix_version = problem->version;

    /* Bodies that begin or cease to move have other velocities. */
    if (!coupling) return;
    problem->coupling_version = problem->version;
    for (int g = 0; g < problem->block_groups; g++)
        cs_find_velocities(problem, &problem->block_group[g], 0, problem->block_group[g].count);
}

cs_status cs_problem_update(cs_problem *problem, const cs_values *values, cs_error *error)
{
    draft d = {0};
    cs_arena_mark before = cs_arena_position(&problem->arena);
    cs_status status = fill_draft(problem, &d, values, error);
    if (status) cs_arena_rewind(&problem->arena, before);
    else adopt_draft(problem, &d, values);
    cs_arena_clear(&d.scratch);
    return status;
}

/* ---- all of the values ----------------------------------------------------------------------- */

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
        same = x->count == y->count && x->rows == y->rows && cs_same_partners(x, y) &&
               x->set == y->set && x->parameters == y->parameters && !x->frame == !y->frame;
        for (int64_t i = 0; i < x->partners * x->count && same; i++)
            same = x->bodies[i] == y->bodies[i];
    }
    return same;
}

/* Everything changed at this version. */
static void set_version(cs_problem *problem, int64_t version)
{
    problem->version = version;
    problem->mass_version = problem->matrix_version = problem->coupling_version = version;
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
    set_version(problem, newest + 1);
    set_version(with, newest + 1);
    return CS_OK;
}
