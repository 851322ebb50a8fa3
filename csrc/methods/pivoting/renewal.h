/* How the normal impulses that bound friction are renewed between one mixed LCP and the next.
 *
 *     those just found --no headway--> Anderson's combination of the last few, ever more damped
 *                                          ^                           |
 *                                          '-- damped alone, for long <'
 *
 * The map G from the normal impulses n that bound friction to those found is affine as long as the
 * index set stays; taken as they are, they may jump between such pieces for ever. */
#ifndef CS_RENEWAL_H
#define CS_RENEWAL_H

#include "contactsolve.h"
#include "core/memory.h"

enum { CS_RENEWAL_DEPTH = 5 };

typedef struct cs_renewal {
    int64_t count;        /* contacts with friction */
    int64_t *row;         /* (count): their normal rows */
    double *step, *image; /* (count): G(n) - n and G(n) of the last solve, */
    double *step_before;  /* (count): and of the one before */
    double *image_before; /* (count) */
    double *step_change[CS_RENEWAL_DEPTH], *image_change[CS_RENEWAL_DEPTH]; /* (count) each */
    double gram[CS_RENEWAL_DEPTH][CS_RENEWAL_DEPTH];
    int64_t seen;  /* differences since the history was given up */
    int begun;     /* there is a solve before the last one */
    int combines;  /* plain renewal has made no headway */
    double weight; /* of what is found */
    double best;   /* the measure when it last was halved */
    int since;     /* solves since then */
} cs_renewal;

/* Takes one for problems of so many contacts with friction; `row` is to be filled in by the caller.
 * NULL: out of memory. */
cs_renewal *cs_renewal_take(int64_t count, cs_arena *arena);

/* Forgets what was. */
void cs_renewal_begin(cs_renewal *renewal);

/* normal (rows) <- what bounds friction in the next solve, after one with these that found lambda
 * (rows); `measure` is that of the whole problem at lambda. */
void cs_renewal_next(cs_renewal *renewal, const double *rho, const double *lambda, double measure,
                     double *normal);

#endif
