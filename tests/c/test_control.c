/* Interruption: a poll that aborts or stops, while setting up, between sweeps and inside of factors. */
#include "scene.h"

#include "core/clock.h"
#include "mlcp/pivoting.h"

typedef struct script {
    int calls, abort_at, stop_at; /* the call that answers -1 or 1 */
    int64_t last_iteration;
    int64_t rows;
    double last_impulses[SCENE_ROWS], last_row[CS_MAX_COLUMNS + 2];
    int while_setting_up;
} script;

static int follow(void *context, const cs_progress *progress)
{
    script *p = context;
    p->calls++;
    if (!progress) p->while_setting_up++;
    else {
        CHECK(progress->iteration == p->last_iteration + 1 || !progress->impulses);
        CHECK(progress->iteration <= progress->max_iterations);
        CHECK(progress->row[0] == (double)progress->iteration || !progress->impulses);
        p->last_iteration = progress->iteration;
        memcpy(p->last_row, progress->row, sizeof(double) * (size_t)progress->columns);
        if (progress->impulses)
            memcpy(p->last_impulses, progress->impulses, sizeof(double) * (size_t)p->rows);
    }
    return p->calls == p->abort_at ? -1 : p->calls == p->stop_at ? 1 : 0;
}

static cs_options fixed_sweeps(const char *scheme, int64_t sweeps)
{
    cs_options options = cs_options_default();
    options.rtol = options.atol = NAN;
    options.max_iterations = sweeps;
    options.scheme = scheme;
    return options;
}

/* Aborted at each sweep in turn, a solver solves as if nothing had happened. */
static void aborted_solves(const cs_problem *problem, const char *scheme)
{
    enum { SWEEPS = 8 };
    double expected[SCENE_ROWS], lambda[SCENE_ROWS];
    cs_solver *solver = NULL;
    cs_error error;
    cs_options options = fixed_sweeps(scheme, SWEEPS);
    options.relaxation = 20; /* rollbacks on the way: an abort must undo them */
    options.rollback = 30;
    CHECK_STATUS(cs_solver_create(&solver, problem, &options, NULL, &error), CS_OK, &error);
    if (!solver) return;
    cs_result result = {.impulses = expected};
    CHECK_STATUS(cs_solver_solve(solver, NULL, NULL, NULL, NULL, &result, &error), CS_OK, &error);
    CHECK(result.rollbacks > 0);
    int64_t live = cs_memory_live();
    for (int sweep = 1; sweep <= SWEEPS; sweep++) {
        script p = {.abort_at = sweep, .rows = SCENE_ROWS};
        cs_control control = {follow, &p, 1};
        result.impulses = lambda;
        error.status = CS_OK;
        CHECK_STATUS(cs_solver_solve(solver, NULL, NULL, NULL, &control, &result, &error),
                     CS_INTERRUPTED, &error);
        CHECK(error.status == CS_INTERRUPTED && p.last_iteration == sweep);
        CHECK(cs_memory_live() == live);
        CHECK_STATUS(cs_solver_solve(solver, NULL, NULL, NULL, NULL, &result, &error), CS_OK,
                     &error);
        CHECK(memcmp(lambda, expected, sizeof lambda) == 0);
    }
    cs_solver_destroy(solver);
}

/* Stopped after n sweeps: the iterate that n sweeps give, which the poll has seen as well. */
static void stopped_solves(const cs_problem *problem, const char *scheme)
{
    for (int sweeps = 1; sweeps < 6; sweeps++) {
        double expected[SCENE_ROWS], lambda[SCENE_ROWS];
        cs_solver *solver = NULL;
        cs_error error;
        cs_options options = fixed_sweeps(scheme, 100);
        script p = {.stop_at = sweeps, .rows = SCENE_ROWS};
        cs_control control = {follow, &p, 1};
        CHECK_STATUS(cs_solver_create(&solver, problem, &options, NULL, &error), CS_OK, &error);
        if (!solver) return;
        cs_result result = {.impulses = lambda};
        CHECK_STATUS(cs_solver_solve(solver, NULL, NULL, NULL, &control, &result, &error), CS_OK,
                     &error);
        CHECK(result.outcome == CS_STOPPED && result.iterations == sweeps);
        CHECK(p.calls == sweeps && p.last_iteration == sweeps);
        CHECK(memcmp(p.last_impulses, lambda, sizeof lambda) == 0);
        CHECK(result.history_rows == sweeps + 1);
        const double *row = result.history + sweeps * result.columns;
        CHECK(row[0] == sweeps && row[2] == p.last_row[2]);
        cs_solver_destroy(solver);

        options.max_iterations = sweeps;
        solver = NULL;
        CHECK_STATUS(cs_solver_create(&solver, problem, &options, NULL, &error), CS_OK, &error);
        if (!solver) return;
        result = (cs_result){.impulses = expected};
        CHECK_STATUS(cs_solver_solve(solver, NULL, NULL, NULL, NULL, &result, &error), CS_OK,
                     &error);
        CHECK(memcmp(lambda, expected, sizeof lambda) == 0);
        cs_solver_destroy(solver);
    }
}

