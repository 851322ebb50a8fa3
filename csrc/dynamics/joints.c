/* The joints of a world: how they are added, checked and removed; pairs of bodies whose contacts they leave out. */
#include "dynamics/joints.h"

#include "core/error.h"
#include "dynamics/world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- kinds ----------------------------------------------------------------------------------- */

typedef struct description {
    const char *name;
    int held;       /* rows */
    int coordinate; /* 1: has one; 2: which can be driven */
    int axes;       /* whether it has an axis on each body */
} description;

static const description kinds[CS_JOINT_KINDS] = {
    [CS_JOINT_BALL] = {"ball", 3, 1, 0},         [CS_JOINT_HINGE] = {"hinge", 5, 2, 1},
    [CS_JOINT_SLIDER] = {"slider", 5, 2, 1},     [CS_JOINT_FIXED] = {"fixed", 6, 0, 0},
    [CS_JOINT_DISTANCE] = {"distance", 1, 0, 0}, [CS_JOINT_GEAR] = {"gear", 1, 0, 1},
    [CS_JOINT_ANGULAR] = {"angular", 0, 2, 1},   [CS_JOINT_LINEAR] = {"linear", 0, 2, 1},
    [CS_JOINT_RAM] = {"ram", 0, 2, 0},           [CS_JOINT_MESH] = {"mesh", 1, 0, 1},
};

const char *cs_joint_name(int kind)
{
    return kind >= 0 && kind < CS_JOINT_KINDS ? kinds[kind].name : NULL;
}

int cs_joint_find(const char *name)
{
    for (int kind = 0; kind < CS_JOINT_KINDS; kind++)
        if (strcmp(kinds[kind].name, name) == 0) return kind;
    return -1;
}

int cs_joint_held(cs_joint_kind kind) { return kinds[kind].held; }

int cs_joint_has_coordinate(cs_joint_kind kind) { return kinds[kind].coordinate > 0; }

int cs_joint_can_be_driven(cs_joint_kind kind) { return kinds[kind].coordinate > 1; }

