/* The problem of the last step as callers see it: contacts sorted by their identifiers, joints and bodies by their
 * numbers. */
#include "dynamics/world.h"
#include "problem/frames.h"

#include <string.h>

void cs_step_read_inverse(const cs_world *world, double *inverse)
{
    const cs_step_problem *step = &world->step;
    int dof = world->space.dof, each = step->full ? dof * dof : dof;
    const int64_t *body = step->body.data;
    size_t size = sizeof(double) * (size_t)each;
    memset(inverse, 0, size * (size_t)step->of);
    for (int64_t i = 0; i < step->bodies; i++)
        memcpy(inverse + body[i] * each, (const double *)step->inverse.data + i * each, size);
}

/* jacobian (m, dof) <- J of one side of a contact; zero where the body cannot move. */
static void read_side(const cs_world *world, const cs_step_group *group, int64_t index, int side,
                      double *jacobian)
{
    int m = group->rows, dof = world->space.dof;
    const double *rows = group->jacobian.data;
    if (((const int64_t *)group->bodies.data)[2 * index + side] < 0)
        memset(jacobian, 0, sizeof(double) * (size_t)(m * dof));
    else if (group->frames) cs_frame_expand(rows + CS_FRAME_NUMBERS * index, m, side, jacobian);
    else memcpy(jacobian, rows + (2 * index + side) * m * dof, sizeof(double) * (size_t)(m * dof));
}

/* Block k of the arrays <- block `at` of the group. */
static void read_block(const cs_world *world, const cs_step_group *group, int64_t at, int64_t k,
                       const cs_step_arrays *to)
{
    const int64_t *body = world->step.body.data;
    int m = group->rows, dof = world->space.dof, parameters = group->parameters;
    size_t size = sizeof(double);
    for (int side = 0; side < 2; side++) {
        int64_t own = ((const int64_t *)group->bodies.data)[2 * at + side];
        to->bodies[2 * k + side] = own < 0 ? -1 : body[own];
        read_side(world, group, at, side, to->jacobian + (2 * k + side) * m * dof);
    }
    memcpy(to->b + k * m, (const double *)group->b.data + at * m, size * (size_t)m);
    if (parameters)
        memcpy(to->parameter + k * parameters,
               (const double *)group->parameter.data + at * parameters, size * (size_t)parameters);
    if (group->soft)
        memcpy(to->compliance + k * m, (const double *)group->compliance.data + at * m,
               size * (size_t)m);
}

void cs_step_read_group(const cs_world *world, int g, const cs_step_arrays *to)
{
    const cs_step_problem *step = &world->step;
    const cs_step_group *group = &step->group[g];
    const cs_place *place = step->place.data;
    int64_t k = 0;
    for (int64_t c = 0; g < step->contact_groups && c < world->closed.count; c++)
        if (place[c].group == g) read_block(world, group, place[c].index, k++, to);
    for (; g >= step->contact_groups && k < group->count; k++) read_block(world, group, k, k, to);
}
