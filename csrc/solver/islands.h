/* Islands: the connected parts of a problem, which share no moving body. Each is a problem of its own.
 *
 *     problem ──► islands ──► clusters, each with a solver of its own ──► threads take them, largest
 *                                                                         first
 *
 * A cluster is one island, or small ones together until they have so many contacts that a solver for
 * them pays. It iterates until its own residuals are met, then rests; and what it reads stays in the
 * cache from its first sweep to its last. The whole is told of as if all had been swept side by side:
 * row i of the history has the largest residual after i iterations (or the sum, where a measure is
 * one), clusters at rest with what they ended with. The stop rule of math.md section 4 looks at every
 * coupled set by itself, with the speed V of its island, so that the whole has converged when all have.
 *
 * That holds where every measure asked for is a maximum or a sum over contacts, and where the order of
 * visits inside an island does not depend on the others; else the problem is swept as one. */
#ifndef CS_ISLANDS_H
#define CS_ISLANDS_H

#include "solver/method.h"

struct cs_islands;

/* Cuts the solver's problem where that is asked for, possible, and pays: solver->islands, which is NULL
 * otherwise. */
cs_status cs_islands_cut(cs_solver *solver, const cs_control *control, cs_error *error);

/* As cs_method.solve. */
cs_status cs_islands_solve(cs_solver *solver, const cs_control *control, cs_result *result,
                           cs_error *error);

void cs_islands_describe(const struct cs_islands *islands, cs_solver_info *info);
void cs_islands_destroy(struct cs_islands *islands); /* may be NULL */

/* A solver with the options of `whole` for a part of its problem; `control` may be NULL. */
cs_status cs_solver_create_within(cs_solver **result, const cs_solver *whole,
                                  const cs_problem *problem, const cs_control *control,
                                  cs_error *error);

#endif
