/* Every allocation fails once: each time the call says so, and nothing is left behind.
 *
 * Arenas serve small requests from one block, so that a long chain, whose requests have a block
 * each, is run beside the scene of several groups. */
#include "core/memory.h"
#include "core/parallel.h"
#include "scene.h"

static scene s;

enum { CHAIN = 1200, STAR = 600, LIMIT = 500 };

typedef cs_status (*action)(const cs_options *options, cs_error *error);

/* A solver for `problem`, made, run twice and destroyed. */
static cs_status solve(const cs_problem *problem, const cs_options *options, cs_error *error)
{
    cs_solver *solver = NULL;
    cs_result result = {0};
    cs_status status = cs_solver_create(&solver, problem, options, NULL, error);
    CHECK(!status == (solver != NULL));
    for (int i = 0; i < 2 && !status; i++)
        status = cs_solver_solve(solver, NULL, NULL, NULL, NULL, &result, error);
    cs_solver_destroy(solver);
    return status;
}

static cs_status solve_scene(const cs_options *options, cs_error *error)
{
    cs_problem *problem = NULL;
    cs_status status = scene_create(&s, &problem, error);
    if (!status) status = solve(problem, options, error);
    cs_problem_destroy(problem);
    return status;
}

static cs_status solve_chain(const cs_options *options, cs_error *error)
{
    cs_problem *problem = NULL;
    cs_status status = chain_create(CHAIN, &problem, error);
    if (!status) status = solve(problem, options, error);
    cs_problem_destroy(problem);
    return status;
}

/* The order alone, described and solved, on a body with very many contacts. */
static cs_status order_star(const cs_options *options, cs_error *error)
{
    cs_problem *problem = NULL;
    cs_ordering *ordering = NULL;
    cs_status status = star_create(STAR, &problem, error);
    if (!status) {
        status = cs_ordering_create(&ordering, problem, options->method, options->order,
                                    &options->order_options, error);
        CHECK(!status == (ordering != NULL));
    }
    cs_ordering_destroy(ordering);
    if (!status) status = solve(problem, options, error);
    cs_problem_destroy(problem);
    return status;
}

/* Spatial contacts with friction between neighbours in a row of bodies. */
static cs_status solve_contacts(const cs_options *options, cs_error *error)
{
    enum { CONTACTS = 200 };
    static double inverse_mass[6 * (CONTACTS + 1)], jacobian[36 * CONTACTS];
    static double b[3 * CONTACTS], mu[CONTACTS];
    static int64_t pair[2 * CONTACTS];
    for (int i = 0; i < 6 * (CONTACTS + 1); i++) inverse_mass[i] = 1 + i % 3;
    for (int i = 0; i < 36 * CONTACTS; i++) jacobian[i] = (i * 7 % 11 - 5) / 5.0;
    for (int i = 0; i < CONTACTS; i++) {
        pair[2 * i] = i;
        pair[2 * i + 1] = i + 1;
        b[3 * i] = -1;
        mu[i] = 0.5;
    }
    cs_bodies bodies = {CONTACTS + 1, 6, 1, inverse_mass};
    cs_blocks blocks = {.count = CONTACTS,
                        .rows = 3,
                        .dof = {6, 6},
                        .jacobian = jacobian,
                        .bodies = pair,
                        .b = b,
                        .set = "disc",
                        .parameters = mu};
    cs_problem *problem = NULL;
    cs_status status = cs_problem_create(&problem, error);
    if (!status) status = cs_problem_add_bodies(problem, &bodies, error);
    if (!status) status = cs_problem_add_blocks(problem, &blocks, error);
    if (!status) status = solve(problem, options, error);
    cs_problem_destroy(problem);
    return status;
}

