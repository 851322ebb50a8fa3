/* The order "cache" on a graph that has been built. */
#ifndef CS_CACHE_H
#define CS_CACHE_H

#include "order/graph.h"

/* How bodies are lined up. */
typedef enum cs_body_order {
    CS_BODIES_NATURAL,       /* by their numbers */
    CS_BODIES_BREADTH_FIRST, /* by breadth-first levels */
    CS_BODIES_AS_FITS,       /* by levels where numbers say nothing of who touches whom */
} cs_body_order;

typedef struct cs_cache_options {
    cs_body_order bodies;
    int64_t chunk; /* contacts that are coloured at a time */
    int domains;   /* each part its own; 0: chunk after chunk on all threads */
} cs_cache_options;

cs_cache_options cs_cache_options_default(void);

cs_status cs_plan_cache(const cs_graph *graph, const cs_order_options *options,
                        const cs_cache_options *how, cs_arena *scratch, cs_plan *plan,
                        cs_error *error);

#endif
