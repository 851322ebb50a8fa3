/* What methods for contact problems share that solve mixed LCPs: A by scalar rows, a cs_mlcp, and the
 * loop around their steps.
 *
 *     begin -> judged, recorded, tested -> [ step -> judged, recorded, tested, shown ] ... -> end */
#ifndef CS_CONTACT_H
#define CS_CONTACT_H

#include "problem/problem.h"
#include "methods/pivoting/polyhedral_cone.h"
#include "mlcp/pivoting.h"
#include "methods/pivoting/renewal.h"
#include "solver/deadline.h"
#include "solver/driver.h"

typedef struct cs_pivoting {
    cs_mlcp *kept; /* from before an update of the problem, for its factors; or NULL */
    cs_mlcp *mlcp; /* or the whole problem as one LCP: */
    cs_cone *cone;
    struct cs_hybrid *hybrid; /* of methods that sweep as well */
    cs_renewal *renewal;      /* of friction bounds; NULL where their averaging was given */
    int coupled;              /* one step need not be the answer */
    double *lo, *hi;          /* (rows) */
    double *normal;           /* (rows): the normal impulse that bounds a tangential row */
    double *fixed;            /* (rows): impulses to begin with, kept where none changes anything */
    signed char *index_set;   /* (rows) */
    double *previous;         /* (rows): impulses before the last solve */
} cs_pivoting;

typedef struct cs_pivoting_run cs_pivoting_run;

/* One step from solver->lambda to the next. */
typedef cs_status (*cs_pivoting_step)(cs_pivoting_run *run, cs_result *result, cs_error *error);

struct cs_pivoting_run {
    cs_run run;
    cs_pivoting *pivoting;
    cs_result *result;
    const cs_control *control; /* the caller's, and the deadline */
    cs_timed timed;
    cs_pivoting_step step;
    int begins_anew; /* no impulses to begin with: tangents are free at first, and all rows */
    int unfinished;  /* the last solve has made all its pivots */
    int too_long;    /* the first one has, which was given few */
};

/* CS_INTERRUPTED where the run is aborted: what the caller has raised must not be lost. */
cs_status cs_pivoting_aborted(const cs_pivoting_run *run, cs_error *error);

/* After a step that was stopped half-way: the impulses before it, where they are the better ones. */
void cs_pivoting_keep_better(cs_pivoting_run *run);

/* Refuses the options of sweeps. */
cs_status cs_pivoting_check_options(const cs_options *options, const char *name, cs_error *error);

/* Methods that pivot: what a cs_method of theirs points to. */
cs_status cs_pivoting_check(const cs_options *options, const char *name, const cs_problem *problem,
                            cs_error *error);
cs_status cs_pivoting_prepare(cs_solver *solver, cs_budget *budget, cs_error *error);
cs_status cs_pivoting_solve(cs_solver *solver, cs_budget *budget, cs_result *result,
                            cs_error *error);
void cs_pivoting_release(cs_solver *solver, int again);
void cs_pivoting_describe(const cs_solver *solver, cs_solver_info *info);

/* Arrays of the state, without a cs_mlcp. */
cs_status cs_pivoting_take(cs_solver *solver, cs_error *error);

/* A by scalar rows. */
cs_status cs_pivoting_matrix(const cs_solver *solver, cs_arena *arena, const cs_budget *budget,
                             cs_csr *matrix, cs_error *error);

/* Steps until the problem is solved, or `max_iterations`. */
cs_status cs_pivoting_iterate(cs_solver *solver, cs_budget *budget, cs_pivoting_step step,
                              cs_result *result, cs_error *error);

/* x of the mixed LCP with pivoting->lo and ->hi; its figures go to the result. */
cs_status cs_pivoting_mlcp(cs_pivoting_run *run, const double *b, const signed char *initial,
                           double *x, cs_result *result, cs_error *error);

#endif
