/* All orders, schemes, methods and precisions on one thread and on several: the same bits. Compiled
 * with ThreadSanitizer and POSIX threads it also shows that no two threads meet in memory. */
#include "problem/products.h"
#include "scene.h"

static scene s;

enum { CHAIN = 600, STAR = 140, LONG = 4200, MOST_ROWS = 2 * LONG, SWEEPS = 2 };

/* What an order can be told beside its name. */
typedef struct variant {
    const char *order;
    cs_order_options options;
    int settings;
    cs_setting own[3];
} variant;

static const variant variants[] = {
    {"colored", {.parts = 3}, 1, {{"strategy", 0, "balanced"}}},
    {"colored", {.parts = 5}, 1, {{"parallel", 1, NULL}}},
    {"colored",
     {.parts = 4},
     3,
     {{"parallel", 1, NULL}, {"strategy", 0, "balanced"}, {"colors", 0, "tentative"}}},
    {"colored", {.parts = 3}, 1, {{"unsafe_below", 1 << 20, NULL}}},
    {"colored",
     {.parts = 3},
     3,
     {{"unsafe_below", 500, NULL}, {"first", 1, NULL}, {"unsafe", 0, "ranges"}}},
    {"ranges", {.parts = 7}, 1, {{"weighted", 1, NULL}}},
    {"colored", {.parts = 2, .subtasks = 3, .weighted_subtasks = 1}, 0, {{0}}},
    {"natural", {.parts = 8, .subtasks = -1}, 0, {{0}}},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

static int64_t solved; /* combinations that were run on several threads */

/* Impulses and history after a few sweeps, from impulses that are not zero: u = G^T lambda is computed before the first
 * one. Returns whether the combination is one. */
static int run(const cs_problem *problem, const cs_options *options, double *impulses,
               double *history)
{
    static double initial[MOST_ROWS];
    cs_error error = {0};
    cs_solver *solver;
    cs_result result = {.impulses = impulses};
    for (int i = 0; i < MOST_ROWS; i++) initial[i] = i % 3 ? 0 : 0.01 * (i % 7);
    cs_status status = cs_solver_create(&solver, problem, options, NULL, &error);
    if (status == CS_UNSUPPORTED || status == CS_INVALID) return 0;
    CHECK_STATUS(status, CS_OK, &error);
    if (status) return 0;
    CHECK_STATUS(cs_solver_solve(solver, initial, NULL, NULL, NULL, &result, &error), CS_OK,
                 &error);
    cs_solver_info info;
    cs_solver_describe(solver, &info);
    if (options->threads > 1) solved += info.threads > 1;
    for (int64_t i = 0; i < SWEEPS + 1 && i < result.history_rows; i++)
        for (int c = 0; c < 2; c++) history[2 * i + c] = result.history[i * result.columns + 2 + c];
    cs_solver_destroy(solver);
    return 1;
}

/* One thread against two in float64 and against three in float32. */
static void compare(const cs_problem *problem, const cs_options *options)
{
    static double one[MOST_ROWS], several[MOST_ROWS];
    double first[2 * (SWEEPS + 1)] = {0}, again[2 * (SWEEPS + 1)] = {0};
    int64_t rows = cs_problem_rows(problem);
    cs_options how = *options;
    how.threads = how.exact_threads = 1;
    if (!run(problem, &how, one, first)) return;
    how.threads = strcmp(how.dtype, "float64") == 0 ? 2 : 3;
    CHECK(run(problem, &how, several, again));
    int same = memcmp(one, several, sizeof(double) * (size_t)rows) == 0 &&
               memcmp(first, again, sizeof first) == 0;
    CHECK(same);
    if (!same)
        fprintf(stderr, "    order %s, scheme %s, method %s, %s, %d threads\n", how.order,
                how.scheme, how.method, how.dtype, how.threads);
}

/* The ways of making sweeps: what other methods do with them does not depend on the order. */
static const char *const sweeping[] = {"jacobi", "gauss_seidel", "symmetric_gauss_seidel"};
enum { SWEEPING = sizeof sweeping / sizeof *sweeping };

/* All ways of sweeping, schemes and precisions. */
static void compare_all(const cs_problem *problem, cs_options options)
{
    for (int m = 0; m < SWEEPING; m++)
        for (int i = 0; (options.scheme = cs_scheme_name(i, NULL)); i++)
            for (int narrow = 0; narrow < 2; narrow++) {
                options.method = sweeping[m];
                options.dtype = narrow ? "float32" : "float64";
                compare(problem, &options);
            }
}

/* All methods, in the order and by the scheme that they choose. */
static void compare_methods(const cs_problem *problem, cs_options options)
{
    options.order = "auto";
    options.scheme = "auto";
    for (int m = 0; (options.method = cs_method_name(m, NULL)); m++)
        for (int narrow = 0; narrow < 2; narrow++) {
            options.dtype = narrow ? "float32" : "float64";
            compare(problem, &options);
        }
}

static void compare_orders(const cs_problem *problem)
{
    static int64_t backwards[CHAIN];
    static const char *const record[] = {"residual", "merit"};
    cs_options options = cs_options_default();
    int64_t blocks = cs_problem_blocks(problem);
    for (int64_t k = 0; k < blocks; k++) backwards[k] = blocks - 1 - k;
    options.rtol = options.atol = NAN;
    options.max_iterations = SWEEPS;
    options.record = record;
    options.records = 2;
    compare_methods(problem, options);
    for (int i = 0; (options.order = cs_order_name(i, NULL)); i++) {
        int given = strcmp(options.order, "given") == 0;
        options.order_options = cs_options_default().order_options;
        options.order_options.permutation = given ? backwards : NULL;
        compare_all(problem, options);
    }
    for (int v = 0; v < VARIANTS; v++) {
        options.order = variants[v].order;
        options.order_options = variants[v].options;
        options.order_options.settings = variants[v].own;
        options.order_options.setting_count = variants[v].settings;
        compare_all(problem, options);
    }
}

/* Set-ups of so many contacts that three threads share them. */
static void compare_setups(const cs_problem *problem)
{
    static const variant setups[] = {
        {"auto", {.parts = 8}, 0, {{0}}},
        {"cache", {.parts = 5}, 2, {{"bodies", 0, "breadth_first"}, {"chunk", 100, NULL}}},
        {"cache", {.parts = 8}, 1, {{"domains", 0, NULL}}},
        {"partition", {.parts = 8}, 1, {{"border", 0, "checkerboard"}}},
        {"colored", {.parts = 8}, 0, {{0}}},
        {"regions", {.parts = 8}, 1, {{"count", 5, NULL}}},
    };
    static const char *const record[] = {"residual", "merit"};
    cs_options options = cs_options_default();
    options.rtol = options.atol = NAN;
    options.max_iterations = SWEEPS;
    options.record = record;
    options.records = 2;
    options.islands = 0;
    options.method = "gauss_seidel";
    options.scheme = "factorized";
    for (size_t v = 0; v < sizeof setups / sizeof *setups; v++)
        for (int narrow = 0; narrow < 2; narrow++) {
            options.dtype = narrow ? "float32" : "float64";
            options.order = setups[v].order;
            options.order_options = setups[v].options;
            options.order_options.settings = setups[v].own;
            options.order_options.setting_count = setups[v].settings;
            compare(problem, &options);
        }
}

/* Products with A, by which iterates are judged. */
static void compare_products(const cs_problem *problem)
{
    enum { ROWS = 2 * 1500, VELOCITIES = 3 * 1500 };
    static double lambda[ROWS], b[ROWS], one[ROWS], several[ROWS], velocity[VELOCITIES];
    static double size[ROWS], sizes[ROWS];
    static const cs_shared_products by_one = {0};
    for (int i = 0; i < ROWS; i++) lambda[i] = b[i] = 3.1 - i % 7 * (i % 5 > 0);
    for (int i = 0; i < ROWS; i += 3) lambda[i] = 0;
    cs_residual_velocity(problem, lambda, b, velocity, one);
    cs_magnitude(&by_one, problem, lambda, b, velocity, size);
    for (int i = 0; i < ROWS; i++) CHECK(size[i] >= fabs(one[i]) * (1 - 1e-12));
    for (int threads = 2; threads <= 3; threads++) {
        cs_arena arena = {0};
        cs_error error = {0};
        cs_shared_products shared = {0};
        CHECK_STATUS(cs_share_products(problem, threads, 0, &arena, &shared, &error), CS_OK,
                     &error);
        for (int repeat = 0; repeat < 5; repeat++) {
            cs_shared_residual_velocity(&shared, problem, lambda, b, velocity, several);
            CHECK(memcmp(one, several, sizeof one) == 0);
            cs_magnitude(&shared, problem, lambda, b, velocity, sizes);
            CHECK(memcmp(size, sizes, sizeof size) == 0);
        }
        cs_arena_clear(&arena);
    }
}

int main(void)
{
    cs_problem *problem;
    cs_error error = {0};
    scene_make(&s);
    CHECK_STATUS(scene_create(&s, &problem, &error), CS_OK, &error);
    compare_orders(problem);
    cs_problem_destroy(problem);
    CHECK_STATUS(chain_create(CHAIN, &problem, &error), CS_OK, &error);
    compare_orders(problem);
    cs_problem_destroy(problem);
    CHECK_STATUS(star_create(STAR, &problem, &error), CS_OK, &error);
    compare_orders(problem);
    cs_problem_destroy(problem);
    CHECK_STATUS(chain_create(LONG, &problem, &error), CS_OK, &error);
    compare_setups(problem);
    cs_problem_destroy(problem);
    CHECK_STATUS(chain_create(1500, &problem, &error), CS_OK, &error);
    compare_products(problem);
    cs_problem_destroy(problem);
    CHECK(solved > 50);
    return test_result();
}
