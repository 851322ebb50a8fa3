/* Solvers on a problem of several groups, against dense sweeps that follow the equations:
 *
 *     z = lambda_k - r (A lambda + b)_k,   lambda_k <- lambda_k + omega (prox(z) - lambda_k) */
#include "scene.h"
#include "solver/solver.h"

#include <float.h>

static scene s;

typedef struct setting {
    int jacobi, previous_bound;
    double r, averaging;
    int64_t order[SCENE_BLOCKS];
} setting;

/* ---- dense sweeps ---------------------------------------------------------------------------- */

static void prox(int g, const double *parameters, const double *old, int previous, double *z)
{
    if (g == 0) z[0] = fmin(fmax(z[0], parameters[0]), parameters[1]);
    if (g == 1) {
        z[0] = fmax(z[0], 0);
        double radius = parameters[0] * fmax(previous ? old[0] : z[0], 0);
        double length = hypot(z[1], z[2]);
        for (int i = 1; i < 3 && length > radius; i++) z[i] *= radius / length;
    }
    if (g == 3) {
        z[0] = fmax(z[0], 0);
        z[1] = 0;
    }
}

/* One sweep over lambda; returns the residual, and adds the squares of the changes to *merit. */
static double dense_sweep(const setting *how, double *lambda, double *merit)
{
    double seen[SCENE_ROWS], residual = 0;
    memcpy(seen, lambda, sizeof seen);
    for (int i = 0; i < SCENE_BLOCKS; i++) {
        int k = (int)how->order[i], g = scene_group_of(k), rows = scene_rows[g], row = scene_row(k);
        const double *parameters = s.parameters[g] + (k - scene_first[g]) * (g == 0 ? 2 : 1);
        double z[3], r = k == SCENE_IMMOVABLE_BLOCK ? 0 : how->r;
        for (int j = 0; j < rows; j++) {
            double xi = s.b[row + j];
            for (int c = 0; c < SCENE_ROWS; c++)
                xi += s.A[row + j][c] * (how->jacobi ? seen : lambda)[c];
            z[j] = lambda[row + j] - r * xi;
        }
        prox(g, parameters, lambda + row, how->previous_bound, z);
        for (int j = 0; j < rows; j++) {
            double change = how->averaging * (z[j] - lambda[row + j]);
            residual = fmax(residual, fabs(change));
            *merit += change * change;
            lambda[row + j] += change;
        }
    }
    return residual;
}

/* ---- running the library --------------------------------------------------------------------- */

static cs_options fixed_sweeps(int64_t sweeps)
{
    static const char *const record[] = {"residual", "merit"};
    cs_options options = cs_options_default();
    options.rtol = options.atol = NAN;
    options.max_iterations = sweeps;
    options.rollback = 0;
    options.record = record;
    return options;
}

/* Solves `problem` from `initial` (may be NULL); the solver and its history are gone afterwards. */
static cs_result run(const cs_problem *problem, const cs_options *options, const double *initial,
                     double *lambda)
{
    cs_solver *solver = NULL;
    cs_error error;
    cs_result result = {.impulses = lambda};
    CHECK_STATUS(cs_solver_create(&solver, problem, options, NULL, &error), CS_OK, &error);
    if (!solver) return result;
    CHECK_STATUS(cs_solver_solve(solver, initial, NULL, NULL, NULL, &result, &error), CS_OK,
                 &error);
    cs_solver_destroy(solver);
    result.history = NULL;
    return result;
}

