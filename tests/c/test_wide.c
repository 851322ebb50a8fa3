/* Contacts in batches, and rows of A in vectors, against contacts one after another: every kernel that
 * this machine runs, every remainder of its lanes, any J and compressed. Python has more of this; here sanitizers look on, and
 * the program is small enough to be run under an emulator. */
#include "testing.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST = 41, BODIES = 12 };

typedef struct shape {
    int rows, dof;
    const char *set;
    int parameters, rigid;
} shape;

static const shape shapes[] = {
    {3, 6, "disc", 1, 0}, {3, 6, "disc", 1, 1}, {4, 6, "box", 8, 0},
    {4, 6, "box", 8, 1},  {2, 3, "disc", 1, 0}, {2, 3, "disc", 1, 1},
};

static uint64_t seed = 1;

/* From -1 to 1. */
static double number(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / (double)(1ull << 52) - 1;
}

static void cross(const double *a, const double *b, double *product)
{
    product[0] = a[1] * b[2] - a[2] * b[1];
    product[1] = a[2] * b[0] - a[0] * b[2];
    product[2] = a[0] * b[1] - a[1] * b[0];
}

/* A frame and lever arms: what a contact of rigid bodies has for J. */
static void rigid_contact(const shape *s, double *jacobian)
{
    double angle = 3 * number(), tilt = number(), arm[3] = {number(), number(), number()};
    double n[3] = {cos(angle) * cos(tilt), sin(angle) * cos(tilt), sin(tilt)};
    double t[3] = {-sin(angle), cos(angle), 0}, frame[9];
    if (s->dof == 3) n[0] = t[1], n[1] = -t[0];
    memcpy(frame, n, sizeof n);
    memcpy(frame + 3, t, sizeof t);
    cross(n, t, frame + 6);
    int linear = s->dof / 2 + (s->dof == 3);
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < s->rows; i++) {
            double *row = jacobian + (side * s->rows + i) * s->dof, angular[3];
            cross(arm, frame + 3 * (i % 3), angular);
            for (int c = 0; c < s->dof; c++)
                if (c < linear) row[c] = i < 3 ? frame[3 * i + c] : 0;
                else row[c] = s->dof == 3 ? number() : i < 3 ? angular[c - 3] : n[c - 3];
            for (int c = 0; c < s->dof && !side; c++) row[c] = -row[c];
        }
}

static cs_problem *make_problem(const shape *s, int count)
{
    static double inverse_mass[BODIES * 6], jacobian[MOST * 48], b[MOST * 4], given[MOST * 8];
    static int64_t bodies[MOST * 2];
    for (int k = 0; k < BODIES; k++)
        for (int c = 0; c < s->dof; c++)
            inverse_mass[k * s->dof + c] =
                k == 2 ? 0 : 1 + (c < (s->dof + 1) / 2 ? 0.1 * k : 0.3 * c);
    for (int i = 0; i < count; i++) {
        bodies[2 * i] = i % 7 ? (i * 5) % BODIES : -1;
        bodies[2 * i + 1] = (i * 5 + 1 + i % 3) % BODIES;
        double *own = jacobian + i * 2 * s->rows * s->dof;
        if (s->rigid) rigid_contact(s, own);
        for (int c = 0; c < 2 * s->rows * s->dof && !s->rigid; c++) own[c] = number();
        for (int r = 0; r < s->rows; r++) b[i * s->rows + r] = number();
        for (int p = 0; p < s->parameters; p++)
            given[i * s->parameters + p] = s->parameters == 1 ? 0.5 : p < 4 ? -0.2 : 0.4;
    }
    cs_bodies masses = {BODIES, s->dof, 1, inverse_mass};
    cs_blocks blocks = {.count = count,
                        .rows = s->rows,
                        .dof = {s->dof, s->dof},
                        .jacobian = jacobian,
                        .bodies = bodies,
                        .b = b,
                        .set = s->set,
                        .parameters = given};
    cs_problem *problem = NULL;
    cs_error error;
    CHECK_STATUS(cs_problem_create(&problem, &error), CS_OK, &error);
    CHECK_STATUS(cs_problem_add_bodies(problem, &masses, &error), CS_OK, &error);
    CHECK_STATUS(cs_problem_add_blocks(problem, &blocks, &error), CS_OK, &error);
    return problem;
}

/* Three sweeps; returns how the contacts were visited. */
static cs_solver_info solve(const cs_problem *problem, const cs_options *options, double *impulses)
{
    cs_solver *solver = NULL;
    cs_solver_info info = {0};
    cs_error error;
    cs_result result = {.impulses = impulses};
    CHECK_STATUS(cs_solver_create(&solver, problem, options, NULL, &error), CS_OK, &error);
    CHECK_STATUS(cs_solver_solve(solver, NULL, NULL, NULL, NULL, &result, &error), CS_OK, &error);
    cs_solver_describe(solver, &info);
    cs_solver_destroy(solver);
    return info;
}

static void compare(const shape *s, const cs_problem *problem, int count, cs_options options)
{
    double scalar[MOST * 4], wide[MOST * 4], largest = 0;
    options.instructions = "scalar";
    CHECK(strcmp(solve(problem, &options, scalar).kernel, "scalar") == 0);
    for (int i = 0; i < count * s->rows; i++) largest = fmax(largest, fabs(scalar[i]));
    int rows = strcmp(options.scheme, "matrix") == 0;
    double units = strcmp(options.dtype, "float64") == 0 ? DBL_EPSILON : (double)FLT_EPSILON;
    for (int i = 0; (options.instructions = cs_instructions_name(i, NULL)); i++)
        for (options.general = 0; options.general < 2 - rows && cs_instructions_run(i);
             options.general++) {
            cs_solver_info info = solve(problem, &options, wide);
            CHECK(strstr(info.kernel, options.instructions) != NULL);
            CHECK(!strstr(info.kernel, "compressed") == !(s->rigid && !rows && !options.general));
            for (int k = 0; k < count * s->rows; k++)
                CHECK(fabs(wide[k] - scalar[k]) <= 2000 * units * largest);
        }
}

int main(void)
{
    static const int counts[] = {1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, MOST};
    static const char *const dtypes[] = {"float64", "float32", "mixed"};
    cs_options options = cs_options_default();
    options.rtol = options.atol = NAN;
    options.max_iterations = 3;
    options.rollback = 0;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            cs_problem *problem = make_problem(&shapes[s], counts[c]);
            for (int choice = 0; choice < 12; choice++) {
                options.method = choice & 1 ? "jacobi" : "gauss_seidel";
                options.order = choice & 2 ? "colored" : "natural";
                options.dtype = dtypes[choice / 4];
                options.scheme = "factorized";
                compare(&shapes[s], problem, counts[c], options);
                options.scheme = "matrix";
                if (choice < 8) compare(&shapes[s], problem, counts[c], options);
            }
            cs_problem_destroy(problem);
        }
    CHECK(cs_memory_live() == 0);
    return test_result();
}
