/* The order "cache" for callers that have built the graph already. */
#ifndef CS_CACHE_H
#define CS_CACHE_H

#include "order/graph.h"

/* How the bodies are ordered. The contacts are sorted by their bodies. */
typedef enum cs_body_order {
    CS_BODIES_NATURAL,       /* by body numbers */
    CS_BODIES_BREADTH_FIRST, /* by breadth-first levels */
    CS_BODIES_AS_FITS, /* by levels if bodies with close numbers are seldom in contact, otherwise by number */
} cs_body_order;

typedef struct cs_cache_options {
    cs_body_order bodies;
    int64_t chunk; /* number of contacts that are coloured at a time */
    int domains;   /* 1: each part of the sweep is one domain; 0: all threads share each chunk */
} cs_cache_options;

cs_cache_options cs_cache_options_default(void);

/* Fills the plan. `options` holds the number of parts. */
cs_status cs_plan_cache(const cs_graph *graph, const cs_order_options *options,
                        const cs_cache_options *how, cs_arena *scratch, cs_plan *plan,
                        cs_error *error);

#endif
