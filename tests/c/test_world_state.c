/* The state of a world from C: a second world goes on from it with the same bits; wrong arrays and failed allocations
 * change nothing. */
#include "core/memory.h"
#include "testing.h"

#include <string.h>

enum { BALLS = 12, HALF = 40 };

static cs_error error;

/* A world of balls that fall onto the ground, side by side and on each other. `removed`: without the shape of ball 3. */
static cs_world *balls(int removed)
{
    static double mass[BALLS], inertia[BALLS][9], position[BALLS][3];
    cs_world_options options = cs_world_options_default();
    options.solver.method = "gauss_seidel";
    cs_world *world = NULL;
    double mu = 0.4;
    cs_material material = {"disc", 3, &mu, 1, {0.3, 0}};
    int number = -1;
    int64_t first = -1;
    CHECK_STATUS(cs_world_create(&world, &options, &error), CS_OK, &error);
    CHECK_STATUS(cs_world_add_material(world, &material, &number, &error), CS_OK, &error);
    for (int i = 0; i < BALLS; i++) {
        mass[i] = 1 + 0.1 * i;
        for (int k = 0; k < 3; k++) inertia[i][4 * k] = 0.004 * mass[i];
        double at[3] = {0.19 * (i % 4), 0.01 * i, 0.11 + 0.21 * (i / 4)};
        memcpy(position[i], at, sizeof at);
    }
    cs_world_bodies bodies = {
        .count = BALLS, .mass = mass, .inertia = &inertia[0][0], .position = &position[0][0]};
    CHECK_STATUS(cs_world_add_bodies(world, &bodies, &first, &error), CS_OK, &error);
    cs_shape ground = {
        .kind = CS_SHAPE_HALF_SPACE, .number = {0, 0, 1, 0}, .body = -1, .orientation = {1}};
    CHECK_STATUS(cs_world_add_shapes(world, &ground, &number, 1, &first, &error), CS_OK, &error);
    for (int i = 0; i < BALLS; i++) {
        cs_shape ball = {.kind = CS_SHAPE_SPHERE, .number = {0.1}, .body = i, .orientation = {1}};
        if (removed && i == 3) CHECK_STATUS(cs_world_skip_shapes(world, 1, &error), CS_OK, &error);
        else
            CHECK_STATUS(cs_world_add_shapes(world, &ball, &number, 1, &first, &error), CS_OK,
                         &error);
    }
    return world;
}

static void step(cs_world *world, int steps)
{
    for (int i = 0; i < steps; i++) CHECK_STATUS(cs_world_step(world, NULL, &error), CS_OK, &error);
}

static int same_state(cs_world *one, cs_world *other)
{
    cs_world_state a, b;
    static const size_t size[] = {8, 8, 4, 1};
    CHECK_STATUS(cs_world_save(one, &a, &error), CS_OK, &error);
    CHECK_STATUS(cs_world_save(other, &b, &error), CS_OK, &error);
    int same = a.count == b.count;
    for (int i = 0; same && i < a.count; i++) {
        size_t bytes = (size_t)(a.array[i].rows * a.array[i].columns) * size[a.array[i].kind];
        same = strcmp(a.array[i].name, b.array[i].name) == 0 &&
               a.array[i].rows == b.array[i].rows &&
               (!bytes || memcmp(a.array[i].data, b.array[i].data, bytes) == 0);
    }
    return same;
}

static void a_world_goes_on(void)
{
    cs_world *world = balls(0), *other = balls(1);
    cs_world_state state;
    step(world, HALF);
    CHECK_STATUS(cs_world_remove(world, 3, &error), CS_OK, &error);
    step(world, HALF);
    CHECK_STATUS(cs_world_save(world, &state, &error), CS_OK, &error);
    CHECK_STATUS(cs_world_restore(other, &state, &error), CS_OK, &error);
    CHECK(same_state(world, other));
    cs_world_view view;
    cs_world_look(other, &view);
    CHECK(view.contact.count > 0 && view.removed[3] && view.steps == 2 * HALF);
    step(world, HALF);
    step(other, HALF);
    CHECK(same_state(world, other));
    cs_world_destroy(world);
    cs_world_destroy(other);
}

/* An array of a state, to be changed. */
static cs_state_array *array_of(cs_world_state *state, const char *name)
{
    for (int i = 0; i < state->count; i++)
        if (strcmp(state->array[i].name, name) == 0) return &state->array[i];
    return NULL;
}

