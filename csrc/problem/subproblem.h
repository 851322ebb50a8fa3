/* Copies some blocks of a problem, and the bodies that they act on, into a problem of their own. */
#ifndef CS_SUBPROBLEM_H
#define CS_SUBPROBLEM_H

#include "problem/problem.h"

/* part <- a new problem with the blocks `block` (count, ascending). Its bodies are the movable ones that
 * these blocks act on; immovable bodies become the fixed world. In a given A, none of these blocks may be
 * coupled to another block. On failure `part` is NULL. The caller destroys the result. */
cs_status cs_subproblem(const cs_problem *problem, const int64_t *block, int64_t count,
                        cs_problem **part, cs_error *error);

#endif
