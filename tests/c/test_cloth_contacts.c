/* Collisions of a cloth: the same bits on any number of threads and for all rules, no failed allocation that leaves anything, and
 * a state that an interrupted step leaves as it was. */
#include "cloth/cloth.h"
#include "core/costs.h"
#include "core/memory.h"
#include "testing.h"

#include <string.h>

enum { SIDE = 24, LAYERS = 3, VERTICES = SIDE * SIDE, CORNERS = 8, STEPS = 14 };
#define SPEED 0.8 /* of the obstacle, upwards [m/s] */
#define STEP 0.01

typedef struct sheet {
    int64_t vertices, faces;
    double x[3 * LAYERS * VERTICES];
    int64_t face[6 * LAYERS * VERTICES];
} sheet;

static sheet large, small, layers;

/* Adds a grid, a little uneven. */
static void add_sheet(sheet *s, int side, double height)
{
    uint64_t state = 3;
    int64_t first = s->vertices, *to = s->face + 3 * s->faces;
    double *x = s->x + 3 * first;
    s->vertices += side * side;
    s->faces += 2 * (side - 1) * (side - 1);
    for (int64_t i = 0; i < side * side; i++) {
        x[3 * i] = 0.4 * (double)(i % side) / (side - 1);
        x[3 * i + 1] = 0.4 * (double)(i / side) / (side - 1);
        x[3 * i + 2] = height + 1e-3 * test_random(&state);
    }
    for (int64_t i = 0; i < side * (side - 1); i++) {
        const int64_t cell[] = {i, i + 1, i + 1 + side, i, i + 1 + side, i + side};
        if (i % side == side - 1) continue;
        for (int k = 0; k < 6; k++) *to++ = first + cell[k];
    }
}

/* A box below the middle of the sheet. */
static const int64_t box_face[] = {0, 1, 3, 0, 3, 2, 4, 5, 7, 4, 7, 6, 0, 1, 5, 0, 5, 4,
                                   2, 3, 7, 2, 7, 6, 0, 2, 6, 0, 6, 4, 1, 3, 7, 1, 7, 5};

static void place_box(double time, double *x)
{
    for (int k = 0; k < CORNERS; k++) {
        x[3 * k] = 0.15 + 0.1 * (k & 1);
        x[3 * k + 1] = 0.12 + 0.13 * (k >> 1 & 1);
        x[3 * k + 2] = -0.1 + 0.1 * (k >> 2) + SPEED * time;
    }
}

static cs_status make(cs_cloth *cloth, const sheet *s, const char *rule, cs_error *error)
{
    double box[3 * CORNERS];
    const cs_cloth_options options = {.density = 0.2,
                                      .young = 50,
                                      .poisson = 0.3,
                                      .bending = 1e-6,
                                      .damping = 0.01,
                                      .gravity = {0, 0, -9.81},
                                      .parts = 5,
                                      .preconditioner = "block_ssor",
                                      .rtol = 1e-4,
                                      .max_iterations = 1000};
    const cs_collision_options collisions = {.thickness = 2e-3,
                                             .mu = 0.3,
                                             .push = 0.1,
                                             .stop_after = 20,
                                             .iterations = 20,
                                             .zones = 50,
                                             .has_self = 1,
                                             .k = 18,
                                             .rule = cs_split_rule_find(rule)};
    place_box(0, box);
    cs_status status =
        cs_cloth_make(cloth, &options, s->vertices, s->x, s->x, s->face, s->faces, error);
    if (!status) status = cs_cloth_collide(cloth, &collisions, error);
    if (!status) status = cs_collisions_add(&cloth->collisions, CORNERS, box, box_face, 12, error);
    return status ? status : cs_collisions_check(&cloth->collisions, cloth->position, 2, error);
}

/* One step, with the box on its way. */
static cs_status step(cs_cloth *cloth, const cs_cloth_call *call, cs_error *error)
{
    double box[3 * CORNERS];
    place_box(cloth->time + STEP, box);
    cs_collisions_move(&cloth->collisions, 0, box);
    return cs_cloth_step(cloth, STEP, NULL, NULL, call, error);
}

static cs_status move(cs_cloth *cloth, const sheet *s, const char *rule, int threads, int64_t *met,
                      cs_error *error)
{
    const cs_cloth_call call = {.newton = 1, .threads = threads};
    cs_status status = make(cloth, s, rule, error);
    for (int n = 0; n < STEPS && !status; n++) {
        status = step(cloth, &call, error);
        *met += cloth->collisions.report.impacts;
    }
    return status;
}

