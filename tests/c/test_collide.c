/* The collider from C: contacts of a scene that is known, threads, removal, failed allocations. Compiled with
 * ThreadSanitizer it also shows that no two threads meet in memory. */
#include "collide/collide.h"
#include "collide/convex.h"
#include "core/memory.h"
#include "testing.h"

#include <string.h>

enum { SIDE = 14, BALLS = SIDE * SIDE * SIDE };

static double position[BALLS][3], orientation[BALLS][4];

/* A cubic grid of balls that touch; the lowest layer is on the ground. */
static cs_collider *ball_grid(void)
{
    static cs_shape shape[BALLS];
    cs_collider *collider = NULL;
    cs_error error = {0};
    int64_t first = -1;
    CHECK_STATUS(cs_collider_create(&collider, 3, &error), CS_OK, &error);
    for (int k = 0; k < BALLS; k++) {
        position[k][0] = k / (SIDE * SIDE);
        position[k][1] = k / SIDE % SIDE;
        position[k][2] = k % SIDE + 0.5;
        memcpy(orientation[k], (double[4]){1, 0, 0, 0}, sizeof orientation[k]);
        shape[k] = (cs_shape){
            .kind = CS_SHAPE_SPHERE, .number = {0.5}, .body = k, .orientation = {1, 0, 0, 0}};
    }
    CHECK_STATUS(cs_collider_add(collider, shape, BALLS, &first, &error), CS_OK, &error);
    CHECK(first == 0);
    cs_shape ground = {.kind = CS_SHAPE_HALF_SPACE,
                       .number = {0, 0, 1, 0},
                       .body = -1,
                       .orientation = {1, 0, 0, 0}};
    CHECK_STATUS(cs_collider_add(collider, &ground, 1, &first, &error), CS_OK, &error);
    CHECK(first == BALLS);
    return collider;
}

static const cs_poses poses = {BALLS, &position[0][0], &orientation[0][0], NULL};

static void check_grid(const cs_contacts *contacts)
{
    CHECK(contacts->count == SIDE * SIDE + 3 * SIDE * SIDE * (SIDE - 1));
    for (int64_t c = 0; c < contacts->count; c++) {
        const int64_t *shape = contacts->shape + 2 * c, *body = contacts->body + 2 * c;
        CHECK(shape[0] < shape[1]);
        CHECK(c == 0 || shape[-2] < shape[0] || (shape[-2] == shape[0] && shape[-1] < shape[1]));
        CHECK(body[0] == shape[0] && body[1] == (shape[1] == BALLS ? -1 : shape[1]));
        CHECK_NEAR(contacts->gap[c], 0, 1e-15);
    }
}

static void threads_find_the_same(void)
{
    cs_error error = {0};
    cs_contacts contacts;
    cs_collider *collider = ball_grid();
    for (int threads = 1; threads <= 4; threads++) {
        CHECK_STATUS(cs_collider_find(collider, &poses, 1e-9, threads, &contacts, &error), CS_OK,
                     &error);
        check_grid(&contacts);
    }
    cs_collider_destroy(collider);
}

