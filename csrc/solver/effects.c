#include "solver/effects.h"

#include "solver/solver.h"

#include <stdio.h>
#include <string.h>

/* ---- the factors R --------------------------------------------------------------------------- */

/* Whether local problems are solved without R. Then `why` says so: `use` is the verb of what the option would do
 * with R, `advice` follows at the end. */
static int without_factors(const cs_solver *solver, const char *use, const char *advice, char *why,
                           size_t size)
{
    if (!cs_solves_blocks(&solver->options)) return 0;
    snprintf(why, size, "it %s R, and local='%s' solves blocks without R%s", use,
             solver->options.local, advice);
    return 1;
}

int cs_relaxation_is_idle(const void *context, char *why, size_t size)
{
    return without_factors(context, "scales", "; use averaging", why, size);
}

int cs_factor_is_idle(const void *context, char *why, size_t size)
{
    return without_factors(context, "determines", "", why, size);
}

/* ---- threads --------------------------------------------------------------------------------- */

int cs_exact_threads_is_idle(const void *context, char *why, size_t size)
{
    if (((const cs_solver *)context)->options.threads) return 0;
    snprintf(why, size, "no number of threads is given; give threads");
    return 1;
}

/* ---- devices --------------------------------------------------------------------------------- */

int cs_device_sweeps_is_idle(const void *context, char *why, size_t size)
{
    const cs_options *options = &((const cs_solver *)context)->options;
    if (strcmp(options->device, "cpu") != 0) return 0;
    snprintf(why, size, "it is for a device, and device is 'cpu'");
    return 1;
}

int cs_device_prox_is_idle(const void *context, char *why, size_t size)
{
    const cs_options *options = &((const cs_solver *)context)->options;
    if (cs_device_sweeps_is_idle(context, why, size)) return 1;
    if (strcmp(options->dtype, "float32") == 0) return 0;
    snprintf(why, size, "it is for dtype='float32', and dtype is '%s'", options->dtype);
    return 1;
}

/* ---- measures -------------------------------------------------------------------------------- */

int cs_stop_is_idle(const void *context, char *why, size_t size)
{
    const cs_solver *solver = context;
    if (!solver->fixed_iterations) return 0;
    snprintf(why, size, "no measure ends a solve without tolerance; give rtol or atol");
    return 1;
}
