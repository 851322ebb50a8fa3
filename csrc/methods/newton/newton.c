/* A proximal semi-smooth Newton method.
 *
 * Outer steps are those of the proximal point method, with a factor rho that grows while they succeed:
 *
 *     lambda+ = prox(lambda - rho R (xi + s)),   xi = A lambda+ + b                              (1)
 *
 * With rho = 1 that is one implicit sweep; as rho grows its solution becomes the problem's. Inner
 * steps are Newton's on xi, (1) being g(xi) = xi - b - A prox(lambda - rho R (xi + s)) = 0:
 *
 *     (I + A S) d = -g,   S = prox'(...) rho R
 *
 *     sweeps -> [ lambda, rho -> Newton on (1) -> lambda+ judged -> rho up ]
 *        ^                            '-- not solved, or much worse: rho down --> again
 *        '---------------- rho is too small: from the best iterate
 *
 * s = 0 and prox' of Coulomb's law itself, unsymmetric; or friction as a cone and De Saxce's shift s
 * of the normal velocity, mu |v_t|, frozen during (1), so that every (1) is convex; or the cone with the
 * shift at hand, (1) being Fischer and Burmeister's function of it (newton/complementary.c). g must be
 * allowed to rise in passing, and so must what is judged. Linear systems: system/newton_system.h. */
#include "solver/judge.h"
#include "methods/newton/newton.h"
#include "methods/newton/slope.h"

#include "core/clock.h"
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
    [KIND] =
        CS_WORD_OPTION("kind", kind_words,
                       "what is solved in a proximal step: Coulomb's law by its prox; a cone "
                       "with De Saxcé's shift of the normal velocity, frozen meanwhile; or the "
                       "cone with the shift by Fischer and Burmeister's function"),
    [START] = CS_COUNT_OPTION("start", 200, 0,
                              "sweeps to begin with; where steps fail, twice as many as before"),
    [START_WITH] = CS_WORD_OPTION("start_with", starts, "what these sweeps are"),
    [RHO] = {.name = "rho",
             .summary = "first factor of a proximal step; then it follows their success",
             .kind = CS_NUMBER,
             .usual = 1,
             .above = 1,
             .most = 1e8},
    [RISE] = CS_NUMBER_OPTION("rise", 100, 1, HUGE_VAL,
                              "natural map of an accepted step over the best one so far, at most"),
    [INNER] = CS_COUNT_OPTION("inner", 8, 1, "Newton steps for one proximal step, at most"),
    [LINEAR] = {.name = "linear_tolerance",
                .summary = "relative residual of the linear systems",
                .kind = CS_NUMBER,
                .usual = 1e-2,
                .above = 1,
                .most = 0.5},
    [LEVENBERG] = CS_NUMBER_OPTION("levenberg", 0, 0, 1e6,
                                   "damping: the part of 1 / R that a step's system has on its "
                                   "diagonal, times the fall of its merit"),
    [FACTOR_BYTES] = CS_NUMBER_OPTION("factor_bytes", 256e6, 0, HUGE_VAL,
                                      "most bytes of the factor; beyond, the problem is refused"),
};

/* How rho follows the number of inner steps that a proximal step took. */
#define RHO_LEAST 1e-3
#define RHO_MOST 1e8
#define RHO_DOWN 5
#define RHO_HOPELESS 1e-2
enum { QUICK = 3, QUITE_QUICK = 5, HOPELESS_FAILURES = 5 };
#define RHO_UP 10
#define RHO_UP_LITTLE 2
/* What ends inner steps: |g| over what it was; over the best judgement; and |g|, or the steps of sweeps,
 * that explode. */
#define REDUCTION 0.05
#define PART_OF_BEST 0.1
#define EXPLOSION 1e3
#define GROWTH 1.5 /* of steps, at which momentum is given up */
/* Sweeps after steps failed, over those before, lest the same happen again and again. */
enum { MORE_SWEEPS = 2, MOST_SWEEPS = 1 << 20 };
/* Line search. */
#define DESCENT 1e-4
#define SHORTEST_STEP 0.1

/* ---- set-up ---------------------------------------------------------------------------------- */

static const cs_newton_kind *kind_of(const cs_solver *solver)
{
    return kinds[(int)solver->setting[KIND]];
}

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
    if (strcmp(solver->options.bound, "current") != 0)
        return cs_fail(error, CS_UNSUPPORTED,
                       "bound='%s' is for methods that only sweep: method='newton' solves for the "
                       "normal impulse at hand",
                       solver->options.bound);
    return CS_OK;
}

