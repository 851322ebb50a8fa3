/* Parts of a schedule that are problems of their own: each iterates, stops and rolls back by itself.
 *
 *     schedule   one stage of parts that share no moving body (order/schedule.h)
 *     part       sweep | judge | sweep | judge ... until its own natural map meets the tolerance
 *
 * A backend solves all parts in one call. Processor and devices run the same loop (backend/solve_part.inc) around sweeps of
 * their own, visit by visit in the order of the schedule. The header compiles as C and as C++. */
#ifndef CS_PARTS_H
#define CS_PARTS_H

#include "backend/backend.h"

/* How a part ended. */
typedef enum cs_part_end {
    CS_PART_OPEN, /* it has sweeps left */
    CS_PART_CONVERGED,
    CS_PART_EXHAUSTED, /* all iterations were made */
    CS_PART_DIVERGED,  /* R was halved as often as allowed; lambda is the best iterate */
} cs_part_end;

/* What all parts go by. */
typedef struct cs_part_rule {
    int64_t most;        /* iterations of a part */
    int64_t check_every; /* iterations between two evaluations of the natural map */
    double rtol, atol;
    int has_tolerance; /* otherwise `most` sweeps are made, and nothing is judged */
    double growth;     /* of the residual, that counts as divergence; may be INFINITY */
    double noise;      /* relative change of the largest impulse that counts as rounding */
    int rollbacks;     /* most halvings of R */
    int refreshes;     /* sweeps between two recomputations of u; 0: never */
} cs_part_rule;

/* The progress of a part, which one call leaves to the next. */
typedef struct cs_part_state {
    cs_best_sweep best;
    cs_part_end end;
    int begun;   /* whether the first iterate was judged */
    int drifted; /* the host found the tolerance not met, with J and M^-1 as given: u is recomputed */
    int rollbacks;
    int64_t iterations;
    int64_t unfinished;
    double residual, merit; /* of the last sweep */
} cs_part_state;

/* The natural map of a part. */
typedef struct cs_part_map {
    double impulse, scaled;
    int met;
} cs_part_map;

/* A row of the history of a part. */
enum { CS_PART_RESIDUAL, CS_PART_MERIT, CS_PART_IMPULSE, CS_PART_SCALED, CS_PART_COLUMNS };

/* How many threads of a device solve a part. */
typedef enum cs_per {
    CS_PER_AUTO,
    CS_PER_THREAD,    /* one, with its numbers in shared memory */
    CS_PER_HALF_WARP, /* 16, which share the sums of a visit */
    CS_PER_WARP,      /* 32 */
} cs_per;

/* One call. Arrays are the caller's. */
typedef struct cs_parts_call {
    cs_part_rule rule;
    const double *rho, *speed; /* (rows): rho_s and V of each row's set; NULL without a tolerance */
    cs_part_state *state;      /* (parts): those that are open make sweeps */
    const int32_t *recorded;   /* (parts): the history of each, or -1; NULL: none */
    double *history;           /* (histories, most + 1, CS_PART_COLUMNS) */
    int64_t histories;
    int threads; /* of the processor */
    cs_per per;
    const char *used; /* result: what solves a part, "thread", "half_warp", "warp" or "processor" */
    int halted;       /* result: whether `poll` ended the call */
    double
        seconds; /* result: of the sweeps, with their tests, without copies to and from a device; added up */
    /* Called by the calling thread every few milliseconds with the number of parts that have ended. It returns
     * non-zero to end the call. */
    int (*poll)(void *context, int64_t ended);
    void *context;
} cs_parts_call;

#endif
