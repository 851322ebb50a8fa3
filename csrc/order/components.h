/* Connected components: two blocks that share a movable body belong to the same component (S1 section 7.4), and
 * blocks of different components do not depend on each other. */
#ifndef CS_COMPONENTS_H
#define CS_COMPONENTS_H

#include "order/graph.h"

/* Sorts the visits of the plan from `first` to `end` into at most `parts` parts of nearly equal size, and marks
 * where the parts begin. Each part holds whole components, so that no two parts share a movable body. */
cs_status cs_plan_components(const cs_graph *graph, int64_t parts, int64_t first, int64_t end,
                             cs_arena *scratch, cs_plan *plan, cs_error *error);

/* cs_problem_islands, on so many threads. */
cs_status cs_find_islands(const cs_problem *problem, int threads, int64_t *label, int64_t *islands,
                          cs_error *error);

/* The same for a problem with a given A, whose blocks are the vertices of its graph, on one thread. */
cs_status cs_islands_of_matrix(const cs_problem *problem, int64_t *label, int64_t *islands,
                               cs_error *error);

#endif
