/* The alternating direction method of multipliers on lambda = x = z, P = p D, D = max diag(A_kk):
 *
 *     (A + (1 + eta) P)(x+ - z) = -(y + A z + b + s) + eta P (x - z)
 *     h = alpha x+ + (1 - alpha) z,   z+ = proj_C(h + y / P),   y+ = y + P (h - z+)
 *
 * y is the multiplier, p the penalty, eta the proximal weight and alpha the over-relaxation; xi = A z + b. At
 * a fixed point y = -(xi + s) and z = proj_C(z - (xi + s) / P): the natural map is zero for any P. The factor
 * is of the symmetric part of A, the product A z of A itself.
 *
 *     friction="de_saxce"   the set of a disc is a second-order cone, and s = mu |y_t| on the normal row.
 *                           Together they are Coulomb's law, because y_t = -xi_t at a fixed point. With
 *                           |xi_t(z)| instead of the multiplier's |y_t| the iteration cycles
 *     friction="bounds"     s = 0, and the projection bounds friction by mu times the normal impulse that it
 *                           has just computed
 *
 * eta = 0: Boyd and others 2011, section 3.1, 3.4.3; eta > 0, penalty "spectral", and contact: Carpentier,
 * Le Lidec and Montaut 2024; s: De Saxce and Feng 1998. */
#include "core/error.h"
#include "problem/friction.h"
#include "prox/prox.h"
#include "solver/accelerate.h"
#include "solver/judge.h"
#include "system/shifted.h"

#include <math.h>
#include <string.h>

/* The penalty p changes when one residual is this many times the other, at most once in CHANGE_EVERY steps,
 * and remains between LEAST_PENALTY and MOST_PENALTY. */
#define UNBALANCED 5
#define LEAST_PENALTY 1e-6
#define MOST_PENALTY 1e6
enum { CHANGE_EVERY = 20 };
/* Rule 'spectral', p ~ (lambda_max / lambda_min)^power: */
#define SINGULAR 1e-6   /* minimum of lambda_min, relative to lambda_max */
#define POWER 0.4       /* initial power */
#define POWER_STEP 0.05 /* change of the power when the residuals are out of balance */

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

/* Scalars of a solve. */
typedef struct admm {
    double penalty;  /* p */
    double ratio;    /* lambda_max / lambda_min of D^-1/2 A D^-1/2 */
    int64_t changed; /* the step after which p changed last */
    int changes;     /* how often p has changed */
} admm;

/* The state of the method: solver->own. */
typedef struct state {
    cs_shifted *shifted; /* solves with A + (1 + eta) P */
} state;

static cs_shifted *factor_of(const cs_solver *solver)
{
    return ((const state *)solver->own)->shifted;
}

/* Points: y; x; first xi + s at z, then the step x+ - z, then h; the z before; D; P; (1 + eta) P of the
 * current factor. */
enum { Y, X, STEP, BEFORE, D, P, FACTORED, POINTS };

static int points(const cs_solver *solver) { return (void)solver, POINTS; }

/* Point number i as an array (rows). */
static double *numbers(const cs_steps_run *steps, int i)
{
    return cs_point_at(steps->run.solver, i).impulses;
}

/* Whether the sets of a group are replaced by second-order cones. */
static int is_cone(const cs_solver *solver, const cs_block_group *group)
{
    return solver->setting[FRICTION] == DE_SAXCE && cs_has_discs(group);
}

/* xi <- A z + b + s, with s = mu |y_t| on the normal rows of cones. At the beginning `y` is NULL, and
 * s = mu |xi_t|. */
