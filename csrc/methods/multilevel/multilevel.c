/* Nesterov's momentum over sweeps, corrected now and then by a second level: substructuring over
 * aggregates of bodies (methods/multilevel/coarse.h).
 *
 *     x -> loose rows -> x' = prox(x + delta) -> what that moved is held, again -> sweeps -> judged -> ...
 *
 * A row is loose where the prox step of its set leaves it as it is: contacts that stick, normal
 * impulses that press. On these a correction solves (A + shift / rho) delta = -xi; what it takes out of
 * its set is put back and held, and the rest is corrected again, some rounds.
 *
 * A correction may be one of the wrong rows, and the best of them add jumps that the next sweeps have
 * to smooth. So several in a row are on trial, some sweeps after each, until the natural map has
 * fallen by a factor. The shift grows where it has not, and falls where it has. If it never does, the
 * iteration goes on as if the trial had not been, with x and its momentum of before. Work is shared:
 * as many sweeps come first as would take twice a correction's time, and after a trial that failed as
 * many as took its time, then up to four times that.
 *
 * Substructuring: Przemieniecki 1963. Shift: Levenberg 1944; Marquardt 1963. Momentum: Nesterov 1983 */
#include "core/error.h"
#include "solver/accelerate.h"
#include "methods/multilevel/coarse.h"

#include <math.h>
#include <string.h>

/* A trial has succeeded where the natural map is below so much of what it was. */
#define GAIN 0.7
/* A prox that changes less than this part leaves as it is. */
#define UNCHANGED 1e-12
#define LEAST_SHIFT 1e-6
#define LARGEST_SHIFT 0.1
#define RISE 10
#define FALL 0.01
/* Multiplications of a visit beside those with its Jacobian; sweeps' worth that factors may take. */
enum { VISIT = 30, MOST_SWEEPS = 500 };
/* Sweeps before the first correction, and after each, over what takes its time; those after trials that
 * failed, at most. */
enum { FIRST = 2, SHARE = 4, LONGEST_PAUSE = 4 };

enum { SIZE = CS_OWN_OPTIONS, EVERY, ROUNDS, TRIALS, RESTART, OPTIONS };

static const cs_method_option option[OPTIONS] = {
    CS_PATIENCE_OPTION,
    CS_OVER_OPTION(0),
    [SIZE] = {.name = "size",
              .summary = "maximum bodies per aggregate; None: the size among 2, 4, ... 32 with the "
                         "least estimated work",
              .kind = CS_COUNT,
              .optional = 1,
              .least = 1,
              .most = 2e9},
    [EVERY] = CS_COUNT_OPTION(
        "every", 8, 1,
        "steps between two corrections; more if a correction takes as long as many steps"),
    [ROUNDS] = CS_COUNT_OPTION("rounds", 4, 1,
                               "solves per correction; each excludes the impulses that the one "
                               "before moved out of their sets"),
    [TRIALS] = CS_COUNT_OPTION("trials", 12, 1,
                               "corrections within which the natural map must fall to 0.7 of its "
                               "value; otherwise they are undone"),
    [RESTART] = CS_NUMBER_OPTION("restart", 1.5, 1, HUGE_VAL,
                                 "restart threshold: the momentum is reset when a step is longer "
                                 "than the shortest one since the last restart by this factor"),
};

typedef struct cs_multilevel {
    cs_coarse *coarse; /* NULL: it would take too long */
    double sweep;      /* multiplications of one */
    double *impulses, *xi, *z, *image;
    signed char *loose;
} cs_multilevel;

typedef struct multilevel {
    cs_momentum momentum, kept;
    double kept_change, map; /* when the trial began */
    int64_t wait, pause, failed;
    int64_t began;       /* the iteration in which the trial did */
    double spent;        /* multiplications by then */
    int64_t corrections; /* and those kept */
    double shift;        /* of A's diagonal, where corrections failed */
    int on_trial;
} multilevel;

enum { BEFORE, KEPT, KEPT_BEFORE, POINTS };

static cs_multilevel *level_of(const cs_solver *solver) { return solver->own; }

/* ---- room ------------------------------------------------------------------------------------ */

static cs_status prepare(cs_solver *solver, cs_budget *budget, cs_error *error)
{
    const cs_problem *problem = solver->problem;
    cs_arena *arena = &solver->arena;
    cs_multilevel *m = solver->own;
    (void)budget;
    double **array[] = {&m->impulses, &m->xi, &m->z, &m->image};
    m->loose = cs_arena_take(arena, problem->rows, 1);
    for (int i = 0; i < 4; i++) *array[i] = cs_arena_take(arena, problem->rows, sizeof(double));
    if (cs_arena_failed(arena)) return cs_no_memory(error, "corrections");
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        m->sweep += (double)group->count * (2 * (double)cs_jacobian_size(group) + VISIT);
    }
    double size = solver->setting[SIZE];
    return cs_coarse_take(problem, isnan(size) ? 0 : (int64_t)size, MOST_SWEEPS * m->sweep, arena,
                          &m->coarse, error);
}

