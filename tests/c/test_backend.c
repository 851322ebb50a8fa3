/* A second backend under every method that sweeps: the bits of the processor's scalar kernels, and nothing of its
 * own packing behind the methods' back. */
#include "plain_backend.h"
#include "scene.h"
#include "solver/solver.h"

#include <stdlib.h>

typedef struct solve_case {
    const char *method;
    cs_setting setting[2];
    int settings;
    const char *local;      /* NULL: the usual one */
    double relaxation;      /* 0: 1 */
    const char *r_factor;   /* NULL: the usual one */
    int previous, adjacent; /* options bound and averaging */
    double averaging;       /* 0: none */
    double growth;          /* of residuals, at which sweeps roll back; 0: the usual one */
    int needs_jacobian, needs_discs;
    int64_t sweeps; /* at most; 0: 60 */
} solve_case;

static const solve_case cases[] = {
    {.method = "gauss_seidel"},
    {.method = "gauss_seidel", .previous = 1, .averaging = 0.7},
    {.method = "gauss_seidel", .adjacent = 1},
    {.method = "gauss_seidel", .relaxation = 1.9, .growth = 1},
    {.method = "gauss_seidel", .r_factor = "balanced"},
    {.method = "gauss_seidel", .local = "projected"},
    {.method = "gauss_seidel", .local = "block"},
    {.method = "gauss_seidel", .local = "newton", .previous = 1, .averaging = 0.7},
    {.method = "gauss_seidel", .local = "quartic", .needs_discs = 1},
    {.method = "symmetric_gauss_seidel"},
    {.method = "symmetric_gauss_seidel", .relaxation = 1.9, .growth = 1},
    {.method = "jacobi"},
    {.method = "jacobi", .relaxation = 3, .growth = 1},
    {.method = "jacobi", .local = "block", .growth = 1},
    {.method = "mass_splitting", .needs_jacobian = 1},
    {.method = "nesterov"},
    {.method = "nesterov", .setting = {{"over", 0, "jacobi"}}, .settings = 1, .sweeps = 300},
    {.method = "nesterov", .relaxation = 3, .growth = 1},
    {.method = "momentum", .setting = {{"beta", 0.8, NULL}}, .settings = 1},
    {.method = "nncg"},
    {.method = "nncg", .setting = {{"formula", 0, "polak_ribiere"}}, .settings = 1},
    {.method = "nncg",
     .setting = {{"over", 0, "symmetric_gauss_seidel"}},
     .settings = 1,
     .sweeps = 61},
    {.method = "nesterov_nncg", .setting = {{"patience", 3, NULL}}, .settings = 1},
    {.method = "anderson"},
    {.method = "chebyshev"},
    {.method = "multilevel", .needs_jacobian = 1},
    {.method = "newton", .setting = {{"start", 20, NULL}}, .settings = 1},
    {.method = "newton",
     .setting = {{"start", 7, NULL}, {"start_with", 0, "gauss_seidel"}},
     .settings = 2},
    {.method = "auto", .sweeps = 400},
};

/* Outer methods, whose inner sweeps are the backend's, and all inner methods that sweep. */
static const char *const outer[] = {"tresca", "de_saxce"};
static const char *const inner[] = {
    "gauss_seidel", "symmetric_gauss_seidel",
    "jacobi",       "mass_splitting",
    "nesterov",     "momentum",
    "nncg",         "chebyshev",
    "anderson",     "newton",
};
static const char *const local_inside[] = {"auto", "block"};
enum {
    CASES = sizeof cases / sizeof *cases,
    OUTER_CASES = 2 * (sizeof outer / sizeof *outer) * (sizeof inner / sizeof *inner),
    OF_DISCS = 1, /* cases that need a problem of discs alone */
    MOST_ROWS = 4096
};

/* ---- one solve ------------------------------------------------------------------------------- */

typedef struct answer {
    cs_status status;
    cs_error error;
    cs_result result;
    char kernel[128];
    double impulses[MOST_ROWS], velocities[MOST_ROWS];
    double *history; /* without times */
} answer;

static cs_options options_of(const solve_case *what, const char *scheme, const char *order)
{
    static const char *const record[] = {"residual", "merit", "natural_map"};
    cs_options options = cs_options_default();
    options.method = what->method;
    if (what->local) options.local = what->local;
    options.scheme = scheme;
    options.order = order;
    options.instructions = "scalar";
    options.rtol = 1e-10;
    options.relaxation = what->relaxation > 0 ? what->relaxation : 1;
    if (what->r_factor) options.r_factor = what->r_factor;
    if (what->previous) options.bound = "previous";
    if (what->averaging > 0) options.averaging = what->averaging;
    options.averaging_adjacent = what->adjacent;
    options.rollback_growth = what->growth;
    options.max_iterations = what->sweeps ? what->sweeps : 60;
    options.record = record;
    options.records = 3;
    options.settings = what->setting;
    options.setting_count = what->settings;
    return options;
}

