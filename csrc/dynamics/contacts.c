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
        cs_buffer_room(&memory->impulse, CS_WORLD_ROWS * count, size) &&
        cs_buffer_room(&memory->index, CS_WORLD_ROWS * count, 1))
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
    memset(closed->index.data, 0, count * CS_WORLD_ROWS);
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

/* The least cosine between a tangent and that of the step before, for which its row keeps its index. */
#define SAME_TANGENT 0.9

/* The index that row `row` of a contact keeps, a code: unknown if its tangent has turned. */
static unsigned char kept_index(unsigned char code, int row, const cs_tangents *here,
                                const cs_tangents *there)
{
    int k = (row - 1) % 2;
    return cs_dot(here->tangent[k], there->tangent[k]) < SAME_TANGENT ? 0 : code;
}

/* The impulses and the indices of contact j of the last step, for contact i of this one. Tangential impulses keep their
 * direction in space, as far as the tangents allow. */
static void carry_over(cs_world *world, int64_t i, int64_t j)
{
    cs_memory *closed = &world->closed, *last = &world->last;
    const cs_law *law = ((const cs_law *const *)closed->law.data)[i];
    double *now = (double *)closed->impulse.data + CS_WORLD_ROWS * i;
    const double *before = (const double *)last->impulse.data + CS_WORLD_ROWS * j;
    if (((const cs_law *const *)last->law.data)[j] != law) return;
    unsigned char *index = (unsigned char *)closed->index.data + CS_WORLD_ROWS * i;
    memcpy(now, before, sizeof(double) * (size_t)law->rows);
    memcpy(index, (const unsigned char *)last->index.data + CS_WORLD_ROWS * j, (size_t)law->rows);
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
    for (int row = 1; world->pivots && row < law->rows; row++)
        index[row] = kept_index(index[row], row, &here, &there);
}

static const int64_t *shape_of(const cs_memory *memory, int64_t c)
{
    return (const int64_t *)memory->shape.data + 2 * c;
}

static int32_t feature_of(const cs_memory *memory, int64_t c)
{
    return ((const int32_t *)memory->feature.data)[c];
}

static double distance_squared(const cs_world *world, int64_t i, int64_t j)
{
    int axes = world->space.dimension;
    const double *here = (const double *)world->closed.point.data + axes * i;
    const double *there = (const double *)world->last.point.data + axes * j;
    double square = 0;
    for (int k = 0; k < axes; k++) square += (here[k] - there[k]) * (here[k] - there[k]);
    return square;
}

/* The contacts of one pair of shapes, i ... i_end - 1 of this step and j ... j_end - 1 of the last one. */
typedef struct same_pair {
    int64_t i, i_end, j, j_end;
} same_pair;

/* The contact of the pair with this feature, among those of a step; -1 if there is none. */
static int64_t with_feature(const cs_memory *memory, int32_t feature, int64_t begin, int64_t end)
{
    for (int64_t c = begin; c < end; c++)
        if (feature_of(memory, c) == feature) return c;
    return -1;
}

/* The contact of the last step that contact i goes on from: the one with its feature; or the nearest one, if that has
 * no namesake in this step. -1: none. */
static int64_t predecessor(const cs_world *world, int64_t i, const same_pair *pair)
{
    const cs_memory *closed = &world->closed, *last = &world->last;
    int64_t nearest = with_feature(last, feature_of(closed, i), pair->j, pair->j_end);
    if (nearest >= 0) return nearest;
    double least = INFINITY;
    for (int64_t j = pair->j; j < pair->j_end; j++) {
        double square = distance_squared(world, i, j);
        if (square < least) least = square, nearest = j;
    }
    int is_taken =
        nearest >= 0 && with_feature(closed, feature_of(last, nearest), pair->i, pair->i_end) >= 0;
    return is_taken ? -1 : nearest;
}

/* The contacts of one pair of shapes. Where several are nearest to one of the last step, the first goes on from it. */
static void warm_start_pair(cs_world *world, const same_pair *pair)
{
    unsigned taken = 0;
    for (int64_t i = pair->i; i < pair->i_end; i++) {
        int64_t j = predecessor(world, i, pair);
        unsigned bit = j < 0 ? 0 : 1u << (j - pair->j);
        if (bit & ~taken) carry_over(world, i, j);
        taken |= bit;
    }
}

/* The end of the contacts of the same shapes that begin with contact c. */
static int64_t end_of_pair(const cs_memory *memory, int64_t c)
{
    const int64_t *shape = shape_of(memory, c);
    int64_t end = c + 1;
    while (end < memory->count && memcmp(shape_of(memory, end), shape, 2 * sizeof *shape) == 0)
        end++;
    return end;
}

/* Impulses of contacts that were closed in the last step, too. */
static void warm_start(cs_world *world)
{
    const cs_memory *closed = &world->closed, *last = &world->last;
    for (int64_t i = 0, j = 0; i < closed->count && j < last->count;) {
        int order = cs_compare_ids(shape_of(closed, i), 0, shape_of(last, j), 0);
        same_pair pair = {i, order <= 0 ? end_of_pair(closed, i) : i, j,
                          order >= 0 ? end_of_pair(last, j) : j};
        if (order == 0) warm_start_pair(world, &pair);
        i = pair.i_end;
        j = pair.j_end;
    }
}

/* Contact `to` <- contact `from`. `axes`: bytes of a vector. */
static void move_contact(cs_contacts *contacts, int64_t from, int64_t to, size_t axes)
{
    const struct {
        const void *data;
        size_t bytes;
    } array[] = {
        {contacts->shape, 2 * sizeof(int64_t)},
        {contacts->feature, sizeof(int32_t)},
        {contacts->body, 2 * sizeof(int64_t)},
        {contacts->point, axes},
        {contacts->normal, axes},
        {contacts->gap, sizeof(double)},
    };
    for (size_t a = 0; a < sizeof array / sizeof *array; a++) {
        char *data = (char *)(uintptr_t)array[a].data;
        memcpy(data + (size_t)to * array[a].bytes, data + (size_t)from * array[a].bytes,
               array[a].bytes);
    }
}

/* Leaves out contacts between bodies that a joint holds. The arrays belong to the collider, which writes all of them
 * anew when it is called next. */
static void leave_out_joined(const cs_world *world, cs_contacts *contacts)
{
    int64_t count = 0;
    size_t axes = (size_t)world->space.dimension * sizeof(double);
    for (int64_t c = 0; c < contacts->count; c++) {
        const int64_t *body = contacts->body + 2 * c;
        if (cs_are_apart(world, body[0], body[1])) continue;
        if (count < c) move_contact(contacts, c, count, axes);
        count++;
    }
    contacts->count = count;
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
    int threads = cs_world_threads(world, world->shapes);
    cs_status status = cs_world_find_apart(world, error);
    if (!status) status = cs_collider_find(world->collider, &poses, gap, threads, contacts, error);
    if (!status && world->joints.aparts) leave_out_joined(world, contacts);
    return status;
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
