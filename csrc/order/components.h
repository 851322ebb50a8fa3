/* Blocks grouped by what depends on what (S1 section 7.4): connected components over moving bodies. */
#ifndef CS_COMPONENTS_H
#define CS_COMPONENTS_H

#include "order/graph.h"

/* Sorts the visits of the plan from `first` to `end` into at most `parts` parts of about equal size,
 * each of whole components, and cuts them there: no two parts share a moving body. */
cs_status cs_plan_components(const cs_graph *graph, int64_t parts, int64_t first, int64_t end,
                             cs_arena *scratch, cs_plan *plan, cs_error *error);

#endif