/* Boxes and a ground: contacts of several points, whose parts of the table are moved together. */
static void stacks_of_boxes_touch_at_four_points(void)
{
    enum { BOXES = 900 };
    static double x[BOXES][3], q[BOXES][4];
    cs_error error = {0};
    cs_contacts contacts;
    cs_collider *collider = NULL;
    int64_t first;
    CHECK_STATUS(cs_collider_create(&collider, 3, &error), CS_OK, &error);
    for (int k = 0; k < BOXES; k++) {
        cs_shape box = {.kind = CS_SHAPE_BOX,
                        .number = {0.5, 0.4, 0.3},
                        .body = k,
                        .orientation = {1, 0, 0, 0}};
        memcpy(x[k], (double[3]){3 * (k / 3 % 20), 3 * (k / 60), 0.3 + 0.6 * (k % 3)}, sizeof x[k]);
        memcpy(q[k], (double[4]){1, 0, 0, 0}, sizeof q[k]);
        CHECK_STATUS(cs_collider_add(collider, &box, 1, &first, &error), CS_OK, &error);
    }
    cs_shape ground = {.kind = CS_SHAPE_HALF_SPACE,
                       .number = {0, 0, 1, 0},
                       .body = -1,
                       .orientation = {1, 0, 0, 0}};
    CHECK_STATUS(cs_collider_add(collider, &ground, 1, &first, &error), CS_OK, &error);
    cs_poses of_boxes = {BOXES, &x[0][0], &q[0][0], NULL};
    for (int threads = 1; threads <= 4; threads++) {
        CHECK_STATUS(cs_collider_find(collider, &of_boxes, 1e-6, threads, &contacts, &error), CS_OK,
                     &error);
        CHECK(contacts.count == 4 * BOXES);
        for (int64_t c = 0; c < contacts.count; c++) CHECK_NEAR(contacts.gap[c], 0, 1e-12);
    }
    cs_collider_destroy(collider);
}

/* A shape of a random size, of kind k of those that have a volume in this many dimensions. */
static cs_shape random_shape(int dimension, int k, uint64_t *state, double *vertices)
{
    static const cs_shape_kind kinds[2][5] = {
        {CS_SHAPE_DISC, CS_SHAPE_SEGMENT, CS_SHAPE_POLYGON, CS_SHAPE_SEGMENT, CS_SHAPE_POLYGON},
        {CS_SHAPE_SPHERE, CS_SHAPE_CAPSULE, CS_SHAPE_BOX, CS_SHAPE_HULL, CS_SHAPE_CYLINDER},
    };
    enum { VERTICES = 14 };
    cs_shape shape = {.kind = kinds[dimension - 2][k], .vertices = vertices};
    for (int i = 0; i < 3; i++) shape.number[i] = 0.5 + 0.3 * test_random(state);
    if (shape.kind == CS_SHAPE_HULL || shape.kind == CS_SHAPE_POLYGON)
        shape.vertex_count = VERTICES;
    for (int i = 0; i < VERTICES * dimension; i++) vertices[i] = 0.7 * test_random(state);
    for (int i = 0; i < 4; i++) shape.orientation[i] = test_random(state);
    return shape;
}

/* A pile of every kind: each pair of kinds, found on 1 to 3 threads with the same bits. */
static void piles_of_all_shapes(int dimension)
{
    enum { BODIES = 1500 };
    static double x[BODIES * 3], q[BODIES * 4], gap[BODIES * 100];
    uint64_t state = 7;
    int parts = dimension == 3 ? 4 : 1;
    double vertices[64], size = dimension == 3 ? 5 : 16;
    cs_error error = {0};
    cs_contacts contacts;
    cs_collider *collider = NULL;
    int64_t first, count = 0;
    CHECK_STATUS(cs_collider_create(&collider, dimension, &error), CS_OK, &error);
    for (int body = 0; body < BODIES; body++) {
        cs_shape shape = random_shape(dimension, body % 5, &state, vertices);
        shape.body = body;
        CHECK_STATUS(cs_collider_add(collider, &shape, 1, &first, &error), CS_OK, &error);
    }
    cs_shape ground = {.kind = CS_SHAPE_HALF_SPACE, .number = {0, 1, 0, -4}, .body = -1};
    ground.orientation[0] = dimension == 3;
    CHECK_STATUS(cs_collider_add(collider, &ground, 1, &first, &error), CS_OK, &error);
    for (int i = 0; i < BODIES * dimension; i++) x[i] = size * test_random(&state);
    for (int i = 0; i < BODIES * parts; i++) q[i] = test_random(&state);

    cs_poses piled = {BODIES, x, q, NULL};
    for (int threads = 1; threads <= 3; threads++) {
        CHECK_STATUS(cs_collider_find(collider, &piled, 0.05, threads, &contacts, &error), CS_OK,
                     &error);
        CHECK(contacts.count > BODIES && contacts.count <= BODIES * 100);
        CHECK(threads == 1 || count == contacts.count);
        if (threads > 1) CHECK(memcmp(gap, contacts.gap, sizeof *gap * (size_t)count) == 0);
        count = contacts.count;
        memcpy(gap, contacts.gap, sizeof *gap * (size_t)count);
    }
    cs_collider_destroy(collider);
}