/* A given tridiagonal matrix. */
static cs_status solve_given(const cs_options *options, cs_error *error)
{
    static int64_t start[CHAIN + 1], column[3 * CHAIN];
    static double value[3 * CHAIN], b[CHAIN];
    int64_t count = 0;
    for (int64_t i = 0; i < CHAIN; i++) {
        for (int64_t j = i ? i - 1 : 0; j <= i + 1 && j < CHAIN; j++, count++) {
            column[count] = j;
            value[count] = i == j ? 2 : -1;
        }
        start[i + 1] = count;
        b[i] = -1;
    }
    cs_csr matrix = {CHAIN, start, column, value};
    cs_blocks blocks = {.count = CHAIN, .rows = 1, .b = b, .set = "half_line"};
    cs_problem *problem = NULL;
    cs_status status = cs_problem_create(&problem, error);
    if (!status) status = cs_problem_add_blocks(problem, &blocks, error);
    if (!status) status = cs_problem_set_matrix(problem, &matrix, error);
    if (!status) status = solve(problem, options, error);
    cs_problem_destroy(problem);
    return status;
}

/* Whether the failure still lies ahead: then it hits one of the allocations made here. */
static int failure_is_pending(int successes)
{
    int pending = 0;
    for (int i = 0; i <= successes && !pending; i++) {
        void *probe = cs_allocate(1, 1);
        pending = probe == NULL;
        cs_release(probe);
    }
    cs_memory_fail_after(-1);
    return pending;
}

static void fail_everywhere(action act, const cs_options *options)
{
    int64_t live = cs_memory_live();
    for (int successes = 0; successes < LIMIT; successes++) {
        cs_error error = {0};
        cs_memory_fail_after(successes);
        cs_status status = act(options, &error);
        int pending = failure_is_pending(successes);
        CHECK(cs_memory_live() == live);
        if (pending) {
            CHECK_STATUS(status, CS_OK, &error);
            CHECK(successes > 5); /* all of them have failed, and there were some */
            return;
        }
        CHECK_STATUS(status, CS_NO_MEMORY, &error);
        CHECK(error.status == status && (!status || strstr(error.message, "out of memory")));
    }
    CHECK(!"more allocations than LIMIT");
}

static void fail_for_each_scheme(const char *const *schemes, action act)
{
    for (int i = 0; schemes[i]; i++)
        for (int narrow = 0; narrow < 2; narrow++) {
            cs_options options = cs_options_default();
            options.max_iterations = 3;
            options.scheme = schemes[i];
            options.method = narrow ? "jacobi" : "gauss_seidel";
            if (strcmp(schemes[i], "symmetric_half") == 0)
                options.method = "symmetric_gauss_seidel";
            options.dtype = narrow ? "float32" : "float64";
            options.order = narrow ? "random" : "natural";
            fail_everywhere(act, &options);
        }
}