static int64_t in_sweeps(const cs_solver *solver, double work)
{
    double sweep = level_of(solver)->sweep;
    return sweep > 0 ? (int64_t)(work / sweep) : 0;
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static void forget_momentum(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    ((multilevel *)steps->scalars)->momentum = CS_NO_MOMENTUM;
    cs_point_copy(solver, cs_point_at(solver, BEFORE), cs_point_here(solver));
}

static void begin(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    multilevel *own = steps->scalars;
    forget_momentum(steps);
    if (own->on_trial) steps->corrections.kept = own->corrections;
    own->on_trial = 0;
    own->pause = 1;
    own->shift = 0;
    if (!level_of(solver)->coarse) return;
    cs_coarse_forget(level_of(solver)->coarse);
    own->wait = larger((int64_t)solver->setting[EVERY],
                       FIRST * in_sweeps(solver, cs_coarse_work(level_of(solver)->coarse)));
}

/* ---- corrections ----------------------------------------------------------------------------- */

/* image <- prox(z). Rows of sets that it changes are no longer loose, nor are those of sets whose
 * bound is a normal impulse that it changes. */
static void hold(cs_solver *solver)
{
    cs_multilevel *m = solver->own;
    const cs_problem *problem = solver->problem;
    memcpy(m->image, m->z, sizeof(double) * (size_t)problem->rows);
    cs_project(solver, m->image);
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++) {
            int64_t row = cs_group_row(group, k);
            int changed[CS_MAX_ROWS] = {0};
            for (int i = 0; i < group->rows; i++) {
                double change = fabs(m->image[row + i] - m->z[row + i]);
                changed[group->coupled_set[i]] |=
                    change > UNCHANGED * fabs(m->z[row + i]) || !(solver->factors.rho[row + i] > 0);
            }
            for (int i = 0; i < group->rows; i++)
                if (changed[group->coupled_set[i]] || (group->set->contact && changed[0]))
                    m->loose[row + i] = 0;
        }
    }
}

/* The natural map at x, and what is loose there. */
static double look(cs_solver *solver)
{
    cs_multilevel *m = solver->own;
    int64_t rows = solver->problem->rows;
    double norm = 0;
    cs_packing_get(&solver->packing, m->impulses);
    cs_residual_velocity(solver->problem, m->impulses, solver->b, solver->velocity, m->xi);
    for (int64_t i = 0; i < rows; i++) {
        m->z[i] = m->impulses[i] - solver->factors.rho[i] * m->xi[i];
        m->loose[i] = 1;
    }
    hold(solver);
    for (int64_t i = 0; i < rows; i++) norm = fmax(norm, fabs(m->image[i] - m->impulses[i]));
    return norm;
}

static int is_loose(const cs_solver *solver)
{
    const signed char *loose = level_of(solver)->loose;
    return memchr(loose, 1, (size_t)solver->problem->rows) != NULL;
}

/* Multiplications of a round for each row, about: products, patterns looked for, a solve. */
enum { ROUND_WORK = 500 };

/* One round, from the impulses and what is loose there. Non-zero: it was left off. */
static int correct_once(cs_solver *solver, double shift, cs_cancellation *cancellation)
{
    cs_multilevel *m = solver->own;
    int64_t rows = solver->problem->rows;
    if (cs_is_cancelled(cancellation, ROUND_WORK * (double)rows)) return -1;
    if (cs_coarse_factor(m->coarse, m->loose, solver->factors.rho, shift, cancellation)) return -1;
    cs_coarse_correct(m->coarse, m->xi, m->z);
    for (int64_t i = 0; i < rows; i++) m->z[i] += m->impulses[i];
    hold(solver);
    memcpy(m->impulses, m->image, sizeof(double) * (size_t)rows);
    return 0;
}

static int is_finite(const double *x, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += fabs(x[i]);
    return isfinite(sum);
}

/* x <- x corrected, unless that is not finite; momentum begins anew there. */
static void correct(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    cs_multilevel *m = solver->own;
    multilevel *own = steps->scalars;
    cs_cancellation cancellation = {.is_cancelled = cs_run_is_cancelled, .context = &steps->run};
    double spent = cs_coarse_spent(m->coarse);
    steps->corrections.tried++;
    for (int64_t round = 0; round < (int64_t)solver->setting[ROUNDS]; round++) {
        if (!is_loose(solver)) break;
        if (round)
            cs_residual_velocity(solver->problem, m->impulses, solver->b, solver->velocity, m->xi);
        if (correct_once(solver, own->shift, &cancellation)) break;
    }
    if (steps->run.aborted)
        steps->run.status =
            cs_fail(steps->run.error, CS_INTERRUPTED, "interrupted while factoring");
    if (is_finite(m->impulses, solver->problem->rows)) {
        steps->corrections.kept++;
        cs_packing_put(&solver->packing, m->impulses);
        cs_packing_refresh(&solver->packing);
    }
    forget_momentum(steps);
    /* Its jumps are no divergence. */
    steps->least = INFINITY;
    steps->risen = 0;
    own->wait = larger((int64_t)solver->setting[EVERY],
                       in_sweeps(solver, cs_coarse_spent(m->coarse) - spent) / SHARE);
}