static void compare_with_dense(const cs_problem *problem, const setting *how, const char *scheme,
                               const char *dtype)
{
    enum { SWEEPS = 3 };
    double expected[SCENE_ROWS] = {0}, lambda[SCENE_ROWS], residual = 0, merit = 0;
    double tolerance = strcmp(dtype, "float32") ? 1e-13 : 2e-5;
    cs_options options = fixed_sweeps(SWEEPS);
    options.method = how->jacobi ? "jacobi" : "gauss_seidel";
    options.scheme = scheme;
    options.dtype = dtype;
    options.local = "projected";
    options.r_factor = NULL;
    options.r_value = how->r / 2;
    options.relaxation = 2;
    options.averaging = how->averaging;
    options.bound = how->previous_bound ? "previous" : "current";

    options.order_options.permutation = how->order;
    cs_solver *solver = NULL;
    cs_error error;
    cs_result result = {.impulses = lambda};
    CHECK_STATUS(cs_solver_create(&solver, problem, &options, NULL, &error), CS_OK, &error);
    if (!solver) return;
    CHECK_STATUS(cs_solver_solve(solver, NULL, NULL, NULL, NULL, &result, &error), CS_OK, &error);
    CHECK(result.outcome == CS_MAX_ITERATIONS && result.iterations == SWEEPS);
    CHECK(result.columns == 4 && result.history_rows == SWEEPS + 1);
    for (int sweep = 1; sweep <= SWEEPS; sweep++) {
        merit = 0;
        residual = dense_sweep(how, expected, &merit);
        const double *row = result.history + sweep * result.columns;
        CHECK(row[0] == sweep && row[1] >= 0);
        CHECK_NEAR(row[2], residual, tolerance);
        CHECK_NEAR(row[3], merit, 4 * tolerance);
    }
    CHECK_ALL_NEAR(SCENE_ROWS, lambda, expected, tolerance);
    cs_solver_destroy(solver);
}

/* Every method, scheme and precision, with blocks of all groups in turn and out of turn. */
static void sweeps_follow_the_equations(const cs_problem *problem)
{
    static const char *const schemes[] = {"matrix", "factorized"};
    static const char *const dtypes[] = {"float64", "float32"};
    for (int i = 0; i < 64; i++) {
        setting how = {.jacobi = i & 1, .previous_bound = i >> 1 & 1, .r = 0.1};
        how.averaging = i >> 2 & 1 ? 0.6 : 1;
        for (int k = 0; k < SCENE_BLOCKS; k++)
            how.order[k] = i >> 3 & 1 ? (k * 5 + 3) % SCENE_BLOCKS : k;
        compare_with_dense(problem, &how, schemes[i >> 4 & 1], dtypes[i >> 5 & 1]);
    }
}

/* With the factors that are chosen by default, and free blocks solved exactly. */
static void schemes_agree(const cs_problem *problem)
{
    static const char *const methods[] = {"jacobi", "gauss_seidel"};
    static const char *const factors[] = {"local", "block"};
    for (int i = 0; i < 4; i++) {
        double matrix[SCENE_ROWS], factorized[SCENE_ROWS];
        cs_options options = fixed_sweeps(3);
        options.method = methods[i & 1];
        options.r_factor = factors[i >> 1];
        options.scheme = "matrix";
        run(problem, &options, NULL, matrix);
        options.scheme = "factorized";
        run(problem, &options, NULL, factorized);
        CHECK_ALL_NEAR(SCENE_ROWS, matrix, factorized, 1e-13);
        options.scheme = "iteration_matrix";
        run(problem, &options, NULL, factorized);
        CHECK_ALL_NEAR(SCENE_ROWS, matrix, factorized, 1e-13);
    }
}

/* ---- free blocks ----------------------------------------------------------------------------- */

/* A free block that was visited last has no velocity left. */
static void free_blocks_are_solved_exactly(const cs_problem *problem)
{
    static const char *const schemes[] = {"matrix", "factorized"};
    for (int last = scene_first[2]; last < scene_first[3]; last++)
        for (int i = 0; i < 2; i++) {
            double lambda[SCENE_ROWS];
            int64_t order[SCENE_BLOCKS];
            for (int k = 0; k < SCENE_BLOCKS; k++) order[k] = (k + last + 1) % SCENE_BLOCKS;
            cs_options options = fixed_sweeps(2);
            options.method = "gauss_seidel";
            options.scheme = schemes[i];

            options.order_options.permutation = order;
            run(problem, &options, NULL, lambda);
            for (int j = scene_row(last); j < scene_row(last) + 2; j++) {
                double xi = s.b[j];
                for (int c = 0; c < SCENE_ROWS; c++) xi += s.A[j][c] * lambda[c];
                CHECK_NEAR(xi, 0, 1e-14);
            }
        }
}

