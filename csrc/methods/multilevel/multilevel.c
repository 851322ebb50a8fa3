/* Nesterov's momentum over sweeps, with corrections from a second level from time to time: substructuring over
 * aggregates of bodies (methods/multilevel/coarse.h).
 *
 *     x -> free rows -> [ x <- prox(x + delta), fewer free rows ] -> sweeps -> next correction, or undo -> ...
 *                         several rounds
 *
 * Free rows: those of sets that the prox step does not change, which are contacts that stick and normal
 * impulses of closed contacts. On free rows a correction solves (A + shift / rho) delta = -xi. The prox
 * projects the impulses that have left their sets. Their rows are no longer free, and the next round corrects
 * the rest.
 *
 * Trials: a correction may act on the wrong rows, and even a good one adds jumps that the next sweeps have to
 * smooth. So a trial consists of several corrections, with sweeps after each. It succeeds as soon as the
 * natural map has fallen by a factor. The shift falls after a success, and grows after each correction that
 * has not brought one. If the trial fails, x and its momentum are restored from before the trial.
 *
 * Work is measured in multiplications. As many sweeps precede the first correction as cost twice what it does.
 * After a failed trial there are as many sweeps as it has cost, after the next one twice as many, then four
 * times.
 *
 * Substructuring: Przemieniecki 1963. Shift: Levenberg 1944; Marquardt 1963. Momentum: Nesterov 1983 */
#include "core/error.h"
#include "solver/accelerate.h"
#include "solver/judge.h"
#include "methods/multilevel/coarse.h"

#include <math.h>
#include <string.h>

/* A trial succeeds when the natural map is below this fraction of its value at the start of the trial. */
#define GAIN 0.7
/* A relative change of an impulse by the prox up to this size counts as none. */
#define UNCHANGED 1e-12
/* The range of the shift, and its factors after a failure and after a success. */
#define LEAST_SHIFT 1e-6
#define LARGEST_SHIFT 0.1
#define RISE 10
#define FALL 0.01
enum {
    VISIT = 30,        /* multiplications of a visit beside those with its Jacobian */
    MOST_SWEEPS = 500, /* maximum cost of the factors, in sweeps */
    FIRST = 2,         /* sweeps before the first correction, over its cost in sweeps */
    SHARE = 4,         /* cost of a correction in sweeps, over the sweeps after it */
    LONGEST_PAUSE = 4, /* maximum of the sweeps after a failed trial, over its cost in sweeps */
};

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

enum { RESTARTS, CORRECTIONS_TRIED, CORRECTIONS_KEPT, FIGURES };

static const cs_figure figure[FIGURES] = {
    [RESTARTS] = CS_RESTARTS_FIGURE,
    [CORRECTIONS_TRIED] = {.name = "tried",
                           .summary = "corrections made",
                           .group = "corrections",
                           .kind = CS_COUNT},
    [CORRECTIONS_KEPT] = {.name = "kept",
                          .summary = "corrections that were not undone",
                          .group = "corrections",
                          .kind = CS_COUNT},
};

/* The state of the method: solver->own. */
typedef struct cs_multilevel {
    cs_coarse *coarse;    /* NULL: its factors would take too long, and there are no corrections */
    double sweep;         /* multiplications of one sweep */
    double *impulses;     /* (rows): x, in the user's order */
    double *xi;           /* (rows): A x + b */
    double *z;            /* (rows): argument of the prox */
    double *image;        /* (rows): prox(z) */
    signed char *is_free; /* (rows) */
} cs_multilevel;

/* Scalars of a solve. A trial restores the numbers that are "at its start" when it fails. */
typedef struct multilevel_scalars {
    cs_momentum momentum;
    cs_momentum kept;   /* momentum at the start of the trial */
    double kept_change; /* steps->change at its start */
    double map;         /* natural map at its start */
    int64_t wait;       /* steps until the next correction */
    int64_t pause;      /* sweeps after a failed trial, over its cost in sweeps */
    int64_t failed;     /* corrections of the trial that have not brought success */
    int64_t began;      /* iteration at the start of the trial */
    double spent;       /* multiplications of the second level at its start */
    double corrections; /* corrections kept at its start */
    double shift;       /* of the diagonal of A, over 1 / rho */
    int on_trial;       /* whether there is a trial */
} multilevel_scalars;

