/* Interruption: a poll that aborts or stops, while setting up and between sweeps. */
#include "scene.h"

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
    an_endless_solve_is_asked(problem);
    aborted_set_up();
    cs_problem_destroy(problem);
    return test_result();
}
