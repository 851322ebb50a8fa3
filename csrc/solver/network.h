/* A solver whose sweeps a network of processes makes on several ranks. */
#ifndef CS_SOLVER_NETWORK_H
#define CS_SOLVER_NETWORK_H

#include "solver/solver.h"

struct cs_transport;

/* As cs_solver_connect, with the processes of the network on the ranks of a transport, which must outlive the solver.
 * Each rank has a solver of the same problem, options and kernels; all of them call this, and every solve that
 * follows, with equal arguments, and get the same results. Fails also with CS_UNSUPPORTED for networks whose messages
 * are pointers, and as messages do. known <- whether all ranks know of a failure: cs_solver_failure_is_known of this
 * call. */
cs_status cs_solver_connect_on_ranks(cs_solver *solver, const char *name, int workers,
                                     const cs_setting *settings, int count,
                                     struct cs_transport *transport, int *known, cs_error *error);

#endif
