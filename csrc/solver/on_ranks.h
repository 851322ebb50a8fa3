/* A solver whose problem is one rank's share of a larger one (distributed/share.h). Each rank has such a solver; all of them
 * make the same decisions, because these are made from numbers of all ranks, and compute the same impulses. */
#ifndef CS_ON_RANKS_H
#define CS_ON_RANKS_H

#include "solver/solver.h"

struct cs_transport;

/* Creates the solver of one rank. Collective: the ranks' options are equal. The share, its arrays and the transport must
 * outlive the solver. Options that need the whole problem in one place are refused by name. known <- whether all ranks
 * know of a failure; otherwise this rank has to abort the transport, because others may wait for it. */
cs_status cs_solver_make_on_ranks(cs_solver **solver, const cs_problem *problem,
                                  const cs_options *options, const cs_share *share,
                                  struct cs_transport *transport, int *known,
                                  const cs_control *control, cs_error *error);

/* The same of the last solve. */
int cs_solver_failure_is_known(const cs_solver *solver);

/* ---- for solver/ only -------------------------------------------------------------------------- */

/* Checks the options, and makes solver->ranks. */
cs_status cs_join_ranks(cs_solver *solver, const cs_share *share, struct cs_transport *transport,
                        cs_status status, int *known, cs_error *error);

/* island (blocks), with -1 for blocks that move nothing, <- numbers from 0 for all blocks: those of islands on several ranks
 * first. Returns the number of islands. */
int64_t cs_islands_on_ranks(const cs_solver *solver, int64_t *island);

#endif