/* One free block of six rows between two bodies; `twice` makes its last row repeat its first. */
static void solve_weld(int twice)
{
    double mass[12], jacobian[72], b[6], lambda[6], xi[6];
    int64_t pair[] = {0, 1};
    uint64_t random = 57;
    for (int i = 0; i < 12; i++) mass[i] = 1.5 + test_random(&random);
    for (int i = 0; i < 72; i++) jacobian[i] = test_random(&random);
    for (int i = 0; i < 6; i++) b[i] = test_random(&random);
    for (int side = 0; side < 2 && twice; side++)
        memcpy(jacobian + 36 * side + 30, jacobian + 36 * side, 6 * sizeof(double));
    if (twice) b[5] = b[0];
    cs_bodies bodies = {2, 6, 1, mass};
    cs_blocks weld = {.count = 1,
                      .rows = 6,
                      .dof = {6, 6},
                      .jacobian = jacobian,
                      .bodies = pair,
                      .b = b,
                      .set = "free"};
    cs_problem *problem;
    cs_solver *solver = NULL;
    cs_solver_info info;
    cs_error error;
    cs_options options = fixed_sweeps(1);
    if (twice) {
        options.rtol = 1e-12;
        options.max_iterations = 100000;
    }
    CHECK(cs_problem_create(&problem, &error) == CS_OK);
    CHECK_STATUS(cs_problem_add_bodies(problem, &bodies, &error), CS_OK, &error);
    CHECK_STATUS(cs_problem_add_blocks(problem, &weld, &error), CS_OK, &error);
    CHECK_STATUS(cs_solver_create(&solver, problem, &options, NULL, &error), CS_OK, &error);
    cs_result result = {.impulses = lambda, .residual_velocities = xi};
    if (solver) {
        cs_solver_describe(solver, &info);
        CHECK(info.singular_blocks == twice && info.immovable_blocks == 0);
        CHECK_STATUS(cs_solver_solve(solver, NULL, NULL, NULL, NULL, &result, &error), CS_OK,
                     &error);
        CHECK(result.outcome == (twice ? CS_CONVERGED : CS_MAX_ITERATIONS));
        for (int i = 0; i < 6; i++) CHECK_NEAR(xi[i], 0, twice ? 1e-10 : 1e-13);
    }
    cs_solver_destroy(solver);
    cs_problem_destroy(problem);
}

/* Sweeps that update all contacts at once cycle, also where momentum is over them. */
static void growth_is_that_of_the_sweeps(const cs_problem *problem)
{
    static const char *const over[] = {"gauss_seidel", "symmetric_gauss_seidel", "jacobi"};
    static const char *const method[] = {"nesterov", "nncg", "anderson"};
    for (int i = 0; i < 9; i++) {
        cs_solver *solver = NULL;
        cs_error error;
        cs_setting sweeps = {.name = "over", .word = over[i % 3]};
        cs_options options = cs_options_default();
        options.method = method[i / 3];
        options.settings = &sweeps;
        options.setting_count = 1;
        CHECK_STATUS(cs_solver_create(&solver, problem, &options, NULL, &error), CS_OK, &error);
        if (solver) CHECK(cs_rollback_growth(solver) == (i % 3 == 2 ? 3 : 100));
        cs_solver_destroy(solver);
    }
}

/* ---- one solver, many solves ----------------------------------------------------------------- */