/* R = rho, but one number for all rows of a cone. */
static void choose_factors(const cs_solver *solver, double *r)
{
    const cs_problem *problem = solver->problem;
    int shifted = kind_of(solver)->shifted;
    memcpy(r, solver->rho, sizeof(double) * (size_t)problem->rows);
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count && cs_slope_is_shifted(group, shifted); k++) {
            double *own = r + group->first_row + k * group->rows, least = own[0];
            for (int i = 1; i < group->rows; i++) least = fmin(least, own[i]);
            for (int i = 0; i < group->rows; i++) own[i] = least;
        }
    }
}

static cs_status prepare(cs_solver *solver, cs_budget *budget, cs_error *error)
{
    cs_status status = check_options(solver, error);
    if (status) return status;
    cs_arena *arena = &solver->arena;
    int64_t rows = solver->problem->rows;
    cs_newton *newton = solver->own;
    double **array[] = {&newton->r,      &newton->start,   &newton->xi,   &newton->trial,
                        &newton->g,      &newton->step,    &newton->best, &newton->impulses,
                        &newton->lambda, &newton->another, &newton->phi,  &newton->move};
    int arrays = (int)(sizeof array / sizeof *array) - (kind_of(solver)->impulses ? 0 : 4);
    newton->shift = cs_arena_take(arena, solver->problem->blocks, sizeof(double));
    int complete = newton->shift != NULL;
    for (int i = 0; i < arrays; i++) {
        *array[i] = cs_arena_take(arena, rows, sizeof(double));
        complete = complete && *array[i];
    }
    if (!complete) return cs_fail(error, CS_NO_MEMORY, "out of memory for Newton's method");
    choose_factors(solver, newton->r);
    return cs_newton_system_build(&newton->system, solver->problem, newton->r,
                                  solver->setting[FACTOR_BYTES], budget->pulse, arena, error);
}

/* ---- judging --------------------------------------------------------------------------------- */

static void keep_best(cs_newton_run *s)
{
    cs_run *run = &s->run;
    cs_solver *solver = run->solver;
    const cs_natural_map *map = cs_natural_map_of(&run->state);
    double here = solver->options.rtol > 0 ? map->scaled : map->impulse;
    if (s->best_number >= 0 && !(here < s->best)) return;
    s->best = here;
    s->best_impulse = map->impulse;
    s->best_number = run->number;
    memcpy(s->newton->best, solver->lambda, sizeof(double) * (size_t)solver->problem->rows);
}

static void put(cs_newton_run *s, const double *impulses)
{
    cs_solver *solver = s->run.solver;
    cs_put_impulses(&solver->packed, impulses);
}

/* Shows an iteration to the caller. Returns whether the solve goes on. */
static int show(cs_newton_run *s, cs_status *status, cs_error *error)
{
    cs_run *run = &s->run;
    const cs_solver *solver = run->solver;
    if (run->number > run->budget->made) *status = cs_run_poll(run, error);
    return !*status && !run->stopped && run->number < solver->options.max_iterations;
}

/* Ends an iteration: judges what is packed, in any case or where a check is due, keeps it if it is
 * the best, shows it. Returns whether the solve goes on. */
static int finish(cs_newton_run *s, int in_any_case, cs_status *status, cs_error *error)
{
    cs_run *run = &s->run;
    cs_solver *solver = run->solver;
    *status = cs_run_check(run, error);
    if (*status) return 0;
    if (!run->known && in_any_case) {
        double start = cs_clock();
        cs_run_evaluate(run);
        if (!solver->fixed_iterations)
            run->converged = run->converged || cs_stop_rule(solver, &run->state, run->number);
        run->seconds += cs_clock() - start;
    }
    if (run->known) {
        int64_t patience = (int64_t)solver->setting[PATIENCE];
        double scaled = cs_natural_map_of(&run->state)->scaled;
        keep_best(s);
        s->hopeless = cs_stagnation_test(&s->newton->watch, run->number, scaled, patience) &&
                      !solver->fixed_iterations;
    }
    int goes_on = show(s, status, error);
    return goes_on && !run->converged && !s->hopeless;
}