#define PAUSE 1e-3 /* seconds that one call of `linger` takes */

static int linger(void *context, const cs_progress *progress)
{
    (void)progress;
    ++*(int *)context;
    for (double start = cs_clock(); cs_clock() < start + PAUSE;) continue;
    return 0;
}

/* The time of the caller's functions is in wall_seconds alone; sweeps, solve and call contain each other. */
static void the_caller_is_not_timed(const cs_problem *problem, const char *scheme)
{
    cs_solver *solver = NULL;
    cs_error error;
    cs_options options = fixed_sweeps(scheme, 6);
    CHECK_STATUS(cs_solver_create(&solver, problem, &options, NULL, &error), CS_OK, &error);
    if (!solver) return;
    int calls = 0;
    cs_control control = {linger, &calls, 1};
    cs_result result = {0};
    CHECK_STATUS(cs_solver_solve(solver, NULL, NULL, NULL, &control, &result, &error), CS_OK,
                 &error);
    CHECK(calls == 6);
    CHECK(0 < result.sweep_seconds && result.sweep_seconds <= result.seconds);
    CHECK(result.seconds + calls * PAUSE <= result.wall_seconds);

    /* The history has the same clock. */
    double last = 0;
    for (int64_t row = 0; row < result.history_rows; row++) {
        double seconds = result.history[row * result.columns + 1];
        CHECK(last <= seconds && seconds <= result.seconds);
        last = seconds;
    }
    cs_solver_destroy(solver);
}

/* A solve that would take centuries is asked a few hundred times a second. */
static void an_endless_solve_is_asked(const cs_problem *problem)
{
    cs_solver *solver = NULL;
    cs_error error;
    cs_options options = fixed_sweeps("factorized", INT64_C(1) << 50);
    options.record_every = INT64_C(1) << 40;
    CHECK_STATUS(cs_solver_create(&solver, problem, &options, NULL, &error), CS_OK, &error);
    if (!solver) return;
    script p = {.abort_at = 3, .last_iteration = -1};
    cs_control control = {follow, &p, 0};
    cs_result result = {0};
    cs_status status = cs_solver_solve(solver, NULL, NULL, NULL, &control, &result, &error);
    CHECK_STATUS(status, CS_INTERRUPTED, &error);
    CHECK(p.calls == 3);
    cs_solver_destroy(solver);
}

/* Assembling A asks as well; what it had built is released. */
static void aborted_set_up(void)
{
    int64_t live = cs_memory_live();
    cs_problem *problem;
    cs_error error = {0};
    cs_options options = fixed_sweeps("matrix", 1);
    CHECK_STATUS(chain_create(4000, &problem, &error), CS_OK, &error);
    script all = {0};
    cs_control control = {follow, &all, 0};
    cs_solver *solver = NULL;
    CHECK_STATUS(cs_solver_create(&solver, problem, &options, &control, &error), CS_OK, &error);
    cs_solver_destroy(solver);
    CHECK(all.while_setting_up == all.calls && all.calls >= 4);
    int64_t kept = cs_memory_live();
    for (int call = 1; call <= all.calls; call++) {
        script p = {.abort_at = call};
        control.context = &p;
        solver = NULL;
        CHECK_STATUS(cs_solver_create(&solver, problem, &options, &control, &error), CS_INTERRUPTED,
                     &error);
        CHECK(solver == NULL && p.calls == call && cs_memory_live() == kept);
    }
    cs_problem_destroy(problem);
    CHECK(cs_memory_live() == live);
}

static int abort_at_once(void *context, const cs_progress *progress)
{
    CHECK(progress == NULL);
    ++*(int *)context;
    return -1;
}

