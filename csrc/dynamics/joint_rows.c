/* The rows of joints, from the configuration of their bodies: as those of contactsolve/joints.py, with what is needed to
 * correct drift.
 *
 *     held:   J u^E = -error / dt                             S3 eq. 1.14
 *     limit:  J u^E >= -gap / dt
 *     motor:  J u^E = speed, as far as the bounds allow
 *     spring: lambda / dt = -k (x + rest dt J u^E - target) - c (J u^E - speed)
 *
 * Wheels that mesh have equal velocities along their teeth at the pitch point, as has the force there: neither turns with
 * their spin.
 *
 * A linear row holds at the point of the second body, for both bodies: then the impulses of a joint have no moment about
 * each other, and a slider's rows are the derivatives of its position.  S3 section 1.2; Bender, Erleben and Trinkle,
 * Interactive simulation of rigid body dynamics in computer graphics, 2014 */
#include "core/error.h"
#include "core/vector.h"
#include "dynamics/tangents.h"
#include "dynamics/world.h"

#include <string.h>

/* ---- where joints are -------------------------------------------------------------------------- */

/* A body of a joint, with its own point and axis in the world frame. */
typedef struct side {
    double position[3], orientation[4], rotation[9], point[3], axis[3];
} side;

/* A row: the velocity along a direction at the second point, and rotations about an axis of each body. */
typedef struct row {
    double along[3], about[2][3];
    double error; /* by how much it is off [m, rad]; the coordinate, of the row of that */
} row;

static void place_side(const cs_motion *motion, const cs_joint *joint, int k, side *to)
{
    static const double fixed[4] = {1, 0, 0, 0};
    int64_t body = joint->body[k];
    memset(to->position, 0, sizeof to->position);
    memcpy(to->orientation, fixed, sizeof fixed);
    if (body >= 0) {
        cs_assign(to->position, motion->position + 3 * body);
        memcpy(to->orientation, motion->orientation + 4 * body, sizeof to->orientation);
    }
    cs_rotation_of(3, to->orientation, to->rotation);
    cs_rotate(to->rotation, joint->point[k], to->point);
    cs_add_scaled(to->point, 1, to->position, to->point);
    cs_rotate(to->rotation, joint->axis[k], to->axis);
}

/* out <- the direction from the axis of the first body to a point. */
static void find_out(const side *first, const double *point, double *out)
{
    cs_subtract(point, first->point, out);
    cs_add_scaled(out, -cs_dot(out, first->axis), first->axis, out);
    if (!(cs_normalize(out) > 0)) cs_any_orthogonal(first->axis, out);
}

/* point <- the pitch point: in the plane of the first axis and of the point of the second one. */
static void find_pitch_point(const cs_joint *joint, const side *both, double *point)
{
    double out[3];
    find_out(&both[0], both[1].point, out);
    cs_add_scaled(both[0].point, joint->length, both[0].axis, point);
    cs_add_scaled(point, joint->ratio, out, point);
}

static void place(const cs_motion *motion, const cs_joint *joint, side *both)
{
    double pitch[3];
    for (int k = 0; k < 2; k++) place_side(motion, joint, k, &both[k]);
    if (joint->kind != CS_JOINT_MESH) return;
    find_pitch_point(joint, both, pitch);
    cs_assign(both[1].point, pitch);
}

/* product <- a b, quaternions w, x, y, z */
static void multiply(const double *a, const double *b, double *product)
{
    double across[3];
    cs_cross(a + 1, b + 1, across);
    product[0] = a[0] * b[0] - cs_dot(a + 1, b + 1);
    for (int k = 1; k < 4; k++) product[k] = a[0] * b[k] + b[0] * a[k] + across[k - 1];
}

/* turned (3) <- the rotation vector of the second body against where the first one has it, for small angles. */
static void find_rotation(const cs_joint *joint, const side *both, double *turned)
{
    double wanted[4], error[4];
    multiply(both[0].orientation, joint->turn, wanted);
    for (int k = 1; k < 4; k++) wanted[k] = -wanted[k];
    multiply(both[1].orientation, wanted, error);
    for (int k = 0; k < 3; k++) turned[k] = (error[0] < 0 ? -2 : 2) * error[1 + k];
}

/* across (2, 3) <- two directions across the axis, which move with the first body. */
static void find_across(const cs_joint *joint, const side *both, double across[2][3])
{
    cs_tangents tangents;
    cs_tangents_of(joint->axis[0], &tangents);
    for (int i = 0; i < 2; i++) cs_rotate(both[0].rotation, tangents.tangent[i], across[i]);
}