/* A mixed LCP of two parts, tridiagonal and a row by itself, made, solved twice and destroyed. */
static cs_status solve_mlcp(const cs_options *options, cs_error *error)
{
    enum { ROWS = 300 };
    static int64_t start[ROWS + 1], column[3 * ROWS];
    static double value[3 * ROWS], b[ROWS], lo[ROWS], hi[ROWS], x[ROWS];
    /* A ring: other entries than the chain's, which has its last row by itself. */
    static int64_t ends[ROWS + 1], corners[3 * ROWS];
    static double of_corners[3 * ROWS];
    int64_t count = 0;
    for (int64_t i = 0; i < ROWS; i++) {
        for (int64_t j = i + ROWS - 1; j <= i + ROWS + 1; j++) {
            corners[count] = j % ROWS;
            of_corners[count++] = j == i + ROWS ? 2.5 : -0.5;
        }
        ends[i + 1] = count;
    }
    count = 0;
    for (int64_t i = 0; i < ROWS; i++) {
        for (int64_t j = i ? i - 1 : 0; j <= i + 1 && j < ROWS; j++) {
            if ((i == ROWS - 1) != (j == ROWS - 1)) continue;
            column[count] = j;
            value[count++] = i == j ? 2.5 : -1;
        }
        start[i + 1] = count;
        b[i] = i % 3 ? -1 : 2;
        lo[i] = i % 7 ? 0 : -INFINITY;
        hi[i] = i % 5 ? INFINITY : 0.1;
    }
    cs_csr matrix = {ROWS, start, column, value};
    cs_mlcp *mlcp = NULL;
    cs_mlcp_result result = {.x = x};
    cs_status status = cs_mlcp_create(&mlcp, &matrix, &options->pivoting, error);
    CHECK(!status == (mlcp != NULL));
    for (int i = 0; i < 2 && !status; i++)
        status = cs_mlcp_solve(mlcp, b, lo, hi, NULL, NULL, &result, error);
    if (!status) CHECK(result.outcome == CS_MLCP_CONVERGED && result.residual_scaled < 1e-12);
    for (int fits = 1; fits >= 0 && !status; fits--) {
        matrix.start = fits ? start : ends;
        matrix.column = fits ? column : corners;
        matrix.value = fits ? value : of_corners;
        status = cs_mlcp_update(mlcp, &matrix, error);
        if (!status) status = cs_mlcp_solve(mlcp, b, lo, hi, NULL, NULL, &result, error);
        if (!status) CHECK(result.outcome == CS_MLCP_CONVERGED && result.residual_scaled < 1e-12);
    }
    cs_mlcp_destroy(mlcp);
    return status;
}

static void fail_for_each_engine(void)
{
    cs_options options = cs_options_default();
    for (int i = -1; i < 0 || cs_engine_name(i, NULL); i++) {
        options.pivoting.engine = i < 0 ? "auto" : cs_engine_name(i, NULL);
        /* A cache does without what it cannot have: it is left nothing to ask for. */
        int caches = strcmp(options.pivoting.engine, "cached") == 0;
        options.pivoting.cache_bytes = caches ? 0 : cs_options_default().pivoting.cache_bytes;
        fail_everywhere(solve_mlcp, &options);
    }
    options = cs_options_default();
    for (int i = 0; cs_rule_name(i, NULL); i++) {
        options.pivoting.rule = cs_rule_name(i, NULL);
        fail_everywhere(solve_mlcp, &options);
    }
    cs_setting directions = {.name = "directions", .number = 3};
    options.method = "lemke";
    options.settings = &directions;
    options.setting_count = 1;
    fail_everywhere(solve_scene, &options);
    options.setting_count = 0;
    options.max_iterations = 3;
    for (int i = 0; i < 2; i++) {
        options.method = i ? "subspace" : "splitting";
        fail_everywhere(solve_scene, &options);
    }
}

/* Contact problems by pivoting: chains, which have no friction, and a given matrix. */
static void fail_pivoting(void)
{
    cs_options options = cs_options_default();
    options.method = "bpp";
    fail_everywhere(solve_given, &options);
    fail_everywhere(solve_chain, &options);
}

/* What only some options take. */
static void fail_with_options(void)
{
    cs_options options = cs_options_default();
    options.max_iterations = 3;
    options.method = "jacobi";
    options.scheme = "factorized";
    cs_setting accumulate = {"velocities", 0, "accumulate"};
    options.scheme_settings = &accumulate;
    options.scheme_setting_count = 1;
    options.r_factor = "balanced";
    fail_everywhere(solve_scene, &options);
}

