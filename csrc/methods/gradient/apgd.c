/* Accelerated projected gradient descent on a convex problem, min 1/2 x^T A x + b^T x over C:
 *
 *     x_k+1 = P(y_k - s rho (A y_k + b)),       s halved while  d^T A d > d^T (s rho)^-1 d,  d = x_k+1 - y_k
 *     theta_k+1 = (sqrt(theta_k^4 + 4 theta_k^2) - theta_k^2) / 2
 *     y_k+1 = x_k+1 + theta_k (1 - theta_k) / (theta_k^2 + theta_k+1) (x_k+1 - x_k)
 *
 * Restart (theta = 1, y = x): when (A y_k + b).(x_k+1 - x_k) > 0. The step length s grows by 1 / 0.9 with
 * every step. rho is one number for each coupled set, 1 / max diag(A_ss), which scales the sets alike. A y and
 * A x follow from A d by sums, so that a step needs one product with A for each trial of s.
 *
 * Mazhar, Heyn, Negrut and Tasora 2015 */
#include "solver/accelerate.h"

#include <math.h>

#define SHORTER 0.5      /* factor on s after a trial that failed */
#define LONGER (1 / 0.9) /* factor on s after each step */
enum {
    REFRESH_EVERY = 64, /* steps between two exact computations of A y and A x */
    HALVINGS = 60,      /* maximum trials of one step */
};

static const cs_method_option option[] = {CS_PATIENCE_OPTION};

/* Scalars of a solve: theta_k and s. */
typedef struct apgd {
    double theta, step;
} apgd;

/* Points: y_k and A y_k, x_k and A x_k, d and A d. */
enum { Y, AY, BEFORE, ABEFORE, D, AD, POINTS };

static int points(const cs_solver *solver) { return (void)solver, POINTS; }

/* Point number i as an array (rows). */
static double *numbers(const cs_steps_run *steps, int i)
{
    return cs_point_at(steps->run.solver, i).impulses;
}

/* Starts from x = y = the projection of the impulses, with theta = s = 1. */
static void begin(cs_steps_run *steps)
{
    apgd *own = steps->scalars;
    cs_solver *solver = steps->run.solver;
    cs_project(solver, solver->lambda);
    *own = (apgd){1, 1};
    cs_point_copy(solver, cs_point_at(solver, Y), cs_point_here(solver));
    cs_point_copy(solver, cs_point_at(solver, BEFORE), cs_point_here(solver));
    cs_multiply(solver, solver->lambda, numbers(steps, AY));
    cs_point_copy(solver, cs_point_at(solver, ABEFORE), cs_point_at(solver, AY));
}

/* x <- P(y - s rho (A y + b)), d <- x - y, ad <- A d. Returns d^T A d - d^T (s rho)^-1 d: s is too long if
 * this is positive. */
static double try_step(cs_steps_run *steps, double s)
{
    cs_solver *solver = steps->run.solver;
    double *x = solver->lambda, *d = numbers(steps, D), *ad = numbers(steps, AD), excess = 0;
    const double *y = numbers(steps, Y), *ay = numbers(steps, AY), *rho = solver->factors.rho;
    int64_t rows = solver->problem->rows;

    /* The projected gradient step. */
    for (int64_t i = 0; i < rows; i++) x[i] = y[i] - s * rho[i] * (ay[i] + solver->b[i]);
    cs_project(solver, x);

    /* d, which is zero where rho is: no impulse moves anything there. */
    for (int64_t i = 0; i < rows; i++) {
        if (rho[i] == 0) x[i] = y[i];
        d[i] = x[i] - y[i];
    }

    /* A d, and the test of s. */
    cs_multiply(solver, d, ad);
    for (int64_t i = 0; i < rows; i++)
        if (rho[i] > 0) excess += d[i] * (ad[i] - d[i] / (s * rho[i]));
    return excess;
}

/* From y_k to x_k+1: halves s until it is short enough, and counts the change. */
static cs_step step(cs_steps_run *steps)
{
    apgd *own = steps->scalars;
    cs_solver *solver = steps->run.solver;
    cs_sweep_stats *stats = &steps->run.stats;
    *stats = (cs_sweep_stats){0};
    for (int i = 0; i < HALVINGS && try_step(steps, own->step) > 0; i++) own->step *= SHORTER;
    const double *d = numbers(steps, D);
    for (int64_t i = 0; i < solver->problem->rows; i++) cs_count_change(stats, d[i]);
    return CS_STEPPED;
}

/* From x_k+1 to y_k+1. */
static void extrapolate(cs_steps_run *steps)
{
    apgd *own = steps->scalars;
    cs_solver *solver = steps->run.solver;
    double *y = numbers(steps, Y), *ay = numbers(steps, AY), *ad = numbers(steps, AD);
    double *before = numbers(steps, BEFORE), *abefore = numbers(steps, ABEFORE);
    const double *x = solver->lambda;
    int64_t rows = solver->problem->rows;

    /* theta_k+1 and the weight of the momentum. */
    double ascent = 0, square = own->theta * own->theta;
    double next = (sqrt(square * square + 4 * square) - square) / 2;
    double beta = own->theta * (1 - own->theta) / (square + next);

    /* Restart if the last step goes up the gradient. */
    for (int64_t i = 0; i < rows; i++) ascent += (ay[i] + solver->b[i]) * (x[i] - before[i]);
    if (ascent > 0) {
        steps->restarts++;
        next = 1;
        beta = 0;
    }

    /* y_k+1 and A y_k+1; x_k+1 and A x_k+1 for the next step. */
    for (int64_t i = 0; i < rows; i++) {
        double ax = ay[i] + ad[i];
        y[i] = x[i] + beta * (x[i] - before[i]);
        ay[i] = ax + beta * (ax - abefore[i]);
        before[i] = x[i];
        abefore[i] = ax;
    }

    /* Sums accumulate rounding errors: compute both products anew from time to time. */
    if (steps->run.number % REFRESH_EVERY == 0) {
        cs_multiply(solver, y, ay);
        cs_multiply(solver, before, abefore);
    }
    own->theta = next;
    own->step *= LONGER;
}

static const cs_steps steps = {.points = points,
                               .scalars = sizeof(apgd),
                               .begin = begin,
                               .step = step,
                               .extrapolate = extrapolate};

const cs_method cs_method_apgd = {
    .name = "apgd",
    .summary = "accelerated projected gradient on a convex problem, without sweeps",
    .about =
        "Nesterov's gradient method with a line search, for contacts without friction and for the "
        "second-order cone: the associated problem, whose solution differs from Coulomb's law.",
    .paper = "Mazhar, Heyn, Negrut and Tasora 2015",
    .needs = CS_BIT(CS_NEEDS_SYMMETRIC) | CS_BIT(CS_NEEDS_FIXED_SETS) | CS_BIT(CS_NEEDS_FLOAT64),
    .solves =
        CS_BIT(CS_SOLVES_FRICTIONLESS) | CS_BIT(CS_SOLVES_ASSOCIATED) | CS_BIT(CS_SOLVES_REDUNDANT),
    .figures = CS_FIGURE_RESTARTS,
    .option = option,
    .options = 1,
    .stage = CS_SIMULTANEOUS,
    .steps = &steps,
    .check = cs_refuse_sweeps,
    .without_sweeps = 1,
    .prepare = cs_prepare_steps,
    .solve = cs_accelerate,
};
