/* Nesterov's momentum over sweeps S, with restarts:
 *
 *     x_k = S(y_k),   y_k+1 = x_k + (t_k - 1) / t_k+1 (x_k - x_k-1),   t_k+1 = (1 + sqrt(1 + 4 t_k^2)) / 2
 *
 * The momentum is given up (t = 1, y = x) when |x - y| grows by more than a factor above its least
 * value since the last time (O'Donoghue and Candes 2015 restart as soon as it grows at all, which on
 * frictional problems is every few steps). */
#include "solver/accelerate.h"

#include <math.h>

enum { RESTART = CS_OWN_OPTIONS, OPTIONS };

static const cs_method_option option[OPTIONS] = {
    CS_PATIENCE_OPTION,
    CS_OVER_OPTION(0),
    [RESTART] = CS_NUMBER_OPTION("restart", 1.5, 1, HUGE_VAL,
                                 "growth of the steps, over the shortest since the last restart, "
                                 "at which the momentum is given up"),
};

typedef struct nesterov {
    double t, least;
} nesterov;

enum { BEFORE };

static void begin(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    *(nesterov *)steps->memory = (nesterov){1, INFINITY};
    cs_point_copy(solver, cs_point_at(solver, BEFORE), cs_point_here(solver));
}

static void extrapolate(cs_steps_run *steps)
{
    nesterov *own = steps->memory;
    cs_solver *solver = steps->run.solver;
    cs_point here = cs_point_here(solver), before = cs_point_at(solver, BEFORE);
    double length = sqrt(steps->change);
    if (length > solver->setting[RESTART] * own->least) {
        steps->restarts++;
        begin(steps);
        return;
    }
    own->least = fmin(own->least, length);
    double next = (1 + sqrt(1 + 4 * own->t * own->t)) / 2;
    cs_point_extrapolate(solver, here, (own->t - 1) / next, before);
    own->t = next;
}

static const cs_steps steps = {
    .points = cs_one_point, .memory = sizeof(nesterov), .begin = begin, .extrapolate = extrapolate};

const cs_method cs_method_nesterov = {
    .name = "nesterov",
    .summary = "sweeps with growing momentum, given up when steps grow",
    .about =
        "Each sweep begins at y = x + beta (x - x of the sweep before), beta growing towards 1. "
        "Far fewer sweeps than Gauss-Seidel on stacks and grids; on loose piles it stalls, "
        "where `nncg` does not.",
    .paper =
        "Nesterov 1983; O'Donoghue and Candès 2015 (restart); Mazhar and others 2015 (contact)",
    .solves = CS_SOLVES_AS_SWEEPS,
    .option = option,
    .options = OPTIONS,
    .over = CS_OVER + 1,
    .steps = &steps,
    .solve = cs_accelerate,
};
