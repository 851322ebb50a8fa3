/* A problem with several groups of bodies and of blocks, and the same as dense matrices.
 *
 *     bodies   0 1 2 3: d = 6, blocks, 3 immovable   |   4 5 6: d = 3, diagonals, 6 immovable
 *     blocks   box m = 1 on (6, 3) | disc m = 3 on (6, 6) | free m = 2 on (3, 3)
 *              | half-line m = 2 on (3, 6)
 *
 * With the fixed world on either side, a body paired with itself, two blocks between the same
 * bodies and one between immovable bodies. The dense side shares no code with the library. */
#ifndef SCENE_H
#define SCENE_H

#include "testing.h"

#include <stdlib.h>
#include <string.h>

enum { SCENE_GROUPS = 4, SCENE_BODIES = 7, SCENE_VELOCITIES = 4 * 6 + 3 * 3 };
enum { SCENE_BLOCKS = 4 + 6 + 2 + 2, SCENE_ROWS = 4 + 6 * 3 + 2 * 2 + 2 * 2 };
enum { SCENE_PARAMETERS = 4 * 2 + 6 };

static const int64_t scene_pairs[SCENE_BLOCKS][2] = {
    {0, 4},  {1, 5},  {-1, 4}, {3, 6},                 /* box; the last one cannot move */
    {-1, 0}, {0, 1},  {1, 2},  {3, 2}, {2, 2}, {1, 0}, /* disc */
    {4, 5},  {5, -1},                                  /* free */
    {5, 2},  {4, 3},                                   /* half-line */
};
static const int scene_first[SCENE_GROUPS + 1] = {0, 4, 10, 12, 14};
static const int scene_rows[SCENE_GROUPS] = {1, 3, 2, 2};
static const int scene_dof[SCENE_GROUPS][2] = {{6, 3}, {6, 6}, {3, 3}, {3, 6}};
static const char *const scene_set[SCENE_GROUPS] = {"box", "disc", "free", "half_line"};
enum { SCENE_IMMOVABLE_BLOCK = 3 };

typedef struct scene {
    /* as the library takes it */
    double blocks_mass[4 * 36], diagonal_mass[3 * 3];
    double jacobian[SCENE_GROUPS][6 * 36], parameters[SCENE_GROUPS][8];
    double b[SCENE_ROWS];
    /* dense */
    double J[SCENE_ROWS][SCENE_VELOCITIES], Minv[SCENE_VELOCITIES][SCENE_VELOCITIES];
    double A[SCENE_ROWS][SCENE_ROWS];
} scene;

static inline int scene_group_of(int block)
{
    int g = 0;
    while (block >= scene_first[g + 1]) g++;
    return g;
}

/* First row of a block. */
static inline int scene_row(int block)
{
    int row = 0;
    for (int k = 0; k < block; k++) row += scene_rows[scene_group_of(k)];
    return row;
}

static inline int scene_velocity(int64_t body)
{
    return (int)(body < 4 ? 6 * body : 24 + 3 * (body - 4));
}

static inline void scene_make_masses(scene *s, uint64_t *random)
{
    for (int body = 0; body < 3; body++) /* half half^T, plus something on the diagonal */
        for (int i = 0; i < 6; i++) s->blocks_mass[36 * body + 7 * i] = 0.5;
    for (int body = 0; body < 3; body++)
        for (int k = 0; k < 6; k++) {
            double column[6];
            for (int i = 0; i < 6; i++) column[i] = 0.5 * test_random(random);
            for (int i = 0; i < 36; i++)
                s->blocks_mass[36 * body + i] += column[i / 6] * column[i % 6];
        }
    for (int i = 0; i < 6; i++) s->diagonal_mass[i] = 1.5 + test_random(random);
    s->diagonal_mass[1] = 0; /* body 4 moves along two of its axes */
}

static inline void scene_make_blocks(scene *s, uint64_t *random)
{
    for (int i = 0; i < SCENE_ROWS; i++) s->b[i] = test_random(random);
    for (int g = 0; g < SCENE_GROUPS; g++)
        for (int i = 0; i < 6 * 36; i++) s->jacobian[g][i] = test_random(random);
    for (int k = 0; k < 4; k++) { /* lo, hi */
        s->parameters[0][2 * k] = -0.5 - 0.4 * test_random(random);
        s->parameters[0][2 * k + 1] = 0.5 + 0.4 * test_random(random);
    }
    s->parameters[0][3] = INFINITY;
    for (int k = 0; k < 6; k++) s->parameters[1][k] = 0.5 + 0.5 * test_random(random);
}

static inline void scene_make_dense(scene *s)
{
    for (int body = 0; body < 4; body++)
        for (int i = 0; i < 36; i++)
            s->Minv[6 * body + i / 6][6 * body + i % 6] = s->blocks_mass[36 * body + i];
    for (int i = 0; i < 9; i++) s->Minv[24 + i][24 + i] = s->diagonal_mass[i];
    for (int k = 0; k < SCENE_BLOCKS; k++) {
        int g = scene_group_of(k), rows = scene_rows[g];
        const double *entry =
            s->jacobian[g] + (k - scene_first[g]) * rows * (scene_dof[g][0] + scene_dof[g][1]);
        for (int side = 0; side < 2; side++)
            for (int i = 0; i < rows * scene_dof[g][side]; i++, entry++) {
                int row = scene_row(k) + i / scene_dof[g][side], c = i % scene_dof[g][side];
                if (scene_pairs[k][side] < 0) continue;
                s->J[row][scene_velocity(scene_pairs[k][side]) + c] += *entry;
            }
    }
    static double product[SCENE_ROWS][SCENE_VELOCITIES]; /* J Minv */
    for (int i = 0; i < SCENE_ROWS; i++)
        for (int j = 0; j < SCENE_VELOCITIES; j++) {
            product[i][j] = 0;
            for (int k = 0; k < SCENE_VELOCITIES; k++) product[i][j] += s->J[i][k] * s->Minv[k][j];
        }
    for (int i = 0; i < SCENE_ROWS; i++)
        for (int j = 0; j < SCENE_ROWS; j++)
            for (int k = 0; k < SCENE_VELOCITIES; k++) s->A[i][j] += product[i][k] * s->J[j][k];
}

