/* A proximal semi-smooth Newton method.
 *
 * Outer steps are those of the proximal point method, with a factor rho that grows while they succeed:
 *
 *     lambda+ = prox(lambda - rho R (xi + s)),   xi = A lambda+ + b                              (1)
 *
 * For rho = 1 this is one implicit sweep; as rho grows, its solution approaches that of the problem. Inner
 * steps are Newton's on xi, where (1) reads g(xi) = xi - b - A prox(lambda - rho R (xi + s)) = 0:
 *
 *     (I + A S) d = -g,   S = prox'(...) rho R
 *
 *     sweeps -> [ lambda, rho -> Newton on (1) -> lambda+, judged -> larger rho ]
 *        ^                            '-- not solved, or much worse: smaller rho --> try again
 *        '---------------- rho is too small: from the best iterate
 *
 * There are three kinds of (1). `coulomb`: s = 0, and prox' is that of Coulomb's law, which is unsymmetric.
 * `de_saxce`: friction is a cone, and s is De Saxce's shift of the normal velocity, mu |v_t|, constant
 * during (1), so that each (1) is convex. `fischer_burmeister`: the cone with the current shift, and (1) is
 * Fischer and Burmeister's function of it (newton/complementary.c). |g| may increase from one step to the
 * next, and so may the natural map. Linear systems: system/newton_system.h. */
#include "solver/judge.h"
#include "methods/newton/newton.h"
#include "methods/newton/slope.h"

#include "core/error.h"

#include <math.h>
#include <string.h>

enum {
    PATIENCE,
    KIND,
    START,
    START_WITH,
    RHO,
    RISE,
    INNER,
    LINEAR,
    LEVENBERG,
    FACTOR_BYTES,
    OPTIONS
};
enum { NESTEROV, GAUSS_SEIDEL };

static const char *const kind_words[] = {"coulomb", "de_saxce", "fischer_burmeister", NULL};
static const cs_newton_kind *const kinds[] = {&cs_newton_coulomb, &cs_newton_de_saxce,
                                              &cs_newton_fischer_burmeister};
static const char *const starts[] = {"nesterov", "gauss_seidel", NULL};

static const cs_method_option option[OPTIONS] = {
    CS_PATIENCE_OPTION,
    [KIND] = CS_WORD_OPTION("kind", kind_words,
                            "equations of a proximal step: Coulomb's law by its prox; a cone with "
                            "De Saxcé's shift of the normal velocity, constant during the step; or "
                            "the cone with the shift by Fischer and Burmeister's function"),
    [START] = CS_COUNT_OPTION(
        "start", 200, 0,
        "sweeps before the first Newton step; after failed steps, twice as many as before"),
    [START_WITH] = CS_WORD_OPTION("start_with", starts, "method of these sweeps"),
    [RHO] = {.name = "rho",
             .summary =
                 "initial factor of a proximal step; it then adapts to the success of the steps",
             .kind = CS_NUMBER,
             .usual = 1,
             .above = 1,
             .most = 1e8},
    [RISE] = CS_NUMBER_OPTION(
        "rise", 100, 1, HUGE_VAL,
        "maximum natural map of an accepted step, relative to the best one so far"),
    [INNER] = CS_COUNT_OPTION("inner", 8, 1, "maximum Newton steps per proximal step"),
    [LINEAR] = {.name = "linear_tolerance",
                .summary = "relative residual of the linear systems",
                .kind = CS_NUMBER,
                .usual = 1e-2,
                .above = 1,
                .most = 0.5},
    [LEVENBERG] = CS_NUMBER_OPTION("levenberg", 0, 0, 1e6,
                                   "Levenberg damping on the diagonal of a step's system, as a "
                                   "fraction of 1 / R, times the decrease of the merit"),
    [FACTOR_BYTES] =
        CS_NUMBER_OPTION("factor_bytes", 256e6, 0, HUGE_VAL,
                         "memory limit of the factor [bytes]; larger problems are refused"),
};