int cs_joint_has_limit(const cs_joint *joint)
{
    return isfinite(joint->limits[0]) || isfinite(joint->limits[1]);
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* The joint that is checked. */
typedef struct subject {
    const cs_world *world;
    const cs_joint *joint;
    int64_t index;
    cs_error *error;
} subject;

/* Reports a number that is wrong. `place`: its index, -1 for none. */
static cs_status wrong(const subject *s, const char *name, int place, double value,
                       const char *wanted)
{
    cs_text at = {""};
    if (place >= 0) snprintf(at.text, sizeof at.text, "[%d]", place);
    return cs_fail(s->error, CS_INVALID, "joints[%lld] (%s): %s%s is %s, but it has to be %s",
                   (long long)s->index, cs_joint_name((int)s->joint->kind), name, at.text,
                   cs_number(value).text, wanted);
}

static cs_status check_bodies(const subject *s)
{
    const cs_rigid *rigid = &s->world->rigid;
    const int64_t *body = s->joint->body;
    int moves = 0;
    for (int side = 0; side < 2; side++) {
        if (body[side] < -1 || body[side] >= rigid->count ||
            (body[side] >= 0 && rigid->removed[body[side]]))
            return wrong(s, "bodies", side, (double)body[side],
                         "-1 for the fixed world, or a body of the world");
        moves |= body[side] >= 0 && rigid->movable[body[side]];
    }
    if (body[0] == body[1])
        return wrong(s, "bodies", 1, (double)body[1], "another body than the first one");
    if (!moves)
        return wrong(s, "bodies", 1, (double)body[1],
                     "a body that can move, since the first one cannot");
    return CS_OK;
}

static cs_status check_finite(const subject *s, const char *name, const double *values, int count)
{
    for (int k = 0; k < count; k++)
        if (!isfinite(values[k])) return wrong(s, name, k, values[k], "a finite number");
    return CS_OK;
}

static cs_status check_not_negative(const subject *s, const char *name, const double *values,
                                    int count)
{
    for (int k = 0; k < count; k++)
        if (!(values[k] >= 0 && isfinite(values[k])))
            return wrong(s, name, count > 1 ? k : -1, values[k], "a finite number of at least 0");
    return CS_OK;
}

/* By how much the length of a unit vector may differ from 1, and what the rotation into a body's frame may add. */
#define UNIT (1e-6 + 1e-14)

/* Points, axes and the turn. */
static cs_status check_frames(const subject *s)
{
    const cs_joint *joint = s->joint;
    int needs_axes =
        kinds[joint->kind].axes || (joint->kind == CS_JOINT_BALL && cs_joint_has_limit(joint));
    cs_status status = check_finite(s, "points", joint->point[0], 6);
    if (!status) status = check_finite(s, "turn", joint->turn, 4);
    if (!status) status = check_finite(s, "axes", joint->axis[0], 6);
    for (int side = 0; needs_axes && side < 2 && !status; side++) {
        double square = 0;
        for (int k = 0; k < 3; k++) square += joint->axis[side][k] * joint->axis[side][k];
        if (!(fabs(sqrt(square) - 1) <= UNIT))
            status = wrong(s, "the length of axes", side, sqrt(square), "1");
    }
    double square = 0;
    for (int k = 0; k < 4; k++) square += joint->turn[k] * joint->turn[k];
    if (!status && !(fabs(sqrt(square) - 1) <= UNIT))
        status = wrong(s, "the length of turn", -1, sqrt(square), "1");
    return status;
}

static cs_status check_limits(const subject *s)
{
    const double *limits = s->joint->limits;
    for (int k = 0; k < 2; k++)
        if (isnan(limits[k])) return wrong(s, "limits", k, limits[k], "a number");
    for (int k = 0; k < 2; k++)
        if (isfinite(limits[k]) && !isfinite(limits[k] / s->world->options.time_step))
            return wrong(s, "limits", k, limits[k], "small enough to be divided by the time step");
    if (!(limits[0] < limits[1])) return wrong(s, "limits", 1, limits[1], "above the lower limit");
    if (!cs_joint_has_limit(s->joint)) return CS_OK;
    if (!cs_joint_has_coordinate(s->joint->kind))
        return wrong(s, "limits", isfinite(limits[0]) ? 0 : 1,
                     isfinite(limits[0]) ? limits[0] : limits[1],
                     "infinite: a joint of this kind has no coordinate");
    if (s->joint->kind != CS_JOINT_BALL) return CS_OK;
    if (isfinite(limits[0]))
        return wrong(s, "limits", 0, limits[0], "infinite: a ball has an upper limit");
    return limits[1] > 0 ? CS_OK : wrong(s, "limits", 1, limits[1], "above 0");
}

/* Sigma of a spring is a number, and of rows that are held. */
static cs_status check_softness(const subject *s)
{
    const cs_joint *joint = s->joint;
    double dt = s->world->options.time_step, spring = dt * cs_joint_spring(s->world, joint);
    for (int k = 0; k < 6; k++)
        if (!isfinite(joint->compliance[k] / (dt * dt)))
            return wrong(s, "compliance", k, joint->compliance[k],
                         "small enough to be divided by the square of the time step");
    if (!(joint->stiffness + joint->damping > 0) || (isfinite(spring) && isfinite(1 / spring)))
        return CS_OK;
    int stiff = joint->stiffness > joint->damping;
    return wrong(s, stiff ? "stiffness" : "damping", -1, stiff ? joint->stiffness : joint->damping,
                 isfinite(spring) ? "0 or larger, for this time step" : "smaller");
}

/* Numbers of a drive. */
static cs_status check_drive(const subject *s, const double *drive)
{
    for (int k = 0; k < 2; k++)
        if (!isfinite(drive[k]))
            return wrong(s, k == CS_DRIVE_SPEED ? "speed" : "target", -1, drive[k],
                         "a finite number");
    if (!isfinite(s->joint->damping * drive[CS_DRIVE_SPEED]))
        return wrong(s, "speed", -1, drive[CS_DRIVE_SPEED], "smaller, with this damping");
    if (!isfinite(s->joint->stiffness * drive[CS_DRIVE_TARGET]))
        return wrong(s, "target", -1, drive[CS_DRIVE_TARGET], "smaller, with this stiffness");
    double lower = drive[CS_DRIVE_LOWER], upper = drive[CS_DRIVE_UPPER];
    if (!(lower < INFINITY)) return wrong(s, "lower", -1, lower, "a number below infinity");
    if (!(upper > -INFINITY)) return wrong(s, "upper", -1, upper, "a number above -infinity");
    if (!(lower <= upper)) return wrong(s, "upper", -1, upper, "at least the lower bound");
    return CS_OK;
}

static cs_status check_joint(const subject *s)
{
    const cs_joint *joint = s->joint;
    if ((int)joint->kind < 0 || joint->kind >= CS_JOINT_KINDS)
        return cs_fail(s->error, CS_UNKNOWN_NAME, "joints[%lld] has the kind %d: there are %d",
                       (long long)s->index, (int)joint->kind, CS_JOINT_KINDS);
    cs_status status = check_bodies(s);
    if (!status) status = check_frames(s);
    if (!status) status = check_limits(s);
    if (!status) status = check_not_negative(s, "compliance", joint->compliance, 6);
    if (!status) status = check_not_negative(s, "stiffness", &joint->stiffness, 1);
    if (!status) status = check_not_negative(s, "damping", &joint->damping, 1);
    if (!status) status = check_softness(s);
    if (!status && joint->has_drive && !cs_joint_can_be_driven(joint->kind))
        status = wrong(s, "speed", -1, joint->drive[CS_DRIVE_SPEED],
                       "left out: a joint of this kind cannot be driven");
    if (!status && joint->has_drive) status = check_drive(s, joint->drive);
    if (!status && joint->kind == CS_JOINT_DISTANCE &&
        !(joint->length > 0 && isfinite(joint->length)))
        status = wrong(s, "length", -1, joint->length, "a number above 0");
    if (!status && joint->kind == CS_JOINT_GEAR)
        status = check_finite(s, "ratio", &joint->ratio, 1);
    if (!status && joint->kind == CS_JOINT_MESH) {
        status = check_finite(s, "length", &joint->length, 1);
        if (!status && !(joint->ratio > 0 && isfinite(joint->ratio)))
            status = wrong(s, "ratio", -1, joint->ratio, "a number above 0");
    }
    return status;
}

cs_status cs_world_check_drives(const cs_world *world, cs_error *error)
{
    const cs_joints *joints = &world->joints;
    cs_status status = CS_OK;
    for (int64_t i = 0; i < joints->count && !status; i++) {
        subject s = {world, &joints->joint[i], i, error};
        if (s.joint->has_drive && cs_joint_is_active(world, i))
            status = check_drive(&s, joints->drive + i * CS_DRIVE_NUMBERS);
    }
    return status;
}

/* ---- adding and removing ----------------------------------------------------------------------- */

/* Replaces an array by a larger one. The old one stays in the arena. */
static void *enlarge(cs_world *world, void *array, int64_t capacity, size_t size)
{
    void *larger = cs_arena_take(&world->arena, capacity, size);
    if (larger && world->joints.count) memcpy(larger, array, (size_t)world->joints.count * size);
    return larger;
}

static cs_status reserve(cs_world *world, int64_t count, cs_error *error)
{
    cs_joints *joints = &world->joints, larger = *joints;
    if (count <= joints->capacity) return CS_OK;
    int64_t capacity = count > 2 * joints->capacity ? count : 2 * joints->capacity;
    size_t size = sizeof(double);
    cs_arena_mark mark = cs_arena_position(&world->arena);
    larger.capacity = capacity;
    larger.joint = enlarge(world, joints->joint, capacity, sizeof *joints->joint);
    larger.removed = enlarge(world, joints->removed, capacity, 1);
    larger.drive = enlarge(world, joints->drive, capacity, CS_DRIVE_NUMBERS * size);
    larger.now.coordinate = enlarge(world, joints->now.coordinate, capacity, size);
    larger.now.impulse = enlarge(world, joints->now.impulse, capacity, CS_JOINT_ROWS * size);
    larger.now.index = enlarge(world, joints->now.index, capacity, CS_JOINT_ROWS);
    larger.next.index = cs_arena_take(&world->arena, capacity, CS_JOINT_ROWS);
    larger.next.coordinate = cs_arena_take(&world->arena, capacity, size);
    larger.next.impulse = cs_arena_take(&world->arena, capacity, CS_JOINT_ROWS * size);
    cs_status status = cs_arena_status(&world->arena, error, "%lld joints", (long long)capacity);
    if (status) cs_arena_rewind(&world->arena, mark);
    else *joints = larger;
    return status;
}

cs_status cs_world_add_joints(cs_world *world, const cs_joint *given, int64_t count, int64_t *first,
                              cs_error *error)
{
    cs_joints *joints = &world->joints;
    int64_t begin = joints->count;
    if (world->space.dimension != 3)
        return cs_fail(error, CS_UNSUPPORTED, "joints need a world in space");
    for (int64_t i = 0; i < count; i++) {
        subject s = {world, &given[i], i, error};
        cs_status status = check_joint(&s);
        if (status) return status;
    }
    cs_status status = reserve(world, begin + count, error);
    if (status) return status;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = begin + i;
        joints->joint[at] = given[i];
        joints->removed[at] = 0;
        joints->now.coordinate[at] = 0;
        memcpy(joints->drive + at * CS_DRIVE_NUMBERS, given[i].drive, sizeof given[i].drive);
        memset(joints->now.impulse + at * CS_JOINT_ROWS, 0, CS_JOINT_ROWS * sizeof(double));
        memset(joints->now.index + at * CS_JOINT_ROWS, 0, CS_JOINT_ROWS);
    }
    joints->count += count;
    joints->apart_is_known = 0;
    if (joints->implicit) world->rigid.isotropic = 0; /* tension depends on directions */
    world->changed = 1;
    *first = begin;
    return CS_OK;
}

