#include "solver/on_ranks.h"

#include "core/error.h"
#include "core/instructions.h"
#include "solver/accelerate.h"
#include "solver/judge.h"
#include "solver/options.h"
#include "transport/networks/ranks.h"
#include "transport/transport.h"

#include <string.h>

/* Whether a measure has no sums, which devices take over blocks of threads. */
static int fits_device(const cs_measure *measure)
{
    if (measure->of_sweep) return !measure->of_change && strcmp(measure->name, "merit") != 0;
    return cs_measure_is_natural_map(measure) || (measure->part && measure->across == CS_LARGEST);
}

/* Fails for a measure that adds numbers of all contacts in one place, and not by parts of the problem. */
static cs_status check_measure(const cs_measure *measure, int on_device, cs_error *error)
{
    if (on_device && !fits_device(measure))
        return cs_fail(error, CS_UNSUPPORTED,
                       "the measure '%s' is not available on ranks with devices: it is a sum over "
                       "the blocks of threads of each",
                       measure->name);
    int by_parts = measure->part && (measure->across == CS_LARGEST || measure->of_block);
    if (measure->of_sweep || cs_measure_is_natural_map(measure) || measure->on_ranks || by_parts)
        return CS_OK;
    return cs_fail(error, CS_UNSUPPORTED,
                   "the measure '%s' is not available on ranks: it adds numbers of all contacts "
                   "in one place",
                   measure->name);
}

/* Fails for methods that ranks do not have. */
static cs_status check_method(const cs_method *method, cs_error *error)
{
    int steps = method->solve == cs_accelerate && !method->without_sweeps && !method->prepare;
    if (!method->splits && (method->solve == cs_fixed_point || steps)) return CS_OK;
    return cs_fail(error, CS_UNSUPPORTED,
                   "method='%s' is not available on ranks: jacobi, gauss_seidel, "
                   "symmetric_gauss_seidel, nesterov, nncg, nesterov_nncg, momentum, anderson and "
                   "chebyshev are",
                   method->name);
}

/* Fails for what ranks with devices do not have. */
static cs_status check_device(const cs_solver *solver, const cs_share *share, int ranks,
                              cs_error *error)
{
    /* Sweeps. */
    const cs_options *options = &solver->options;
    if (solver->method->solve != cs_fixed_point)
        return cs_fail(
            error, CS_UNSUPPORTED,
            "method='%s' is not available on ranks with device='%s', which has no sums by "
            "parts: gauss_seidel, symmetric_gauss_seidel and jacobi are",
            solver->method->name, options->device);
    if (strcmp(options->device_sweeps, "auto") != 0 &&
        strcmp(options->device_sweeps, "launches") != 0)
        return cs_fail(
            error, CS_UNSUPPORTED,
            "device_sweeps='%s' is not available on ranks, which exchange messages after "
            "each stage of a sweep: device_sweeps='launches' is",
            options->device_sweeps);

    /* Borders that one rank visits for another. */
    cs_status status = cs_share_check(share, solver->problem, ranks, error);
    for (int64_t s = 0; s < share->stages && !status; s++) {
        if (share->kind[s] != CS_DISJOINT && share->kind[s] != CS_CONCURRENT) continue;
        for (int64_t i = share->start[s]; i < share->start[s + 1]; i++)
            if (!cs_share_is_inside(share, solver->problem, share->block[i]))
                return cs_fail(error, CS_UNSUPPORTED,
                               "order='%s' has one part visit contacts at the bodies of another, "
                               "which is not available on ranks with device='%s': a border in "
                               "colours is",
                               share->order, options->device);
    }
    return status;
}

/* Fails for options that ranks do not share. */
static cs_status check_options(const cs_solver *solver, const cs_share *share, int ranks,
                               cs_error *error)
{
    const cs_options *options = &solver->options;
    int on_device = strcmp(options->device, "cpu") != 0;
    if (solver->scheme && strcmp(solver->scheme->name, "factorized") != 0)
        return cs_fail(error, CS_UNSUPPORTED,
                       "scheme='%s' is not available on ranks: scheme='factorized' is",
                       solver->scheme->name);
    if (options->order_options.subtasks)
        return cs_fail(error, CS_UNSUPPORTED, "subtasks are not available on ranks");
    cs_status status = check_measure(solver->stop, on_device, error);
    for (int c = 0; c < solver->history.columns - 2 && !status; c++)
        status = check_measure(solver->history.measure[c], on_device, error);
    return status || !on_device ? status : check_device(solver, share, ranks, error);
}

/* The instruction set of all ranks: the narrowest that one of them asks for, or their environment does. Collective. */
static int common_instructions(const cs_solver *solver)
{
    double own = solver->instructions;
    int common = solver->instructions;
    const double *all = cs_ranks_gather(solver->ranks, &own, 1);
    for (int r = 0; all && r < cs_ranks_count(solver->ranks); r++) {
        int other = (int)all[r * CS_RANKS_NUMBERS];
        if (other == CS_INSTRUCTIONS_AUTO || common == CS_INSTRUCTIONS_SCALAR) continue;
        if (other == CS_INSTRUCTIONS_SCALAR || common == CS_INSTRUCTIONS_AUTO || other < common)
            common = other;
    }
    return common;
}

cs_status cs_join_ranks(cs_solver *solver, const cs_share *share, cs_transport *transport,
                        cs_status status, int *known, cs_error *error)
{
    /* All ranks learn of a failure of one of them. */
    cs_error ignored = {0};
    cs_status unknown = solver->method ? check_method(solver->method, error) : CS_OK;
    if (unknown) status = unknown; /* whatever else such a method does not have */
    if (!status) status = check_options(solver, share, cs_transport_ranks(transport), error);
    status = cs_transport_agree(transport, status, error ? error : &ignored);
    *known = status != CS_OK;
    if (status) return status;

    /* The ranks. */
    cs_dtype dtype = cs_dtype_of(&solver->options);
    status = cs_ranks_make(&solver->ranks, share, solver->problem, cs_real_size(dtype), transport,
                           known, error);
    if (status) return status;
    solver->products.complete = cs_ranks_complete;
    solver->products.context = solver->ranks;

    /* What the schemes and kernels of all ranks have in common. */
    solver->instructions = common_instructions(solver);
    solver->scheme = cs_scheme_find("factorized");
    return cs_ranks_status(solver->ranks, error);
}

int cs_solver_failure_is_known(const cs_solver *solver)
{
    if (solver->network.ranks) return cs_network_ranks_have_agreed(solver->network.ranks);
    return cs_ranks_have_agreed(solver->ranks);
}

int64_t cs_islands_on_ranks(const cs_solver *solver, int64_t *island)
{
    const cs_share *share = cs_ranks_share(solver->ranks);
    int64_t blocks = solver->problem->blocks, shared = share->shared_islands, next = shared;
    for (int64_t k = 0; k < blocks; k++) {
        if (share->island[k] >= 0) island[k] = share->island[k];
        else if (island[k] >= 0) island[k] += shared;
        if (island[k] >= next) next = island[k] + 1;
    }
    for (int64_t k = 0; k < blocks; k++)
        if (island[k] < 0) island[k] = next++;
    return next;
}
