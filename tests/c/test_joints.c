/* Joints of a world from C: wrong ones are refused, failed allocations change nothing, a second world goes on from the
 * state of the first one with the same bits. */
#include "core/memory.h"
#include "testing.h"

#include <string.h>

enum { BODIES = 4, JOINTS = 4 };

static cs_error error;

/* A joint between two bodies along x, at the origin of both; fields that matter are set by the caller. */
static cs_joint between(cs_joint_kind kind, int64_t first, int64_t second)
{
    cs_joint joint = {
        .kind = kind,
        .body = {first, second},
        .point = {{0.5, 0, 0}, {-0.5, 0, 0}},
        .axis = {{0, 1, 0}, {0, 1, 0}},
        .turn = {1},
        .length = 1,
        .ratio = 1,
        .limits = {-INFINITY, INFINITY},
    };
    if (first < 0) joint.point[0][0] = -0.5;
    return joint;
}

/* A row of bodies without shapes, which falls from rest. */
static cs_world *row(const char *tension)
{
    static double mass[BODIES], inertia[BODIES][9], position[BODIES][3];
    cs_world_options options = cs_world_options_default();
    options.solver.method = "gauss_seidel";
    options.tension = tension;
    cs_world *world = NULL;
    int64_t first = -1;
    CHECK_STATUS(cs_world_create(&world, &options, &error), CS_OK, &error);
    for (int i = 0; i < BODIES; i++) {
        mass[i] = 1;
        position[i][0] = i;
        for (int k = 0; k < 3; k++) inertia[i][4 * k] = 0.01 * (k + 1);
    }
    cs_world_bodies bodies = {
        .count = BODIES, .mass = mass, .inertia = &inertia[0][0], .position = &position[0][0]};
    CHECK_STATUS(cs_world_add_bodies(world, &bodies, &first, &error), CS_OK, &error);
    return world;
}

/* Hangs the row on a ball, a hinge with a drive and a limit, a fixed joint and a slider. */
static cs_status hang(cs_world *world)
{
    int64_t first = -1;
    cs_joint joints[JOINTS] = {
        between(CS_JOINT_BALL, -1, 0),
        between(CS_JOINT_HINGE, 0, 1),
        between(CS_JOINT_FIXED, 1, 2),
        between(CS_JOINT_SLIDER, 2, 3),
    };
    joints[1].has_drive = 1;
    joints[1].limits[1] = 0.5;
    joints[1].drive[CS_DRIVE_LOWER] = -20;
    joints[1].drive[CS_DRIVE_UPPER] = 20;
    joints[2].compliance[3] = 1e-4;
    return cs_world_add_joints(world, joints, JOINTS, &first, &error);
}

static void step(cs_world *world, int steps)
{
    for (int i = 0; i < steps; i++) CHECK_STATUS(cs_world_step(world, NULL, &error), CS_OK, &error);
}

/* Whether bodies and impulses of both worlds have the same bits. */
static int are_same(const cs_world *one, const cs_world *other)
{
    cs_world_view a, b;
    cs_world_look(one, &a);
    cs_world_look(other, &b);
    return a.joints == b.joints &&
           memcmp(a.position, b.position, sizeof(double) * 3 * BODIES) == 0 &&
           memcmp(a.joint_impulse, b.joint_impulse, sizeof(double) * CS_JOINT_ROWS * JOINTS) == 0;
}

static void kinds_have_names(void)
{
    for (int kind = 0; kind < CS_JOINT_KINDS; kind++)
        CHECK(cs_joint_find(cs_joint_name(kind)) == kind);
    CHECK(!cs_joint_name(CS_JOINT_KINDS) && cs_joint_find("screw") == -1);
}

static void a_row_hangs_together(const char *tension)
{
    cs_world *world = row(tension);
    double coordinate[JOINTS], rate[JOINTS], off[2 * JOINTS];
    cs_joint_measures measures = {coordinate, rate, off};
    CHECK_STATUS(hang(world), CS_OK, &error);
    step(world, 200);
    cs_world_measure_joints(world, &measures);
    for (int i = 0; i < 2 * JOINTS; i++) CHECK(off[i] < 1e-3);
    CHECK(coordinate[1] <= 0.5 + 1e-3);

    /* Without the last joint the last body falls. */
    cs_world_view view;
    CHECK_STATUS(cs_world_remove_joint(world, 3, &error), CS_OK, &error);
    CHECK_STATUS(cs_world_remove_joint(world, 3, &error), CS_INVALID, &error);
    step(world, 1);
    cs_world_look(world, &view);
    CHECK(view.joint_removed[3] && view.joint_impulse[3 * CS_JOINT_ROWS] == 0);
    cs_world_destroy(world);
}

