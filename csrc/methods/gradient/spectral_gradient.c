/* Spectral projected gradient on a convex problem, min f(x) = 1/2 x^T A x + b^T x over C:
 *
 *     d = P(x - alpha rho g) - x,   g = A x + b,   x <- x + t d,   g <- g + t A d
 *     alpha <- d^T rho^-1 d / d^T A d                       (Barzilai and Borwein)
 *
 * Line search: t = 1 if f then is sufficiently below the largest of its last values (Grippo, Lampariello and
 * Lucidi); otherwise t is reduced by interpolation until it is. f along d is a parabola whose coefficients
 * follow from A d, so that the search needs no further product with A.
 *
 * Birgin, Martinez and Raydan 2000; Heyn, Anitescu, Tasora and Negrut 2013 for contact */
#include "solver/accelerate.h"

#include <math.h>

#define SUFFICIENT 1e-4 /* required decrease of f, over the slope times t */
#define SHORTEST 1e-6   /* range of alpha */
#define LONGEST 1e6
enum {
    REFRESH_EVERY = 64, /* steps between two exact computations of g */
    MOST_MEMORY = 50,   /* maximum of the option `memory` */
    TRIES = 40,         /* maximum trials of t */
};

enum { MEMORY = CS_PATIENCE + 1, OPTIONS };

static const cs_method_option option[OPTIONS] = {
    CS_PATIENCE_OPTION,
    [MEMORY] =
        {.name = "memory",
         .summary =
             "number of previous energies with which a step is compared; 1: the energy never grows",
         .kind = CS_COUNT,
         .usual = 10,
         .least = 1,
         .most = MOST_MEMORY},
};

/* Scalars of a solve. */
typedef struct spectral {
    double alpha;
    double energy;             /* f(x) */
    double value[MOST_MEMORY]; /* f of the last iterates, a ring of `memory` numbers */
    int64_t made;              /* steps so far */
} spectral;

/* Points: g, d, A d. */
enum { G, D, AD, POINTS };

static int points(const cs_solver *solver) { return (void)solver, POINTS; }

/* Point number i as an array (rows). */
static double *numbers(const cs_steps_run *steps, int i)
{
    return cs_point_at(steps->run.solver, i).impulses;
}

/* g <- A x + b */
static void find_gradient(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    double *g = numbers(steps, G);
    cs_multiply(solver, solver->lambda, g);
    for (int64_t i = 0; i < solver->problem->rows; i++) g[i] += solver->b[i];
}

/* Starts from the projection of the impulses, with alpha = 1 and f = x^T (g + b) / 2. */
static void begin(cs_steps_run *steps)
{
    spectral *own = steps->scalars;
    cs_solver *solver = steps->run.solver;
    const double *g = numbers(steps, G);
    cs_project(solver, solver->lambda);
    find_gradient(steps);
    *own = (spectral){.alpha = 1};
    for (int64_t i = 0; i < solver->problem->rows; i++)
        own->energy += 0.5 * solver->lambda[i] * (g[i] + solver->b[i]);
}

/* d <- P(x - alpha rho g) - x, ad <- A d. Returns g.d; curvature <- d^T A d, square <- d^T rho^-1 d. */
static double find_direction(cs_steps_run *steps, double alpha, double *curvature, double *square)
{
    cs_solver *solver = steps->run.solver;
    double *d = numbers(steps, D), *ad = numbers(steps, AD), slope = 0;
    const double *g = numbers(steps, G), *x = solver->lambda, *rho = solver->factors.rho;
    int64_t rows = solver->problem->rows;
    *curvature = *square = 0;

    /* The projected gradient step. */
    for (int64_t i = 0; i < rows; i++) d[i] = x[i] - alpha * rho[i] * g[i];
    cs_project(solver, d);

    /* d, which is zero where rho is: no impulse moves anything there. */
    for (int64_t i = 0; i < rows; i++) {
        d[i] = rho[i] > 0 ? d[i] - x[i] : 0;
        slope += g[i] * d[i];
        if (rho[i] > 0) *square += d[i] * d[i] / rho[i];
    }

    /* A d and the curvature. */
    cs_multiply(solver, d, ad);
    for (int64_t i = 0; i < rows; i++) *curvature += d[i] * ad[i];
    return slope;
}