/* ---- rows that are held -------------------------------------------------------------------------- */

static void set_linear(row *to, const double *along, double error)
{
    *to = (row){.error = error};
    cs_assign(to->along, along);
}

static void set_angular(row *to, const double *about, double error)
{
    *to = (row){.error = error};
    for (int k = 0; k < 2; k++) cs_assign(to->about[k], about);
}

static const double unit[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

/* Both points are one. */
static void hold_point(const double *apart, row *rows)
{
    for (int k = 0; k < 3; k++) set_linear(&rows[k], unit[k], apart[k]);
}

/* The second body is turned as the first one. */
static void hold_rotation(const cs_joint *joint, const side *both, row *rows)
{
    double turned[3];
    find_rotation(joint, both, turned);
    for (int k = 0; k < 3; k++) set_angular(&rows[k], unit[k], turned[k]);
}

/* Both axes are parallel. */
static void hold_axis(const cs_joint *joint, const side *both, row *rows)
{
    double across[2][3], apart[3];
    find_across(joint, both, across);
    cs_cross(both[0].axis, both[1].axis, apart);
    for (int i = 0; i < 2; i++) set_angular(&rows[i], across[i], cs_dot(across[i], apart));
}

/* The second point is on the axis of the first body. */
static void hold_line(const cs_joint *joint, const side *both, const double *apart, row *rows)
{
    double across[2][3];
    find_across(joint, both, across);
    for (int i = 0; i < 2; i++) set_linear(&rows[i], across[i], cs_dot(across[i], apart));
}

/* The teeth of two wheels have one velocity at the pitch point, across the first axis and the direction away from it. */
static void hold_teeth(const side *both, row *to)
{
    double out[3], teeth[3];
    find_out(&both[0], both[1].point, out);
    cs_cross(both[0].axis, out, teeth);
    set_linear(to, teeth, 0);
}

/* row <- the distance of both points, along the line between them; where they are one, along any line. */
static double set_distance(const double *apart, row *to)
{
    double along[3] = {apart[0], apart[1], apart[2]}, length = cs_normalize(along);
    set_linear(to, length > 0 ? along : unit[0], length);
    return length;
}

/* The rows that a joint holds; returns their number. */
static int hold(const cs_joint *joint, const side *both, row *rows)
{
    double apart[3];
    cs_subtract(both[1].point, both[0].point, apart);
    switch (joint->kind) {
    case CS_JOINT_BALL: hold_point(apart, rows); break;
    case CS_JOINT_HINGE:
        hold_point(apart, rows);
        hold_axis(joint, both, rows + 3);
        break;
    case CS_JOINT_SLIDER:
        hold_line(joint, both, apart, rows);
        hold_rotation(joint, both, rows + 2);
        break;
    case CS_JOINT_FIXED:
        hold_point(apart, rows);
        hold_rotation(joint, both, rows + 3);
        break;
    case CS_JOINT_DISTANCE: rows->error = set_distance(apart, rows) - joint->length; break;
    case CS_JOINT_GEAR:
        *rows = (row){.error = 0};
        cs_add_scaled(rows->along, joint->ratio, both[0].axis, rows->about[0]);
        cs_assign(rows->about[1], both[1].axis);
        break;
    case CS_JOINT_MESH: hold_teeth(both, rows); break;
    default: break;
    }
    return cs_joint_held(joint->kind);
}

/* ---- the coordinate ---------------------------------------------------------------------------- */

#define TURN 6.283185307179586476925

/* The angle by which the second body turns against the first one about the axis in a time h: quaternions turn by
 * 2 atan(h w / 2). */
static double find_turn(const cs_motion *motion, const cs_joint *joint, const side *both, double h)
{
    double angle = 0;
    for (int k = 0; k < 2; k++) {
        if (joint->body[k] < 0) continue;
        double spin = cs_dot(both[0].axis, motion->velocity + 6 * joint->body[k] + 3);
        angle += (k ? 2 : -2) * atan(0.5 * h * spin);
    }
    return angle;
}

/* The angle of the second body about the axis, with full turns: near the one that is expected. */
static double find_angle(const cs_joint *joint, const side *both, double expected)
{
    /* A direction across the axis, as each body has it. */
    double across[2][3], wanted[4], rotation[9], cross[3], back[3];
    find_across(joint, both, across);
    multiply(both[0].orientation, joint->turn, wanted);
    cs_rotation_of(3, wanted, rotation);
    for (int k = 0; k < 3; k++)
        back[k] = rotation[k] * across[0][0] + rotation[3 + k] * across[0][1] +
                  rotation[6 + k] * across[0][2];
    cs_rotate(both[1].rotation, back, across[1]);

    cs_cross(across[0], across[1], cross);
    double angle = atan2(cs_dot(both[0].axis, cross), cs_dot(across[0], across[1]));
    return angle + TURN * round((expected - angle) / TURN);
}

/* row <- the angle between the axes of both bodies. */
static void measure_cone(const side *both, row *to)
{
    double about[3], sine;
    cs_cross(both[0].axis, both[1].axis, about);
    sine = cs_normalize(about);
    if (!(sine > 0)) cs_any_orthogonal(both[0].axis, about);
    set_angular(to, about, atan2(sine, cs_dot(both[0].axis, both[1].axis)));
}

/* The row of the coordinate of a joint, which has one. */
static void measure(const cs_joint *joint, const side *both, double expected, row *to)
{
    double apart[3];
    cs_subtract(both[1].point, both[0].point, apart);
    switch (joint->kind) {
    case CS_JOINT_BALL: measure_cone(both, to); break;
    case CS_JOINT_HINGE:
    case CS_JOINT_ANGULAR: set_angular(to, both[0].axis, find_angle(joint, both, expected)); break;
    case CS_JOINT_SLIDER:
    case CS_JOINT_LINEAR: set_linear(to, both[0].axis, cs_dot(both[0].axis, apart)); break;
    default: set_distance(apart, to);
    }
}

/* ---- Jacobians ----------------------------------------------------------------------------------- */

/* jacobian (6) <- the row of one body */
static void write_row(const row *from, const side *both, int k, double *jacobian)
{
    double arm[3], moment[3], sign = k ? 1 : -1;
    cs_subtract(both[1].point, both[k].position, arm);
    cs_cross(arm, from->along, moment);
    for (int i = 0; i < 3; i++) {
        jacobian[i] = sign * from->along[i];
        jacobian[3 + i] = sign * (moment[i] + from->about[k][i]);
    }
}

static double times(const double *jacobian, const double *velocity)
{
    double sum = 0;
    for (int i = 0; i < 6; i++) sum += jacobian[i] * velocity[i];
    return sum;
}

/* The rate of a row. */
static double rate_of(const cs_motion *motion, const cs_joint *joint, const side *both,
                      const row *from)
{
    double rate = 0, jacobian[6];
    for (int k = 0; k < 2; k++) {
        if (joint->body[k] < 0) continue;
        write_row(from, both, k, jacobian);
        rate += times(jacobian, motion->velocity + 6 * joint->body[k]);
    }
    return rate;
}

/* u^S + M^-1 h dt of a body; zero of the fixed world. */
static void find_free_velocity(const cs_world *world, int64_t body, double *velocity)
{
    const cs_rigid *rigid = &world->rigid;
    for (int i = 0; i < 6; i++) {
        velocity[i] = body < 0 ? 0 : rigid->next.velocity[6 * body + i];
        if (body >= 0 && rigid->movable[body]) velocity[i] += rigid->change[6 * body + i];
    }
}

/* The block of one part of a joint in the problem. */
typedef struct block {
    double *jacobian; /* (2, m, 6) */
    double *b;        /* (m) */
    int64_t *bodies;  /* (2) */
    int m;
} block;

/* Writes J, J (u^S + M^-1 h dt) and bodies. Bodies that cannot move are the fixed world to the solver. */
static void write_block(const cs_world *world, const cs_joint *joint, const side *both,
                        const row *rows, const block *to)
{
    for (int i = 0; i < to->m; i++) to->b[i] = 0;
    for (int k = 0; k < 2; k++) {
        double velocity[6];
        find_free_velocity(world, joint->body[k], velocity);
        to->bodies[k] = cs_body_number(&world->step, joint->body[k]);
        for (int i = 0; i < to->m; i++) {
            double *own = to->jacobian + 6 * (to->m * k + i);
            write_row(&rows[i], both, k, own);
            to->b[i] += times(own, velocity);
            if (to->bodies[k] < 0) memset(own, 0, 6 * sizeof *own);
        }
    }
}

/* ---- parts --------------------------------------------------------------------------------------- */

static void fill_held(const cs_world *world, const cs_joint *joint, const side *both,
                      const block *to)
{
    row rows[CS_JOINT_LIMIT];
    hold(joint, both, rows);
    write_block(world, joint, both, rows, to);
    for (int i = 0; i < to->m; i++) to->b[i] += rows[i].error / world->options.time_step;
}

/* By how much the coordinate at the rows is off from where its rate there has brought it: rows turn. */
static double find_bend(const cs_world *world, const cs_joint *joint, const side *both,
                        const row *coordinate)
{
    side before[2];
    row start;
    double moved = (1 - world->stepper->rest) * world->options.time_step;
    place(&world->rigid.now, joint, before);
    measure(joint, before, coordinate->error, &start);
    return fabs(coordinate->error - start.error -
                moved * rate_of(&world->rigid.next, joint, both, coordinate));
}

/* What a gap adds to b. Where a limit was passed, it has the feedback of contacts. Without feedback only what the
 * rows miss because they turn is taken back, at most four times the bend of half a step: this speed is of the order
 * of the step, while that of gap / dt would grow with 1 / dt and stay with the body. */
static double correct_gap(const cs_world *world, const cs_joint *joint, const side *both,
                          const row *coordinate, double gap)
{
    double dt = world->options.time_step, feedback = world->step.feedback;
    if (gap >= 0) return gap / dt;
    if (feedback > 0) return feedback * gap;
    return fmax(gap, -4 * find_bend(world, joint, both, coordinate)) / dt;
}

/* The limit that the free motion comes nearer to, or passes by more. Its row grows away from it. */
static void fill_limit(const cs_world *world, const cs_joint *joint, const side *both,
                       const row *coordinate, const block *to)
{
    write_block(world, joint, both, coordinate, to);
    double way = world->options.time_step * to->b[0];
    double above = coordinate->error - joint->limits[0],
           below = joint->limits[1] - coordinate->error;
    int upper = below - way < above + way;
    if (upper) {
        for (int i = 0; i < 12; i++) to->jacobian[i] = -to->jacobian[i];
        to->b[0] = -to->b[0];
    }
    to->b[0] += correct_gap(world, joint, both, coordinate, upper ? below : above);
}

static void fill_drive(const cs_world *world, const cs_joint *joint, const side *both,
                       const double *drive, const row *coordinate, const block *to)
{
    double k = joint->stiffness, c = joint->damping;
    write_block(world, joint, both, coordinate, to);
    if (k + c > 0)
        to->b[0] += (k * (coordinate->error - drive[CS_DRIVE_TARGET]) - c * drive[CS_DRIVE_SPEED]) /
                    cs_joint_spring(world, joint);
    else to->b[0] -= drive[CS_DRIVE_SPEED];
}

/* The rows of one part. */
static void fill_part(cs_world *world, const cs_joint_part *part)
{
    /* Where it is. */
    const cs_joints *joints = &world->joints;
    const cs_joint *joint = &joints->joint[part->joint];
    cs_step_group *group = &world->step.group[part->group];
    int m = group->rows;
    block to = {
        .jacobian = (double *)group->jacobian.data + 12 * m * part->index,
        .b = (double *)group->b.data + m * part->index,
        .bodies = (int64_t *)group->bodies.data + 2 * part->index,
        .m = m,
    };
    side both[2];
    row coordinate;
    place(&world->rigid.next, joint, both);
    if (part->kind == CS_PART_HELD) {
        fill_held(world, joint, both, &to);
        return;
    }

    /* The limit or the drive of the coordinate. */
    const double *drive = joints->drive + part->joint * CS_DRIVE_NUMBERS;
    double moved = (1 - world->stepper->rest) * world->options.time_step;
    measure(joint, both,
            joints->now.coordinate[part->joint] + find_turn(&world->rigid.next, joint, both, moved),
            &coordinate);
    if (part->kind == CS_PART_LIMIT) {
        fill_limit(world, joint, both, &coordinate, &to);
        return;
    }
    fill_drive(world, joint, both, drive, &coordinate, &to);
    double *parameter = (double *)group->parameter.data + 2 * part->index;
    parameter[0] = world->options.time_step * drive[CS_DRIVE_LOWER];
    parameter[1] = world->options.time_step * drive[CS_DRIVE_UPPER];
}

void cs_fill_joints(void *context, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    cs_world *world = context;
    const cs_joint_part *part = world->step.part.data;
    for (int64_t i = begin; i < end; i++) fill_part(world, &part[i]);
}

/* ---- tension ------------------------------------------------------------------------------------- */

/* tension (3, 3) += (f . r) (1 - n n^T), n = r / |r|: the moments by which a force f at the end of an arm r pulls a body
 * back that turns; nothing of one that pushes it on. */
static void add_tension(const double *force, const double *arm, double *tension)
{
    double along = cs_dot(force, arm), square = cs_dot(arm, arm);
    if (!(along > 0 && square > 0)) return;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            tension[3 * i + j] += along * ((i == j) - arm[i] * arm[j] / square);
}

/* The first three rows of these kinds hold two points together. */
static int holds_points(cs_joint_kind kind)
{
    return kind == CS_JOINT_BALL || kind == CS_JOINT_HINGE || kind == CS_JOINT_FIXED;
}

cs_status cs_world_find_tension(cs_world *world, cs_error *error)
{
    const cs_joints *joints = &world->joints;
    int64_t bodies = world->rigid.count;
    if (!joints->implicit || !joints->count) return CS_OK;
    double *tension = cs_buffer_room(&world->joints.tension, 9 * bodies, sizeof *tension);
    if (!tension) return cs_no_memory(error, "%lld bodies", (long long)bodies);
    memset(tension, 0, sizeof(double) * 9 * (size_t)bodies);
    for (int64_t i = 0; i < joints->count; i++) {
        const cs_joint *joint = &joints->joint[i];
        if (!holds_points(joint->kind) || !cs_joint_is_active(world, i)) continue;
        side both[2];
        place(&world->rigid.next, joint, both);
        for (int k = 0; k < 2; k++) {
            double force[3], arm[3], scale = (k ? 1 : -1) / world->options.time_step;
            for (int c = 0; c < 3; c++)
                force[c] = scale * joints->now.impulse[i * CS_JOINT_ROWS + c];
            cs_subtract(both[k].point, both[k].position, arm);
            if (joint->body[k] >= 0) add_tension(force, arm, tension + 9 * joint->body[k]);
        }
    }
    return CS_OK;
}

/* ---- measures -------------------------------------------------------------------------------------- */

void cs_world_end_joints(cs_world *world)
{
    cs_joints *joints = &world->joints;
    const cs_rigid *rigid = &world->rigid;
    size_t size = sizeof(double);
    double rest = world->stepper->rest * world->options.time_step;
    double moved = world->options.time_step - rest;
    for (int64_t i = 0; i < joints->count; i++) {
        const cs_joint *joint = &joints->joint[i];
        if (!cs_joint_is_active(world, i) || !cs_joint_has_coordinate(joint->kind)) continue;
        side before[2], both[2];
        row coordinate;
        place(&rigid->now, joint, before);
        place(&rigid->next, joint, both);
        double turn = find_turn(&rigid->now, joint, before, moved) +
                      find_turn(&rigid->next, joint, both, rest);
        measure(joint, both, joints->now.coordinate[i] + turn, &coordinate);
        joints->now.coordinate[i] = coordinate.error;
    }
    size_t rows = (size_t)joints->count * CS_JOINT_ROWS;
    if (!rows) return;
    memcpy(joints->now.impulse, joints->next.impulse, rows * size);
    memcpy(joints->now.index, joints->next.index, rows);
}

/* error (2) <- lengths of the errors of linear and of angular rows. */
static void measure_error(const cs_joint *joint, const side *both, double *error)
{
    row rows[CS_JOINT_LIMIT];
    int count = hold(joint, both, rows);
    error[0] = error[1] = 0;
    for (int i = 0; i < count; i++) {
        int angular = cs_dot(rows[i].along, rows[i].along) == 0;
        error[angular] = hypot(error[angular], rows[i].error);
    }
}

void cs_world_measure_joints(const cs_world *world, const cs_joint_measures *to)
{
    const cs_joints *joints = &world->joints;
    for (int64_t i = 0; i < joints->count; i++) {
        const cs_joint *joint = &joints->joint[i];
        side both[2];
        row coordinate = {.error = 0};
        to->coordinate[i] = to->rate[i] = to->error[2 * i] = to->error[2 * i + 1] = 0;
        if (!cs_joint_is_active(world, i)) continue;
        place(&world->rigid.now, joint, both);
        measure_error(joint, both, to->error + 2 * i);
        if (!cs_joint_has_coordinate(joint->kind)) continue;
        measure(joint, both, joints->now.coordinate[i], &coordinate);
        to->coordinate[i] = coordinate.error;
        to->rate[i] = rate_of(&world->rigid.now, joint, both, &coordinate);
    }
}