static void data_of_one_call_hold_for_that_call(const cs_problem *problem)
{
    double b[SCENE_ROWS], parameters[SCENE_PARAMETERS], first[SCENE_ROWS], again[SCENE_ROWS];
    double changed[SCENE_ROWS], expected[SCENE_ROWS] = {0};
    uint64_t random = 61;
    cs_options options = fixed_sweeps(2);
    cs_solver *solver = NULL;
    cs_error error;
    options.r_factor = NULL;
    options.r_value = 0.1;
    options.local = "projected";
    for (int i = 0; i < SCENE_ROWS; i++) b[i] = test_random(&random);
    for (int i = 0; i < SCENE_PARAMETERS; i++)
        parameters[i] = i < 8 ? (i % 2 ? 0.2 : -0.2) : 0.1 * i;
    CHECK_STATUS(cs_solver_create(&solver, problem, &options, NULL, &error), CS_OK, &error);
    if (!solver) return;
    cs_result result = {.impulses = first};
    CHECK(cs_solver_solve(solver, NULL, NULL, NULL, NULL, &result, NULL) == CS_OK);
    result.impulses = changed;
    CHECK(cs_solver_solve(solver, NULL, b, parameters, NULL, &result, NULL) == CS_OK);
    result.impulses = again;
    CHECK(cs_solver_solve(solver, NULL, NULL, NULL, NULL, &result, NULL) == CS_OK);
    CHECK(memcmp(first, again, sizeof first) == 0);

    scene kept = s; /* the same data in the dense sweeps */
    memcpy(s.b, b, sizeof b);
    memcpy(s.parameters[0], parameters, 8 * sizeof(double));
    memcpy(s.parameters[1], parameters + 8, 6 * sizeof(double));
    setting how = {.r = 0.1, .averaging = 1};
    double merit = 0;
    for (int k = 0; k < SCENE_BLOCKS; k++) how.order[k] = k;
    for (int sweep = 0; sweep < 2; sweep++) dense_sweep(&how, expected, &merit);
    CHECK_ALL_NEAR(SCENE_ROWS, changed, expected, 1e-13);
    s = kept;

    b[SCENE_ROWS - 1] = NAN;
    CHECK(cs_solver_solve(solver, NULL, b, NULL, NULL, &result, NULL) == CS_INVALID);
    CHECK(cs_solver_solve(solver, b, NULL, NULL, NULL, &result, NULL) == CS_INVALID);
    parameters[8] = -0.1;
    CHECK(cs_solver_solve(solver, NULL, NULL, parameters, NULL, &result, &error) == CS_INVALID);
    CHECK(strncmp(error.message, "mu[4] is -0.1: ", 15) == 0);
    CHECK(cs_solver_solve(solver, NULL, NULL, NULL, NULL, &result, NULL) == CS_OK);
    CHECK(memcmp(first, again, sizeof first) == 0);
    cs_solver_destroy(solver);
}

static void a_warm_start_goes_on(const cs_problem *problem)
{
    static const char *const schemes[] = {"matrix", "iteration_matrix", "factorized"};
    for (int i = 0; i < 3; i++) {
        double all[SCENE_ROWS], first[SCENE_ROWS], rest[SCENE_ROWS];
        cs_options options = fixed_sweeps(5);
        options.scheme = schemes[i];
        run(problem, &options, NULL, all);
        options.max_iterations = 2;
        run(problem, &options, NULL, first);
        options.max_iterations = 3;
        run(problem, &options, first, rest);
        CHECK_ALL_NEAR(SCENE_ROWS, rest, all, 1e-13);
    }
}

static void jacobi_does_not_depend_on_threads(void)
{
    enum { COUNT = 1500 };
    static const char *const schemes[] = {"matrix", "factorized"};
    static double one[2 * COUNT], many[2 * COUNT];
    cs_problem *problem;
    cs_error error;
    CHECK_STATUS(chain_create(COUNT, &problem, &error), CS_OK, &error);
    for (int i = 0; i < 2 && problem; i++) {
        cs_options options = fixed_sweeps(20);
        options.method = "jacobi";
        options.scheme = schemes[i];
        options.threads = 1;
        run(problem, &options, NULL, one);
        options.exact_threads = 1;
        for (options.threads = 2; options.threads <= 4; options.threads++) {
            run(problem, &options, NULL, many);
            CHECK(memcmp(one, many, sizeof one) == 0);
        }
    }
    cs_problem_destroy(problem);
    cs_release_threads();
}

/* ---- how a solve ends ------------------------------------------------------------------------ */

static void a_solve_converges_or_says_that_it_did_not(const cs_problem *problem)
{
    double lambda[SCENE_ROWS];
    cs_options options = cs_options_default();
    options.rtol = 1e-10;
    options.max_iterations = 100000;
    cs_result result = run(problem, &options, NULL, lambda);
    CHECK(result.outcome == CS_CONVERGED && result.iterations % options.check_every == 0);
    CHECK(result.natural_map_scaled <= 1e-10 && result.worst_block >= 0);
    const double *bounds =
        s.parameters[0] + 2 * SCENE_IMMOVABLE_BLOCK; /* lo, hi: b drives it there */
    CHECK(lambda[SCENE_IMMOVABLE_BLOCK] == bounds[s.b[SCENE_IMMOVABLE_BLOCK] < 0]);
    int64_t needed = result.iterations;
    result = run(problem, &options, lambda, lambda); /* from the solution: nothing to do */
    CHECK(result.outcome == CS_CONVERGED && result.iterations == 0);
    options.max_iterations = needed / 2;
    result = run(problem, &options, NULL, lambda);
    CHECK(result.outcome == CS_MAX_ITERATIONS && result.iterations == needed / 2);
    CHECK(result.natural_map_scaled > 1e-10);
    options.max_iterations = 0;
    result = run(problem, &options, NULL, lambda);
    CHECK(result.outcome == CS_MAX_ITERATIONS && result.iterations == 0);
    CHECK(result.history_rows == 1);
}

