/* The alternating direction method of multipliers on lambda = x = z, P = p D, D = max diag(A_kk):
 *
 *     (A + (1 + eta) P)(x+ - z) = -(y + A z + b + s) + eta P (x - z)
 *     h = alpha x+ + (1 - alpha) z,   z+ = proj_C(h + y / P),   y+ = y + P (h - z+)
 *
 * At a fixed point y = -(xi + s) and z = proj_C(z - (xi + s) / P): the natural map, whatever P is. Only
 * A's symmetric part is factored; A z is that of A as it was given.
 *
 *     friction="de_saxce"   discs are second-order cones, s = mu |y_t| on the normal row: both together
 *                           are Coulomb's law, since y_t = -xi_t at the end. With xi_t(z) in place of the
 *                           multiplier the iteration cycles
 *     friction="bounds"     s = 0, and C is Coulomb's with the bound of the normal impulse just found
 *
 * eta = 0: Boyd and others 2011, section 3.1, 3.4.3; eta > 0, penalty "spectral", and contact: Carpentier,
 * Le Lidec and Montaut 2024; s: De Saxce and Feng 1998. */
#include "core/error.h"
#include "problem/friction.h"
#include "prox/prox.h"
#include "solver/accelerate.h"
#include "system/shifted.h"

#include <math.h>
#include <string.h>

/* p changes when one residual is this many times the other, at most once in CHANGE_EVERY steps, and stays
 * within bounds. */
#define UNBALANCED 5
#define LEAST_PENALTY 1e-6
#define MOST_PENALTY 1e6
enum { CHANGE_EVERY = 20 };
/* Rule 'spectral': the least lambda_min, relative to lambda_max; the power of lambda_max / lambda_min in p;
 * and by how much that power changes. */
#define SINGULAR 1e-6
#define POWER 0.4
#define POWER_STEP 0.05

static const char *const rules[] = {"balancing", "spectral", "fixed", NULL};
enum { BALANCING, SPECTRAL, FIXED };
static const char *const frictions[] = {"de_saxce", "bounds", NULL};
enum { DE_SAXCE, BOUNDS };
static const char *const spaces[] = {"auto", "constraints", "bodies", NULL};

enum { PENALTY = CS_PATIENCE + 1, RULE, CHANGES, OVER, PROXIMAL, FRICTION, SPACE, OPTIONS };

static const cs_method_option option[OPTIONS] = {
    CS_PATIENCE_OPTION,
    [PENALTY] = {.name = "penalty",
                 .summary = "initial penalty, relative to the largest diagonal entry of each block "
                            "of A; rule='spectral' multiplies it",
                 .kind = CS_NUMBER,
                 .usual = 0.1,
                 .least = 0,
                 .most = MOST_PENALTY,
                 .above = 1},
    [RULE] = CS_WORD_OPTION("rule", rules, "rule by which the penalty follows the residuals"),
    [CHANGES] = CS_COUNT_OPTION("changes", 20, 0,
                                "maximum changes of the penalty; each needs a new factor"),
    [OVER] = {.name = "over_relaxation",
              .summary = "relaxation of the direct step; above 1: over-relaxation",
              .kind = CS_NUMBER,
              .usual = 1.6,
              .least = 0,
              .most = 1.99,
              .above = 1},
    [PROXIMAL] = CS_NUMBER_OPTION(
        "proximal", 0, 0, 1e6,
        "weight that keeps the direct step near the previous one, relative to the penalty"),
    [FRICTION] = CS_WORD_OPTION("friction", frictions, "how Coulomb's law is imposed on discs"),
    [SPACE] = CS_WORD_OPTION("space", spaces, "unknowns of the factor; auto: whichever are fewer"),
};

typedef struct admm {
    double penalty, ratio; /* p; lambda_max / lambda_min of D^-1/2 A D^-1/2 */
    int64_t changed;       /* the step after which it was, */
    int changes;           /* how often */
} admm;

/* Its state. */
typedef struct state {
    cs_shifted *shifted; /* solves with A + P */
} state;

static cs_shifted *factor_of(const cs_solver *solver)
{
    return ((const state *)solver->own)->shifted;
}

/* y, x, xi + s at z and then the step, z before; D and P, and P of the factor at hand. */
enum { Y, X, STEP, BEFORE, D, P, FACTORED, POINTS };

static int points(const cs_solver *solver) { return (void)solver, POINTS; }