/* Methods in steps: over Jacobi's sweeps, whose R is bounded, and over symmetric ones. */
static void fail_accelerated(void)
{
    static const char *const over[] = {"jacobi", "symmetric_gauss_seidel"};
    static const char *const names[] = {"anderson", "nesterov_nncg", NULL};
    for (int m = 0; names[m]; m++)
        for (int i = 0; i < 2; i++) {
            cs_setting setting = {.name = "over", .word = over[i]};
            cs_options options = cs_options_default();
            options.method = names[m];
            options.max_iterations = 3;
            options.settings = &setting;
            options.setting_count = 1;
            fail_everywhere(solve_scene, &options);
            fail_everywhere(solve_given, &options);
        }
    cs_options options = cs_options_default();
    options.max_iterations = 3;
    options.method = "spectral_gradient";
    fail_everywhere(solve_given, &options);
    options.method = "mass_splitting";
    fail_everywhere(solve_scene, &options);
    options.method = "multilevel";
    fail_everywhere(solve_scene, &options);
    fail_everywhere(solve_chain, &options);
    options.method = "admm";
    for (int i = 0; i < 2; i++) {
        cs_setting setting[] = {{.name = "rule", .word = "spectral"},
                                {.name = "space", .word = i ? "bodies" : "constraints"}};
        options.settings = setting;
        options.setting_count = 2;
        fail_everywhere(solve_chain, &options);
    }
    options.method = "interior_point";
    for (int i = 0; i < 2; i++) {
        cs_setting setting = {.name = "space", .word = i ? "bodies" : "constraints"};
        options.settings = &setting;
        options.setting_count = 1;
        fail_everywhere(solve_chain, &options);
    }
}

/* Newton's method: its factor in the space of the bodies, and of the rows of a given A. */
static void fail_newton(void)
{
    cs_setting setting[] = {{.name = "start", .number = 2},
                            {.name = "kind", .word = "fischer_burmeister"}};
    cs_options options = cs_options_default();
    options.method = "newton";
    options.max_iterations = 4;
    options.settings = setting;
    for (int i = 1; i <= 2; i++) {
        options.setting_count = i;
        fail_everywhere(i == 2 ? solve_chain : solve_scene, &options);
        fail_everywhere(solve_given, &options);
    }
}

/* Convex problems inside: over sweeps, over steps of a factor, by pivots. */
static void fail_outer(void)
{
    static const char *const inner[] = {"nesterov", "admm", "newton"};
    cs_options options = cs_options_default();
    options.max_iterations = 3;
    options.setting_count = 1;
    for (int i = 0; i < 3; i++) {
        cs_setting setting = {.name = "inner", .word = inner[i]};
        options.settings = &setting;
        options.method = "de_saxce";
        fail_everywhere(solve_contacts, &options);
        options.method = "tresca";
        fail_everywhere(solve_contacts, &options);
    }
    cs_setting pivots = {.name = "inner", .word = "bpp"};
    options.settings = &pivots;
    fail_everywhere(solve_given, &options);
}

/* method="auto" through all of its links, on bodies, on chains (directly) and on a given A. The least patience
 * leads through them in few iterations. */
static void fail_chain(void)
{
    cs_setting setting = {.name = "patience", .number = 2};
    cs_options options = cs_options_default();
    options.max_iterations = 150;
    options.rtol = 1e-300;
    options.settings = &setting;
    options.setting_count = 1;
    fail_everywhere(solve_scene, &options);
    fail_everywhere(solve_chain, &options);
    fail_everywhere(solve_given, &options);
    fail_everywhere(solve_contacts, &options);
}

/* A concurrent border whose changes have a weight, and whose parts see split masses. */
static void fail_for_split_masses(action act)
{
    static const cs_setting own[] = {
        {"border", 0, "concurrent"}, {"weight", 0.5, NULL}, {"split_masses", 1, NULL}};
    cs_options options = cs_options_default();
    options.max_iterations = 2;
    options.method = "gauss_seidel";
    options.order = "partition";
    options.order_options = (cs_order_options){.parts = 3, .settings = own, .setting_count = 3};
    fail_everywhere(act, &options);
}