/* How rho depends on the number of inner steps that a proximal step took, and when it is too small. */
#define RHO_LEAST 1e-3
#define RHO_MOST 1e8
#define RHO_DOWN 5
#define RHO_HOPELESS 1e-2
enum { QUICK = 3, QUITE_QUICK = 5, HOPELESS_FAILURES = 5 };
#define RHO_UP 10
#define RHO_UP_LITTLE 2
/* When inner steps end: |g| relative to its start; the error relative to the best natural map; and the
 * growth of |g|, or of the steps of sweeps, that counts as divergence. */
#define REDUCTION 0.05
#define PART_OF_BEST 0.1
#define EXPLOSION 1e3
#define GROWTH 1.5 /* growth of sweep steps that restarts the momentum */
/* Each new start has more sweeps than the one before, so that the same failure is not repeated. */
enum { MORE_SWEEPS = 2, MOST_SWEEPS = 1 << 20 };
/* Line search: the required relative decrease per unit length, and the length below which any step is
 * accepted. */
#define DESCENT 1e-4
#define SHORTEST_STEP 0.1

/* ---- set-up ---------------------------------------------------------------------------------- */

/* The kind of (1) that the caller has chosen. */
static const cs_newton_kind *kind_of(const cs_solver *solver)
{
    return kinds[(int)solver->setting[KIND]];
}

/* Fails if the kind does not take a set of the problem, or if an option has no effect. */
static cs_status check_options(const cs_solver *solver, cs_error *error)
{
    const cs_problem *problem = solver->problem;
    const cs_newton_kind *kind = kind_of(solver);
    for (int g = 0; g < problem->block_groups; g++)
        if (!kind->takes(&problem->block_group[g]))
            return cs_fail(
                error, CS_UNSUPPORTED,
                "method='newton' with kind='%s' takes blocks of %s, and this "
                "problem has blocks of set '%s': use %s",
                cs_word_setting(solver, KIND), kind->sets, problem->block_group[g].set->name,
                cs_newton_coulomb.takes(&problem->block_group[g]) ? "kind='coulomb'"
                                                                  : "a method that sweeps");

    /* The option `bound` has no effect here. */
    if (strcmp(solver->options.bound, "current") != 0)
        return cs_fail(error, CS_UNSUPPORTED,
                       "bound='%s' is for methods that only sweep: in method='newton' the current "
                       "normal impulse bounds friction",
                       solver->options.bound);
    return CS_OK;
}

/* r <- R: rho, but for a cone the smallest rho of its rows. */
static void choose_factors(const cs_solver *solver, double *r)
{
    const cs_problem *problem = solver->problem;
    int shifted = kind_of(solver)->shifted;
    memcpy(r, solver->factors.rho, sizeof(double) * (size_t)problem->rows);

    /* Of a cone take the smallest factor. */
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count && cs_slope_is_shifted(group, shifted); k++) {
            double *own = r + cs_group_row(group, k), least = own[0];
            for (int i = 1; i < group->rows; i++) least = fmin(least, own[i]);
            for (int i = 0; i < group->rows; i++) own[i] = least;
        }
    }
}

/* Allocates the vectors and builds the linear system. */
static cs_status prepare(cs_solver *solver, cs_budget *budget, cs_error *error)
{
    cs_status status = check_options(solver, error);
    if (status) return status;

    /* Allocate the vectors; the last four are only for kinds with impulses as unknowns. */
    cs_arena *arena = &solver->arena;
    int64_t rows = solver->problem->rows;
    cs_newton *newton = solver->own;
    double **array[] = {&newton->r,      &newton->start,   &newton->xi,   &newton->trial,
                        &newton->g,      &newton->step,    &newton->best, &newton->impulses,
                        &newton->lambda, &newton->another, &newton->phi,  &newton->move};
    int arrays = (int)(sizeof array / sizeof *array) - (kind_of(solver)->impulses ? 0 : 4);
    newton->shift = cs_arena_take(arena, solver->problem->blocks, sizeof(double));
    for (int i = 0; i < arrays; i++) *array[i] = cs_arena_take(arena, rows, sizeof(double));
    if (cs_arena_failed(arena)) return cs_no_memory(error, "Newton's method");

    /* Choose R, and build the linear system. */
    choose_factors(solver, newton->r);
    return cs_newton_system_build(&newton->system, solver->problem, newton->r,
                                  solver->setting[FACTOR_BYTES], budget->cancellation, arena,
                                  error);
}