static double *numbers(const cs_steps_run *steps, int i)
{
    return cs_point_at(steps->run.solver, i).impulses;
}

static int is_cone(const cs_solver *solver, const cs_block_group *group)
{
    return solver->setting[FRICTION] == DE_SAXCE && cs_has_discs(group);
}

/* xi <- A z + b + s, with s = mu |y_t| on normal rows; with `y` NULL, at the beginning, s = mu |xi_t|. */
static void evaluate(cs_solver *solver, const double *z, const double *y, double *xi)
{
    const cs_problem *problem = solver->problem;
    cs_residual_velocity(problem, z, solver->b, solver->velocity, xi);
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        if (!is_cone(solver, group)) continue;
        const double *mu = solver->parameters + group->first_parameter;
        for (int64_t k = 0; k < group->count; k++) {
            int64_t row = cs_group_row(group, k);
            xi[row] += cs_de_saxce_shift(group->rows, mu[k], (y ? y : xi) + row);
        }
    }
}

/* z <- proj_C(z), the set C of discs being the cone if friction="de_saxce" */
static void project(const cs_solver *solver, double *z)
{
    const cs_problem *problem = solver->problem;
    const cs_set *cone = cs_set_find("second_order_cone");
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        const cs_set *set = is_cone(solver, group) ? cone : group->set;
        const double *parameter = solver->parameters + group->first_parameter;
        for (int64_t k = 0; k < group->count; k++)
            set->prox_f64(group->rows, z + cs_group_row(group, k),
                          parameter + k * group->parameters, NULL);
    }
}

/* D: one number for each block, 1 where no impulse moves anything. */
static void find_scales(const cs_solver *solver, double *d)
{
    const cs_problem *problem = solver->problem;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++) {
            int64_t row = cs_group_row(group, k);
            double largest = cs_largest_diagonal(group->rows, solver->factors.rho + row);
            for (int i = 0; i < group->rows; i++) d[row + i] = largest;
        }
    }
}

/* ---- the penalty ----------------------------------------------------------------------------- */

typedef struct scaled {
    cs_symmetric_part part;
    const double *d;
    double *x, *y;
} scaled;

/* y <- D^-1/2 A D^-1/2 x */
static void multiply(void *context, const double *x, double *y)
{
    scaled *s = context;
    int64_t rows = s->part.problem->rows;
    for (int64_t i = 0; i < rows; i++) s->x[i] = x[i] / sqrt(s->d[i]);
    cs_multiply_symmetric(&s->part, s->x, s->y);
    for (int64_t i = 0; i < rows; i++) y[i] = s->y[i] / sqrt(s->d[i]);
}

/* solver->factors.spectrum <- the extreme eigenvalues of D^-1/2 A D^-1/2 */
static cs_status find_spectral(cs_solver *solver, const double *d, cs_error *error)
{
    cs_arena scratch = {0};
    int64_t rows = solver->problem->rows;
    scaled s = {
        .part = {.problem = solver->problem,
                 .zero = solver->points->zero,
                 .velocity = solver->velocity},
        .d = d,
        .x = cs_arena_take(&scratch, rows, sizeof(double)),
        .y = cs_arena_take(&scratch, rows, sizeof(double)),
    };
    double *start = cs_arena_take(&scratch, rows, sizeof(double));
    cs_status status = CS_OK;
    if (start) cs_lanczos_start(solver->problem, solver->factors.rho, start);
    if (cs_arena_failed(&scratch) ||
        cs_lanczos(rows, multiply, &s, start, &solver->factors.spectrum))
        status = cs_no_memory(error, "the eigenvalues of A");
    cs_arena_clear(&scratch);
    return status;
}

/* The initial p: the penalty that is given; for rule='spectral' times
 * sqrt(lambda_max lambda_min) (lambda_max / lambda_min)^0.4. Carpentier, Le Lidec and Montaut 2024 */
static void begin_penalty(cs_solver *solver, admm *own)
{
    own->penalty = solver->setting[PENALTY];
    if (solver->setting[RULE] != SPECTRAL) return;

    /* Where A is singular, lambda_min is replaced by a small part of lambda_max. */
    double largest = solver->factors.spectrum.largest, smallest = solver->factors.spectrum.smallest;
    if (!(largest > 0)) return;
    smallest = fmax(smallest, SINGULAR * largest);
    own->ratio = largest / smallest;
    own->penalty *= sqrt(largest * smallest) * pow(own->ratio, POWER);
}