static void a_second_step_allocates_nothing(void)
{
    cs_error error = {0};
    cs_contacts contacts;
    cs_collider *collider = ball_grid();
    CHECK_STATUS(cs_collider_find(collider, &poses, 1e-9, 2, &contacts, &error), CS_OK, &error);
    cs_memory_fail_after(0);
    for (int step = 0; step < 3; step++)
        CHECK_STATUS(cs_collider_find(collider, &poses, 1e-9, 2, &contacts, &error), CS_OK, &error);
    cs_memory_fail_after(-1);
    check_grid(&contacts);
    cs_collider_destroy(collider);
}

static void a_removed_shape_has_no_contacts(void)
{
    cs_error error = {0};
    cs_contacts contacts;
    cs_collider *collider = ball_grid();
    CHECK_STATUS(cs_collider_remove(collider, BALLS, &error), CS_OK, &error);
    CHECK_STATUS(cs_collider_remove(collider, BALLS, &error), CS_INVALID, &error);
    CHECK(strstr(error.message, "shape is 2744") != NULL);
    CHECK_STATUS(cs_collider_find(collider, &poses, 1e-9, 1, &contacts, &error), CS_OK, &error);
    CHECK(contacts.count == 3 * SIDE * SIDE * (SIDE - 1));
    CHECK(cs_collider_shapes(collider) == BALLS);
    cs_collider_destroy(collider);
}

/* Each call gets one block of memory more than the one before: an error, until there is enough, and no leak. */
static void failed_allocations_are_errors(void)
{
    int64_t live = cs_memory_live();
    cs_error error = {0};
    cs_contacts contacts;
    cs_collider *collider = ball_grid();
    int failures = 0;
    for (;;) {
        cs_memory_fail_after(1);
        cs_status status = cs_collider_find(collider, &poses, 1e-9, 1, &contacts, &error);
        cs_memory_fail_after(-1);
        if (!status) break;
        CHECK(status == CS_NO_MEMORY);
        failures++;
    }
    CHECK(failures > 10);
    check_grid(&contacts);
    cs_collider_destroy(collider);
    CHECK(cs_memory_live() == live);
}

/* Cylinders that a plane separates by more than a thousandth of their size do not overlap, though rounding puts the origin
 * into a flat tetrahedron of support points. The distance is that of the points found, and no less than the separation. */
static void separated_cylinders_do_not_overlap(void)
{
    cs_convex a = {.axis = {-0.40822081231854235, -0.80772517475235406, -0.42536550219930691},
                   .radius = 0.99856482473617103,
                   .half = 0.60411500039683419};
    cs_convex b = {.center = {0.049256755195804247, -1.4064098951734976, 0.44014427834854886},
                   .axis = {0.19360107000784887, 0.27979484029845708, -0.94033689337076254},
                   .radius = 0.3388609306887983,
                   .half = 1.100237016990155};
    const double guess[3] = {-0.11581687021416331, -0.99092053600222429, 0.06828575182906195};
    cs_closest closest;
    cs_convex_distance(&a, &b, guess, &closest);
    CHECK(!closest.overlap);
    CHECK(closest.separation > 1e-3);
    CHECK(closest.distance >= closest.separation - 1e-12);
    CHECK(closest.distance <= closest.separation + 1e-9);
}

int main(void)
{
    separated_cylinders_do_not_overlap();
    threads_find_the_same();
    stacks_of_boxes_touch_at_four_points();
    piles_of_all_shapes(2);
    piles_of_all_shapes(3);
    a_second_step_allocates_nothing();
    a_removed_shape_has_no_contacts();
    failed_allocations_are_errors();
    return test_result();
}
