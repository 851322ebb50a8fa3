/* Places shapes in the world, by the poses of their bodies. */
#include "collide/state.h"
#include "core/vector.h"
#include "core/error.h"
#include "linalg/small.h"

typedef struct placing {
    cs_collider *collider;
    const cs_poses *poses;
    int64_t wrong[CS_LOOP_PIECES]; /* the first body of each piece whose pose is wrong; -1 */
} placing;

/* The position, and unless it is NULL the rotation, of a body. Returns -1 if the pose is wrong. */
static int pose_of(const placing *p, int64_t body, double *position, double *rotation)
{
    int dimension = p->collider->dimension;
    const double *x = p->poses->position + body * dimension;
    cs_set_vector(position, x[0], x[1], dimension == 3 ? x[2] : 0);
    for (int i = 0; i < 3; i++)
        if (!(fabs(position[i]) <= CS_LARGEST_LENGTH)) return -1;
    return cs_rotation_of(dimension, p->poses->orientation + body * (dimension == 3 ? 4 : 1),
                          rotation);
}

/* Places a shape that turns, or whose centre is not its body's. */
static void place_turned(const cs_collider *collider, int64_t slot, cs_instance *instance,
                         const double *position, const double *rotation)
{
    const cs_solid *solid = cs_solid_at(collider, slot);
    double moved[3], *turn = (double *)collider->turn.data + 9 * slot;
    cs_rotate(rotation, solid->position, moved);
    cs_add_scaled(position, 1, moved, instance->center);
    if (cs_is_ball(instance->kind)) return;
    cs_multiply_small(3, rotation, solid->rotation, turn);
    if (instance->kind != CS_SHAPE_HALF_SPACE)
        cs_solid_box(solid, instance->center, turn, ((double(*)[2][3])collider->box.data)[slot]);
}

/* Places one shape. Returns -1 if the pose of its body is wrong. */
static int place(const placing *p, int64_t slot)
{
    cs_instance *instance = cs_instance_at(p->collider, slot);
    int64_t body = instance->body;
    double position[3] = {0}, rotation[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const unsigned char *movable = p->poses->movable;
    instance->owner = body >= 0 && (!movable || movable[body]) ? (int32_t)body : -1;
    int is_centered = cs_is_ball(instance->kind) && !instance->off_center;
    if (body >= 0 && pose_of(p, body, position, is_centered ? NULL : rotation) < 0) return -1;
    if (is_centered) cs_assign(instance->center, position);
    else place_turned(p->collider, slot, instance, position, rotation);
    return 0;
}

static void place_piece(void *context, int64_t piece, int64_t begin, int64_t end)
{
    placing *p = context;
    p->wrong[piece] = -1;
    for (int64_t slot = begin; slot < end; slot++)
        if (place(p, slot) < 0 && p->wrong[piece] < 0)
            p->wrong[piece] = cs_instance_at(p->collider, slot)->body;
}

/* The error for a body whose pose is wrong. */
static cs_status report(const placing *p, int64_t body, cs_error *error)
{
    int dimension = p->collider->dimension, parts = dimension == 3 ? 4 : 1;
    const double *x = p->poses->position + body * dimension;
    for (int i = 0; i < dimension; i++)
        if (!(fabs(x[i]) <= CS_LARGEST_LENGTH))
            return cs_fail(error, CS_INVALID,
                           "position[%lld, %d] of a body is %s, but it has to be at most 1e100",
                           (long long)body, i, cs_number(x[i]).text);
    const double *q = p->poses->orientation + body * parts;
    for (int i = 0; i < parts; i++)
        if (!isfinite(q[i]))
            return cs_fail(error, CS_INVALID, "orientation[%lld, %d] of a body is %s",
                           (long long)body, i, cs_number(q[i]).text);
    return cs_fail(error, CS_INVALID, "orientation[%lld] of a body is a quaternion of length zero",
                   (long long)body);
}

/* Bodies that shapes are on must have poses. */
static cs_status check_bodies(const placing *p, cs_error *error)
{
    if (p->collider->last_body < p->poses->bodies) return CS_OK;
    for (int64_t slot = 0; slot < p->collider->count; slot++) {
        const cs_instance *instance = cs_instance_at(p->collider, slot);
        if (instance->body >= p->poses->bodies)
            return cs_fail(
                error, CS_INVALID, "shape %lld is on body %lld, but position has %lld bodies",
                (long long)instance->id, (long long)instance->body, (long long)p->poses->bodies);
    }
    return CS_OK;
}

cs_status cs_place_shapes(cs_collider *collider, const cs_poses *poses, int threads,
                          cs_error *error)
{
    placing p = {.collider = collider, .poses = poses};
    cs_status status = check_bodies(&p, error);
    if (status) return status;
    cs_loop(threads, collider->count, place_piece, &p);

    int64_t pieces = cs_loop_pieces(collider->count);
    for (int64_t piece = 0; piece < pieces; piece++)
        if (p.wrong[piece] >= 0) return report(&p, p.wrong[piece], error);
    return CS_OK;
}