/* The ratio of the relative residuals: |x - z| / |z| in the norm of D, over |P (z - z before)| / |y| in the
 * norm of D^-1; 1 where one of them vanishes. */
static double unbalance(const cs_steps_run *steps)
{
    const cs_solver *solver = steps->run.solver;
    const admm *own = steps->scalars;
    const double *x = numbers(steps, X), *z = solver->lambda, *y = numbers(steps, Y);
    const double *before = numbers(steps, BEFORE), *d = numbers(steps, D);
    double primal = 0, dual = 0, size = 0, force = 0;
    for (int64_t i = 0; i < solver->problem->rows; i++) {
        if (solver->factors.rho[i] == 0) continue;
        primal += d[i] * (x[i] - z[i]) * (x[i] - z[i]);
        dual += d[i] * (z[i] - before[i]) * (z[i] - before[i]);
        size += d[i] * z[i] * z[i];
        force += y[i] * y[i] / d[i];
    }
    if (!(primal > 0) || !(dual > 0) || !(size > 0) || !(force > 0)) return 1;
    return sqrt(primal / size) / (own->penalty * sqrt(dual / force));
}

/* Boyd and others 2011, section 3.4.1, by the root of the ratio of relative residuals (Wohlberg 2017). */
static void change_penalty(cs_steps_run *steps)
{
    admm *own = steps->scalars;
    const cs_solver *solver = steps->run.solver;
    if (solver->setting[RULE] == FIXED || own->changes >= solver->setting[CHANGES]) return;
    if (steps->run.number - own->changed < CHANGE_EVERY) return;

    /* Only if the residuals are out of balance. */
    double ratio = unbalance(steps);
    if (ratio < UNBALANCED && ratio > 1.0 / UNBALANCED) return;

    /* By the root of their ratio, or by a power of that of the eigenvalues. */
    double factor = sqrt(ratio);
    if (solver->setting[RULE] == SPECTRAL)
        factor = pow(own->ratio, ratio > 1 ? POWER_STEP : -POWER_STEP);
    own->penalty = fmin(fmax(own->penalty * factor, LEAST_PENALTY), MOST_PENALTY);
    own->changed = steps->run.number;
    own->changes++;
}