static inline void scene_make(scene *s)
{
    uint64_t random = 12345;
    memset(s, 0, sizeof *s);
    scene_make_masses(s, &random);
    scene_make_blocks(s, &random);
    scene_make_dense(s);
}

/* The scene in the library; on failure nothing is left behind and *problem is NULL. */
static inline cs_status scene_create(const scene *s, cs_problem **problem, cs_error *error)
{
    cs_bodies spatial = {4, 6, 0, s->blocks_mass}, planar = {3, 3, 1, s->diagonal_mass};
    cs_status status = cs_problem_create(problem, error);
    if (status) return status;
    status = cs_problem_add_bodies(*problem, &spatial, error);
    if (!status) status = cs_problem_add_bodies(*problem, &planar, error);
    for (int g = 0; g < SCENE_GROUPS && !status; g++) {
        cs_blocks blocks = {
            .count = scene_first[g + 1] - scene_first[g],
            .rows = scene_rows[g],
            .dof = {scene_dof[g][0], scene_dof[g][1]},
            .jacobian = s->jacobian[g],
            .bodies = scene_pairs[scene_first[g]],
            .b = s->b + scene_row(scene_first[g]),
            .set = scene_set[g],
            .parameters = s->parameters[g],
        };
        status = cs_problem_add_blocks(*problem, &blocks, error);
    }
    if (status) {
        cs_problem_destroy(*problem);
        *problem = NULL;
    }
    return status;
}

/* ---- a long chain ---------------------------------------------------------------------------- */

/* `count` discs in the plane stacked on the ground, each pressing and rubbing on the one below:
 * enough blocks for several pieces of a parallel sweep. On failure as scene_create. */
static inline cs_status chain_create(int64_t count, cs_problem **problem, cs_error *error)
{
    double *mass = malloc((size_t)count * 3 * sizeof(double));
    double *jacobian = malloc((size_t)count * 12 * sizeof(double));
    double *b = malloc((size_t)count * 2 * sizeof(double));
    double *mu = malloc((size_t)count * sizeof(double));
    int64_t *pairs = malloc((size_t)count * 2 * sizeof(int64_t));
    const double sides[] = {0, -1, 0, -1, 0, 0.5,
                            0, 1,  0, 1,  0, 0.5}; /* normal, tangent: each side */
    cs_status status = CS_NO_MEMORY;
    *problem = NULL;
    if (!mass || !jacobian || !b || !mu || !pairs) goto out;
    uint64_t random = 99;
    for (int64_t k = 0; k < count; k++) {
        for (int i = 0; i < 3; i++) mass[3 * k + i] = i < 2 ? 1 : 8;
        memcpy(jacobian + 12 * k, sides, sizeof sides);
        b[2 * k] = k == 0 ? -0.1 : 0.05 * test_random(&random);
        b[2 * k + 1] = 0.02 * test_random(&random);
        mu[k] = 0.3 + 0.2 * test_random(&random);
        pairs[2 * k] = k - 1;
        pairs[2 * k + 1] = k;
    }
    cs_bodies bodies = {count, 3, 1, mass};
    cs_blocks blocks = {.count = count,
                        .rows = 2,
                        .dof = {3, 3},
                        .jacobian = jacobian,
                        .bodies = pairs,
                        .b = b,
                        .set = "disc",
                        .parameters = mu};
    status = cs_problem_create(problem, error);
    if (!status) status = cs_problem_add_bodies(*problem, &bodies, error);
    if (!status) status = cs_problem_add_blocks(*problem, &blocks, error);
    if (status) {
        cs_problem_destroy(*problem);
        *problem = NULL;
    }
out:
    free(mass);
    free(jacobian);
    free(b);
    free(mu);
    free(pairs);
    return status;
}

/* ---- a star ---------------------------------------------------------------------------------- */

enum { STAR_MOST = 1000 };

/* One body that `count` others, at most STAR_MOST, touch, along one line: a hub for colourings. On
 * failure as scene_create. */
static inline cs_status star_create(int64_t count, cs_problem **problem, cs_error *error)
{
    static double mass[STAR_MOST + 1], jacobian[2 * STAR_MOST], b[STAR_MOST];
    static int64_t pairs[2 * STAR_MOST];
    uint64_t random = 7;
    for (int64_t i = 0; i <= count; i++) mass[i] = i ? 1 : 1.0 / (double)count;
    for (int64_t k = 0; k < count; k++) {
        jacobian[2 * k] = -1;
        jacobian[2 * k + 1] = 1;
        b[k] = test_random(&random);
        pairs[2 * k] = 0;
        pairs[2 * k + 1] = k + 1;
    }
    cs_bodies bodies = {count + 1, 1, 1, mass};
    cs_blocks blocks = {.count = count,
                        .rows = 1,
                        .dof = {1, 1},
                        .jacobian = jacobian,
                        .bodies = pairs,
                        .b = b,
                        .set = "half_line"};
    cs_status status = cs_problem_create(problem, error);
    if (!status) status = cs_problem_add_bodies(*problem, &bodies, error);
    if (!status) status = cs_problem_add_blocks(*problem, &blocks, error);
    if (status) {
        cs_problem_destroy(*problem);
        *problem = NULL;
    }
    return status;
}

#endif