/* The history, whose times are nobody's business. */
static void keep_history(answer *a)
{
    int64_t count = a->result.history_rows * a->result.columns;
    a->history = malloc(sizeof(double) * (size_t)(count + 1));
    if (!a->history) abort();
    memcpy(a->history, a->result.history, sizeof(double) * (size_t)count);
    for (int64_t row = 0; row < a->result.history_rows; row++)
        a->history[row * a->result.columns + 1] = 0;
    a->result.history = NULL;
}

/* Solves twice, the second time from the first answer with half of b, so that a packing is used again. */
static void solve(const cs_problem *problem, const cs_options *options, const cs_backend *backend,
                  answer *a)
{
    static double b[MOST_ROWS];
    cs_solver *solver = NULL;
    memset(a, 0, sizeof *a);
    a->status = cs_solver_make(&solver, problem, options, NULL, backend, NULL, &a->error);
    a->result = (cs_result){.impulses = a->impulses, .residual_velocities = a->velocities};
    if (!a->status)
        a->status = cs_solver_solve(solver, NULL, NULL, NULL, NULL, &a->result, &a->error);
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t i = 0; i < group->count * group->rows; i++)
            b[group->first_row + i] = group->b[i] / 2;
    }
    int rollbacks = a->result.rollbacks;
    if (!a->status)
        a->status = cs_solver_solve(solver, a->impulses, b, NULL, NULL, &a->result, &a->error);
    a->result.rollbacks += rollbacks;
    if (!a->status) keep_history(a);
    cs_solver_info info;
    if (solver) {
        cs_solver_describe(solver, &info);
        snprintf(a->kernel, sizeof a->kernel, "%s", info.kernel);
    }
    cs_solver_destroy(solver);
}

static int same(const double *a, const double *b, int64_t count)
{
    return memcmp(a, b, sizeof(double) * (size_t)count) == 0;
}

/* A figure of the method by its name; 0 if the method has none. */
static double figure_of(const cs_result *result, const char *name)
{
    for (int i = 0; i < result->figures; i++)
        if (strcmp(result->figure[i].name, name) == 0) return result->figure_value[i];
    return 0;
}

/* ---- comparisons ----------------------------------------------------------------------------- */

static answer by_cpu, by_plain;
static int rollbacks, restarts, corrections, links;
static int64_t compared;

static void compare(const cs_problem *problem, const solve_case *what, const char *scheme,
                    const char *order)
{
    cs_options options = options_of(what, scheme, order);
    int64_t before = plain_sweeps;
    solve(problem, &options, NULL, &by_cpu);
    CHECK(plain_sweeps == before);
    solve(problem, &options, &plain_backend, &by_plain);
    CHECK_STATUS(by_cpu.status, CS_OK, &by_cpu.error);
    CHECK_STATUS(by_plain.status, CS_OK, &by_plain.error);
    CHECK(plain_live == 0);
    if (by_cpu.status || by_plain.status) return;
    CHECK(plain_sweeps > before);
    CHECK(strcmp(by_cpu.kernel, "scalar") == 0 && strcmp(by_plain.kernel, "plain") == 0);
    const cs_result *a = &by_cpu.result, *b = &by_plain.result;
    int agree = a->outcome == b->outcome && a->iterations == b->iterations &&
                a->best_iteration == b->best_iteration && a->rollbacks == b->rollbacks &&
                a->figures == b->figures && a->links == b->links &&
                a->block_products == b->block_products && a->history_rows == b->history_rows &&
                a->columns == b->columns;
    agree = agree && same(a->figure_value, b->figure_value, a->figures) &&
            same(by_cpu.impulses, by_plain.impulses, problem->rows) &&
            same(by_cpu.velocities, by_plain.velocities, problem->rows) &&
            same(by_cpu.history, by_plain.history, a->history_rows * a->columns);
    CHECK(agree);
    const char *word = what->setting[0].word;
    if (!agree)
        fprintf(stderr, "    %s, %s, %s, %s\n", what->method, word ? word : "", scheme, order);
    rollbacks += a->rollbacks;
    restarts += (int)figure_of(a, "restarts");
    corrections += (int)figure_of(a, "tried");
    links += a->links > 1;
    compared++;
    free(by_cpu.history);
    free(by_plain.history);
}

/* By every scheme and in every order that a case allows. */
static void compare_case(const cs_problem *problem, const solve_case *what)
{
    static const char *const schemes[] = {"factorized", "matrix"};
    static const char *const orders[] = {"natural", "colored"};
    if (what->needs_discs && problem->block_groups > 1) return;
    for (int s = 0; s < 2; s++)
        for (int o = 0; o < 2; o++) {
            if (problem->matrix && (s == 0 || what->needs_jacobian)) continue;
            compare(problem, what, schemes[s], orders[o]);
        }
}

static void compare_all(const cs_problem *problem)
{
    for (int c = 0; c < CASES; c++) compare_case(problem, &cases[c]);
}

