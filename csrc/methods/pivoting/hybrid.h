/* What the methods share that solve some rows directly and sweep over others.
 *
 *     bounds of friction ──► step: a mixed LCP for the change of lambda, line search
 *            ▲                  │
 *            │               sweeps of Gauss-Seidel
 *            └── normal impulses, averaged
 *
 * As long as the normal impulses in pivoting->normal bound friction, the problem is convex, and each part
 * of a pass decreases its energy lambda A lambda / 2 + b lambda (for a symmetric A). Then the bounds move
 * part of the way to those of the normal impulses found. This part shrinks if the natural map does not
 * decrease. If each pass nearly solves the convex problem, renewal.h updates the bounds instead. */
#ifndef CS_HYBRID_H
#define CS_HYBRID_H

#include "methods/pivoting/contact.h"

typedef struct cs_hybrid {
    cs_csr matrix;              /* A by scalar rows */
    double *value;              /* (entries): the values of the matrix that is factored */
    double *x, *xi;             /* (rows): the iterate, within its current bounds; A x + b */
    double *change, *image;     /* (rows): change of x in a direct step; A change */
    double *before, *direction; /* (rows): the iterate before a pass; search direction of passes */
    cs_renewal *renewal;        /* of friction bounds; NULL: they move by `weight` */
    double weight;              /* of new normal impulses in the average */
    double best;                /* smallest scaled natural map so far */
    int64_t patience;           /* iterations left before the weight shrinks */
    cs_cancellation cancellation; /* of the current step */
} cs_hybrid;

static inline cs_hybrid *cs_hybrid_of(const cs_solver *solver)
{
    return ((cs_pivoting *)solver->own)->hybrid;
}

/* Added to the diagonal of the factored matrix, as a fraction of it: contacts may share their load in no
 * unique way, and A is then singular. The step solves for a change of x, so the iterates still converge to
 * a solution with A itself. */
#define CS_HYBRID_SHARE 1e-9

/* Fails if the options or the sets are not supported by these methods. */
cs_status cs_hybrid_check(const cs_options *options, const char *name, const cs_problem *problem,
                          cs_error *error);

/* Allocates what the methods share: A, and a cs_mlcp of A with the diagonal of cs_hybrid_load. */
cs_status cs_hybrid_prepare(cs_solver *solver, cs_budget *budget, cs_error *error);

/* Factors hybrid->value in a new cs_mlcp; if that fails, the old one remains. */
cs_status cs_hybrid_factor(cs_solver *solver, cs_cancellation *cancellation, cs_error *error);

/* hybrid->value <- A with its diagonal times 1 + CS_HYBRID_SHARE. */
void cs_hybrid_load(cs_solver *solver);

/* The address of entry (row, column) in hybrid->value. The entry must exist. */
double *cs_hybrid_entry(cs_hybrid *hybrid, int64_t row, int64_t column);

/* Sets hybrid->x, hybrid->xi and the cancellation at the beginning of a step. */
void cs_hybrid_begin(cs_pivoting_run *run);

/* hybrid->xi <- A hybrid->x + b. */
void cs_hybrid_evaluate(cs_pivoting_run *run);

/* Sets the bounds (lo, hi) of the change of each row in a direct step; those of friction rows are zero. */
void cs_hybrid_bound(cs_pivoting_run *run);

/* One direct step: solves the mixed LCP for the change within these bounds, projects the result on the
 * sets, and follows it as far as the energy decreases. */
cs_status cs_hybrid_step(cs_pivoting_run *run, cs_result *result, cs_error *error);

/* Sweeps of Gauss-Seidel over all blocks, or over the friction rows only, until the run is stopped or
 * aborted. */
void cs_hybrid_sweep(cs_pivoting_run *run, int64_t sweeps, int friction_only);

/* Extrapolates x along the search direction of passes: conjugate gradients over passes, as NNCG is over
 * sweeps (Silcowitz-Hansen, Niebe and Erleben 2010). `last`: the size of the pass before, 0 for none.
 * Returns the size of this pass, the sum of change^2 / rho. */
double cs_hybrid_extrapolate(cs_pivoting_run *run, double last);

/* Makes renewal.h update the friction bounds from the next solve on. */
cs_status cs_hybrid_use_renewal(cs_solver *solver, cs_error *error);

/* Ends a step: updates the friction bounds, and sets the impulses that are judged. */
void cs_hybrid_end(cs_pivoting_run *run);

#endif
