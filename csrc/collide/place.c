/* Places shapes in the world, by the poses of their bodies. */
#include "collide/state.h"
#include "collide/vector.h"
#include "core/error.h"

typedef struct placing {
    cs_collider *collider;
    const cs_poses *poses;
    const cs_solid *solid;
    const int64_t *body;
    double (*center)[3];
    double (*turn)[9];
    double (*box)[2][3];
    int32_t *owner;
    int64_t wrong[CS_LOOP_PIECES]; /* the first body of each piece whose pose is wrong; -1 */
} placing;

/* The position, and if it is asked for the rotation, of a body. Returns -1 if the pose is wrong. */
static int pose_of(const placing *p, int64_t body, double *position, double *rotation)
{
    int dimension = p->collider->dimension;
    const double *x = p->poses->position + body * dimension;
    cs_set(position, x[0], x[1], dimension == 3 ? x[2] : 0);
    if (!isfinite(position[0] + position[1] + position[2])) return -1;
    return cs_rotation_of(dimension, p->poses->orientation + body * (dimension == 3 ? 4 : 1),
                          rotation);
}

static void multiply(const double *a, const double *b, double *c)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            c[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
}

/* Places one shape. Returns -1 if the pose of its body is wrong. */
static int place(const placing *p, int64_t slot)
{
    const cs_solid *solid = &p->solid[slot];
    int64_t body = p->body[slot];
    double position[3] = {0}, rotation[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, moved[3];
    const unsigned char *movable = p->poses->movable;
    p->owner[slot] = body >= 0 && (!movable || movable[body]) ? (int32_t)body : -1;
    if (body >= 0 && pose_of(p, body, position, rotation) < 0) return -1;

    cs_rotate(rotation, solid->position, moved);
    cs_add_scaled(position, 1, moved, p->center[slot]);
    if (cs_is_ball(solid->kind)) return 0;
    multiply(rotation, solid->rotation, p->turn[slot]);
    if (solid->kind != CS_SHAPE_HALF_SPACE)
        cs_solid_box(solid, p->center[slot], p->turn[slot], p->box[slot]);
    return 0;
}

static void place_piece(void *context, int64_t piece, int64_t begin, int64_t end)
{
    placing *p = context;
    p->wrong[piece] = -1;
    for (int64_t slot = begin; slot < end; slot++)
        if (place(p, slot) < 0 && p->wrong[piece] < 0) p->wrong[piece] = p->body[slot];
}

/* The error for a body whose pose is wrong. */
static cs_status report(const placing *p, int64_t body, cs_error *error)
{
    int dimension = p->collider->dimension, parts = dimension == 3 ? 4 : 1;
    const double *x = p->poses->position + body * dimension;
    for (int i = 0; i < dimension; i++)
        if (!isfinite(x[i]))
            return cs_fail(error, CS_INVALID, "position[%lld, %d] of a body is %s", (long long)body,
                           i, cs_number(x[i]).text);
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
    for (int64_t slot = 0; slot < p->collider->count; slot++)
        if (p->body[slot] >= p->poses->bodies) {
            const int64_t *id = p->collider->id.data;
            return cs_fail(
                error, CS_INVALID, "shape %lld is on body %lld, but position has %lld bodies",
                (long long)id[slot], (long long)p->body[slot], (long long)p->poses->bodies);
        }
    return CS_OK;
}

cs_status cs_place_shapes(cs_collider *collider, const cs_poses *poses, int threads,
                          cs_error *error)
{
    placing p = {
        .collider = collider,
        .poses = poses,
        .solid = collider->solid.data,
        .body = collider->body.data,
        .center = collider->center.data,
        .turn = collider->turn.data,
        .box = collider->box.data,
        .owner = collider->owner.data,
    };
    cs_status status = check_bodies(&p, error);
    if (status) return status;
    cs_loop(threads, collider->count, place_piece, &p);

    int64_t pieces = cs_loop_pieces(collider->count);
    for (int64_t piece = 0; collider->count && piece < pieces; piece++)
        if (p.wrong[piece] >= 0) return report(&p, p.wrong[piece], error);
    return CS_OK;
}