static void compare_outer(const cs_problem *problem)
{
    for (int c = 0; c < OUTER_CASES; c++) {
        solve_case what = {.method = outer[c / 2 % 2],
                           .local = local_inside[c % 2],
                           .setting = {{"inner", 0, inner[c / 4]}, {"inner_iterations", 30, NULL}},
                           .settings = 2,
                           .sweeps = 6};
        compare_case(problem, &what);
    }
}

/* Sweeps between which nothing is looked at are one call, and what they compute is the same. */
static void sweeps_are_one_call(const cs_problem *problem, const cs_backend *backend,
                                const solve_case *what, double rtol)
{
    enum { SWEEPS = 1000, EVERY = 250 };
    cs_options options = options_of(what, "factorized", "natural");
    options.rtol = rtol;
    options.atol = isnan(rtol) ? NAN : 0;
    options.max_iterations = SWEEPS;
    options.check_every = EVERY;
    solve(problem, &options, backend, &by_cpu);
    int64_t calls = plain_calls, sweeps = plain_sweeps;
    options.record_every = EVERY;
    solve(problem, &options, backend, &by_plain);
    calls = plain_calls - calls;
    sweeps = plain_sweeps - sweeps;
    CHECK_STATUS(by_cpu.status, CS_OK, &by_cpu.error);
    CHECK_STATUS(by_plain.status, CS_OK, &by_plain.error);
    if (by_cpu.status || by_plain.status) return;
    const cs_result *a = &by_cpu.result, *b = &by_plain.result;
    CHECK(a->history_rows > b->history_rows && b->history_rows <= SWEEPS / EVERY + 2);
    CHECK(a->outcome == b->outcome && a->iterations == b->iterations &&
          a->best_iteration == b->best_iteration && a->rollbacks == b->rollbacks &&
          a->block_products == b->block_products);
    CHECK(same(by_cpu.impulses, by_plain.impulses, problem->rows));
    CHECK(same(by_cpu.velocities, by_plain.velocities, problem->rows));
    int64_t last = (a->history_rows - 1) * a->columns, end = (b->history_rows - 1) * b->columns;
    CHECK(same(by_cpu.history + last, by_plain.history + end, a->columns));
    rollbacks += a->rollbacks;

    /* Of two solves. A call also ends where residuals alarm, and where growth for ever is looked for. */
    if (backend) CHECK(sweeps > SWEEPS / 2 && calls < 60 + 2 * a->rollbacks);
    else CHECK(calls == 0);
    free(by_cpu.history);
    free(by_plain.history);
}

static void calls_do_not_change_bits(const cs_problem *problem)
{
    static const solve_case some[] = {
        {.method = "gauss_seidel", .growth = 3},
        {.method = "symmetric_gauss_seidel", .relaxation = 1.5, .growth = 1},
        {.method = "jacobi", .relaxation = 3, .growth = 1},
    };
    rollbacks = 0;
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        for (int tolerant = 0; tolerant < 2; tolerant++) {
            sweeps_are_one_call(problem, NULL, &some[i], tolerant ? 1e-13 : NAN);
            sweeps_are_one_call(problem, &plain_backend, &some[i], tolerant ? 1e-13 : NAN);
        }
    CHECK(rollbacks > 0);
}

/* What a backend does not offer reaches the caller as its error, and nothing stays behind. */
static void refusals_are_handed_on(const cs_problem *problem)
{
    solve_case what = {.method = "gauss_seidel"};
    cs_options options = options_of(&what, "factorized", "natural");
    options.dtype = "float32";
    solve(problem, &options, &plain_backend, &by_plain);
    CHECK(by_plain.status == CS_UNSUPPORTED);
    CHECK(strcmp(by_plain.error.message,
                 "the plain backend has no other precisions than float64") == 0);
    CHECK(plain_live == 0);
}

int main(void)
{
    static scene s;
    cs_problem *problem = NULL;
    cs_error error;
    scene_make(&s);
    CHECK_STATUS(scene_create(&s, &problem, &error), CS_OK, &error);
    if (problem) compare_all(problem);
    if (problem) compare_outer(problem);
    if (problem) refusals_are_handed_on(problem);
    cs_problem_destroy(problem);
    problem = NULL;

    /* More contacts than one part of a stage, and more rows than one chunk of eight sums. */
    CHECK_STATUS(chain_create(1100, &problem, &error), CS_OK, &error);
    if (problem) compare_all(problem);
    cs_problem_destroy(problem);

    problem = NULL;
    CHECK_STATUS(chain_create(40, &problem, &error), CS_OK, &error);
    if (problem) compare_outer(problem);
    cs_problem_destroy(problem);

    /* What the cases are to show has happened. */
    CHECK(compared == 2 * 4 * (CASES + OUTER_CASES) - 4 * OF_DISCS);
    CHECK(rollbacks > 0 && restarts > 0 && corrections > 0 && links > 0);

    problem = NULL;
    CHECK_STATUS(chain_create(300, &problem, &error), CS_OK, &error);
    if (problem) calls_do_not_change_bits(problem);
    cs_problem_destroy(problem);
    CHECK(plain_live == 0);
    return test_result();
}