/* Steps far too long: halved as often as allowed, then the best iterate is returned; the next solve
 * starts again with the steps as they were. */
static void rollback_ends_in_divergence_and_is_undone(const cs_problem *problem)
{
    static const char *const dtypes[] = {"float64", "float32"};
    for (int i = 0; i < 2; i++) {
        double first[SCENE_ROWS], again[SCENE_ROWS];
        cs_solver *solver = NULL;
        cs_error error;
        cs_options options = cs_options_default();
        options.relaxation = 1e4;
        options.rollback = 3;
        options.method = "gauss_seidel";
        options.dtype = dtypes[i];
        CHECK_STATUS(cs_solver_create(&solver, problem, &options, NULL, &error), CS_OK, &error);
        if (!solver) return;
        cs_result result = {.impulses = first}, second = {.impulses = again};
        CHECK(cs_solver_solve(solver, NULL, NULL, NULL, NULL, &result, NULL) == CS_OK);
        CHECK(result.outcome == CS_DIVERGING && result.rollbacks == 3);
        CHECK(result.best_iteration < result.iterations);
        for (int j = 0; j < SCENE_ROWS; j++) CHECK(isfinite(first[j]));
        CHECK(cs_solver_solve(solver, NULL, NULL, NULL, NULL, &second, NULL) == CS_OK);
        CHECK(second.iterations == result.iterations && memcmp(first, again, sizeof first) == 0);
        cs_solver_destroy(solver);
    }
}

static void what_was_chosen(const cs_problem *problem)
{
    cs_solver *solver = NULL;
    cs_solver_info info;
    cs_error error;
    cs_options options = cs_options_default();
    options.scheme = "matrix";
    CHECK_STATUS(cs_solver_create(&solver, problem, &options, NULL, &error), CS_OK, &error);
    if (!solver) return;
    cs_solver_describe(solver, &info);
    CHECK(strcmp(info.method, "auto") == 0 && strcmp(info.scheme, "matrix") == 0);
    CHECK(strcmp(info.order, "natural") == 0 && strcmp(info.dtype, "float64") == 0);
    CHECK(info.immovable_blocks == 1 && info.singular_blocks == 0 && info.threads == 1);
    CHECK(info.matrix_blocks > SCENE_BLOCKS && info.bytes > 0 && info.seconds >= 0);
    CHECK(info.columns == 4 && strcmp(info.column[0], "iteration") == 0);
    CHECK(strcmp(info.column[1], "time") == 0 && strcmp(info.column[2], "residual") == 0);
    CHECK(strcmp(info.column[3], "natural_map") == 0);
    cs_solver_destroy(solver);
    cs_solver_destroy(NULL);
}

int main(void)
{
    int64_t live = cs_memory_live();
    cs_problem *problem;
    cs_error error;
    scene_make(&s);
    CHECK_STATUS(scene_create(&s, &problem, &error), CS_OK, &error);
    if (!problem) return test_result();
    sweeps_follow_the_equations(problem);
    schemes_agree(problem);
    free_blocks_are_solved_exactly(problem);
    solve_weld(0);
    solve_weld(1);
    data_of_one_call_hold_for_that_call(problem);
    a_warm_start_goes_on(problem);
    jacobi_does_not_depend_on_threads();
    a_solve_converges_or_says_that_it_did_not(problem);
    rollback_ends_in_divergence_and_is_undone(problem);
    what_was_chosen(problem);
    growth_is_that_of_the_sweeps(problem);
    cs_problem_destroy(problem);
    CHECK(cs_memory_live() == live);
    return test_result();
}
