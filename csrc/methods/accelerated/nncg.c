/* Nonsmooth nonlinear conjugate gradients: the step of a sweep S takes the place of the gradient,
 *
 *     g_k = y_k - S(y_k),   beta_k = |g_k|^2 / |g_k-1|^2             (Fletcher and Reeves)
 *                           beta_k = g_k.(g_k - g_k-1) / |g_k-1|^2   (Polak and Ribiere, >= 0)
 *     y_k+1 = S(y_k) + beta_k p_k-1,   p_k = beta_k p_k-1 - g_k
 *
 * with beta <= 1. Restart: p = 0 when a step is longer than the one before.
 *
 * Silcowitz, Niebe and Erleben 2010 */
#include "methods/accelerated/stages_of_sweeps.h"

#include <math.h>

const char *const cs_nncg_formulas[] = {"fletcher_reeves", "polak_ribiere", NULL};
enum { FLETCHER_REEVES, POLAK_RIBIERE };

enum { FORMULA = CS_OWN_OPTIONS, OPTIONS };

static const cs_method_option option[OPTIONS] = {
    CS_PATIENCE_OPTION,
    CS_OVER_OPTION(0),
    [FORMULA] = CS_FORMULA_OPTION,
};

/* Points: y_k; p_k; for Polak and Ribiere's formula also g_k and g_k-1. */
enum { START, DIRECTION, GRADIENT, POINTS = GRADIENT + 2 };

int cs_nncg_points(double formula) { return formula == POLAK_RIBIERE ? POINTS : GRADIENT; }

void cs_nncg_begin(cs_steps_run *steps, cs_conjugate_step *own)
{
    cs_solver *solver = steps->run.solver;
    own->square = 0;
    cs_point_copy(solver, cs_point_at(solver, START), cs_point_here(solver));
}

void cs_nncg_clear(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    cs_point here = cs_point_here(solver);
    cs_point_combine(solver, cs_point_at(solver, DIRECTION), 0, here, 0, here);
}

/* Returns g_k.g_k-1, or 0 in the first step; keeps g_k for the next one. */
static double product_of_gradients(cs_solver *solver, cs_conjugate_step *own)
{
    cs_point g = cs_point_at(solver, GRADIENT + own->newer);
    cs_point before = cs_point_at(solver, GRADIENT + !own->newer);
    cs_point_combine(solver, g, 1, cs_point_at(solver, START), -1, cs_point_here(solver));
    own->newer = !own->newer;
    return own->square > 0 ? cs_point_dot(solver, g, before) : 0;
}

void cs_nncg_extrapolate(cs_steps_run *steps, cs_conjugate_step *own, double formula)
{
    cs_solver *solver = steps->run.solver;
    cs_point here = cs_point_here(solver), start = cs_point_at(solver, START);
    cs_point p = cs_point_at(solver, DIRECTION);

    /* |g_k|^2. A symmetric step consists of two sweeps, so that the change of the last one is not enough. */
    double square = solver->symmetric ? cs_point_distance(solver, start, here) : steps->change;
    double before = own->square, product = 0;
    if (formula == POLAK_RIBIERE) product = product_of_gradients(solver, own);

    /* If the step is longer than the one before, restart: p = 0, y_k+1 = S(y_k). */
    own->square = square;
    if (before > 0 && square > before) {
        solver->figure_value[CS_RESTARTS]++;
        cs_point_combine(solver, p, 0, here, 0, here);
        cs_point_copy(solver, start, here);
        return;
    }

    /* The step of conjugate gradients. */
    double beta = before > 0 ? fmax(0, (square - product) / before) : 0;
    cs_point_conjugate(solver, here, fmin(beta, 1), p, start);
}

static int points(const cs_solver *solver) { return cs_nncg_points(solver->setting[FORMULA]); }

static void begin(cs_steps_run *steps) { cs_nncg_begin(steps, steps->scalars); }

static void extrapolate(cs_steps_run *steps)
{
    cs_nncg_extrapolate(steps, steps->scalars, steps->run.solver->setting[FORMULA]);
}

static const cs_steps steps = {.points = points,
                               .scalars = sizeof(cs_conjugate_step),
                               .begin = begin,
                               .extrapolate = extrapolate};

const cs_method cs_method_nncg = {
    .name = "nncg",
    .summary = "nonlinear conjugate gradients, with the step of a sweep as the gradient",
    .about =
        "The step of a sweep serves as the gradient of conjugate directions; the method restarts "
        "when steps grow. With relaxation=1.3 it needs the fewest sweeps of all methods on grids "
        "and loose piles; it stalls on stacks with heavy bodies, where `nesterov` does not.",
    .paper = "Silcowitz, Niebe and Erleben 2010; Fletcher and Reeves 1964; Polak and Ribière 1969",
    .solves = CS_SOLVES_AS_SWEEPS,
    .figure = cs_restarts_figure,
    .figures = CS_RESTARTS_FIGURES,
    .option = option,
    .options = OPTIONS,
    .over = CS_OVER + 1,
    .steps = &steps,
    .solve = cs_accelerate,
};