/* A problem of rows: the first island, the larger, is indefinite; the other takes many pivots, and is
 * interrupted. */
enum { ROWS = 700, FAULTY = 360 };

static const cs_csr *faulty_and_slow(double *b)
{
    static int64_t start[ROWS + 1], column[ROWS * ROWS];
    static double value[ROWS * ROWS];
    static cs_csr matrix = {ROWS, start, column, value};
    int64_t count = 0;
    for (int64_t i = 0; i < ROWS; i++) {
        int faulty = i < FAULTY;
        for (int64_t j = faulty ? 0 : FAULTY; j < (faulty ? FAULTY : ROWS); j++) {
            column[count] = j;
            value[count++] = faulty ? 2 - (i == j) : i == j ? ROWS : 1;
        }
        start[i + 1] = count;
        b[i] = i % 2 ? 1 : -1;
    }
    return &matrix;
}

static void an_interruption_comes_before_failures(void)
{
    static double b[ROWS], lo[ROWS], hi[ROWS], x[ROWS];
    const cs_csr *matrix = faulty_and_slow(b);
    for (int64_t i = 0; i < ROWS; i++) hi[i] = INFINITY;
    cs_mlcp_options options = cs_mlcp_options_default();
    options.rule = "murty";
    options.exact_threads = 1;
    for (options.threads = 1; options.threads <= 2; options.threads++) {
        int asked = 0;
        cs_mlcp *mlcp = NULL;
        cs_mlcp_result result = {.x = x};
        cs_control control = {abort_at_once, &asked, 0};
        cs_error error = {0};
        CHECK_STATUS(cs_mlcp_create(&mlcp, matrix, &options, &error), CS_OK, &error);
        if (!mlcp) return;
        CHECK_STATUS(cs_mlcp_solve(mlcp, b, lo, hi, NULL, NULL, &result, &error), CS_UNSUPPORTED,
                     &error);
        CHECK_STATUS(cs_mlcp_solve(mlcp, b, lo, hi, NULL, &control, &result, &error),
                     CS_INTERRUPTED, &error);
        CHECK(error.status == CS_INTERRUPTED && asked == 1);
        cs_mlcp_destroy(mlcp);
    }
}

/* The same of solvers of islands. */
static void an_interruption_comes_before_islands_that_fail(void)
{
    static double b[ROWS];
    const cs_csr *matrix = faulty_and_slow(b);
    const cs_blocks blocks = {.count = ROWS, .rows = 1, .b = b, .set = "half_line"};
    cs_problem *problem = NULL;
    cs_error error = {0};
    CHECK_STATUS(cs_problem_create(&problem, &error), CS_OK, &error);
    CHECK_STATUS(cs_problem_add_blocks(problem, &blocks, &error), CS_OK, &error);
    CHECK_STATUS(cs_problem_set_matrix(problem, matrix, &error), CS_OK, &error);
    cs_options options = cs_options_default();
    options.method = "murty";
    options.exact_threads = 1;
    for (options.threads = 1; options.threads <= 2; options.threads++) {
        int asked = 0;
        cs_solver *solver = NULL;
        cs_solver_info info;
        cs_result result = {0};
        cs_control control = {abort_at_once, &asked, 0};
        CHECK_STATUS(cs_solver_create(&solver, problem, &options, NULL, &error), CS_OK, &error);
        if (!solver) break;
        cs_solver_describe(solver, &info);
        CHECK(info.clusters == 2);
        CHECK_STATUS(cs_solver_solve(solver, NULL, NULL, NULL, NULL, &result, &error),
                     CS_UNSUPPORTED, &error);
        CHECK_STATUS(cs_solver_solve(solver, NULL, NULL, NULL, &control, &result, &error),
                     CS_INTERRUPTED, &error);
        CHECK(error.status == CS_INTERRUPTED && asked == 1);
        cs_solver_destroy(solver);
    }
    cs_problem_destroy(problem);
}

/* ---- inside of one factor ---------------------------------------------------------------------- */

