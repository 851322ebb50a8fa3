/* Chebyshev's semi-iteration over sweeps S, for plain sweeps whose steps shrink by a factor rho:
 *
 *     y_k+1 = y_k-1 + w_k+1 (S(y_k) - y_k-1),   w_1 = 1, w_2 = 2 / (2 - rho^2),
 *     w_k+1 = 4 / (4 - rho^2 w_k)
 *
 * rho is an option, or it is estimated from the first sweeps as the ratio of the lengths of two steps.
 * Restart: when a step exceeds the shortest one since the last restart by a factor, 1 - rho is doubled, so
 * that rho is nearer to 0.
 *
 * Golub and Varga 1961; Wang 2015 for contact */
#include "solver/accelerate.h"

#include <math.h>

#define LARGEST 0.9999 /* maximum of rho */
#define SMALLEST \
    1e-3             /* minimum of a given rho: the weights then are nearly those of plain sweeps */
enum { PLAIN = 10 }; /* sweeps after a restart without momentum */

enum { RHO = CS_OWN_OPTIONS, RESTART, OPTIONS };

static const cs_method_option option[OPTIONS] = {
    CS_PATIENCE_OPTION,
    CS_OVER_OPTION(1),
    [RHO] = {.name = "rho",
             .summary = "factor by which the steps of plain sweeps shrink; None: estimated from "
                        "the first sweeps",
             .kind = CS_NUMBER,
             .optional = 1,
             .above = 1,
             .most = LARGEST},
    [RESTART] =
        CS_NUMBER_OPTION("restart", 4, 1, HUGE_VAL,
                         "restart threshold: the method restarts with a smaller rho when a step is "
                         "longer than the shortest one since the last restart by this factor"),
};

/* Scalars of a solve. */
typedef struct chebyshev {
    double rho;    /* 0: not known yet */
    double omega;  /* w_k */
    double least;  /* length of the shortest step since the last restart */
    double before; /* length of the last step; 0: there is none */
    int64_t made;  /* steps since the last restart */
} chebyshev;

/* Points: y_k and y_k-1. */
enum { START, EARLIER };

/* At the beginning, after a restart, and after a rollback. */
static void begin(cs_steps_run *steps)
{
    chebyshev *own = steps->scalars;
    cs_solver *solver = steps->run.solver;
    own->least = INFINITY;
    own->before = 0;
    own->made = 0;
    if (own->rho == 0) own->rho = solver->setting[RHO];
    cs_point_copy(solver, cs_point_at(solver, START), cs_point_here(solver));
}

/* From S(y_k) to y_k+1. */
static void extrapolate(cs_steps_run *steps)
{
    chebyshev *own = steps->scalars;
    cs_solver *solver = steps->run.solver;
    cs_point here = cs_point_here(solver), start = cs_point_at(solver, START);
    cs_point earlier = cs_point_at(solver, EARLIER);
    double length = sqrt(steps->change), shrinks = own->before > 0 ? length / own->before : 0;
    own->before = length;

    /* If the step is too long, restart with a smaller rho. */
    if (length > solver->setting[RESTART] * own->least) {
        steps->restarts++;
        own->rho = fmax(solver->setting[RHO] > 0 ? SMALLEST : 0, 1 - 2 * (1 - own->rho));
        begin(steps);
        return;
    }

    /* Estimate rho at the last of the plain sweeps, unless it is given. */
    own->least = fmin(own->least, length);
    own->made++;
    if (own->made == PLAIN && own->rho == 0) own->rho = fmin(shrinks, LARGEST);

    /* y_k+1; a plain sweep has w = 1. */
    if (own->made <= PLAIN) {
        own->omega = 1;
    } else {
        double square = own->rho * own->rho;
        own->omega = own->made == PLAIN + 1 ? 2 / (2 - square) : 4 / (4 - square * own->omega);
        cs_point_combine(solver, here, own->omega, here, 1 - own->omega, earlier);
    }

    /* Keep y_k and y_k+1 for the next step. */
    cs_point_copy(solver, earlier, start);
    cs_point_copy(solver, start, here);
}

static const cs_steps steps = {.points = cs_two_points,
                               .scalars = sizeof(chebyshev),
                               .begin = begin,
                               .extrapolate = extrapolate};

const cs_method cs_method_chebyshev = {
    .name = "chebyshev",
    .summary = "sweeps combined by Chebyshev polynomials, for a known convergence factor",
    .about = "The weights are optimal for an iteration whose steps shrink by a known factor. The "
             "method needs no sums over contacts. It suits linear iterations with real "
             "eigenvalues: symmetric sweeps, or Jacobi's.",
    .paper = "Golub and Varga 1961; Wang 2015",
    .solves = CS_SOLVES_AS_SWEEPS,
    .figures = CS_FIGURE_RESTARTS,
    .option = option,
    .options = OPTIONS,
    .over = CS_OVER + 1,
    .steps = &steps,
    .solve = cs_accelerate,
};
