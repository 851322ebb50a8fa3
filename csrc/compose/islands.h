/* Islands: the connected parts of a problem. They share no movable body, so that each is a problem of its own.
 *
 *     problem ──► islands ──► clusters, each with a solver of its own ──► threads take them, largest
 *                                                                         first
 *
 * A cluster is one large island, or several small ones with enough contacts in total that a separate solver saves
 * time. It iterates until its own solve ends. Its data stay in the cache from its first sweep to its last.
 *
 * The result is reported as if all clusters had been swept at the same time: row i of the history has the largest
 * residual of all clusters after i iterations (or the sum, if a measure is a sum), and a cluster whose solve has ended
 * contributes its last values. The stop rule (measure/measure.h) tests each coupled set for itself, with the speed V
 * of its island, so that the whole problem has converged when all clusters have.
 *
 * This requires that every measure is a maximum or a sum over contacts, and that the order of the visits in an island
 * does not depend on other islands. Otherwise the problem is swept as a whole. */
#ifndef CS_ISLANDS_H
#define CS_ISLANDS_H

#include "solver/solver.h"

extern const cs_composition cs_composition_islands;

#endif
