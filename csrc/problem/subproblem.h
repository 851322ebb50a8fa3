/* A part of a problem as a problem. */
#ifndef CS_SUBPROBLEM_H
#define CS_SUBPROBLEM_H

#include "problem/problem.h"

/* The part of a problem that these blocks (count, ascending) are. Its bodies are the moving ones that
 * they touch; immovable ones become the fixed world. In a given A no other blocks couple to them. */
cs_status cs_subproblem(const cs_problem *problem, const int64_t *block, int64_t count,
                        cs_problem **part, cs_error *error);

#endif
