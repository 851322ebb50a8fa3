/* Sweeps over the visits of contacts (cloth/visits.h), which threads share: one call for all of them.
 *
 *     list     one pass or two over all groups, forwards or backwards, and a decision: the next list, or the end
 *     pass     group by group; the threads share the pieces of a group
 *
 * A piece writes its results where its number says, and a decision reads them in the order of the pieces, so that bits do not
 * depend on threads. */
#ifndef CS_SWEEPS_H
#define CS_SWEEPS_H

#include "cloth/collisions.h"
#include "core/phases.h"

/* What sweeps that follow each other know. */
typedef struct cs_sweeping {
    cs_collisions *c;
    double enough, negligible; /* changes of a relative velocity */
    double beta, last_square;  /* of conjugate gradients */
    int64_t made, most;        /* iterations or sweeps, and where they end */
    int is_full;               /* visits what is not outdated, too */
} cs_sweeping;

/* Visits of one group, which one thread makes one after another. */
typedef struct cs_piece {
    int64_t number; /* in all groups */
    cs_visit *visit;
    cs_trail *trail;
    int64_t first, step, count; /* of these visits: the first one, and -1 backwards */
    int64_t clock, ticks;       /* of the first one; from one to the next: 0 within a colour */
} cs_piece;

/* The number of the piece's n-th visit in the arrays. */
static inline int64_t cs_nth(const cs_piece *p, int64_t n) { return p->first + n * p->step; }

typedef struct cs_pass_list {
    void (*work[2])(cs_sweeping *s, const cs_piece *p);
    int passes, is_backward;
    int (*decide)(cs_sweeping *s); /* which list comes next; CS_NO_ROUND: none */
} cs_pass_list;

/* Runs lists (count, at most CS_MOST_LISTS) from the one with this number on, until a decision ends them, or the caller, who
 * is asked from time to time. */
enum { CS_MOST_LISTS = 9 };
cs_status cs_run_sweeps(cs_sweeping *s, const cs_pass_list *lists, int count, int first,
                        int threads, const cs_response_call *call, cs_error *error);

#endif
