/* The closed contacts of a step, their laws, and the impulses that they had in the step before. */
#include "core/clock.h"
#include "core/error.h"
#include "dynamics/tangents.h"
#include "dynamics/world.h"

#include <math.h>
#include <string.h>

cs_status cs_memory_reserve(cs_memory *memory, int64_t count, int dimension, cs_error *error)
{
    size_t size = sizeof(double);
    memory->count = 0;
    if (cs_buffer_room(&memory->shape, 2 * count, sizeof(int64_t)) &&
        cs_buffer_room(&memory->feature, count, sizeof(int32_t)) &&
        cs_buffer_room(&memory->body, 2 * count, sizeof(int64_t)) &&
        cs_buffer_room(&memory->point, dimension * count, size) &&
        cs_buffer_room(&memory->normal, dimension * count, size) &&
        cs_buffer_room(&memory->gap, count, size) &&
        cs_buffer_room(&memory->law, count, sizeof(const cs_law *)) &&
        cs_buffer_room(&memory->impulse, CS_WORLD_ROWS * count, size))
        return CS_OK;
    return cs_no_memory(error, "%lld contacts", (long long)count);
}

/* Copies the contacts, whose arrays belong to the collider. */
static void copy_contacts(cs_world *world)
{
    const cs_contacts *found = &world->found;
    cs_memory *closed = &world->closed;
    size_t count = (size_t)found->count, axes = (size_t)world->space.dimension;
    closed->count = found->count;
    if (!count) return;
    memcpy(closed->shape.data, found->shape, 2 * count * sizeof(int64_t));
    memcpy(closed->feature.data, found->feature, count * sizeof(int32_t));
    memcpy(closed->body.data, found->body, 2 * count * sizeof(int64_t));
    memcpy(closed->point.data, found->point, count * axes * sizeof(double));
    memcpy(closed->normal.data, found->normal, count * axes * sizeof(double));
    memcpy(closed->gap.data, found->gap, count * sizeof(double));
    memset(closed->impulse.data, 0, count * CS_WORLD_ROWS * sizeof(double));
}

/* The law of each contact. */
static cs_status find_laws(cs_world *world, cs_error *error)
{
    const cs_law **law = world->closed.law.data;
    const int *material = world->material.data;
    int last[2] = {-1, -1};
    for (int64_t c = 0; c < world->found.count; c++) {
        const int64_t *shape = world->found.shape + 2 * c;
        int first = material[shape[0]], second = material[shape[1]];

        /* Contacts in a row mostly are between the same materials. */
        int same = first == last[0] && second == last[1];
        law[c] = same ? law[c - 1] : cs_law_between(world, first, second, error);
        if (!law[c]) return error ? error->status : CS_INVALID;
        last[0] = first;
        last[1] = second;
    }
    return CS_OK;
}

/* ---- impulses of the step before -------------------------------------------------------------- */

/* The impulses of contact j of the last step, for contact i of this one. Tangential ones keep their direction in
 * space, as far as the tangents allow. */
static void carry_over(cs_world *world, int64_t i, int64_t j)
{
    cs_memory *closed = &world->closed, *last = &world->last;
    const cs_law *law = ((const cs_law *const *)closed->law.data)[i];
    double *now = (double *)closed->impulse.data + CS_WORLD_ROWS * i;
    const double *before = (const double *)last->impulse.data + CS_WORLD_ROWS * j;
    if (((const cs_law *const *)last->law.data)[j] != law) return;
    memcpy(now, before, sizeof(double) * (size_t)law->rows);
    if (world->space.dimension == 2 || law->rows < 3) return;

    /* Both frames. */
    cs_tangents here, there;
    cs_tangents_of((const double *)closed->normal.data + 3 * i, &here);
    cs_tangents_of((const double *)last->normal.data + 3 * j, &there);

    /* Rows 1 and 2 are along the tangents; with rolling, so are rows 3 and 4. */
    for (int row = 1; row < law->rows; row += 2) {
        if (row == 3 && law->rows < 5) break;
        double vector[3];
        for (int k = 0; k < 3; k++)
            vector[k] = before[row] * there.tangent[0][k] + before[row + 1] * there.tangent[1][k];
        now[row] = cs_dot(vector, here.tangent[0]);
        now[row + 1] = cs_dot(vector, here.tangent[1]);
    }
}

static const int64_t *shape_of(const cs_memory *memory, int64_t c)
{
    return (const int64_t *)memory->shape.data + 2 * c;
}

static int32_t feature_of(const cs_memory *memory, int64_t c)
{
    return ((const int32_t *)memory->feature.data)[c];
}

/* Impulses of contacts that were closed in the last step, too. */
static void warm_start(cs_world *world)
{
    const cs_memory *closed = &world->closed, *last = &world->last;
    for (int64_t i = 0, j = 0; i < closed->count && j < last->count;) {
        int order = cs_compare_ids(shape_of(closed, i), feature_of(closed, i), shape_of(last, j),
                                   feature_of(last, j));
        if (order == 0) carry_over(world, i, j);
        i += order <= 0;
        j += order >= 0;
    }
}

/* Contacts of a configuration with at most this gap. */
static cs_status find(cs_world *world, const cs_motion *motion, double gap, cs_contacts *contacts,
                      cs_error *error)
{
    cs_poses poses = {
        .bodies = world->rigid.count,
        .position = motion->position,
        .orientation = motion->orientation,
        .movable = world->rigid.movable,
    };
    return cs_collider_find(world->collider, &poses, gap, world->options.solver.threads, contacts,
                            error);
}

cs_status cs_world_overlaps(cs_world *world, cs_contacts *contacts, cs_error *error)
{
    return find(world, &world->rigid.now, 0, contacts, error);
}

cs_status cs_world_find_contacts(cs_world *world, cs_error *error)
{
    /* The closed contacts. */
    double begun = cs_clock();
    cs_status status =
        find(world, &world->rigid.next, world->options.activation, &world->found, error);

    /* What is known of them. */
    if (!status)
        status =
            cs_memory_reserve(&world->closed, world->found.count, world->space.dimension, error);
    if (!status) status = find_laws(world, error);
    if (status) return status;
    copy_contacts(world);
    warm_start(world);
    world->report.collide_seconds = cs_clock() - begun;
    return CS_OK;
}
