/* Contacts given by frames and lever arms are the contacts with the Jacobian that these stand for: the matrix, products,
 * and the iterates of every method, scheme and precision. The Jacobian is expanded here by code of the test's own. */
#include "core/memory.h"
#include "problem/products.h"
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BODIES = 90, GROUPS = 4, DOF = 6 };
static const int rows_of[GROUPS] = {3, 1, 4, 5};
static const int64_t count_of[GROUPS] = {211, 17, 30, 23};
static const char *const set_of[GROUPS] = {"disc", "half_line", "half_line", "half_line"};
enum { MOST = 211, ROWS = 211 * 3 + 17 + 30 * 4 + 23 * 5 };

typedef struct contacts {
    double frame[MOST * 12], jacobian[MOST * 5 * 12], b[MOST * 5], parameter[MOST];
    int64_t bodies[MOST * 2];
} contacts;

static contacts data[GROUPS];
static double inverse[BODIES * DOF * DOF];

static void cross(const double *a, const double *b, double *product)
{
    for (int k = 0; k < 3; k++)
        product[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

static void random_vector(uint64_t *state, double *vector)
{
    for (int k = 0; k < 3; k++) vector[k] = test_random(state);
}

static void normalise(double *vector)
{
    double length = sqrt(vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2]);
    for (int k = 0; k < 3; k++) vector[k] /= length;
}

/* jacobian (2, rows, 6): linear and angular parts of each row and side. */
static void expand(const double *frame, int rows, double *jacobian)
{
    double d[3][3];
    memcpy(d, frame, 6 * sizeof(double));
    cross(d[0], d[1], d[2]);
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < rows; i++, jacobian += 6) {
            double sign = side ? 1 : -1, moment[3];
            const double *turning = rows == 4 ? d[0] : d[i - 2 > 0 ? i - 2 : 0];
            if (i < 3) cross(frame + 6 + 3 * side, d[i], moment);
            for (int k = 0; k < 3; k++) {
                jacobian[k] = i < 3 ? sign * d[i][k] : 0;
                jacobian[3 + k] = sign * (i < 3 ? moment[k] : turning[k]);
            }
        }
}

static void fill(int spheres)
{
    /* Masses: two bodies cannot move. */
    uint64_t state = 7;
    memset(inverse, 0, sizeof inverse);
    for (int i = 0; i < BODIES; i++)
        for (int k = 0; k < DOF; k++) {
            double isotropic = k < 3 ? 1 + 0.01 * i : 2 + 0.02 * i;
            double value = spheres || k < 3 ? isotropic : isotropic * (1 + 0.2 * k);
            inverse[(i * DOF + k) * DOF + k] = i % 50 == 9 ? 0 : value;
        }

    /* Contacts between any two bodies, or with the fixed world. */
    for (int g = 0; g < GROUPS; g++)
        for (int64_t c = 0; c < count_of[g]; c++) {
            double *frame = data[g].frame + 12 * c;
            for (int v = 0; v < 4; v++) random_vector(&state, frame + 3 * v);
            normalise(frame);
            double along = 0;
            for (int k = 0; k < 3; k++) along += frame[k] * frame[3 + k];
            for (int k = 0; k < 3; k++) frame[3 + k] -= along * frame[k];
            normalise(frame + 3);
            expand(frame, rows_of[g], data[g].jacobian + c * rows_of[g] * 12);
            int64_t first = (int64_t)((test_random(&state) + 1) * BODIES / 2);
            data[g].bodies[2 * c] = c % 7 == 3 ? -1 : first;
            data[g].bodies[2 * c + 1] = (first + 1 + c % 5) % BODIES;
            for (int i = 0; i < rows_of[g]; i++)
                data[g].b[c * rows_of[g] + i] = test_random(&state);
            data[g].parameter[c] = 0.3 + 0.2 * test_random(&state);
        }
}

