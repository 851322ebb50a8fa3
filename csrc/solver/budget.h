/* What belongs to one solve, or to the making of a solver: who may end it, what it may spend, and what
 * it has spent. Links of a chain share one, so that iterations and seconds add up. */
#ifndef CS_BUDGET_H
#define CS_BUDGET_H

#include "core/cancellation.h"

/* When the alternative method takes over from the sweeps of a link: after a least number of sweeps, and once
 * these have cost a share of what it will. The share is the early one where the scaled natural map is small. */
typedef struct cs_takeover {
    int64_t least_sweeps;
    double small; /* the largest scaled natural map that is small */
    double early_share, late_share;
} cs_takeover;

typedef struct cs_budget {
    const cs_control *control;     /* the caller's; may be NULL */
    cs_cancellation *cancellation; /* asked while something is built; NULL: nobody wants to know */
    double deadline; /* cs_clock at which a solve ends; infinite: that of the solver's options */
    const signed char
        *index_set; /* (rows), the caller's: what a direct method begins with; or NULL */
    double
        unclocked; /* seconds that result.seconds leaves out: of recording, of checks if so asked */

    /* Of a link of a chain; zero elsewhere. */
    int is_link;
    int64_t made;    /* iterations before this link, */
    double spent;    /* and their seconds */
    double patience; /* least sweeps without a halving over all sweeps before the last one */
    int pivots;      /* maximum of the first direct solve, which ends the link; 0: any number */
    /* Estimates the cost of the alternative method, in sweeps. NULL: there is no alternative. */
    cs_status (*alternative)(void *context, cs_cancellation *cancellation, double *sweeps,
                             cs_error *error);
    void *alternative_context;
    cs_takeover takeover; /* used if there is an alternative */
    int overtaken;        /* out: the link has ended because another is expected to be faster */
} cs_budget;

#endif