/* ---- trials ---------------------------------------------------------------------------------- */

static void begin_trial(cs_steps_run *steps, double map)
{
    cs_solver *solver = steps->run.solver;
    multilevel *own = steps->scalars;
    cs_point_copy(solver, cs_point_at(solver, KEPT), cs_point_here(solver));
    cs_point_copy(solver, cs_point_at(solver, KEPT_BEFORE), cs_point_at(solver, BEFORE));
    own->kept = own->momentum;
    own->kept_change = steps->change;
    own->map = map;
    own->failed = 0;
    own->on_trial = 1;
    own->began = steps->run.number;
    own->corrections = steps->corrections.kept;
    own->spent = cs_coarse_spent(level_of(solver)->coarse);
}

/* Back to where the trial began; then sweeps for a while. */
static void undo(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    multilevel *own = steps->scalars;
    cs_point_copy(solver, cs_point_here(solver), cs_point_at(solver, KEPT));
    cs_point_copy(solver, cs_point_at(solver, BEFORE), cs_point_at(solver, KEPT_BEFORE));
    own->momentum = own->kept;
    steps->change = own->kept_change;
    steps->corrections.kept = own->corrections;
    steps->restarts++;
    own->on_trial = 0;
    int64_t worth = steps->run.number - own->began +
                    in_sweeps(solver, cs_coarse_spent(level_of(solver)->coarse) - own->spent);
    own->wait = own->pause * worth;
    if (own->pause < LONGEST_PAUSE) own->pause *= 2;
}

/* Levenberg and Marquardt's rule. Where even the largest shift was none, there is none again. */
static double next_shift(double shift, int succeeded)
{
    if (succeeded) return shift * FALL < LEAST_SHIFT ? 0 : shift * FALL;
    if (shift == 0) return LEAST_SHIFT;
    return shift * RISE > LARGEST_SHIFT ? 0 : shift * RISE;
}

/* Returns whether x has been corrected: then no momentum is due. */
static int second_level(cs_steps_run *steps)
{
    multilevel *own = steps->scalars;
    cs_solver *solver = steps->run.solver;
    if (!level_of(solver)->coarse || --own->wait > 0) return 0;
    double map = look(solver);
    int succeeded = own->on_trial && map < GAIN * own->map;
    if (succeeded) own->pause = 1;
    if (own->on_trial) own->shift = next_shift(own->shift, succeeded);
    if (succeeded || !own->on_trial) {
        begin_trial(steps, map);
    } else if (++own->failed == (int64_t)solver->setting[TRIALS]) {
        undo(steps);
        return 0;
    }
    correct(steps);
    return 1;
}

static void extrapolate(cs_steps_run *steps)
{
    multilevel *own = steps->scalars;
    cs_solver *solver = steps->run.solver;
    if (second_level(steps)) return;
    double beta = cs_momentum_next(&own->momentum, sqrt(steps->change), solver->setting[RESTART],
                                   CS_CONTRACTION);
    if (isnan(beta)) {
        steps->restarts++;
        forget_momentum(steps);
        return;
    }
    cs_point_extrapolate(solver, cs_point_here(solver), beta, cs_point_at(solver, BEFORE));
}

static int points(const cs_solver *solver) { return (void)solver, POINTS; }

static const cs_steps steps = {
    .points = points, .scalars = sizeof(multilevel), .begin = begin, .extrapolate = extrapolate};

const cs_method cs_method_multilevel = {
    .name = "multilevel",
    .experimental = 1,
    .summary = "sweeps with growing momentum, corrected on a second level of aggregated bodies",
    .about =
        "Bodies are grouped into aggregates (substructuring). A correction changes the impulses "
        "between two aggregates by the patterns of one wrench, and the impulses inside an "
        "aggregate follow in equilibrium. It acts on sticking contacts and on the normal impulses "
        "of closed ones, and carries forces across a whole stack or chain. The method is for high "
        "stacks and heavy bodies on light ones; on chains, grids and piles in space it is no "
        "faster than `nesterov`, and it may fail if many contacts slide.",
    .paper = "Przemieniecki 1963 (substructures); Levenberg 1944 and Marquardt 1963; Nesterov 1983",
    .needs = CS_BIT(CS_NEEDS_JACOBIAN),
    .solves = CS_SOLVES_AS_SWEEPS & ~CS_BIT(CS_SOLVES_UNSYMMETRIC),
    .figures = CS_FIGURE_RESTARTS | CS_FIGURE_CORRECTIONS,
    .option = option,
    .options = OPTIONS,
    .over = CS_OVER + 1,
    .steps = &steps,
    .solve = cs_accelerate,
    .own = sizeof(cs_multilevel),
    .prepare = prepare,
};