static cs_blocks blocks_of(int g, int frames)
{
    return (cs_blocks){
        .count = count_of[g],
        .rows = rows_of[g],
        .dof = {DOF, DOF},
        .jacobian = frames ? NULL : data[g].jacobian,
        .frame = frames ? data[g].frame : NULL,
        .bodies = data[g].bodies,
        .b = data[g].b,
        .set = set_of[g],
        .parameters = g == 0 ? data[g].parameter : NULL,
    };
}

static cs_problem *make(int frames, int groups)
{
    cs_problem *problem = NULL;
    cs_error error = {0};
    cs_bodies bodies = {.count = BODIES, .dof = DOF, .inverse_mass = inverse};
    CHECK_STATUS(cs_problem_create(&problem, &error), CS_OK, &error);
    CHECK_STATUS(cs_problem_add_bodies(problem, &bodies, &error), CS_OK, &error);
    for (int g = 0; g < groups; g++) {
        cs_blocks blocks = blocks_of(g, frames);
        CHECK_STATUS(cs_problem_add_blocks(problem, &blocks, &error), CS_OK, &error);
    }
    return problem;
}

/* ---- the problem ----------------------------------------------------------------------------- */

static void compare_products(const cs_problem *frames, const cs_problem *jacobians)
{
    static double lambda[ROWS], velocity[2][BODIES * DOF], xi[2][ROWS];
    static double scaled[2][2 * 5 * 6];
    uint64_t state = 3;
    for (int i = 0; i < ROWS; i++) lambda[i] = i % 4 ? test_random(&state) : 0;
    const cs_problem *both[] = {frames, jacobians};
    for (int p = 0; p < 2; p++) cs_residual_velocity(both[p], lambda, NULL, velocity[p], xi[p]);
    CHECK_ALL_NEAR(BODIES * DOF, velocity[0], velocity[1], 1e-12);
    CHECK_ALL_NEAR(ROWS, xi[0], xi[1], 1e-12);
    for (int g = 0; g < GROUPS; g++)
        for (int64_t k = 0; k < count_of[g]; k++) {
            for (int p = 0; p < 2; p++)
                cs_scaled_jacobian(both[p], &both[p]->block_group[g], k, scaled[p]);
            CHECK_ALL_NEAR(12 * rows_of[g], scaled[0], scaled[1], 1e-14);
        }
}

/* New values of both problems. */
static void update(cs_problem *frames, cs_problem *jacobians)
{
    cs_error error = {0};
    for (int g = 0; g < GROUPS; g++)
        for (int64_t c = 0; c < count_of[g]; c++) {
            for (int k = 6; k < 12; k++) data[g].frame[12 * c + k] *= 1.25;
            expand(data[g].frame + 12 * c, rows_of[g], data[g].jacobian + c * rows_of[g] * 12);
        }
    const double *values[2][GROUPS];
    for (int g = 0; g < GROUPS; g++) {
        values[0][g] = data[g].frame;
        values[1][g] = data[g].jacobian;
    }
    cs_values of_frames = {.frame = values[0]}, of_jacobians = {.jacobian = values[1]};
    CHECK_STATUS(cs_problem_update(frames, &of_frames, &error), CS_OK, &error);
    CHECK_STATUS(cs_problem_update(jacobians, &of_jacobians, &error), CS_OK, &error);
    CHECK_STATUS(cs_problem_update(frames, &of_jacobians, &error), CS_INVALID, &error);
    CHECK(strstr(error.message, "J is given, but the problem was made from frames"));
    compare_products(frames, jacobians);
}

/* ---- solvers --------------------------------------------------------------------------------- */

/* The impulses after a few iterations; returns whether the solver takes these options. */
static int iterate(const cs_problem *problem, const cs_options *options, double *impulses)
{
    cs_solver *solver = NULL;
    cs_error error = {0};
    cs_result result = {.impulses = impulses};
    cs_status status = cs_solver_create(&solver, problem, options, NULL, &error);
    if (!status) status = cs_solver_solve(solver, NULL, NULL, NULL, NULL, &result, &error);
    cs_solver_destroy(solver);
    return status == CS_OK;
}