/* The orders that need memory of their own, on bodies and on a given A. */
static void fail_for_each_order(action act)
{
    static const int64_t labels[CHAIN] = {0, 1, 1, 0};
    static int64_t visits[CHAIN], begins[CHAIN];
    static const char *const names[] = {"colored", "partition",    "partition",    "partition",
                                        "cache",   "contact_sets", "contact_sets", "cache",
                                        "given",   "regions"};
    static const cs_setting own[10][2] = {
        {{"unsafe_below", 100000, NULL}, {"unsafe", 0, "groups"}},
        {{"strategy", 0, "slices"}, {"border", 0, "sequential"}},
        {{"border", 0, "checkerboard"}},
        {{"strategy", 0, "auto"}, {"border", 0, "colored"}},
        {{"bodies", 0, "breadth_first"}},
        {{"inside", 0, "simultaneous"}},
        {{"colored", 1, NULL}},
        {{"bodies", 0, "breadth_first"}, {"domains", 0, NULL}},
        {{NULL, 0, NULL}},
        {{"count", 3, NULL}},
    };
    for (int64_t k = 0; k < CHAIN; k++) {
        visits[k] = k;
        begins[k] = CS_STAGE_BEGINS + 2; /* independent */
    }
    for (int i = 0; i < 10; i++) {
        cs_options options = cs_options_default();
        int divides = strcmp(names[i], "contact_sets") != 0 && strcmp(names[i], "given") != 0;
        options.max_iterations = 2;
        options.order = names[i];
        options.order_options = (cs_order_options){
            .permutation = i == 8 ? visits : NULL,
            .begins = i == 8 ? begins : NULL,
            .parts = divides ? 3 : options.order_options.parts,
            .labels = i == 2 ? labels : NULL,
            .settings = own[i],
            .setting_count = own[i][1].name   ? 2
                             : own[i][0].name ? 1
                                              : 0,
        };
        fail_everywhere(act, &options);
    }
}