/* Points: x of the last step; x, and x of the step before it, when the trial began. */
enum { BEFORE, KEPT, KEPT_BEFORE, POINTS };

/* The state of the method. */
static cs_multilevel *level_of(const cs_solver *solver) { return solver->own; }

/* ---- workspace ------------------------------------------------------------------------------- */

/* The `prepare` of the method: workspace of corrections, and the second level. */
static cs_status prepare(cs_solver *solver, cs_budget *budget, cs_error *error)
{
    const cs_problem *problem = solver->problem;
    cs_arena *arena = &solver->arena;
    cs_multilevel *m = solver->own;
    (void)budget;

    /* The workspace. */
    double **array[] = {&m->impulses, &m->xi, &m->z, &m->image};
    m->is_free = cs_arena_take(arena, problem->rows, 1);
    for (int i = 0; i < 4; i++) *array[i] = cs_arena_take(arena, problem->rows, sizeof(double));
    if (cs_arena_failed(arena)) return cs_no_memory(error, "corrections");

    /* The multiplications of a sweep, which limit those of factors. */
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        m->sweep += (double)group->count * (2 * (double)cs_jacobian_size(group) + VISIT);
    }
    double size = solver->setting[SIZE];
    return cs_coarse_take(problem, isnan(size) ? 0 : (int64_t)size, MOST_SWEEPS * m->sweep, arena,
                          &m->coarse, error);
}

/* The number of sweeps that cost as many multiplications. */
static int64_t in_sweeps(const cs_solver *solver, double work)
{
    double sweep = level_of(solver)->sweep;
    return sweep > 0 ? (int64_t)(work / sweep) : 0;
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* Resets the momentum, so that the next sweep starts from x. */
static void forget_momentum(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    ((multilevel_scalars *)steps->scalars)->momentum = CS_NO_MOMENTUM;
    cs_point_copy(solver, cs_point_at(solver, BEFORE), cs_point_here(solver));
}

/* At the beginning, and after a rollback. A trial under way is over, and its corrections do not count. */
static void begin(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    multilevel_scalars *own = steps->scalars;
    forget_momentum(steps);

    /* No trial, no shift. */
    if (own->on_trial) solver->figure_value[CORRECTIONS_KEPT] = own->corrections;
    own->on_trial = 0;
    own->pause = 1;
    own->shift = 0;
    if (!level_of(solver)->coarse) return;

    /* All factors are new ones. Sweeps come before the first correction. */
    cs_coarse_forget(level_of(solver)->coarse);
    own->wait = larger((int64_t)solver->setting[EVERY],
                       FIRST * in_sweeps(solver, cs_coarse_work(level_of(solver)->coarse)));
}

/* ---- corrections ----------------------------------------------------------------------------- */

/* m->image <- prox(m->z). Rows of sets that the prox changes are no longer free, nor are those of sets whose
 * bound depends on a normal impulse that it changes. */
static void project_and_hold(cs_solver *solver)
{
    cs_multilevel *m = solver->own;
    const cs_problem *problem = solver->problem;
    memcpy(m->image, m->z, sizeof(double) * (size_t)problem->rows);
    cs_project(solver, m->image);

    /* Find the rows that are no longer free. */
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++) {
            int64_t row = cs_group_row(group, k);
            int changed[CS_MAX_ROWS] = {0};

            /* The coupled sets that the prox has changed. Sets that no impulse moves count as changed. */
            for (int i = 0; i < group->rows; i++) {
                double change = fabs(m->image[row + i] - m->z[row + i]);
                changed[group->coupled_set[i]] |=
                    change > UNCHANGED * fabs(m->z[row + i]) || !(solver->factors.rho[row + i] > 0);
            }

            /* Their rows are not free, nor are the friction rows of a contact if set 0, its normal, has
             * changed. */
            for (int i = 0; i < group->rows; i++)
                if (changed[group->coupled_set[i]] || (group->set->contact && changed[0]))
                    m->is_free[row + i] = 0;
        }
    }
}