/* ---- the best iterate ------------------------------------------------------------------------ */

static void keep_best(cs_run *run)
{
    cs_newton_run *s = (cs_newton_run *)run;
    const cs_solver *solver = run->solver;
    memcpy(s->newton->best, solver->lambda, sizeof(double) * (size_t)solver->problem->rows);
}

/* Packs these impulses as the current iterate. */
static void put(cs_newton_run *s, const double *impulses)
{
    cs_packing_put(&s->run.solver->packing, impulses);
}

static void restore_best(cs_run *run)
{
    cs_newton_run *s = (cs_newton_run *)run;
    put(s, s->newton->best);
}

/* ---- sweeps at the start --------------------------------------------------------------------- */

/* Nesterov's extrapolation between sweeps, or a restart of the momentum. */
static void extrapolate(cs_newton_run *s, cs_momentum *momentum)
{
    cs_solver *solver = s->run.solver;
    cs_point here = cs_point_here(solver), before = cs_point_at(solver, 0);
    double beta = cs_momentum_next(momentum, sqrt(s->run.stats.merit), GROWTH, CS_CONTRACTION);
    if (!isnan(beta)) {
        cs_point_extrapolate(solver, here, beta, before);
        return;
    }
    *momentum = CS_NO_MOMENTUM;
    cs_point_copy(solver, before, here);
}

/* Starts `s->sweeps` sweeps from the best iterate. */
static void begin_with_sweeps(cs_newton_run *s)
{
    cs_solver *solver = s->run.solver;
    s->rho = solver->setting[RHO];
    s->failures = 0;
    s->phase = CS_NEWTON_SWEEPS;
    s->left = s->sweeps;
    s->shortest = DBL_MAX;
    s->momentum = CS_NO_MOMENTUM;
    put(s, s->newton->best);
    cs_packing_refresh(&solver->packing);
    cs_point_copy(solver, cs_point_at(solver, 0), cs_point_here(solver));
}

/* Starts proximal steps from the best iterate, and sets the number of sweeps of the next start. */
static void begin_with_steps(cs_newton_run *s)
{
    s->sweeps = s->sweeps < MOST_SWEEPS ? MORE_SWEEPS * s->sweeps : s->sweeps;
    memcpy(s->newton->start, s->newton->best,
           sizeof(double) * (size_t)s->run.solver->problem->rows);
    s->phase = CS_NEWTON_STEPS;
    s->inner = 0;
}

/* One iteration that is a sweep. If the sweeps diverge, returns to the best iterate and ends them. */
static cs_step sweep_once(cs_newton_run *s)
{
    cs_run *run = &s->run;
    cs_sweep_call call = {.most = 1};
    cs_run_sweep(run, &call);
    if (run->status) return CS_DISCARDED;

    /* The last sweep is judged; sweeps that diverge are given up. */
    s->left--;
    if (!(run->stats.merit <= EXPLOSION * EXPLOSION * s->shortest)) {
        put(s, s->newton->best);
        s->left = 0;
        return CS_DISCARDED;
    }
    s->shortest = fmin(s->shortest, run->stats.merit);
    run->to_judge = s->left == 0;
    return CS_STEPPED;
}

