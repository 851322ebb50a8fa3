/* Nesterov's momentum over sweeps S, with restarts:
 *
 *     x_k = S(y_k),   y_k+1 = x_k + (t_k - 1) / t_k+1 (x_k - x_k-1),   t_k+1 = (1 + sqrt(1 + 4 t_k^2)) / 2
 *
 * The momentum is given up (t = 1, y = x) when |x - y| grows by more than a factor above its least
 * value since the last time (O'Donoghue and Candes 2015 restart as soon as it grows at all, which on
 * frictional problems is every few steps). It is never more than Fletcher and Reeves' beta,
 * |x - y|^2 over that of the step before: where sweeps converge fast, t would make too much of it. */
#include "solver/accelerate.h"

#include <math.h>

enum { RESTART = CS_OWN_OPTIONS, CONTRACTION, OPTIONS };

static const cs_method_option option[OPTIONS] = {
    CS_PATIENCE_OPTION,
    CS_OVER_OPTION(0),
    [RESTART] = CS_NUMBER_OPTION("restart", 1.5, 1, HUGE_VAL,
                                 "growth of the steps, over the shortest since the last restart, "
                                 "at which the momentum is given up"),
    [CONTRACTION] =
        CS_NUMBER_OPTION("contraction", CS_CONTRACTION, 0, HUGE_VAL,
                         "power of the length of a step, over that of the step before, that the "
                         "momentum does not exceed; 0 leaves it unbounded"),
};

enum { BEFORE };

double cs_momentum_next(cs_momentum *momentum, double length, double restart, double contraction)
{
    double t = momentum->t, next = (1 + sqrt(1 + 4 * t * t)) / 2, beta = (t - 1) / next;
    if (length > restart * momentum->least) return NAN;
    if (length < momentum->last) beta = fmin(beta, pow(length / momentum->last, contraction));
    momentum->least = fmin(momentum->least, length);
    momentum->last = length;
    momentum->t = next;
    return beta;
}

static void begin(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    *(cs_momentum *)steps->scalars = CS_NO_MOMENTUM;
    cs_point_copy(solver, cs_point_at(solver, BEFORE), cs_point_here(solver));
}

static void extrapolate(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    double beta = cs_momentum_next(steps->scalars, sqrt(steps->change), solver->setting[RESTART],
                                   solver->setting[CONTRACTION]);
    if (isnan(beta)) {
        steps->restarts++;
        begin(steps);
        return;
    }
    cs_point_extrapolate(solver, cs_point_here(solver), beta, cs_point_at(solver, BEFORE));
}

static const cs_steps steps = {.points = cs_one_point,
                               .scalars = sizeof(cs_momentum),
                               .begin = begin,
                               .extrapolate = extrapolate};

const cs_method cs_method_nesterov = {
    .name = "nesterov",
    .summary = "sweeps with growing momentum, given up when steps grow",
    .about =
        "Each sweep begins at y = x + beta (x - x of the sweep before), beta growing towards 1. "
        "Far fewer sweeps than Gauss-Seidel on stacks and grids; on loose piles it stalls, "
        "where `nncg` does not.",
    .paper =
        "Nesterov 1983; O'Donoghue and Candès 2015 (restart); Fletcher and Reeves 1964 (bound); "
        "Mazhar and others 2015 (contact)",
    .solves = CS_SOLVES_AS_SWEEPS,
    .figures = CS_FIGURE_RESTARTS,
    .option = option,
    .options = OPTIONS,
    .over = CS_OVER + 1,
    .steps = &steps,
    .solve = cs_accelerate,
};
