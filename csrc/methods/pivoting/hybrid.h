/* What methods share that solve some rows directly and sweep over others.
 *
 *     bounds of friction ──► step: a mixed LCP for the change of lambda, line search
 *            ▲                  │
 *            │               sweeps of Gauss-Seidel
 *            └── normal impulses, averaged
 *
 * While friction is bounded by the normal impulses kept in pivoting->normal, the problem is a convex
 * one, and every part of a pass lowers its energy lambda A lambda / 2 + b lambda (for a symmetric A).
 * The bounds then move part of the way to those of the normal impulses found. That part shrinks where
 * the natural map gets no smaller. Where every pass is nearly a whole solve, renewal.h knows better. */
#ifndef CS_HYBRID_H
#define CS_HYBRID_H

#include "methods/pivoting/contact.h"

typedef struct cs_hybrid {
    cs_csr matrix;          /* A by scalar rows */
    double *value;          /* (entries): those of the matrix that is factored */
    double *x, *xi;         /* (rows): the iterate within its bounds at hand; A x + b */
    double *change, *image; /* (rows); A change */
    double *before, *along; /* (rows): the iterate before a pass; where passes lead */
    cs_renewal *renewal;    /* of friction bounds; NULL: they move by the weight */
    double weight;          /* of new normal impulses */
    double best;            /* smallest scaled natural map */
    int64_t patience;
    cs_cancellation cancellation; /* of the step at hand */
} cs_hybrid;

static inline cs_hybrid *cs_hybrid_of(const cs_solver *solver)
{
    return ((cs_pivoting *)solver->own)->hybrid;
}

/* Added to the diagonal of what is factored, as a part of it: contacts may share their load in no
 * unique way. The step solved for is a change, so that the answer is that of A. */
#define CS_HYBRID_SHARE 1e-9

/* Whether the options and the sets are ones for these methods. */
cs_status cs_hybrid_check(const cs_options *options, const char *name, const cs_problem *problem,
                          cs_error *error);

/* Takes what the methods share: A, and a cs_mlcp of A and its share. */
cs_status cs_hybrid_prepare(cs_solver *solver, cs_budget *budget, cs_error *error);

/* A new cs_mlcp from hybrid->value; the old one stays where that fails. */
cs_status cs_hybrid_factor(cs_solver *solver, cs_cancellation *cancellation, cs_error *error);

/* hybrid->value <- A, the diagonal with its share. */
void cs_hybrid_load(cs_solver *solver);

/* Where entry (row, column) of hybrid->value is. */
double *cs_hybrid_entry(cs_hybrid *hybrid, int64_t row, int64_t column);

/* hybrid->x and ->xi at the beginning of a step, and its cancellation. */
void cs_hybrid_begin(cs_pivoting_run *run);

/* hybrid->xi at hybrid->x. */
void cs_hybrid_evaluate(cs_pivoting_run *run);

/* The bounds (lo, hi) of the change of each row; friction keeps its impulses. */
void cs_hybrid_bound(cs_pivoting_run *run);

/* The change within these bounds that solves the mixed LCP, back into the sets, as far as the energy
 * falls.  */
cs_status cs_hybrid_step(cs_pivoting_run *run, cs_result *result, cs_error *error);

/* Sweeps of Gauss-Seidel over all blocks, or over friction only, until the run is stopped or aborted. */
void cs_hybrid_sweep(cs_pivoting_run *run, int64_t sweeps, int friction_only);

/* x goes on beyond what the last pass found, along where passes lead: conjugate gradients over passes, as
 * NNCG's over sweeps (Silcowitz-Hansen, Niebe and Erleben 2010). `last` is the size of the pass before,
 * 0 for none; returns that of this one: the sum of change^2 / rho. */
double cs_hybrid_go_on(cs_pivoting_run *run, double last);

/* Bounds of friction follow what is found as renewal.h says, from the next solve on. */
cs_status cs_hybrid_settle(cs_solver *solver, cs_error *error);

/* New bounds, and the impulses to be judged. */
void cs_hybrid_end(cs_pivoting_run *run);

#endif