/* Returns the natural map at x, and finds the free rows there: m->impulses, m->xi, m->is_free. */
static double evaluate_map(cs_solver *solver)
{
    cs_multilevel *m = solver->own;
    int64_t rows = solver->problem->rows;
    double norm = 0;
    cs_packing_get(&solver->packing, m->impulses);
    cs_residual_at(solver, m->impulses, solver->b, m->xi);

    /* z = x - rho xi, and the rows that its projection leaves free. */
    for (int64_t i = 0; i < rows; i++) {
        m->z[i] = m->impulses[i] - solver->factors.rho[i] * m->xi[i];
        m->is_free[i] = 1;
    }
    project_and_hold(solver);

    /* The natural map |prox(z) - x|. */
    for (int64_t i = 0; i < rows; i++) norm = fmax(norm, fabs(m->image[i] - m->impulses[i]));
    return norm;
}

/* Whether there is a free row. */
static int has_free_rows(const cs_solver *solver)
{
    const signed char *is_free = level_of(solver)->is_free;
    return memchr(is_free, 1, (size_t)solver->problem->rows) != NULL;
}

/* Estimated multiplications of a round for each row: products, changed patterns, a solve. */
enum { ROUND_WORK = 500 };

/* One round: m->impulses <- prox(m->impulses + delta), and fewer free rows. Returns non-zero if cancelled. */
static int correct_once(cs_solver *solver, double shift, cs_cancellation *cancellation)
{
    cs_multilevel *m = solver->own;
    int64_t rows = solver->problem->rows;
    if (cs_is_cancelled(cancellation, ROUND_WORK * (double)rows)) return -1;
    if (cs_coarse_factor(m->coarse, m->is_free, solver->factors.rho, shift, cancellation))
        return -1;
    cs_coarse_correct(m->coarse, m->xi, m->z);
    for (int64_t i = 0; i < rows; i++) m->z[i] += m->impulses[i];
    project_and_hold(solver);
    memcpy(m->impulses, m->image, sizeof(double) * (size_t)rows);
    return 0;
}

/* Whether all numbers of x (count) are finite. */
static int is_finite(const double *x, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += fabs(x[i]);
    return isfinite(sum);
}

/* Corrects x in several rounds, unless the result is not finite, and resets the momentum. */
static void correct(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    cs_multilevel *m = solver->own;
    multilevel_scalars *own = steps->scalars;
    cs_cancellation cancellation = {.is_cancelled = cs_run_is_cancelled, .context = &steps->run};
    double spent = cs_coarse_spent(m->coarse);

    /* The rounds, until no row is free. */
    solver->figure_value[CORRECTIONS_TRIED]++;
    for (int64_t round = 0; round < (int64_t)solver->setting[ROUNDS]; round++) {
        if (!has_free_rows(solver)) break;
        if (round) cs_residual_at(solver, m->impulses, solver->b, m->xi);
        if (correct_once(solver, own->shift, &cancellation)) break;
    }

    /* A cancelled factor ends the solve if the caller asked for that. */
    if (steps->run.aborted)
        steps->run.status =
            cs_fail(steps->run.error, CS_INTERRUPTED, "interrupted while factoring");

    /* Keep the corrected impulses. */
    if (is_finite(m->impulses, solver->problem->rows)) {
        solver->figure_value[CORRECTIONS_KEPT]++;
        cs_packing_put(&solver->packing, m->impulses);
        cs_packing_refresh(&solver->packing);
    }
    forget_momentum(steps);

    /* The jumps of a correction do not count as divergence. Sweeps follow. */
    steps->least = INFINITY;
    steps->risen = 0;
    own->wait = larger((int64_t)solver->setting[EVERY],
                       in_sweeps(solver, cs_coarse_spent(m->coarse) - spent) / SHARE);
}

/* ---- trials ---------------------------------------------------------------------------------- */