static void evaluate(cs_solver *solver, const double *z, const double *y, double *xi)
{
    const cs_problem *problem = solver->problem;
    cs_residual_at(solver, z, solver->b, xi);

    /* De Saxce's shift. */
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

/* z <- proj_C(z); with friction="de_saxce" the set of a disc is the second-order cone. */
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

/* d (rows) <- D: the largest diagonal entry of each block of A, or 1 if no impulse of the block moves
 * anything. */
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

/* What `multiply` needs: the symmetric part of A, D, and scratch (rows). */
typedef struct scaled {
    cs_symmetric_part part;
    const double *d;
    double *x, *y;
} scaled;

/* y <- D^-1/2 A D^-1/2 x, with the symmetric part of A. */
static void multiply(void *context, const double *x, double *y)
{
    scaled *s = context;
    int64_t rows = s->part.problem->rows;
    for (int64_t i = 0; i < rows; i++) s->x[i] = x[i] / sqrt(s->d[i]);
    cs_multiply_symmetric(&s->part, s->x, s->y);
    for (int64_t i = 0; i < rows; i++) y[i] = s->y[i] / sqrt(s->d[i]);
}

/* solver->factors.spectrum <- the extreme eigenvalues of D^-1/2 A D^-1/2, by Lanczos' iteration. */
static cs_status find_spectral(cs_solver *solver, const double *d, cs_error *error)
{
    cs_arena scratch = {0};
    int64_t rows = solver->problem->rows;
    scaled s = {
        .part = {.problem = solver->problem,
                 .shared = &solver->products,
                 .velocity = solver->velocity},
        .d = d,
        .x = cs_arena_take(&scratch, rows, sizeof(double)),
        .y = cs_arena_take(&scratch, rows, sizeof(double)),
    };

    /* The iteration, from a pseudo-random start. */
    double *start = cs_arena_take(&scratch, rows, sizeof(double));
    cs_status status = CS_OK;
    if (start) cs_lanczos_start(solver->problem, solver->factors.rho, start);
    if (cs_arena_failed(&scratch) || cs_lanczos(rows, cs_products_threads(s.part.shared), multiply,
                                                &s, start, &solver->factors.spectrum))
        status = cs_no_memory(error, "the eigenvalues of A");
    cs_arena_clear(&scratch);
    return status;
}

/* own->penalty <- the initial p: the option `penalty`, for rule='spectral' times
 * sqrt(lambda_max lambda_min) (lambda_max / lambda_min)^0.4. Carpentier, Le Lidec and Montaut 2024 */
static void begin_penalty(cs_solver *solver, admm *own)
{
    own->penalty = solver->setting[PENALTY];
    if (solver->setting[RULE] != SPECTRAL) return;

    /* If A is singular, a small fraction of lambda_max replaces lambda_min. */
    double largest = solver->factors.spectrum.largest, smallest = solver->factors.spectrum.smallest;
    if (!(largest > 0)) return;
    smallest = fmax(smallest, SINGULAR * largest);
    own->ratio = largest / smallest;
    own->penalty *= sqrt(largest * smallest) * pow(own->ratio, POWER);
}

/* The ratio of the relative residuals: |x - z| / |z| in the norm of D, over |P (z - z before)| / |y| in the
 * norm of D^-1; 1 where one of them vanishes. */
static double residual_ratio(const cs_steps_run *steps)
{
    const cs_solver *solver = steps->run.solver;
    const admm *own = steps->scalars;
    const double *x = numbers(steps, X), *z = solver->lambda, *y = numbers(steps, Y);
    const double *before = numbers(steps, BEFORE), *d = numbers(steps, D);
    double primal = 0, dual = 0, size = 0, force = 0;

    /* Sums over the rows that impulses move. */
    for (int64_t i = 0; i < solver->problem->rows; i++) {
        if (solver->factors.rho[i] == 0) continue;
        primal += d[i] * (x[i] - z[i]) * (x[i] - z[i]);
        dual += d[i] * (z[i] - before[i]) * (z[i] - before[i]);
        size += d[i] * z[i] * z[i];
        force += y[i] * y[i] / d[i];
    }

    /* The ratio; P = p D, so that |P dz| in the norm of D^-1 is p |dz| in the norm of D. */
    if (!(primal > 0) || !(dual > 0) || !(size > 0) || !(force > 0)) return 1;
    return sqrt(primal / size) / (own->penalty * sqrt(dual / force));
}

/* The `extrapolate` of the method: changes p if the residuals are out of balance. Boyd and others 2011,
 * section 3.4.1, with the root of the ratio of the relative residuals as factor (Wohlberg 2017). */
static void change_penalty(cs_steps_run *steps)
{
    admm *own = steps->scalars;
    const cs_solver *solver = steps->run.solver;
    if (solver->setting[RULE] == FIXED || own->changes >= solver->setting[CHANGES]) return;
    if (steps->run.number - own->changed < CHANGE_EVERY) return;

    /* Residuals in balance need no change. */
    double ratio = residual_ratio(steps);
    if (ratio < UNBALANCED && ratio > 1.0 / UNBALANCED) return;

    /* Multiply p by the root of their ratio, or change the power of the ratio of the eigenvalues. */
    double factor = sqrt(ratio);
    if (solver->setting[RULE] == SPECTRAL)
        factor = pow(own->ratio, ratio > 1 ? POWER_STEP : -POWER_STEP);
    own->penalty = fmin(fmax(own->penalty * factor, LEAST_PENALTY), MOST_PENALTY);
    own->changed = steps->run.number;
    own->changes++;
}

/* P <- p D, and a new factor of A + (1 + eta) P unless P is unchanged. */
static cs_status factor(cs_solver *solver, double penalty, cs_cancellation *cancellation,
                        cs_error *error)
{
    double *p = cs_point_at(solver, P).impulses, *factored = cs_point_at(solver, FACTORED).impulses;
    const double *d = cs_point_at(solver, D).impulses;

    /* P, and whether the current factor is of this P. */
    int64_t rows = solver->problem->rows;
    int same = 1;
    for (int64_t i = 0; i < rows; i++) {
        p[i] = penalty * d[i];
        double shift = (1 + solver->setting[PROXIMAL]) * p[i];
        same &= factored[i] == shift;
        factored[i] = shift;
    }
    if (same) return CS_OK;

    /* A new factor. After a failure there is none: the 0 differs from every P, so that the next call
     * factors. */
    cs_status status = cs_shifted_factor(factor_of(solver), factored, cancellation, error);
    if (status) factored[0] = 0;
    return status;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* y <- -(xi + s), x <- z: a fixed point of the iteration if z is a solution. */
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

    /* The right-hand side, and its solution. */
    evaluate(solver, z, y, step);
    for (int64_t i = 0; i < rows; i++) step[i] = eta * p[i] * (x[i] - z[i]) - y[i] - step[i];
    cs_shifted_solve(factor_of(solver), step);

    /* Rows that no impulse moves keep theirs. */
    for (int64_t i = 0; i < rows; i++) x[i] = z[i] + (solver->factors.rho[i] > 0 ? step[i] : 0);
}

/* h <- alpha x+ + (1 - alpha) z,   z+ <- proj_C(h + y / P),   y+ <- y + P (h - z+) */
static void update_multiplier(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    double *z = solver->lambda, *y = numbers(steps, Y), *h = numbers(steps, STEP);
    const double *x = numbers(steps, X), *p = numbers(steps, P), *before = numbers(steps, BEFORE);
    double alpha = solver->setting[OVER];
    int64_t rows = solver->problem->rows;

    cs_point_copy(solver, cs_point_at(solver, BEFORE), cs_point_here(solver));

    /* h and z+. */
    for (int64_t i = 0; i < rows; i++) {
        h[i] = alpha * x[i] + (1 - alpha) * before[i];
        z[i] = h[i] + (solver->factors.rho[i] > 0 ? y[i] / p[i] : 0);
    }
    project(solver, z);

    /* y+, and the change of z. */
    for (int64_t i = 0; i < rows; i++) {
        if (solver->factors.rho[i] > 0) y[i] += p[i] * (h[i] - z[i]);
        cs_count_change(&steps->run.stats, z[i] - before[i]);
    }
}

/* The `step` of the method: from x, y, z to x+, y+, z+. */
static cs_step step(cs_steps_run *steps)
{
    const admm *own = steps->scalars;
    cs_run *run = &steps->run;
    run->stats = (cs_sweep_stats){0};

    /* A new factor if the penalty has changed. A solve that is to stop ends with the z at hand. */
    cs_cancellation cancellation = {.is_cancelled = cs_run_is_cancelled, .context = run};
    cs_status status = factor(run->solver, own->penalty, &cancellation, run->error);
    if (cs_run_is_stopping(run, status)) return CS_STEPPED;
    run->status = status;
    if (status) return CS_STEPPED;

    /* The direct step, then the projection. */
    solve_direct(steps);
    update_multiplier(steps);
    return CS_STEPPED;
}

/* The `prepare` of the method: the pattern, and the factor for the initial penalty. */
static cs_status prepare(cs_solver *solver, cs_budget *budget, cs_error *error)
{
    if (solver->setting[SPACE] == CS_SPACE_BODIES && solver->problem->matrix)
        return cs_fail(
            error, CS_UNSUPPORTED,
            "space='bodies' of method='admm' needs Jacobians, and this problem was given "
            "as a matrix: use space='auto'");

    /* The points. */
    cs_status status = cs_prepare_steps(solver, budget, error);
    if (status) return status;

    /* D, the pattern of A + P, and the eigenvalues if the rule needs them. */
    double *d = cs_point_at(solver, D).impulses;
    state *own = solver->own;
    find_scales(solver, d);
    status = cs_shifted_take(solver->problem, (cs_space)solver->setting[SPACE],
                             solver->setup_threads, &solver->arena, budget->control,
                             budget->cancellation, &own->shifted, error);
    if (!status && solver->setting[RULE] == SPECTRAL) status = find_spectral(solver, d, error);
    if (status) return status;

    /* The factor for the initial penalty, which the first step uses. */
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