/* After a sweep, judged or not: starts the proximal steps, or extrapolates to the start of the next sweep. */
static void after_sweep(cs_newton_run *s)
{
    cs_solver *solver = s->run.solver;
    if (s->left == 0) {
        begin_with_steps(s);
        return;
    }
    if ((int)solver->setting[START_WITH] != NESTEROV) return;
    extrapolate(s, &s->momentum);
    if (!solver->packing.keeps_velocities) cs_packing_refresh(&solver->packing);
}

/* ---- proximal steps -------------------------------------------------------------------------- */

void cs_newton_begin_step(cs_newton_run *s)
{
    cs_newton *newton = s->newton;
    const cs_solver *solver = s->run.solver;
    cs_newton_multiply(&newton->system, newton->start, newton->xi);
    for (int64_t i = 0; i < solver->problem->rows; i++) newton->xi[i] += solver->b[i];
}

int cs_newton_accepts(double there, double here, double length)
{
    return there < (1 - DESCENT * length) * here || length < SHORTEST_STEP;
}

/* One iteration that is a Newton step for (1), with the current rho. */
static cs_step step_once(cs_newton_run *s)
{
    cs_newton *newton = s->newton;
    cs_run *run = &s->run;

    /* Start a proximal step. */
    if (s->inner == 0) {
        s->before = run->best;
        s->here = s->first = s->kind->begin(s);
    }

    /* Damp less as |g| decreases. */
    s->inner++;
    s->damping = run->solver->setting[LEVENBERG] * fmin(1, s->here / s->first);
    int made = s->kind->step(s, &s->here) == CS_STEPPED;

    /* A cancelled step is not counted as an iteration. */
    if (run->aborted || run->stopped) {
        if (run->aborted)
            run->status = cs_fail(run->error, CS_INTERRUPTED, "interrupted while factoring");
        run->number--;
        return CS_DISCARDED;
    }

    /* Without a step, or if |g| explodes, the iterate stays. */
    s->failed = !made || !isfinite(s->here) || s->here > EXPLOSION * s->first;
    if (s->failed) return CS_DISCARDED;
    cs_run_note_change(run, newton->start, newton->impulses);
    put(s, newton->impulses);
    run->to_judge = 1;
    return CS_STEPPED;
}

/* Whether (1) is solved accurately enough: |g| has decreased, and its error is small beside the best
 * natural map; or |g| is rounding. */
static int is_solved(const cs_newton_run *s)
{
    int enough =
        s->here <= REDUCTION * s->first && s->kind->error(s) <= PART_OF_BEST * s->run.best_impulse;
    return enough || s->here <= s->kind->noise(s);
}

/* Ends a proximal step. If (1) is solved and the judgement acceptable, the next proximal step starts from
 * lambda+, with a larger rho if few steps were needed; otherwise the same step is repeated with a smaller
 * rho. */
static void end_proximal_step(cs_newton_run *s, int solved)
{
    cs_newton *newton = s->newton;
    const cs_solver *solver = s->run.solver;
    int steps = s->inner;
    s->inner = 0;
    if (solved && cs_run_judgement(&s->run) <= solver->setting[RISE] * s->before) {
        memcpy(newton->start, newton->impulses, sizeof(double) * (size_t)solver->problem->rows);
        double up = steps <= QUICK ? RHO_UP : steps <= QUITE_QUICK ? RHO_UP_LITTLE : 1;
        s->rho = fmin(RHO_MOST, s->rho * up);
        return;
    }

    /* The step is rejected. */
    s->failures++;
    s->run.solver->figure_value[CS_RESTARTS]++;
    s->rho = fmax(RHO_LEAST, s->rho / RHO_DOWN);
}

/* After a Newton step that was judged, or that failed: ends the proximal step if it is solved, has failed
 * or has used its steps. If proximal steps keep failing with a small rho, sweeps start again, or without
 * any the solve ends. */
