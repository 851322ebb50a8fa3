/* Thirty balls of 1 kg fall by some millimetres and make a heap: how high it is after every quarter of a second, and the
 * normal impulse of the ground in that step of 2 ms: at rest 30 kg * 9.81 m/s^2 * 2 ms = 0.5886 N s.
 *
 *     python3 setup.py build_ext --build-temp=build --build-lib=build
 *     cc -std=c17 -Icsrc tests/c/pile.c $(find build -name '*.o' ! -path '*python*') -fopenmp -lm
 *
 * Output:
 *     0.25 s: height 0.476 m, ground 0.5625 N s
 *     0.50 s: height 0.438 m, ground 0.4429 N s
 *     0.75 s: height 0.438 m, ground 0.5630 N s
 *     1.00 s: height 0.438 m, ground 0.5886 N s
 */
#include "contactsolve.h"

#include <math.h>
#include <stdio.h>

enum { BALLS = 30, STEPS = 500 };

int main(void)
{
    cs_world *world = NULL;
    cs_error error = {0};
    double radius = 0.1, mu = 0.8, mass[BALLS], inertia[BALLS][9] = {{0}}, position[BALLS][3];
    cs_shape shape[BALLS + 1] = {{0}}; /* of each ball, and the ground */
    int of_material[BALLS + 1] = {0}, n = 0, number;
    int64_t first;
    for (int layer = 0; layer < 4; layer++) {
        int side = 4 - layer;
        for (int i = 0; i < side * side; i++, n++) {
            position[n][0] = 1.01 * radius * (layer + 2 * (i % side));
            position[n][1] = 1.01 * radius * (layer + 2 * (i / side));
            position[n][2] = radius * (1.05 + 1.5 * layer);
            mass[n] = 1;
            inertia[n][0] = inertia[n][4] = inertia[n][8] = 0.4 * mass[n] * radius * radius;
            shape[n] = (cs_shape){.kind = CS_SHAPE_SPHERE, .number = {radius}, .body = n};
        }
    }
    shape[BALLS] = (cs_shape){.kind = CS_SHAPE_HALF_SPACE, .number = {0, 0, 1}, .body = -1};
    for (int i = 0; i <= BALLS; i++) shape[i].orientation[0] = 1;

    cs_world_options options = cs_world_options_default();
    cs_world_bodies balls = {
        .count = BALLS, .mass = mass, .inertia = inertia[0], .position = position[0]};
    cs_material material = {.set = "disc", .rows = 3, .parameter = &mu, .parameters = 1};
    options.time_step = 0.002;
    if (cs_world_create(&world, &options, &error)) goto out;
    if (cs_world_add_material(world, &material, &number, &error)) goto out;
    if (cs_world_add_bodies(world, &balls, &first, &error)) goto out;
    if (cs_world_add_shapes(world, shape, of_material, BALLS + 1, &first, &error)) goto out;
    for (int step = 1; step <= STEPS; step++) {
        if (cs_world_step(world, NULL, &error)) goto out;
        if (step % 125) continue;
        cs_world_view view;
        double height = 0, ground = 0;
        cs_world_look(world, &view);
        for (int i = 0; i < BALLS; i++) height = fmax(height, view.position[3 * i + 2]);
        for (int64_t k = 0; k < view.contacts; k++) {
            const int64_t *body = view.contact.body + 2 * k;
            if (body[0] < 0 || body[1] < 0) ground += view.impulse[6 * k];
        }
        printf("%.2f s: height %.3f m, ground %.4f N s\n", view.time, height, ground);
    }
out:
    cs_world_destroy(world);
    if (error.status) fprintf(stderr, "%s\n", error.message);
    return error.status != CS_OK;
}