cs_status cs_world_remove_joint(cs_world *world, int64_t joint, cs_error *error)
{
    cs_joints *joints = &world->joints;
    if (joint < 0 || joint >= joints->count || joints->removed[joint])
        return cs_fail(error, CS_INVALID, "joint %lld is not in the world", (long long)joint);
    joints->removed[joint] = 1;
    joints->apart_is_known = 0;
    world->changed = 1;
    return CS_OK;
}

int cs_joint_is_active(const cs_world *world, int64_t joint)
{
    const int64_t *body = world->joints.joint[joint].body;
    if (world->joints.removed[joint]) return 0;
    for (int side = 0; side < 2; side++)
        if (body[side] >= 0 && world->rigid.removed[body[side]]) return 0;
    return 1;
}

/* ---- bodies without contacts --------------------------------------------------------------------- */

static int compare_pairs(const void *first, const void *second)
{
    const int64_t *a = first, *b = second;
    for (int k = 0; k < 2; k++)
        if (a[k] != b[k]) return a[k] < b[k] ? -1 : 1;
    return 0;
}

/* pair (2) <- two bodies in ascending order. */
static void order_pair(int64_t first, int64_t second, int64_t *pair)
{
    pair[0] = first < second ? first : second;
    pair[1] = first < second ? second : first;
}

cs_status cs_world_find_apart(cs_world *world, cs_error *error)
{
    cs_joints *joints = &world->joints;
    if (joints->apart_is_known) return CS_OK;
    int64_t *pair = cs_buffer_room(&joints->apart, 2 * joints->count, sizeof *pair);
    if (!pair) return cs_no_memory(error, "%lld joints", (long long)joints->count);
    joints->aparts = 0;
    for (int64_t i = 0; i < joints->count; i++) {
        const cs_joint *joint = &joints->joint[i];
        if (joint->touches || !cs_joint_is_active(world, i)) continue;
        order_pair(joint->body[0], joint->body[1], pair + 2 * joints->aparts++);
    }
    if (joints->aparts) qsort(pair, (size_t)joints->aparts, 2 * sizeof *pair, compare_pairs);
    joints->apart_is_known = 1;
    return CS_OK;
}

int cs_are_apart(const cs_world *world, int64_t first, int64_t second)
{
    int64_t pair[2];
    const cs_joints *joints = &world->joints;
    order_pair(first, second, pair);
    return bsearch(pair, joints->apart.data, (size_t)joints->aparts, sizeof pair, compare_pairs) !=
           NULL;
}