/* Begins a trial at x, whose natural map is `map`: keeps everything that `undo` restores. */
static void begin_trial(cs_steps_run *steps, double map)
{
    cs_solver *solver = steps->run.solver;
    multilevel_scalars *own = steps->scalars;
    cs_point_copy(solver, cs_point_at(solver, KEPT), cs_point_here(solver));
    cs_point_copy(solver, cs_point_at(solver, KEPT_BEFORE), cs_point_at(solver, BEFORE));
    own->kept = own->momentum;
    own->kept_change = steps->change;
    own->map = map;
    own->failed = 0;
    own->on_trial = 1;
    own->began = steps->run.number;
    own->corrections = solver->figure_value[CORRECTIONS_KEPT];
    own->spent = cs_coarse_spent(level_of(solver)->coarse);
}

/* Ends a trial that has failed: restores the iterate and the momentum at its start, and sets the number of
 * sweeps before the next trial. */
static void undo(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    multilevel_scalars *own = steps->scalars;
    cs_point_copy(solver, cs_point_here(solver), cs_point_at(solver, KEPT));
    cs_point_copy(solver, cs_point_at(solver, BEFORE), cs_point_at(solver, KEPT_BEFORE));
    own->momentum = own->kept;
    steps->change = own->kept_change;
    solver->figure_value[CORRECTIONS_KEPT] = own->corrections;
    solver->figure_value[RESTARTS]++;
    own->on_trial = 0;

    /* The sweeps: a multiple of the cost of the trial, its own sweeps and corrections. */
    int64_t cost = steps->run.number - own->began +
                   in_sweeps(solver, cs_coarse_spent(level_of(solver)->coarse) - own->spent);
    own->wait = own->pause * cost;
    if (own->pause < LONGEST_PAUSE) own->pause *= 2;
}

/* The next shift, by Levenberg and Marquardt's rule. After a failure with the largest shift it starts again
 * from 0. */
static double next_shift(double shift, int succeeded)
{
    if (succeeded) return shift * FALL < LEAST_SHIFT ? 0 : shift * FALL;
    if (shift == 0) return LEAST_SHIFT;
    return shift * RISE > LARGEST_SHIFT ? 0 : shift * RISE;
}

/* Corrects x if a correction is due, and begins, continues or ends a trial. Returns whether x has been
 * corrected: such a step has no momentum. */
static int second_level(cs_steps_run *steps)
{
    multilevel_scalars *own = steps->scalars;
    cs_solver *solver = steps->run.solver;
    if (!level_of(solver)->coarse || --own->wait > 0) return 0;

    /* Has the trial succeeded? */
    double map = evaluate_map(solver);
    int succeeded = own->on_trial && map < GAIN * own->map;
    if (succeeded) own->pause = 1;
    if (own->on_trial) own->shift = next_shift(own->shift, succeeded);

    /* A new trial begins here, or the present one goes on until it has failed. */
    if (succeeded || !own->on_trial) {
        begin_trial(steps, map);
    } else if (++own->failed == (int64_t)solver->setting[TRIALS]) {
        undo(steps);
        return 0;
    }
    correct(steps);
    return 1;
}

/* A correction or, if none is due, Nesterov's momentum with restarts. */
static void extrapolate(cs_steps_run *steps)
{
    multilevel_scalars *own = steps->scalars;
    cs_solver *solver = steps->run.solver;
    if (second_level(steps)) return;

    double beta = cs_momentum_next(&own->momentum, sqrt(steps->change), solver->setting[RESTART],
                                   CS_CONTRACTION);
    if (isnan(beta)) {
        solver->figure_value[RESTARTS]++;
        forget_momentum(steps);
        return;
    }
    cs_point_extrapolate(solver, cs_point_here(solver), beta, cs_point_at(solver, BEFORE));
}

static int points(const cs_solver *solver) { return (void)solver, POINTS; }

static const cs_steps steps = {.points = points,
                               .scalars = sizeof(multilevel_scalars),
                               .begin = begin,
                               .extrapolate = extrapolate};

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
    .figure = figure,
    .figures = FIGURES,
    .option = option,
    .options = OPTIONS,
    .over = CS_OVER + 1,
    .steps = &steps,
    .solve = cs_accelerate,
    .own = sizeof(cs_multilevel),
    .prepare = prepare,
};