/* A full matrix of so many rows, positive definite. */
static cs_csr full_matrix(int64_t rows, cs_arena *arena)
{
    int64_t *start = cs_arena_take(arena, rows + 1, sizeof(int64_t));
    int64_t *column = cs_arena_take(arena, rows * rows, sizeof(int64_t));
    double *value = cs_arena_take(arena, rows * rows, sizeof(double));
    CHECK(start && column && value);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < rows; j++) {
            column[i * rows + j] = j;
            value[i * rows + j] = i == j ? 2 * (double)rows : cos((double)(i + j));
        }
        start[i + 1] = (i + 1) * rows;
    }
    return (cs_csr){rows, start, column, value};
}

/* Leaves off when it has been asked so many times; counts on below zero. */
static int count_down(void *context) { return --*(int *)context == 0; }

static void factor_island(cs_island *s, int64_t tight, cs_breakdown *breakdown)
{
    *breakdown = (cs_breakdown){.row = -1};
    for (int64_t i = 0; i < s->rows; i++)
        s->state[i] = i % 7 == 3 && i < 7 * tight ? CS_INDEX_LOW : CS_INDEX_FREE;
    s->engine->factor(s, breakdown);
    s->is_factored = breakdown->row < 0;
    for (int64_t i = 0; i < s->rows; i++) s->factored[i] = s->state[i] != CS_INDEX_FREE;
}

/* Factors with many tight rows, then with few from what is there, told to leave off at the k-th question
 * of each (0: never); then solves. Returns how often it left off; `asked` <- how often at most. */
static int disturbed(cs_island *s, int k, int *asked, double *x)
{
    enum { MANY = 70, FEW = 25 };
    int cancelled = 0;
    *asked = 0;
    for (int few = 0; few < 2; few++) {
        int count = k;
        cs_cancellation cancellation = {.is_cancelled = count_down, .context = &count};
        cs_breakdown breakdown;
        s->cancellation = &cancellation;
        factor_island(s, few ? FEW : MANY, &breakdown);
        s->cancellation = NULL;
        if (k - count > *asked) *asked = k - count;
        CHECK(!breakdown.cancelled || (k && count == 0 && breakdown.row >= 0));
        cancelled += breakdown.cancelled;
        if (breakdown.cancelled) factor_island(s, few ? FEW : MANY, &breakdown);
        CHECK(breakdown.row < 0);
    }
    for (int64_t i = 0; i < s->rows; i++) x[i] = s->state[i] ? 0 : sin((double)i);
    s->engine->solve(s, x);
    return cancelled;
}

/* Whatever an engine was doing when it left off, it then factors as if nothing had happened. */
static void engines_are_cancelled(void)
{
    enum { WIDTH = 520 };
    cs_arena arena = {0};
    cs_csr matrix = full_matrix(WIDTH, &arena);
    for (int e = 0; cs_engine_name(e, NULL); e++) {
        double expected[WIDTH], x[WIDTH];
        int most = 0, asked, cancelled = 0;
        for (int k = 0; k <= most; k++) {
            cs_mlcp *mlcp = NULL;
            cs_error error = {0};
            cs_mlcp_options options = cs_mlcp_options_default();
            options.engine = cs_engine_name(e, NULL);
            CHECK_STATUS(cs_mlcp_create(&mlcp, &matrix, &options, &error), CS_OK, &error);
            if (!mlcp) break;
            cancelled += disturbed(&mlcp->island[0], k, &asked, k ? x : expected);
            if (k == 0) most = asked;
            else CHECK_ALL_NEAR(WIDTH, x, expected, 1e-15);
            cs_mlcp_destroy(mlcp);
        }
        CHECK(cancelled > 0);
    }
    cs_arena_clear(&arena);
}

/* Long work before the first pivot: how often it is asked, that it ends when told to, and that the
 * solver is none the worse for it. */