static void steps_have_the_same_bits(void)
{
    static double alone[3 * VERTICES];
    static const char *const rules[] = {"estimate", "leftmost", "random", "truth"};
    for (int threads = 1; threads <= 4; threads++) {
        cs_cloth cloth;
        cs_error error = {0};
        int64_t met = 0;
        CHECK_STATUS(move(&cloth, &large, rules[threads - 1], threads, &met, &error), CS_OK,
                     &error);
        CHECK(cloth.steps == STEPS && !cloth.refused && met > 20);
        CHECK(cloth.collisions.report.is_free && cloth.collisions.report.contacts > 20);
        if (threads == 1) memcpy(alone, cloth.position, sizeof alone);
        CHECK(!memcmp(alone, cloth.position, sizeof alone));
        cs_cloth_clear(&cloth);
    }
}

/* Of so many contacts that threads share the sweeps. */
static void layers_have_the_same_bits(void)
{
    static double alone[3 * LAYERS * VERTICES];
    for (int threads = 1; threads <= 3; threads++) {
        const cs_cloth_call call = {.newton = 1, .threads = 1, .contact_threads = threads};
        cs_cloth cloth;
        cs_error error = {0};
        CHECK_STATUS(make(&cloth, &layers, "estimate", &error), CS_OK, &error);
        for (int64_t i = 0; i < layers.vertices; i++)
            cloth.velocity[3 * i + 2] = -0.2 * (double)(i / VERTICES) * (1 + layers.x[3 * i]);
        for (int n = 0; n < 3; n++) {
            CHECK_STATUS(step(&cloth, &call, &error), CS_OK, &error);
            CHECK(cloth.collisions.report.contacts >= CS_WORTH_THREADS_VISITS);
            CHECK(cloth.collisions.report.sweeps > 4);
        }
        if (threads == 1) memcpy(alone, cloth.position, sizeof alone);
        CHECK(!memcmp(alone, cloth.position, sizeof alone));
        cs_cloth_clear(&cloth);
    }
}

/* Each call's n-th allocation fails, until there are no more. */
static void no_failed_allocation_leaves_anything(void)
{
    int64_t before = cs_memory_live(), n = 0, met = 0;
    cs_status status = CS_NO_MEMORY;
    for (; status && n < 2000; n++) {
        cs_cloth cloth;
        cs_error error = {0};
        cs_memory_fail_after(n);
        status = move(&cloth, &small, "estimate", 2, &met, &error);
        cs_memory_fail_after(-1);
        CHECK(!status || (status == CS_NO_MEMORY && error.message[0]));
        cs_cloth_clear(&cloth);
        CHECK(cs_memory_live() == before);
    }
    CHECK(!status && n > 50);
}

static int stop(void *context)
{
    ++*(int *)context;
    return 1;
}

static void a_cancelled_step_changes_nothing(void)
{
    cs_cloth cloth;
    cs_error error = {0};
    int asked = 0;
    const cs_cloth_call whole = {.newton = 1, .threads = 1};
    CHECK_STATUS(make(&cloth, &small, "estimate", &error), CS_OK, &error);
    CHECK_STATUS(cs_cloth_predict(&cloth, STEP, NULL, NULL, &whole, &error), CS_OK, &error);
    cs_cancellation cancellation = {.is_cancelled = stop, .context = &asked, .work = 1e9};
    const cs_cloth_call call = {.newton = 1, .threads = 1, .cancellation = &cancellation};
    CHECK(cs_cloth_conclude(&cloth, &call, &error) == CS_INTERRUPTED);
    CHECK(asked > 0 && !cloth.steps && cloth.time == 0);
    CHECK(!memcmp(cloth.position, small.x, sizeof(double) * 3 * (size_t)small.vertices));
    cs_cloth_clear(&cloth);
}

static void intersections_are_told(void)
{
    cs_cloth cloth;
    cs_error error = {0};
    static double x[3 * LAYERS * VERTICES];
    CHECK_STATUS(make(&cloth, &small, "estimate", &error), CS_OK, &error);
    memcpy(x, small.x, sizeof x);
    for (int64_t i = 0; i < small.vertices; i++) x[3 * i + 2] = -0.05;
    CHECK(cs_collisions_check(&cloth.collisions, x, 1, &error) == CS_INVALID);
    CHECK(strstr(error.message, "goes through the face") != NULL);
    cs_cloth_clear(&cloth);
}

int main(void)
{
    add_sheet(&large, SIDE, 0.03);
    add_sheet(&small, 6, 0.03);
    for (int n = 0; n < LAYERS; n++) add_sheet(&layers, SIDE, 0.03 + 2.1e-3 * n);
    steps_have_the_same_bits();
    layers_have_the_same_bits();
    no_failed_allocation_leaves_anything();
    a_cancelled_step_changes_nothing();
    intersections_are_told();
    return test_result();
}
