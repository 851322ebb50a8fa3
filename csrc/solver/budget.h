/* The budget of one solve, or of the set-up of a solver: who may end it, what it may spend, and what it has spent.
 * The links of a chain (methods/chain/auto.c) share one budget, so that their iterations and seconds add up.
 *
 *     wall clock   start ──────────────────────────────────────────► now
 *     unclocked          recording, the caller's functions, checks without time_checks
 *     cs_seconds         all the rest: result.seconds, column 1 of the history
 *     sweeping           of these, the steps of the method: result.sweep_seconds */
#ifndef CS_BUDGET_H
#define CS_BUDGET_H

#include "contactsolve.h"
#include "core/cancellation.h"
#include "core/clock.h"

/* When the alternative method takes over from the sweeps of a link: after a least number of sweeps, and once
 * these have cost a share of what it will. The share is the early one where the scaled natural map is small. */
typedef struct cs_takeover {
    int64_t least_sweeps;
    double small; /* the largest scaled natural map that is small */
    double early_share, late_share;
} cs_takeover;

typedef struct cs_budget {
    const cs_control *control;     /* the caller's; may be NULL */
    cs_cancellation *cancellation; /* for long computations of the set-up; NULL: none */
    double deadline;              /* cs_clock at which the solve ends; INFINITY: from max_seconds */
    const signed char *index_set; /* (rows), the caller's: start of a direct method; or NULL */

    /* The clock of the solve, and the control whose calls it does not count (cs_budget_begin). */
    double start;     /* cs_clock at which the solve began */
    double unclocked; /* seconds since then that are not in result.seconds */
    double sweeping;  /* seconds of the steps */
    double clock;     /* cs_clock when it was last read, and */
    int clock_is_old; /* whether work that takes time has been done since then */
    cs_control timed; /* calls the control that was given, which is `given` */
    const cs_control *given;

    /* For the links of a chain; zero otherwise. */
    const struct cs_natural_map
        *first; /* of the first iterate, if it, xi and velocity are evaluated; or NULL */
    int is_link;
    int64_t made; /* iterations before this link */
    /* The link's patience is at least this multiple of the iterations that it needed up to the last halving of
     * the residual. */
    double patience;
    int pivots; /* maximum pivots of the first direct solve, after which the link ends; 0: no maximum */
    /* Estimates the cost of the alternative method, in sweeps. NULL: there is no alternative. */
    cs_status (*alternative)(void *context, cs_cancellation *cancellation, double *sweeps,
                             cs_error *error);
    void *alternative_context;
    cs_takeover takeover; /* used if there is an alternative */
    int overtaken; /* result: the link ended because another method is expected to be faster */
} cs_budget;

/* Starts the clock. The deadline is max_seconds later unless an earlier solve has set it. `control` becomes one that
 * calls the given control and does not count these calls. */
void cs_budget_begin(cs_budget *budget, double max_seconds);

/* The seconds of the solve up to this cs_clock, without what was left out. */
static inline double cs_seconds_at(const cs_budget *budget, double clock)
{
    return clock - budget->start - budget->unclocked;
}

/* cs_clock, which is read again only if it is old: a sweep over few contacts takes hardly longer than a reading. */
static inline double cs_recent_clock(cs_budget *budget)
{
    if (budget->clock_is_old) budget->clock = cs_clock();
    budget->clock_is_old = 0;
    return budget->clock;
}

static inline double cs_recent_seconds(cs_budget *budget)
{
    return cs_seconds_at(budget, cs_recent_clock(budget));
}

/* The seconds of the solve so far. */
static inline double cs_seconds(const cs_budget *budget)
{
    return cs_seconds_at(budget, cs_clock());
}

/* Leaves out what was done after cs_seconds returned `since`. */
static inline void cs_leave_out(cs_budget *budget, double since)
{
    budget->clock_is_old = 1;
    budget->unclocked += cs_recent_seconds(budget) - since;
}

#endif