static void one_step_is_asked(const char *rule, const char *engine, int rows)
{
    enum { MOST = 1000, LEAST = 2 };
    static double b[MOST], lo[MOST], hi[MOST], x[MOST];
    cs_arena arena = {0};
    cs_csr matrix = full_matrix(rows, &arena);
    cs_mlcp_options options = cs_mlcp_options_default();
    cs_mlcp *mlcp = NULL;
    cs_error error = {0};
    options.rule = rule;
    options.engine = engine;
    for (int i = 0; i < rows; i++) {
        b[i] = sin(i);
        lo[i] = -INFINITY;
        hi[i] = INFINITY;
    }
    CHECK_STATUS(cs_mlcp_create(&mlcp, &matrix, &options, &error), CS_OK, &error);
    if (!mlcp) return;
    for (int k = 0; k < 3; k++) {
        const int answer = k == 0 ? -1 : k == 1; /* at last nobody disturbs it */
        script p = {.abort_at = answer<0, .stop_at = answer> 0};
        cs_control control = {follow, &p, 0};
        cs_mlcp_result result = {.x = x};
        CHECK_STATUS(cs_mlcp_solve(mlcp, b, lo, hi, NULL, &control, &result, &error),
                     answer < 0 ? CS_INTERRUPTED : CS_OK, &error);
        CHECK(answer ? p.calls == 1 : p.calls >= LEAST);
        if (answer > 0) CHECK(result.outcome == CS_MLCP_STOPPED && result.residual_scaled > 1e-6);
        if (answer == 0) CHECK(result.outcome == CS_MLCP_CONVERGED && result.pivots == 0);
    }
    cs_mlcp_destroy(mlcp);
    cs_arena_clear(&arena);
}

/* Told to end late in a solve, in the elimination after the last pivot: what was answered counts. */
static void the_last_answer_counts(const cs_csr *matrix, const char *rule, int answer)
{
    enum { MOST = 600, QUESTIONS = 8 };
    static double b[MOST], lo[MOST], hi[MOST], x[MOST];
    script all = {0};
    cs_control control = {follow, &all, 0};
    cs_mlcp_options options = cs_mlcp_options_default();
    cs_mlcp_result result = {.x = x};
    cs_mlcp *mlcp = NULL;
    cs_error error = {0};
    options.rule = rule;
    for (int i = 0; i < MOST; i++) {
        b[i] = sin(i);
        lo[i] = -INFINITY;
        hi[i] = INFINITY;
    }
    CHECK_STATUS(cs_mlcp_create(&mlcp, matrix, &options, &error), CS_OK, &error);
    if (!mlcp) return;
    CHECK_STATUS(cs_mlcp_solve(mlcp, b, lo, hi, NULL, &control, &result, &error), CS_OK, &error);
    for (int k = QUESTIONS - 1; k > QUESTIONS / 2; k -= 2) {
        int at = all.calls * k / QUESTIONS;
        script p = {.abort_at = answer < 0 ? at : 0, .stop_at = answer > 0 ? at : 0};
        control.context = &p;
        cs_status status = cs_mlcp_solve(mlcp, b, lo, hi, NULL, &control, &result, &error);
        if (at == 0 || p.calls < at) continue; /* faster than before */
        CHECK_STATUS(status, answer < 0 ? CS_INTERRUPTED : CS_OK, &error);
        CHECK(status || result.outcome == CS_MLCP_STOPPED);
    }
    cs_mlcp_destroy(mlcp);
}

static void last_answers_count(void)
{
    cs_arena arena = {0};
    cs_csr matrix = full_matrix(400, &arena);
    the_last_answer_counts(&matrix, "lemke", -1);
    the_last_answer_counts(&matrix, "lemke", 1);
    cs_arena_clear(&arena);
}

static int abort_inside(void *context, const cs_progress *progress)
{
    *(int *)context += !progress;
    return progress ? 0 : -1;
}

enum { MOST_ROWS = 1200 };

/* A problem with a full matrix and one row a contact, and its solver. */
typedef struct full_scene {
    double b[MOST_ROWS];
    cs_arena arena;
    cs_problem *problem;
    cs_solver *solver;
} full_scene;

static full_scene *full_scene_make(int rows, double mean, double swing, const cs_options *options)
{
    static full_scene full;
    cs_error error = {0};
    full = (full_scene){{0}, {0}, NULL, NULL};
    cs_csr matrix = full_matrix(rows, &full.arena);
    const cs_blocks blocks = {.count = rows, .rows = 1, .b = full.b, .set = "half_line"};
    for (int i = 0; i < rows; i++) full.b[i] = mean + swing * sin(i);
    CHECK_STATUS(cs_problem_create(&full.problem, &error), CS_OK, &error);
    CHECK_STATUS(cs_problem_add_blocks(full.problem, &blocks, &error), CS_OK, &error);
    CHECK_STATUS(cs_problem_set_matrix(full.problem, &matrix, &error), CS_OK, &error);
    CHECK_STATUS(cs_solver_create(&full.solver, full.problem, options, NULL, &error), CS_OK,
                 &error);
    return &full;
}

