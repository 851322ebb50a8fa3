/* Sums over the parts of the problem, where the schedule has them: the bits do not depend on how many ranks share the parts.
 * Lanczos' start vector then depends on the contacts' numbers in the whole problem (cs_solver_lanczos). */
#ifndef CS_PART_SUMS_H
#define CS_PART_SUMS_H

#include "solver/solver.h"

/* The sums of one solver whose schedule has parts. */
typedef struct cs_solver_sums {
    const cs_solver *solver;
    double *of_owner; /* (owners): scratch */
} cs_solver_sums;

/* x.y over the rows of all ranks, part by part in the order of the visits, then over the parts in their order. `context` is
 * a cs_solver_sums. */
double cs_part_dot(void *context, const double *x, const double *y);

/* part (blocks) <- the part of the problem that each block belongs to. The schedule has parts, or the solver is on ranks. */
void cs_part_of_blocks(const cs_solver *solver, int64_t *part);

#endif