/* How stages are cut, and rounds of colouring. */
static void fail_for_each_cut(action act)
{
    static const struct {
        const char *method, *order;
        cs_setting own[3];
        int settings;
        cs_order_options options;
    } cases[] = {
        {"gauss_seidel", "colored", {{"parallel", 1, NULL}}, 1, {.parts = 3}},
        {"gauss_seidel",
         "colored",
         {{"parallel", 1, NULL}, {"strategy", 0, "balanced"}, {"colors", 0, "tentative"}},
         3,
         {.parts = 3}},
        {"gauss_seidel",
         "colored",
         {{"unsafe_below", 1 << 20, NULL}, {"unsafe", 0, "ranges"}, {"weighted", 1, NULL}},
         3,
         {.parts = 3}},
        {"gauss_seidel", "ranges", {{"weighted", 1, NULL}}, 1, {.parts = 4}},
        {"jacobi", "natural", {{0}}, 0, {.parts = 4, .subtasks = 5, .weighted_subtasks = 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cs_options options = cs_options_default();
        options.max_iterations = 3;
        options.method = cases[i].method;
        options.order = cases[i].order;
        options.order_options = cases[i].options;
        options.order_options.settings = cases[i].own;
        options.order_options.setting_count = cases[i].settings;
        options.threads = 1; /* so that the same allocation fails each time */
        fail_everywhere(act, &options);
    }
}

/* Contacts in batches and rows in vectors: of each kernel that this machine runs. */
static void fail_in_vectors(void)
{
    static const struct {
        const char *scheme, *method, *dtype;
    } cases[] = {
        {"factorized", "gauss_seidel", "float64"}, {"factorized", "jacobi", "float32"},
        {"factorized", "gauss_seidel", "mixed"},   {"matrix", "gauss_seidel", "float64"},
        {"matrix", "gauss_seidel", "mixed"},
    };
    const char *name;
    for (int i = 0; (name = cs_instructions_name(i, NULL)); i++)
        for (size_t k = 0; k < sizeof cases / sizeof *cases && cs_instructions_run(i); k++) {
            cs_options options = cs_options_default();
            options.max_iterations = 3;
            options.scheme = cases[k].scheme;
            options.method = cases[k].method;
            options.dtype = cases[k].dtype;
            options.instructions = name;
            fail_everywhere(solve_contacts, &options);
        }
}

/* A solver whose history could not grow works in its next solve. */
/* ---- networks ------------------------------------------------------------------------------------ */

static const char *network; /* of the next solves */

static void do_nothing(void *context, int thread) { (void)context, (void)thread; }

/* A solver whose sweeps the network makes. */
static cs_status solve_by_network(const cs_options *options, cs_error *error)
{
    cs_problem *problem = NULL;
    cs_solver *solver = NULL;
    cs_result result = {0};
    cs_status status = chain_create(CHAIN, &problem, error);
    if (!status) status = cs_solver_create(&solver, problem, options, NULL, error);
    if (!status) status = cs_solver_connect(solver, network, 3, NULL, 0, error);
    for (int i = 0; i < 2 && !status; i++)
        status = cs_solver_solve(solver, NULL, NULL, NULL, NULL, &result, error);
    cs_solver_destroy(solver);
    cs_problem_destroy(problem);
    return status;
}

static void fail_networks(void)
{
    static const struct {
        const char *network, *method, *scheme, *order;
        int subtasks;
    } of[] = {
        {"factorized", "jacobi", "factorized", "natural", 20},
        {"extreme", "jacobi", "factorized", "natural", -1},
        {"iteration_matrix", "jacobi", "iteration_matrix", "natural", 1},
        {"naive", "gauss_seidel", "factorized", "ranges", 0},
        {"relaxed", "gauss_seidel", "factorized", "colored", 1},
    };
    static const cs_setting sums = {"velocities", 0, "accumulate"};
    if (!cs_concurrently(2, do_nothing, NULL)) return; /* a serial build has no networks */
    for (int i = 0; i < 5; i++) {
        cs_options options = cs_options_default();
        options.max_iterations = 3;
        options.method = of[i].method;
        options.scheme = of[i].scheme;
        options.order = of[i].order;
        options.order_options.parts = 4;
        options.order_options.subtasks = of[i].subtasks;
        options.scheme_settings = &sums;
        options.scheme_setting_count =
            strcmp(of[i].method, "jacobi") == 0 && strcmp(of[i].scheme, "factorized") == 0;
        options.islands = 0;
        network = of[i].network;
        fail_everywhere(solve_by_network, &options);
    }
}

static void a_solver_survives_a_failed_solve(void)
{
    double first[SCENE_ROWS], again[SCENE_ROWS];
    cs_problem *problem;
    cs_solver *solver = NULL;
    cs_error error;
    cs_options options = cs_options_default();
    CHECK_STATUS(scene_create(&s, &problem, &error), CS_OK, &error);
    CHECK_STATUS(cs_solver_create(&solver, problem, &options, NULL, &error), CS_OK, &error);
    cs_result result = {.impulses = first};
    cs_memory_fail_after(0);
    CHECK(cs_solver_solve(solver, NULL, NULL, NULL, NULL, &result, &error) == CS_NO_MEMORY);
    CHECK(cs_solver_solve(solver, NULL, NULL, NULL, NULL, &result, &error) == CS_OK);
    result.impulses = again;
    CHECK(cs_solver_solve(solver, NULL, NULL, NULL, NULL, &result, &error) == CS_OK);
    CHECK(memcmp(first, again, sizeof first) == 0);
    cs_solver_destroy(solver);
    cs_problem_destroy(problem);
}

/* Groups whose copy failed are added again to the same problem. */
static void a_problem_takes_a_group_again_after_a_failure(void)
{
    static double inverse_mass[6 * 100], jacobian[36 * 200], b[3 * 200], mu[200];
    static int64_t pair[2 * 200];
    cs_bodies bodies = {100, 6, 1, inverse_mass};
    cs_blocks blocks = {.count = 200,
                        .rows = 3,
                        .dof = {6, 6},
                        .jacobian = jacobian,
                        .bodies = pair,
                        .b = b,
                        .set = "disc",
                        .parameters = mu,
                        .compliance = b};
    int64_t live = cs_memory_live();
    cs_problem *problem = NULL;
    cs_error error = {0};
    CHECK_STATUS(cs_problem_create(&problem, &error), CS_OK, &error);
    int failures = 0;
    for (int successes = 0, pending = 0; !pending; successes++) {
        int64_t before = cs_memory_live();
        cs_memory_fail_after(successes);
        cs_status status = cs_problem_add_bodies(problem, &bodies, &error);
        pending = failure_is_pending(successes);
        CHECK_STATUS(status, pending ? CS_OK : CS_NO_MEMORY, &error);
        if (!pending) CHECK(cs_memory_live() == before);
        failures += !pending;
    }
    for (int successes = 0, pending = 0; !pending; successes++) {
        int64_t before = cs_memory_live();
        cs_memory_fail_after(successes);
        cs_status status = cs_problem_add_blocks(problem, &blocks, &error);
        pending = failure_is_pending(successes);
        CHECK_STATUS(status, pending ? CS_OK : CS_NO_MEMORY, &error);
        if (!pending) CHECK(cs_memory_live() == before);
        failures += !pending;
    }
    CHECK(failures >= 5);
    CHECK(cs_problem_blocks(problem) == 200 && cs_problem_velocities(problem) == 600);
    cs_problem_destroy(problem);
    CHECK(cs_memory_live() == live);
}

/* Beyond 4096 rows the history grows in the middle of a solve. */
static void a_long_history_may_fail_to_grow(void)
{
    int64_t live = cs_memory_live();
    cs_problem *problem;
    cs_solver *solver = NULL;
    cs_error error;
    cs_options options = cs_options_default();
    options.rtol = options.atol = NAN;
    options.max_iterations = 20000;
    CHECK_STATUS(chain_create(2, &problem, &error), CS_OK, &error);
    CHECK_STATUS(cs_solver_create(&solver, problem, &options, NULL, &error), CS_OK, &error);
    cs_result result = {0};
    for (int successes = 0; successes < 4; successes++) {
        cs_memory_fail_after(successes);
        cs_status status = cs_solver_solve(solver, NULL, NULL, NULL, NULL, &result, &error);
        int pending = failure_is_pending(successes);
        CHECK(status == (pending ? CS_OK : CS_NO_MEMORY));
        if (pending) CHECK(result.history_rows == options.max_iterations + 1);
    }
    cs_solver_destroy(solver);
    cs_problem_destroy(problem);
    CHECK(cs_memory_live() == live);
}

int main(void)
{
    scene_make(&s);
    static const char *const schemes[] = {
        "auto", "matrix", "iteration_matrix", "symmetric_half", "half_sweep", "factorized", NULL};
    static const char *const of_rows[] = {"auto",           "matrix",     "iteration_matrix",
                                          "symmetric_half", "half_sweep", NULL};
    fail_for_each_scheme(schemes, solve_scene);
    fail_for_each_scheme(schemes, solve_chain);
    fail_for_each_scheme(of_rows, solve_given);
    fail_for_each_order(solve_scene);
    fail_for_each_order(solve_chain);
    fail_for_each_order(solve_given);
    fail_for_split_masses(solve_scene);
    fail_for_split_masses(solve_chain);
    fail_for_each_cut(order_star);
    fail_for_each_cut(solve_given);
    fail_with_options();
    fail_accelerated();
    fail_newton();
    fail_outer();
    fail_chain();
    fail_in_vectors();
    fail_networks();
    fail_for_each_engine();
    fail_pivoting();
    a_solver_survives_a_failed_solve();
    a_problem_takes_a_group_again_after_a_failure();
    a_long_history_may_fail_to_grow();
    return test_result();
}