static void wrong_arrays_are_refused(void)
{
    cs_world *world = balls(0), *other = balls(0), *like = balls(0);
    cs_world_state state;
    step(world, 2 * HALF);
    step(other, 3);
    step(like, 3);
    CHECK_STATUS(cs_world_save(world, &state, &error), CS_OK, &error);

    /* Sizes and kinds. */
    cs_state_array *shape = array_of(&state, "contact_shape"), kept = *shape;
    shape->rows--;
    CHECK_STATUS(cs_world_restore(other, &state, &error), CS_INVALID, &error);
    CHECK(strstr(error.message, "contact_feature is (") != NULL);
    *shape = kept;
    shape->name = "contact_shapes";
    CHECK_STATUS(cs_world_restore(other, &state, &error), CS_INVALID, &error);
    CHECK(strstr(error.message, "contact_shape is missing") != NULL);
    *shape = kept;

    /* Values. */
    int64_t *ids = shape->data, id = ids[1];
    CHECK(shape->rows > 1);
    ids[1] = 1000;
    CHECK_STATUS(cs_world_restore(other, &state, &error), CS_INVALID, &error);
    CHECK(strstr(error.message, "contact_shape[0, 1] is 1000") != NULL);
    ids[1] = id;
    double *turn = array_of(&state, "orientation")->data, cosine = turn[4];
    turn[4] = 2;
    CHECK_STATUS(cs_world_restore(other, &state, &error), CS_INVALID, &error);
    CHECK(strstr(error.message, "orientation[1] has the length") != NULL);
    turn[4] = (double)NAN;
    CHECK_STATUS(cs_world_restore(other, &state, &error), CS_INVALID, &error);
    CHECK(strstr(error.message, "orientation[1] is nan") != NULL);
    turn[4] = cosine;
    unsigned char *removed = array_of(&state, "removed")->data;
    removed[5] = 1;
    CHECK_STATUS(cs_world_restore(other, &state, &error), CS_INVALID, &error);
    CHECK(strstr(error.message, "removed[5] is 1, but the body has shape 6") != NULL);
    removed[5] = 0;

    /* Nothing was changed, and the state is accepted as it was. */
    CHECK(same_state(other, like));
    CHECK_STATUS(cs_world_save(world, &state, &error), CS_OK, &error);
    CHECK_STATUS(cs_world_restore(other, &state, &error), CS_OK, &error);
    CHECK(same_state(world, other));
    cs_world_destroy(world);
    cs_world_destroy(other);
    cs_world_destroy(like);
}

static void failed_allocations_change_nothing(void)
{
    cs_world *world = balls(0), *other = balls(0), *like = balls(0);
    cs_world_state state;
    step(world, 2 * HALF);
    cs_status status = CS_NO_MEMORY;
    int failures = 0;
    for (int64_t successes = 0; status == CS_NO_MEMORY && successes < 100; successes++) {
        CHECK_STATUS(cs_world_save(world, &state, &error), CS_OK, &error);
        cs_memory_fail_after(successes);
        status = cs_world_restore(other, &state, &error);
        cs_memory_fail_after(-1);
        failures += status == CS_NO_MEMORY;
        if (status) CHECK(same_state(other, like));
    }
    CHECK(status == CS_OK && failures > 0);
    CHECK(same_state(world, other));
    cs_world_destroy(world);
    cs_world_destroy(other);
    cs_world_destroy(like);
}

/* A world that had no memory for more bodies is as before, and takes them once there is some. */
static void bodies_wait_for_memory(void)
{
    enum { MORE = 3000 };
    cs_world *world = balls(0), *like = balls(0);
    double *mass = cs_allocate(MORE, sizeof *mass);
    double *inertia = cs_allocate(MORE, 9 * sizeof *inertia);
    double *position = cs_allocate(MORE, 3 * sizeof *position);
    CHECK(mass && inertia && position);
    if (!mass || !inertia || !position) return;
    for (int64_t i = 0; i < MORE; i++) {
        mass[i] = 1;
        for (int k = 0; k < 9; k++) inertia[9 * i + k] = k % 4 == 0;
        for (int k = 0; k < 3; k++) position[3 * i + k] = k == 2 ? 2 + (double)i : 5;
    }
    cs_world_bodies bodies = {
        .count = MORE, .mass = mass, .inertia = inertia, .position = position};
    int64_t first = -1;
    cs_status status = CS_NO_MEMORY;
    int failures = 0;
    for (int64_t successes = 0; status == CS_NO_MEMORY && successes < 100; successes++) {
        cs_memory_fail_after(successes);
        status = cs_world_add_bodies(world, &bodies, &first, &error);
        cs_memory_fail_after(-1);
        failures += status == CS_NO_MEMORY;
        if (status) CHECK(first == -1 && same_state(world, like));
    }
    CHECK(status == CS_OK && failures > 0 && first == BALLS);
    CHECK_STATUS(cs_world_add_bodies(like, &bodies, &first, &error), CS_OK, &error);
    step(world, 1);
    step(like, 1);
    CHECK(same_state(world, like));
    cs_world_destroy(world);
    cs_world_destroy(like);
    cs_release(mass);
    cs_release(inertia);
    cs_release(position);
}

static void bodies_are_placed(void)
{
    cs_world *world = balls(0);
    cs_world_view view;
    int64_t bodies[2] = {4, 0};
    double position[2][3] = {{1, 2, 3}, {4, 5, 6}}, turn[2][4] = {{0, 2, 0, 0}, {0, 0, 0, 0}};
    CHECK_STATUS(cs_world_place(world, bodies, 2, &position[0][0], &turn[0][0], NULL, &error),
                 CS_INVALID, &error);
    cs_world_look(world, &view);
    CHECK(view.position[12] < 1);
    CHECK_STATUS(cs_world_place(world, bodies, 2, &position[0][0], NULL, NULL, &error), CS_OK,
                 &error);
    CHECK_STATUS(cs_world_place(world, bodies, 1, NULL, &turn[0][0], NULL, &error), CS_OK, &error);
    CHECK(view.position[12] == 1 && view.position[2] == 6 && view.orientation[17] == 1);
    bodies[1] = BALLS;
    CHECK_STATUS(cs_world_place(world, bodies, 2, &position[0][0], NULL, NULL, &error), CS_INVALID,
                 &error);
    cs_world_destroy(world);
}

int main(void)
{
    a_world_goes_on();
    wrong_arrays_are_refused();
    failed_allocations_change_nothing();
    bodies_wait_for_memory();
    bodies_are_placed();
    CHECK(cs_memory_live() == 0);
    return test_result();
}