/* P <- p D, and a new factor of A + (1 + eta) P unless P is as before. */
static cs_status factor(cs_solver *solver, double penalty, cs_cancellation *cancellation,
                        cs_error *error)
{
    double *p = cs_point_at(solver, P).impulses, *factored = cs_point_at(solver, FACTORED).impulses;
    const double *d = cs_point_at(solver, D).impulses;
    int64_t rows = solver->problem->rows;
    int same = 1;
    for (int64_t i = 0; i < rows; i++) {
        p[i] = penalty * d[i];
        double shift = (1 + solver->setting[PROXIMAL]) * p[i];
        same &= factored[i] == shift;
        factored[i] = shift;
    }
    if (same) return CS_OK;

    /* After a failure there is no factor: no P equals what is noted then. */
    cs_status status = cs_shifted_factor(factor_of(solver), factored, cancellation, error);
    if (status) factored[0] = 0;
    return status;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* y <- -(xi + s), x <- z: the fixed point, if z is a solution. */
static void begin(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    double *y = numbers(steps, Y);
    begin_penalty(solver, steps->scalars);
    evaluate(solver, solver->lambda, NULL, y);
    for (int64_t i = 0; i < solver->problem->rows; i++) y[i] = -y[i];
    cs_point_copy(solver, cs_point_at(solver, X), cs_point_here(solver));
}

/* x+ <- z + (A + (1 + eta) P)^-1 (eta P (x - z) - y - (A z + b + s)) */
static void solve_direct(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    double *x = numbers(steps, X), *step = numbers(steps, STEP);
    const double *y = numbers(steps, Y), *p = numbers(steps, P), *z = solver->lambda;
    double eta = solver->setting[PROXIMAL];
    int64_t rows = solver->problem->rows;
    evaluate(solver, z, y, step);
    for (int64_t i = 0; i < rows; i++) step[i] = eta * p[i] * (x[i] - z[i]) - y[i] - step[i];
    cs_shifted_solve(factor_of(solver), step);
    for (int64_t i = 0; i < rows; i++) x[i] = z[i] + (solver->factors.rho[i] > 0 ? step[i] : 0);
}

/* h = alpha x+ + (1 - alpha) z,   z+ = proj_C(h + y / P),   y+ = y + P (h - z+) */
static void project_and_renew(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    double *z = solver->lambda, *y = numbers(steps, Y), *h = numbers(steps, STEP);
    const double *x = numbers(steps, X), *p = numbers(steps, P), *before = numbers(steps, BEFORE);
    double alpha = solver->setting[OVER];
    int64_t rows = solver->problem->rows;
    cs_point_copy(solver, cs_point_at(solver, BEFORE), cs_point_here(solver));
    for (int64_t i = 0; i < rows; i++) {
        h[i] = alpha * x[i] + (1 - alpha) * before[i];
        z[i] = h[i] + (solver->factors.rho[i] > 0 ? y[i] / p[i] : 0);
    }
    project(solver, z);
    for (int64_t i = 0; i < rows; i++) {
        if (solver->factors.rho[i] > 0) y[i] += p[i] * (h[i] - z[i]);
        cs_count_change(&steps->run.stats, z[i] - before[i]);
    }
}

static cs_step step(cs_steps_run *steps)
{
    const admm *own = steps->scalars;
    cs_run *run = &steps->run;
    run->stats = (cs_sweep_stats){0};

    /* The factor, if the penalty has changed. */
    cs_cancellation cancellation = {.is_cancelled = cs_run_is_cancelled, .context = run};
    cs_status status = factor(run->solver, own->penalty, &cancellation, run->error);
    if (cs_run_is_stopping(run, status)) return CS_STEPPED;
    run->status = status;
    if (status) return CS_STEPPED;

    solve_direct(steps);
    project_and_renew(steps);
    return CS_STEPPED;
}

static cs_status prepare(cs_solver *solver, cs_budget *budget, cs_error *error)
{
    if (solver->setting[SPACE] == CS_SPACE_BODIES && solver->problem->matrix)
        return cs_fail(
            error, CS_UNSUPPORTED,
            "space='bodies' of method='admm' needs Jacobians, and this problem was given "
            "as a matrix: use space='auto'");
    cs_status status = cs_prepare_steps(solver, budget, error);
    if (status) return status;

    /* D, the pattern of A + P, and the spectrum if the rule asks for it. */
    double *d = cs_point_at(solver, D).impulses;
    state *own = solver->own;
    find_scales(solver, d);
    status = cs_shifted_take(solver->problem, (cs_space)solver->setting[SPACE], &solver->arena,
                             budget->control, budget->cancellation, &own->shifted, error);
    if (!status && solver->setting[RULE] == SPECTRAL) status = find_spectral(solver, d, error);
    if (status) return status;

    /* The factor for the initial penalty, with which the first solve begins. */
    admm scalars = {0};
    begin_penalty(solver, &scalars);
    return factor(solver, scalars.penalty, budget->cancellation, error);
}

static const cs_steps steps = {.points = points,
                               .scalars = sizeof(admm),
                               .begin = begin,
                               .step = step,
                               .extrapolate = change_penalty};

const cs_method cs_method_admm = {
    .name = "admm",
    .summary =
        "alternating direct solves and projections (ADMM), with De Saxcé's shift for friction",
    .about = "Each step makes one solve with a factor of A plus a penalty, and projects each block "
             "once. The factor is reused until the penalty changes. Its unknowns are the rows of "
             "A, or the velocities of the bodies if these are fewer. Large mass ratios and long "
             "chains do not slow the method down; sweeps reach a loose tolerance sooner.",
    .paper = "Boyd and others 2011; Carpentier, Le Lidec and Montaut 2024; De Saxcé and Feng 1998",
    .needs = CS_BIT(CS_NEEDS_SYMMETRIC) | CS_BIT(CS_NEEDS_FLOAT64),
    .solves = CS_BIT(CS_SOLVES_FRICTIONLESS) | CS_BIT(CS_SOLVES_JOINTS) |
              CS_BIT(CS_SOLVES_ASSOCIATED) | CS_BIT(CS_SOLVES_BOX) | CS_BIT(CS_SOLVES_COULOMB) |
              CS_BIT(CS_SOLVES_REDUNDANT) | CS_BIT(CS_SOLVES_UNSYMMETRIC) |
              CS_BIT(CS_SOLVES_MASS_RATIO),
    .option = option,
    .options = OPTIONS,
    .stage = CS_SIMULTANEOUS,
    .steps = &steps,
    .without_sweeps = 1,
    .check = cs_refuse_sweeps,
    .own = sizeof(state),
    .prepare = prepare,
    .solve = cs_accelerate,
};