static void after_step(cs_newton_run *s)
{
    const double *setting = s->run.solver->setting;
    int most = (int)setting[INNER] * s->kind->patience;
    int solved = !s->failed && is_solved(s);
    if (!s->failed && !solved && s->inner < most) return;
    end_proximal_step(s, solved);
    if (s->failures <= HOPELESS_FAILURES || s->rho >= RHO_HOPELESS) return;
    if (setting[START] == 0) s->run.finished = 1;
    else begin_with_sweeps(s);
}

/* ---- the solve ------------------------------------------------------------------------------- */

/* One iteration of the driver. */
static cs_step advance(cs_run *run)
{
    cs_newton_run *s = (cs_newton_run *)run;
    if (s->phase == CS_NEWTON_BEGINS) begin_with_sweeps(s);
    if (s->phase == CS_NEWTON_SWEEPS && s->left == 0) begin_with_steps(s);
    return s->phase == CS_NEWTON_SWEEPS ? sweep_once(s) : step_once(s);
}

/* The driver calls it after each iteration. */
static void go_on(cs_run *run)
{
    cs_newton_run *s = (cs_newton_run *)run;
    if (s->phase == CS_NEWTON_SWEEPS) after_sweep(s);
    else after_step(s);
}

static const cs_iteration iteration = {
    .step = advance,
    .next = go_on,
    .keep = keep_best,
    .restore = restore_best,
    .best_of_all = 1,
    .tests_first = 1,
    .next_after_loss = 1,
};

/* The solve of the method: iterates from the impulses that are packed. */
static cs_status solve_by_newton(cs_solver *solver, cs_budget *budget, cs_result *result,
                                 cs_error *error)
{
    cs_newton_run s = {
        .run = cs_run_begin(solver, budget, &iteration, error),
        .newton = solver->own,
        .kind = kind_of(solver),
        .linear = solver->setting[LINEAR],
        .sweeps = (int64_t)solver->setting[START],
    };

    /* Iterate; factors may be cancelled. */
    s.run.to_judge = 1;
    cs_cancellation cancellation = {.is_cancelled = cs_run_is_cancelled, .context = &s.run};
    s.newton->system.cancellation = &cancellation;
    cs_status status = cs_run_iterate(&s.run, result);
    s.newton->system.cancellation = NULL;
    return cs_run_end(&s.run, status, result);
}

static const cs_steps steps = {.points = cs_one_point};

const cs_method cs_method_newton = {
    .name = "newton",
    .summary = "proximal semi-smooth Newton with a sparse factor, started by sweeps",
    .about = "A proximal point method whose steps grow while they succeed. Newton's method solves "
             "each of them with a sparse Cholesky factor, in the space of the bodies or of the "
             "rows of a given A, and GMRES for the terms of friction. Mass ratios hardly affect "
             "the method. An iteration is one of the first sweeps or one Newton step. On grids and "
             "piles of equal bodies Newton steps save time only near the solution: a larger "
             "`start` helps there. The memory limit of the factor bounds the size of the problem. "
             "kind='coulomb' takes every set, including ellipses, polygons and support functions.",
    .paper = "Alart and Curnier 1991; Rockafellar 1976 (proximal point); De Saxcé and Feng 1998; "
             "Fischer 1992, Fukushima, Luo and Tseng 2002 (functions of cones); Saad and Schultz "
             "1986 (GMRES)",
    .needs = CS_BIT(CS_NEEDS_FLOAT64),
    .solves = CS_SOLVES_AS_SWEEPS | CS_BIT(CS_SOLVES_MASS_RATIO),
    .figure = cs_restarts_figure,
    .figures = CS_RESTARTS_FIGURES,
    .option = option,
    .options = OPTIONS,
    .stage = CS_SEQUENTIAL,
    .reads_impulses = 1,
    .steps = &steps,
    .own = sizeof(cs_newton),
    .prepare = prepare,
    .solve = solve_by_newton,
};
