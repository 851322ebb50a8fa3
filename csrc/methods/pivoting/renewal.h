/* Updates the normal impulses that bound friction between one mixed LCP and the next.
 *
 *     those just found --no progress--> Anderson's combination of the last few, increasingly damped
 *                                           ^                            |
 *                                           '-- a long time at full damping
 *
 * The map G takes the normal impulses n that bound friction to those that the solve finds. It is affine as
 * long as the index set stays. Without damping, the iteration n <- G(n) may jump between such pieces for
 * ever. */
#ifndef CS_RENEWAL_H
#define CS_RENEWAL_H

#include "contactsolve.h"
#include "core/memory.h"

/* Number of past solves that are combined. */
enum { CS_RENEWAL_DEPTH = 5 };

typedef struct cs_renewal {
    int64_t count;        /* contacts with friction */
    int64_t *row;         /* (count): their normal rows */
    double *step, *image; /* (count): G(n) - n and G(n) of the last solve */
    double *step_before;  /* (count): the same of the solve before */
    double *image_before; /* (count) */
    /* (count) each: differences of step and of image between one solve and the next. */
    double *step_change[CS_RENEWAL_DEPTH], *image_change[CS_RENEWAL_DEPTH];
    double gram[CS_RENEWAL_DEPTH][CS_RENEWAL_DEPTH]; /* inner products of step_change */
    int64_t seen;  /* differences added since the history was cleared */
    int begun;     /* the history holds a solve */
    int combines;  /* 1: combine; 0: take the impulses as found */
    double weight; /* of the new impulses; 1: no damping */
    double best;   /* the measure at the last time it was halved */
    int since;     /* solves since then */
} cs_renewal;

/* Allocates a renewal for `count` contacts with friction; the caller fills in `row`. NULL: out of memory. */
cs_renewal *cs_renewal_take(int64_t count, cs_arena *arena);

/* Clears the history, at the beginning of a solve. */
void cs_renewal_begin(cs_renewal *renewal);

/* normal (rows) <- the normal impulses that bound friction in the next solve. On entry it holds those of
 * the last solve, which found lambda (rows). `measure`: a measure of the error of the whole problem at
 * lambda. */
void cs_renewal_next(cs_renewal *renewal, const double *rho, const double *lambda, double measure,
                     double *normal);

#endif
