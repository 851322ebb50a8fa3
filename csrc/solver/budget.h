/* The budget of one solve, or of the set-up of a solver: who may end it, what it may spend, and what it has spent.
 * The links of a chain (methods/chain/auto.c) share one budget, so that their iterations and seconds add up. */
#ifndef CS_BUDGET_H
#define CS_BUDGET_H

#include "core/cancellation.h"

typedef struct cs_budget {
    const cs_control *control;     /* the caller's; may be NULL */
    cs_cancellation *cancellation; /* for long computations of the set-up; NULL: none */
    double deadline;              /* cs_clock at which the solve ends; INFINITY: from max_seconds */
    const signed char *index_set; /* (rows), the caller's: start of a direct method; or NULL */
    double unclocked; /* seconds not in result.seconds: recording, and checks without time_checks */

    /* For the links of a chain; zero otherwise. */
    int is_link;
    int64_t made; /* iterations before this link */
    double spent; /* seconds before this link */
    /* The link's patience is at least this multiple of the iterations that it needed up to the last halving of
     * the residual. */
    double patience;
    int pivots; /* maximum pivots of the first direct solve, after which the link ends; 0: no maximum */
    /* Estimates the cost of the alternative method, in sweeps. NULL: there is no alternative. */
    cs_status (*alternative)(void *context, cs_cancellation *cancellation, double *sweeps,
                             cs_error *error);
    void *alternative_context;
    int overtaken; /* result: the link ended because another method is expected to be faster */
} cs_budget;

#endif
