/* The order "cache" on a graph that has been built. */
#ifndef CS_CACHE_H
#define CS_CACHE_H

#include "order/graph.h"

cs_status cs_plan_cache(const cs_graph *graph, const cs_order_options *options, cs_arena *scratch,
                        cs_plan *plan, cs_error *error);

#endif
