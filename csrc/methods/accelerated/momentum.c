/* Constant momentum over sweeps S, Polyak's heavy ball with the gradient at the extrapolated point:
 *
 *     x_k = S(y_k),   y_k+1 = x_k + beta (x_k - x_k-1)
 *
 * The method never restarts. At first it is slower than Nesterov's method, and it goes on where that one
 * stalls. */
#include "solver/accelerate.h"

enum { BETA = CS_OWN_OPTIONS, OPTIONS };

static const cs_method_option option[OPTIONS] = {
    CS_PATIENCE_OPTION,
    CS_OVER_OPTION(0),
    [BETA] = CS_NUMBER_OPTION("beta", 0.5, 0, 0.99, "fraction of the last step that is repeated"),
};

/* The one point: x_k-1. */
enum { BEFORE };

static void begin(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    cs_point_copy(solver, cs_point_at(solver, BEFORE), cs_point_here(solver));
}

static void extrapolate(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    cs_point_extrapolate(solver, cs_point_here(solver), solver->setting[BETA],
                         cs_point_at(solver, BEFORE));
}

static const cs_steps steps = {
    .points = cs_one_point, .scalars = 0, .begin = begin, .extrapolate = extrapolate};

const cs_method cs_method_momentum = {
    .name = "momentum",
    .summary = "sweeps with constant momentum, without restarts",
    .about = "Each sweep starts from y = x + beta (x - x'), where x' is the iterate before x. "
             "Useful values are beta = 0.5 to 0.8; larger ones converge faster until they diverge, "
             "and R is halved.",
    .paper = "Polyak 1964",
    .solves = CS_SOLVES_AS_SWEEPS,
    .option = option,
    .options = OPTIONS,
    .over = CS_OVER + 1,
    .steps = &steps,
    .solve = cs_accelerate,
};