static void compare_iterates(const cs_problem *frames, const cs_problem *jacobians,
                             const cs_options *options, double tolerance)
{
    static double impulses[2][ROWS];
    int64_t rows = cs_problem_rows(frames);
    int made = iterate(frames, options, impulses[0]);
    CHECK(made == iterate(jacobians, options, impulses[1]));
    double largest = 0;
    for (int64_t i = 0; i < rows && made; i++) largest = fmax(largest, fabs(impulses[1][i]));
    if (made) CHECK_ALL_NEAR(rows, impulses[0], impulses[1], tolerance * (1 + largest));
}

/* Every way to pack contacts: alone or with others, compressed or general, in each precision. */
static void compare_packings(const cs_problem *frames, const cs_problem *jacobians)
{
    static const char *const dtypes[] = {"float64", "float32", "mixed"};
    static const char *const schemes[] = {"factorized", "matrix"};
    static const char *const orders[] = {"natural", "cache", "colored"};
    for (int d = 0; d < 3; d++)
        for (int s = 0; s < 2; s++)
            for (int o = 0; o < 3; o++)
                for (int general = 0; general < 2; general++) {
                    cs_options options = cs_options_default();
                    options.method = "gauss_seidel";
                    options.dtype = dtypes[d];
                    options.scheme = schemes[s];
                    options.order = orders[o];
                    options.general = general;
                    options.max_iterations = 5;
                    options.rtol = options.atol = NAN;
                    compare_iterates(frames, jacobians, &options, d ? 1e-4 : 1e-11);
                }
}

static void compare_methods(const cs_problem *frames, const cs_problem *jacobians)
{
    const char *name;
    for (int i = 0; (name = cs_method_name(i, NULL)); i++) {
        cs_options options = cs_options_default();
        options.method = name;
        options.max_iterations = 3;
        compare_iterates(frames, jacobians, &options, 1e-6);
    }
}

/* ---- bad input ------------------------------------------------------------------------------- */

static void refuse(cs_blocks blocks, const char *message)
{
    cs_problem *problem = make(1, 0);
    cs_error error = {0};
    CHECK_STATUS(cs_problem_add_blocks(problem, &blocks, &error), CS_INVALID, &error);
    CHECK(strstr(error.message, message));
    cs_problem_destroy(problem);
}

static void bad_input(void)
{
    cs_blocks blocks = blocks_of(0, 1);
    blocks.jacobian = data[0].jacobian;
    refuse(blocks, "blocks have both a Jacobian and frames");
    blocks = blocks_of(2, 1);
    blocks.dof[1] = 3;
    refuse(blocks, "blocks with frames have 4 rows on bodies with 6 and 3 degrees of freedom");
    blocks = blocks_of(2, 1);
    blocks.rows = 2;
    refuse(blocks, "blocks with frames have 2 rows");
    double kept = data[2].frame[12 * 5 + 4];
    data[2].frame[12 * 5 + 4] = NAN;
    refuse(blocks_of(2, 1), "frame[5, 4] is nan: every number must be finite");
    data[2].frame[12 * 5 + 4] = kept;
}

int main(void)
{
    for (int spheres = 0; spheres < 2; spheres++) {
        fill(spheres);
        cs_problem *frames = make(1, GROUPS), *jacobians = make(0, GROUPS);
        compare_products(frames, jacobians);
        compare_packings(frames, jacobians);
        compare_methods(frames, jacobians);
        update(frames, jacobians);
        compare_packings(frames, jacobians);
        cs_problem_destroy(frames);
        cs_problem_destroy(jacobians);

        /* One group alone fills vectors. */
        cs_problem *one = make(1, 1), *other = make(0, 1);
        compare_packings(one, other);
        cs_problem_destroy(one);
        cs_problem_destroy(other);
    }
    bad_input();
    CHECK(cs_memory_live() == 0);
    return test_result();
}
