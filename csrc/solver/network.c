/* A solver whose sweeps a network of processes makes (transport/networks/network.h). On ranks each of them has the
 * whole problem, and a solver that makes the same decisions. */
#include "solver/network.h"

#include "core/error.h"
#include "solver/options.h"
#include "solver/solver.h"
#include "transport/networks/network.h"

#include <string.h>

cs_status cs_connect_packing(cs_solver *solver, cs_error *error)
{
    if (!solver->network.name) return CS_OK;
    if (solver->network.ranks) cs_network_ranks_clear(solver->network.ranks);
    return solver->backend->connect(solver->packing.state, &solver->network, &solver->kept, error);
}

/* Fails for solvers whose sweeps no network makes. */
static cs_status check(const cs_solver *solver, const char *name, cs_error *error)
{
    const char *method = solver->method->name;
    if (strcmp(method, "jacobi") != 0 && strcmp(method, "gauss_seidel") != 0)
        return cs_fail(error, CS_UNSUPPORTED,
                       "network '%s' makes sweeps of the methods 'jacobi' and 'gauss_seidel', not "
                       "of '%s'",
                       name, method);
    if (solver->parts)
        return cs_fail(error, CS_UNSUPPORTED,
                       "network '%s' sweeps the problem as a whole: give islands=False", name);
    if (!solver->backend->connect)
        return cs_fail(error, CS_UNSUPPORTED, "device '%s' has no networks: give device='cpu'",
                       solver->backend->name);
    if (cs_problem_calls_back(solver->problem))
        return cs_fail(error, CS_UNSUPPORTED,
                       "network '%s' takes no sets that call functions of the caller", name);
    if (solver->network.name)
        return cs_fail(error, CS_INVALID, "the solver has the network '%s' already",
                       solver->network.name);
    return CS_OK;
}

static cs_status connect(cs_solver *solver, const char *name, int workers,
                         const cs_setting *settings, int count, cs_network_ranks *ranks,
                         cs_error *error)
{
    /* The network, and its options by the words of the library. */
    const cs_network *network;
    cs_network_request request = {.workers = workers, .ranks = ranks};
    cs_status status = cs_network_settle(&network, name, settings, count, request.setting, error);
    if (!status) status = check(solver, name, error);
    if (ranks) status = cs_network_ranks_agree(ranks, status, error);
    if (status) return status;
    request.name = network->name;
    request.settings = network->options;
    for (int i = 0; i < request.settings; i++)
        if (strcmp(request.setting[i].name, "ahead") == 0)
            request.looks_ahead = request.setting[i].number > 0;

    /* Connect it to what is packed; what is packed later gets it as well. */
    solver->network = request;
    status = cs_connect_packing(solver, error);
    if (status) solver->network = (cs_network_request){0};
    return status;
}

cs_status cs_solver_connect(cs_solver *solver, const char *name, int workers,
                            const cs_setting *settings, int count, cs_error *error)
{
    return connect(solver, name, workers, settings, count, NULL, error);
}

cs_status cs_solver_connect_on_ranks(cs_solver *solver, const char *name, int workers,
                                     const cs_setting *settings, int count,
                                     struct cs_transport *transport, int *known, cs_error *error)
{
    cs_network_ranks *ranks;
    cs_status status = cs_network_ranks_make(&ranks, transport, error);
    *known = 1; /* ranks agree on a failure */
    if (status) return status;
    status = connect(solver, name, workers, settings, count, ranks, error);
    *known = cs_network_ranks_have_agreed(ranks);
    if (status) cs_network_ranks_free(ranks);
    return status;
}

int cs_solver_network_counts(const cs_solver *solver, cs_network_counts *counts)
{
    const cs_network_counts *found = NULL;
    if (solver->network.name) found = solver->backend->connected(solver->packing.state);
    *counts = found ? *found : (cs_network_counts){0};
    return found != NULL;
}