static void a_world_goes_on(void)
{
    cs_world *world = row("implicit"), *other = row("implicit");
    cs_world_state state;
    CHECK_STATUS(hang(world), CS_OK, &error);
    CHECK_STATUS(hang(other), CS_OK, &error);
    step(world, 30);
    CHECK_STATUS(cs_world_save(world, &state, &error), CS_OK, &error);
    CHECK_STATUS(cs_world_restore(other, &state, &error), CS_OK, &error);
    step(world, 30);
    step(other, 30);
    CHECK(are_same(world, other));
    cs_world_destroy(world);
    cs_world_destroy(other);
}

/* Adds one joint that is wrong, and checks the message. */
static void refuse(cs_world *world, const cs_joint *joint, const char *message)
{
    int64_t first = -1;
    CHECK_STATUS(cs_world_add_joints(world, joint, 1, &first, &error), CS_INVALID, &error);
    CHECK(strstr(error.message, message) != NULL);
}

static void wrong_joints_are_refused(void)
{
    cs_world *world = row("explicit");
    cs_joint joint = between(CS_JOINT_HINGE, 0, BODIES);
    refuse(world, &joint, "joints[0] (hinge): bodies[1] is 4");
    joint = between(CS_JOINT_HINGE, 2, 2);
    refuse(world, &joint, "bodies[1] is 2");
    joint = between(CS_JOINT_HINGE, 0, 1);
    joint.axis[1][2] = 1;
    refuse(world, &joint, "the length of axes[1] is 1.41");
    joint = between(CS_JOINT_SLIDER, 0, 1);
    joint.limits[0] = 2;
    joint.limits[1] = 1;
    refuse(world, &joint, "limits[1] is 1, but it has to be above");
    joint = between(CS_JOINT_GEAR, 0, 1);
    joint.has_drive = 1;
    refuse(world, &joint, "cannot be driven");
    joint = between(CS_JOINT_DISTANCE, 0, 1);
    joint.length = -1;
    refuse(world, &joint, "length is -1");
    joint.turn[0] = (double)NAN;
    refuse(world, &joint, "turn[0] is nan");
    joint = between(CS_JOINT_MESH, 0, 1);
    joint.ratio = 0;
    refuse(world, &joint, "joints[0] (mesh): ratio is 0, but it has to be a number above 0");
    joint.length = (double)INFINITY;
    refuse(world, &joint, "length[0] is inf");
    cs_world_destroy(world);
}

static void failed_allocations_change_nothing(void)
{
    cs_world *world = row("implicit"), *like = row("implicit");
    cs_status status = CS_NO_MEMORY;
    int failures = 0;
    CHECK_STATUS(hang(like), CS_OK, &error);
    step(like, 2);
    for (int64_t successes = 0; status == CS_NO_MEMORY && successes < 100; successes++) {
        cs_memory_fail_after(successes);
        status = hang(world);
        cs_memory_fail_after(-1);
        failures += status == CS_NO_MEMORY;
    }
    CHECK(status == CS_OK && failures > 0);
    status = CS_NO_MEMORY;
    for (int64_t successes = 0; status == CS_NO_MEMORY && successes < 1000; successes++) {
        cs_memory_fail_after(successes);
        status = cs_world_step(world, NULL, &error);
        cs_memory_fail_after(-1);
    }
    CHECK_STATUS(status, CS_OK, &error);
    step(world, 1);
    CHECK(are_same(world, like));
    cs_world_destroy(world);
    cs_world_destroy(like);
}

int main(void)
{
    kinds_have_names();
    a_row_hangs_together("explicit");
    a_row_hangs_together("implicit");
    a_world_goes_on();
    wrong_joints_are_refused();
    failed_allocations_change_nothing();
    CHECK(cs_memory_live() == 0);
    return test_result();
}
