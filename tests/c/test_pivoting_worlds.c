/* Worlds that pivot, from C: index sets go on from step to step, as a whole and in islands that are cut apart; failed
 * allocations and states without index sets change no motion. */
#include "core/memory.h"
#include "testing.h"

#include <string.h>

enum { FEW = 5, MANY = 520 }; /* balls: as a whole; and enough for the problem to be cut */

static cs_error error;

/* Balls that slide over the ground, apart from each other. */
static cs_world *balls(int count, int islands)
{
    static double mass[MANY], inertia[MANY][9], position[MANY][3], velocity[MANY][6];
    cs_world_options options = cs_world_options_default();
    options.solver.method = "bpp";
    options.solver.islands = islands;
    options.stepper = "semi_implicit_euler";
    options.contact_compliance = 1e-10;
    cs_world *world = NULL;
    double mu = 0.4;
    cs_material material = {"box_friction", 3, &mu, 1, {0, 0}};
    int number = -1;
    int64_t first = -1;
    CHECK_STATUS(cs_world_create(&world, &options, &error), CS_OK, &error);
    CHECK_STATUS(cs_world_add_material(world, &material, &number, &error), CS_OK, &error);
    for (int i = 0; i < count; i++) {
        double at[3] = {i, 0.01 * i, 0.1}, slides[6] = {i % 2 ? 1 : -1, i % 3 ? 1 : -1};
        mass[i] = 1;
        for (int k = 0; k < 3; k++) inertia[i][4 * k] = 0.004;
        memcpy(position[i], at, sizeof at);
        memcpy(velocity[i], slides, sizeof slides);
    }
    cs_world_bodies bodies = {.count = count,
                              .mass = mass,
                              .inertia = &inertia[0][0],
                              .position = &position[0][0],
                              .velocity = &velocity[0][0]};
    CHECK_STATUS(cs_world_add_bodies(world, &bodies, &first, &error), CS_OK, &error);
    for (int i = -1; i < count; i++) {
        cs_shape shape = {.kind = CS_SHAPE_SPHERE, .number = {0.1}, .body = i, .orientation = {1}};
        cs_shape ground = {
            .kind = CS_SHAPE_HALF_SPACE, .number = {0, 0, 1}, .body = -1, .orientation = {1}};
        CHECK_STATUS(
            cs_world_add_shapes(world, i < 0 ? &ground : &shape, &number, 1, &first, &error), CS_OK,
            &error);
    }
    return world;
}

/* Makes steps, and returns the pivots of the last one. */
static int64_t step(cs_world *world, int steps)
{
    cs_world_view view;
    for (int i = 0; i < steps; i++) CHECK_STATUS(cs_world_step(world, NULL, &error), CS_OK, &error);
    cs_world_look(world, &view);
    CHECK(view.report.outcome == CS_CONVERGED);
    return view.report.pivots;
}

static cs_state_array *array_of(cs_world_state *state, const char *name)
{
    for (int i = 0; i < state->count; i++)
        if (strcmp(state->array[i].name, name) == 0) return &state->array[i];
    return NULL;
}

/* All contacts press, and slide along both tangents. */
static void index_sets_go_on(int count, int islands)
{
    cs_world *world = balls(count, islands);
    cs_world_state state;
    int64_t cold = step(world, 1);
    CHECK(cold > 0);
    step(world, 1);
    CHECK(step(world, 1) == 0);
    CHECK_STATUS(cs_world_save(world, &state, &error), CS_OK, &error);
    const cs_state_array *index = array_of(&state, "contact_index");
    const unsigned char *code = index->data;
    CHECK(index->rows == count);
    int pressed = 0, sliding = 0;
    for (int i = 0; i < count; i++) {
        pressed += code[6 * i] == 2; /* free */
        sliding += code[6 * i + 1] != 2 && code[6 * i + 2] != 2;
    }
    CHECK(pressed == count && sliding == count);
    CHECK(array_of(&state, "joint_index")->rows == 0);
    cs_world_destroy(world);
}

static void codes_are_checked(void)
{
    cs_world *world = balls(FEW, 0);
    cs_world_state state;
    step(world, 2);
    CHECK_STATUS(cs_world_save(world, &state, &error), CS_OK, &error);
    unsigned char *code = array_of(&state, "contact_index")->data, kept = code[8];
    code[8] = 4;
    CHECK_STATUS(cs_world_restore(world, &state, &error), CS_INVALID, &error);
    CHECK(strstr(error.message, "contact_index[1, 2] is 4: 0 to 3 is needed") != NULL);
    code[8] = kept;
    CHECK_STATUS(cs_world_restore(world, &state, &error), CS_OK, &error);

    /* Without index sets, as recordings had them before. */
    array_of(&state, "contact_index")->name = "other";
    CHECK_STATUS(cs_world_restore(world, &state, &error), CS_OK, &error);
    CHECK_STATUS(cs_world_save(world, &state, &error), CS_OK, &error);
    code = array_of(&state, "contact_index")->data;
    for (int i = 0; i < 6 * FEW; i++) CHECK(code[i] == 0);
    step(world, 1);
    cs_world_destroy(world);
}

/* A step that fails leaves the index set as it was. */
static void failed_allocations_change_nothing(void)
{
    cs_world *world = balls(FEW, 0), *other = balls(FEW, 0);
    cs_status status = CS_NO_MEMORY;
    int failures = 0;
    step(world, 2);
    step(other, 2);
    int64_t gone = 0;
    CHECK_STATUS(cs_world_remove(world, gone, &error), CS_OK, &error);
    CHECK_STATUS(cs_world_remove(other, gone, &error), CS_OK, &error);
    for (int64_t successes = 0; status == CS_NO_MEMORY && successes < 1000; successes++) {
        cs_memory_fail_after(successes);
        status = cs_world_step(world, NULL, &error);
        cs_memory_fail_after(-1);
        failures += status == CS_NO_MEMORY;
    }
    CHECK(status == CS_OK && failures > 0);
    CHECK(step(other, 1) == 0);
    cs_world_state a, b;
    CHECK_STATUS(cs_world_save(world, &a, &error), CS_OK, &error);
    CHECK_STATUS(cs_world_save(other, &b, &error), CS_OK, &error);
    for (int i = 0; i < a.count; i++) {
        static const size_t size[] = {8, 8, 4, 1};
        size_t bytes = (size_t)(a.array[i].rows * a.array[i].columns) * size[a.array[i].kind];
        CHECK(!bytes || memcmp(a.array[i].data, b.array[i].data, bytes) == 0);
    }
    cs_world_destroy(world);
    cs_world_destroy(other);
}

static void compliances_are_checked(void)
{
    cs_world_options options = cs_world_options_default();
    cs_world *world = NULL;
    options.contact_compliance = -1;
    CHECK_STATUS(cs_world_create(&world, &options, &error), CS_INVALID, &error);
    options.contact_compliance = 1e305; /* over the square of the time step */
    CHECK_STATUS(cs_world_create(&world, &options, &error), CS_INVALID, &error);
    CHECK(strstr(error.message, "contact_compliance is ") != NULL && !world);
}

int main(void)
{
    index_sets_go_on(FEW, 0);
    index_sets_go_on(MANY, 0);
    index_sets_go_on(MANY, 1);
    codes_are_checked();
    failed_allocations_change_nothing();
    compliances_are_checked();
    return test_result();
}