/* The change of the impulses, for measures of it. */
static void note_change(cs_newton_run *s, const double *before, const double *now)
{
    cs_state *state = &s->run.state;
    const cs_solver *solver = s->run.solver;
    state->residual = state->merit = 0;
    for (int64_t i = 0; i < solver->problem->rows; i++) {
        double change = fabs(now[i] - before[i]);
        state->residual = fmax(state->residual, change);
        state->merit += change * change;
    }
    if (solver->previous) cs_measure_change(state, before, now);
}

/* ---- sweeps to begin with -------------------------------------------------------------------- */

static void sweep(cs_newton_run *s)
{
    cs_run *run = &s->run;
    cs_solver *solver = run->solver;
    if (solver->previous) cs_get_impulses(&solver->packed, solver->previous);
    solver->packed.backwards = 0;
    cs_sweep(&solver->packed, &run->stats);
    run->state.residual = run->stats.residual;
    run->state.merit = run->stats.merit;
    if (!solver->previous) return;
    cs_get_impulses(&solver->packed, solver->lambda);
    cs_measure_change(&run->state, solver->previous, solver->lambda);
}

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

/* Returns whether the solve goes on. */
static int begin_with_sweeps(cs_newton_run *s, cs_status *status, cs_error *error)
{
    cs_run *run = &s->run;
    cs_solver *solver = run->solver;
    int64_t count = s->sweeps;
    double shortest = DBL_MAX;
    cs_momentum momentum = CS_NO_MOMENTUM;
    int goes_on = 1;
    put(s, s->newton->best);
    solver->scheme->refresh[solver->packed.dtype](&solver->packed);
    cs_point_copy(solver, cs_point_at(solver, 0), cs_point_here(solver));
    for (int64_t i = 0; i < count && goes_on; i++) {
        double start = cs_clock();
        run->number++;
        sweep(s);
        run->seconds += cs_clock() - start;
        if (!(run->stats.merit <= EXPLOSION * EXPLOSION * shortest)) {
            put(s, s->newton->best);
            return show(s, status, error);
        }
        shortest = fmin(shortest, run->stats.merit);
        goes_on = finish(s, i == count - 1, status, error);
        if ((int)solver->setting[START_WITH] != NESTEROV || i == count - 1) continue;
        start = cs_clock();
        if (goes_on) extrapolate(s, &momentum);
        if (!solver->packed.velocity)
            solver->scheme->refresh[solver->packed.dtype](&solver->packed);
        run->seconds += cs_clock() - start;
    }
    return goes_on;
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

/* Solves (1) for the rho at hand. Returns the number of steps it took; 0: it was not solved. */
static int proximal_step(cs_newton_run *s, int *goes_on, cs_status *status, cs_error *error)
{
    cs_newton *newton = s->newton;
    cs_run *run = &s->run;
    cs_solver *solver = run->solver;
    int most = (int)solver->setting[INNER] * s->kind->patience;
    double start = cs_clock(), here = s->kind->begin(s), first = here;
    for (int i = 1; i <= most && *goes_on; i++) {
        s->damping = solver->setting[LEVENBERG] * fmin(1, here / first);
        here = s->kind->step(s, here);
        if (run->aborted || run->stopped) {
            *status = run->aborted ? cs_fail(error, CS_INTERRUPTED, "interrupted while factoring")
                                   : CS_OK;
            *goes_on = 0;
            return 0;
        }
        run->number++;
        run->seconds += cs_clock() - start;
        if (!isfinite(here) || here > EXPLOSION * first) {
            *goes_on = show(s, status, error);
            return 0;
        }
        note_change(s, newton->start, newton->impulses);
        put(s, newton->impulses);
        *goes_on = finish(s, 1, status, error);
        start = cs_clock();
        int enough =
            here <= REDUCTION * first && s->kind->error(s) <= PART_OF_BEST * s->best_impulse;
        if (enough || here <= s->kind->noise(s)) return i;
    }
    return 0;
}

/* From lambda with rho; returns whether the solve goes on. */
static int advance(cs_newton_run *s, cs_status *status, cs_error *error)
{
    cs_newton *newton = s->newton;
    const cs_solver *solver = s->run.solver;
    double before = s->best;
    int goes_on = 1, steps = proximal_step(s, &goes_on, status, error);
    if (!goes_on) return 0;
    const cs_natural_map *map = cs_natural_map_of(&s->run.state);
    double here = solver->options.rtol > 0 ? map->scaled : map->impulse;
    if (steps && here <= solver->setting[RISE] * before) {
        memcpy(newton->start, newton->impulses, sizeof(double) * (size_t)solver->problem->rows);
        double up = steps <= QUICK ? RHO_UP : steps <= QUITE_QUICK ? RHO_UP_LITTLE : 1;
        s->rho = fmin(RHO_MOST, s->rho * up);
        return 1;
    }
    s->failures++;
    s->restarts++;
    s->rho = fmax(RHO_LEAST, s->rho / RHO_DOWN);
    return 1;
}

/* ---- all ------------------------------------------------------------------------------------- */

static cs_status iterate(cs_newton_run *s, cs_error *error)
{
    cs_solver *solver = s->run.solver;
    cs_status status = CS_OK;
    int goes_on = finish(s, 1, &status, error);
    s->sweeps = (int64_t)solver->setting[START];
    while (goes_on) {
        s->rho = solver->setting[RHO];
        s->failures = 0;
        goes_on = begin_with_sweeps(s, &status, error);
        s->sweeps = s->sweeps < MOST_SWEEPS ? MORE_SWEEPS * s->sweeps : s->sweeps;
        memcpy(s->newton->start, s->newton->best, sizeof(double) * (size_t)solver->problem->rows);
        while (goes_on && !(s->failures > HOPELESS_FAILURES && s->rho < RHO_HOPELESS))
            goes_on = advance(s, &status, error);
        s->hopeless |= goes_on && solver->setting[START] == 0;
        goes_on = goes_on && !s->hopeless;
    }
    return status;
}

static cs_status solve_by_newton(cs_solver *solver, cs_budget *budget, cs_result *result,
                                 cs_error *error)
{
    cs_newton_run s = {
        .run = cs_run_begin(solver, budget),
        .newton = solver->own,
        .kind = kind_of(solver),
        .linear = solver->setting[LINEAR],
        .best = INFINITY,
        .best_impulse = INFINITY,
        .best_number = -1,
    };
    for (int i = 0; i < 3; i++) result->band[i] = NAN;
    cs_stagnation_begin(&s.newton->watch);
    cs_pulse pulse = {.leaves_off = cs_run_leaves_off, .context = &s.run};
    s.newton->system.pulse = &pulse;
    cs_status status = iterate(&s, error);
    s.newton->system.pulse = NULL;
    result->outcome = s.run.converged ? CS_CONVERGED
                      : s.run.stopped ? CS_STOPPED
                                      : CS_MAX_ITERATIONS;
    if (!status && s.hopeless && !s.run.converged && !s.run.stopped)
        result->outcome = cs_stagnation_verdict(&s.newton->watch, result->band);
    int restores = !status && !s.run.converged;
    if (restores) cs_get_impulses(&solver->packed, solver->lambda);
    if (restores) cs_keep_for_rays(solver);
    if (restores) put(&s, s.newton->best);
    status = cs_run_end(&s.run, status, restores, result, error);
    if (restores) result->best_iteration = s.best_number;
    result->rollbacks = 0;
    result->restarts = s.restarts;
    return status;
}

static const cs_steps steps = {.points = cs_one_point};

const cs_method cs_method_newton = {
    .name = "newton",
    .summary = "proximal semi-smooth Newton with a sparse factor, begun by sweeps",
    .about =
        "A proximal point method whose steps grow while they succeed, each solved by Newton's "
        "method: a sparse Cholesky factor, in the space of the bodies or of the rows of a given "
        "A, and GMRES for what friction adds to it. Mass ratios hardly matter to it. An "
        "iteration is one of the sweeps that it begins with, or one Newton step; on grids and "
        "piles of equal bodies steps pay only near the solution: give it more sweeps. The "
        "factor's size bounds the problems that are taken. kind='coulomb' takes every set, also "
        "ellipses, polygons and support functions.",
    .paper = "Alart and Curnier 1991; Rockafellar 1976 (proximal point); De Saxcé and Feng 1998; "
             "Fischer 1992, Fukushima, Luo and Tseng 2002 (functions of cones); Saad and Schultz "
             "1986 (GMRES)",
    .needs = CS_BIT(CS_NEEDS_FLOAT64),
    .solves = CS_SOLVES_AS_SWEEPS | CS_BIT(CS_SOLVES_MASS_RATIO),
    .figures = CS_FIGURE_RESTARTS,
    .option = option,
    .options = OPTIONS,
    .stage = CS_SEQUENTIAL,
    .steps = &steps,
    .own = sizeof(cs_newton),
    .prepare = prepare,
    .solve = solve_by_newton,
};
