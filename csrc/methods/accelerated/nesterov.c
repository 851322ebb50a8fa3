/* Nesterov's momentum over sweeps S, with restarts:
 *
 *     x_k = S(y_k),   y_k+1 = x_k + (t_k - 1) / t_k+1 (x_k - x_k-1),   t_k+1 = (1 + sqrt(1 + 4 t_k^2)) / 2
 *
 * Restart (t = 1, y = x): when |x - y| exceeds its least value since the last restart by a factor. O'Donoghue
 * and Candes 2015 restart as soon as it grows at all, which is every few steps on frictional problems.
 *
 * Bound: beta is at most that of Fletcher and Reeves, |x - y|^2 over its value in the step before. Where
 * sweeps converge fast, (t_k - 1) / t_k+1 would be too large. The exponent 2 is an option. */
#include "methods/accelerated/stages_of_sweeps.h"

#include <math.h>

enum { RESTART = CS_OWN_OPTIONS, CONTRACTION, OPTIONS };

static const cs_method_option option[OPTIONS] = {
    CS_PATIENCE_OPTION,
    CS_OVER_OPTION(0),
    [RESTART] = CS_RESTART_OPTION,
    [CONTRACTION] = CS_CONTRACTION_OPTION,
};

/* The one point: x_k-1. */
enum { BEFORE };

double cs_momentum_next(cs_momentum *momentum, double length, double restart, double contraction)
{
    double t = momentum->t, next = (1 + sqrt(1 + 4 * t * t)) / 2, beta = (t - 1) / next;

    /* A restart is due. */
    if (length > restart * momentum->least) return NAN;

    /* The bound on beta, then the state of the next step. */
    if (length < momentum->last) beta = fmin(beta, pow(length / momentum->last, contraction));
    momentum->least = fmin(momentum->least, length);
    momentum->last = length;
    momentum->t = next;
    return beta;
}

void cs_nesterov_begin(cs_steps_run *steps, cs_momentum *momentum)
{
    cs_solver *solver = steps->run.solver;
    *momentum = CS_NO_MOMENTUM;
    cs_point_copy(solver, cs_point_at(solver, BEFORE), cs_point_here(solver));
}

void cs_nesterov_extrapolate(cs_steps_run *steps, cs_momentum *momentum, double restart,
                             double contraction)
{
    cs_solver *solver = steps->run.solver;
    double beta = cs_momentum_next(momentum, sqrt(steps->change), restart, contraction);
    if (isnan(beta)) {
        solver->figure_value[CS_RESTARTS]++;
        cs_nesterov_begin(steps, momentum);
        return;
    }
    cs_point_extrapolate(solver, cs_point_here(solver), beta, cs_point_at(solver, BEFORE));
}

static void begin(cs_steps_run *steps) { cs_nesterov_begin(steps, steps->scalars); }

static void extrapolate(cs_steps_run *steps)
{
    const double *setting = steps->run.solver->setting;
    cs_nesterov_extrapolate(steps, steps->scalars, setting[RESTART], setting[CONTRACTION]);
}

static const cs_steps steps = {.points = cs_one_point,
                               .scalars = sizeof(cs_momentum),
                               .begin = begin,
                               .extrapolate = extrapolate};

const cs_method cs_method_nesterov = {
    .name = "nesterov",
    .summary = "sweeps with growing momentum, restarted when steps grow",
    .about = "Each sweep starts from y = x + beta (x - x'), where x' is the iterate before x and "
             "beta grows towards 1. The method needs far fewer sweeps than Gauss-Seidel on stacks "
             "and grids; it stalls on loose piles, where `nncg` does not.",
    .paper =
        "Nesterov 1983; O'Donoghue and Candès 2015 (restart); Fletcher and Reeves 1964 (bound); "
        "Mazhar and others 2015 (contact)",
    .solves = CS_SOLVES_AS_SWEEPS,
    .figure = cs_restarts_figure,
    .figures = CS_RESTARTS_FIGURES,
    .option = option,
    .options = OPTIONS,
    .over = CS_OVER + 1,
    .steps = &steps,
    .solve = cs_accelerate,
};
