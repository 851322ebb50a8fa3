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

#include "solver/solver.h"

extern const cs_composition cs_composition_islands;

#endif