/* The step length t along d, by the nonmonotone line search. */
static double length_of_step(const spectral *own, int64_t memory, double slope, double curvature)
{
    /* The largest of the last values of f. */
    double highest = own->energy, t = 1;
    for (int64_t i = 0; i < memory && i < own->made; i++) highest = fmax(highest, own->value[i]);

    /* Reduce t to the minimum of the parabola, within 0.1 t and 0.9 t, until f is low enough. */
    for (int i = 0; i < TRIES; i++) {
        double rise = t * slope + 0.5 * t * t * curvature;
        if (own->energy + rise <= highest + SUFFICIENT * t * slope) break;
        double lowest = curvature > 0 ? -slope / curvature : t / 2;
        t = fmin(fmax(lowest, 0.1 * t), 0.9 * t);
    }
    return t;
}

/* From x_k to x_k+1. */
static cs_step step(cs_steps_run *steps)
{
    spectral *own = steps->scalars;
    cs_solver *solver = steps->run.solver;
    cs_sweep_stats *stats = &steps->run.stats;

    /* The direction; f of this iterate goes to the ring. */
    int64_t memory = (int64_t)solver->setting[MEMORY];
    double curvature, square, slope = find_direction(steps, own->alpha, &curvature, &square);
    own->value[own->made++ % memory] = own->energy;

    /* Move x and g by t d and t A d, and count the change. */
    double t = length_of_step(own, memory, slope, curvature);
    double *g = numbers(steps, G), *x = solver->lambda;
    const double *d = numbers(steps, D), *ad = numbers(steps, AD);
    *stats = (cs_sweep_stats){0};
    for (int64_t i = 0; i < solver->problem->rows; i++) {
        x[i] += t * d[i];
        g[i] += t * ad[i];
        stats->residual = fmax(stats->residual, fabs(t * d[i]));
        stats->merit += t * d[i] * t * d[i];
    }

    /* f at the new x, and Barzilai and Borwein's alpha for the next step. */
    own->energy += t * slope + 0.5 * t * t * curvature;
    double alpha = curvature > 0 ? square / curvature : LONGEST;
    own->alpha = fmin(fmax(alpha, SHORTEST), LONGEST);

    /* Sums accumulate rounding errors: compute g anew from time to time. */
    if (own->made % REFRESH_EVERY == 0) find_gradient(steps);
    return CS_STEPPED;
}

static const cs_steps steps = {
    .points = points, .scalars = sizeof(spectral), .begin = begin, .step = step};

const cs_method cs_method_spectral_gradient = {
    .name = "spectral_gradient",
    .summary = "projected gradient with Barzilai and Borwein's steps on a convex problem",
    .about = "The last step determines the length of the next one, which may raise the energy for "
             "a while. The method is for contacts without friction and for the second-order cone: "
             "the associated problem, whose solution differs from Coulomb's law.",
    .paper = "Birgin, Martínez and Raydan 2000; Heyn, Anitescu, Tasora and Negrut 2013",
    .needs = CS_BIT(CS_NEEDS_SYMMETRIC) | CS_BIT(CS_NEEDS_FIXED_SETS) | CS_BIT(CS_NEEDS_FLOAT64),
    .solves =
        CS_BIT(CS_SOLVES_FRICTIONLESS) | CS_BIT(CS_SOLVES_ASSOCIATED) | CS_BIT(CS_SOLVES_REDUNDANT),
    .option = option,
    .options = OPTIONS,
    .stage = CS_SIMULTANEOUS,
    .steps = &steps,
    .check = cs_refuse_sweeps,
    .without_sweeps = 1,
    .prepare = cs_prepare_steps,
    .solve = cs_accelerate,
};