static void full_scene_end(full_scene *full)
{
    cs_solver_destroy(full->solver);
    cs_problem_destroy(full->problem);
    cs_arena_clear(&full->arena);
}

/* A factor of Newton's method is longer than the time between two questions. */
static void a_newton_step_is_asked(void)
{
    const cs_setting no_sweeps = {.name = "start", .number = 0};
    cs_options options = cs_options_default();
    options.method = "newton";
    options.islands = 0;
    options.settings = &no_sweeps;
    options.setting_count = 1;
    full_scene *full = full_scene_make(MOST_ROWS, -1, 0.1, &options);
    if (full->solver) {
        int inside = 0;
        cs_control control = {abort_inside, &inside, 0};
        cs_result result = {0};
        cs_error error = {0};
        CHECK_STATUS(cs_solver_solve(full->solver, NULL, NULL, NULL, &control, &result, &error),
                     CS_INTERRUPTED, &error);
        CHECK(inside == 1);
        CHECK_STATUS(cs_solver_solve(full->solver, NULL, NULL, NULL, NULL, &result, &error), CS_OK,
                     &error);
        CHECK(result.outcome == CS_CONVERGED);
    }
    full_scene_end(full);
}

/* Stopped inside of a direct step, an iteration of several ends. */
static void a_hybrid_stops(const char *method)
{
    cs_options options = cs_options_default();
    options.method = method;
    options.islands = 0;
    options.rtol = 0; /* sweeps after the step are nearly enough */
    options.max_iterations = 3;
    full_scene *full = full_scene_make(900, 0, 1, &options);
    if (full->solver) {
        script p = {.stop_at = 1};
        cs_control control = {follow, &p, 0};
        cs_result result = {0};
        cs_error error = {0};
        CHECK_STATUS(cs_solver_solve(full->solver, NULL, NULL, NULL, &control, &result, &error),
                     CS_OK, &error);
        CHECK(p.while_setting_up == 1); /* asked without progress: inside */
        CHECK(result.outcome == CS_STOPPED && result.iterations == 1);
    }
    full_scene_end(full);
}

typedef struct count {
    int asked, at; /* questions so far, and that at which the work is to end; 0: never */
} count;

static int end_at(void *context, const cs_progress *progress)
{
    count *c = context;
    (void)progress;
    return ++c->asked == c->at ? -1 : 0;
}

/* A factor that is made while a solver is set up asks after as much work as the machine does in a
 * moment, and ends where it is told to. */
static void a_factor_is_asked_while_setting_up(void)
{
    cs_options options = cs_options_default();
    options.islands = 0;
    full_scene *full = full_scene_make(MOST_ROWS, -1, 0.1, &options);
    cs_solver_destroy(full->solver);
    options.method = "admm";
    for (int end = 0; end <= 10; end += 10) {
        count c = {0, end};
        cs_control control = {end_at, &c, 0};
        cs_error error = {0};
        cs_status status =
            cs_solver_create(&full->solver, full->problem, &options, &control, &error);
        CHECK_STATUS(status, end ? CS_INTERRUPTED : CS_OK, &error);
        CHECK(end ? c.asked == end : c.asked > 15);
        CHECK(!end == !!full->solver);
        cs_solver_destroy(full->solver);
        full->solver = NULL;
    }
    full_scene_end(full);
}

int main(void)
{
    static scene s;
    cs_problem *problem;
    cs_error error;
    scene_make(&s);
    CHECK_STATUS(scene_create(&s, &problem, &error), CS_OK, &error);
    if (!problem) return test_result();
    aborted_solves(problem, "matrix");
    aborted_solves(problem, "factorized");
    stopped_solves(problem, "matrix");
    stopped_solves(problem, "factorized");
    the_caller_is_not_timed(problem, "matrix");
    the_caller_is_not_timed(problem, "factorized");
    an_endless_solve_is_asked(problem);
    aborted_set_up();
    an_interruption_comes_before_failures();
    an_interruption_comes_before_islands_that_fail();
    engines_are_cancelled();
    one_step_is_asked("bpp", "sparse", 1000);
    one_step_is_asked("lemke", "auto", 500);
    last_answers_count();
    a_newton_step_is_asked();
    a_factor_is_asked_while_setting_up();
    a_hybrid_stops("splitting");
    a_hybrid_stops("subspace");
    cs_problem_destroy(problem);
    return test_result();
}
