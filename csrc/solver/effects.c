#include "solver/effects.h"

#include "solver/solver.h"

#include <stdio.h>
#include <string.h>

/* ---- the factors R --------------------------------------------------------------------------- */

/* Local solves of whole blocks need no R. */
static int without_factors(const cs_solver *solver, const char *use, const char *advice, char *why,
                           size_t size)
{
    if (!cs_solves_blocks(&solver->options)) return 0;
    snprintf(why, size, "it %s R, and local='%s' solves blocks without one%s", use,
             solver->options.local, advice);
    return 1;
}

int cs_relaxation_is_idle(const void *context, char *why, size_t size)
{
    return without_factors(context, "scales", "; use averaging", why, size);
}

int cs_factor_is_idle(const void *context, char *why, size_t size)
{
    return without_factors(context, "chooses", "", why, size);
}

/* ---- orders ---------------------------------------------------------------------------------- */

/* Methods without sweeps refuse orders; their inner methods may have one. */
int cs_parts_are_idle(const void *context, char *why, size_t size)
{
    const cs_solver *solver = context;
    const cs_order *order = solver->order;
    if (order->divides || solver->options.order_options.subtasks > 0) return 0;
    if (solver->method->without_sweeps) return 0;
    snprintf(why, size, "it divides the problem for orders with parts, and order='%s' has none",
             order->name);
    return 1;
}

/* ---- measures -------------------------------------------------------------------------------- */

/* Whether a recorded measure needs the residual velocities of an iterate. */
static int records_states(const cs_solver *solver)
{
    for (int c = 0; c < solver->history.columns - 2; c++)
        if (!solver->history.measure[c]->of_sweep) return 1;
    return 0;
}

int cs_stop_is_idle(const void *context, char *why, size_t size)
{
    const cs_solver *solver = context;
    if (!solver->fixed_iterations) return 0;
    snprintf(why, size, "no measure ends a solve without tolerance; give rtol or atol");
    return 1;
}

int cs_checks_are_idle(const void *context, char *why, size_t size)
{
    const cs_solver *solver = context;
    if (!solver->fixed_iterations || records_states(solver)) return 0;
    snprintf(why, size,
             "without tolerance, and with none of the measures recorded that need xi, "
             "nothing is checked");
    return 1;
}

int cs_measuring_is_idle(const void *context, char *why, size_t size)
{
    if (records_states(context)) return 0;
    snprintf(why, size, "it is for recorded measures that cost about a sweep, and there are none");
    return 1;
}

int cs_quality_is_idle(const void *context, char *why, size_t size)
{
    const cs_solver *solver = context;
    int read = solver->stop->reads_quality_r;
    for (int c = 0; c < solver->history.columns - 2; c++)
        read |= solver->history.measure[c]->reads_quality_r;
    if (read) return 0;
    snprintf(why, size,
             "it is for the measure quality, which is neither recorded nor the stopping measure");
    return 1;
}
