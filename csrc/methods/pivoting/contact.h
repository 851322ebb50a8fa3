/* What the contact methods that solve mixed LCPs share: the matrix A by scalar rows, a cs_mlcp, and the
 * loop around their steps. After each step the iterate is judged, recorded and tested for convergence:
 *
 *     begin -> judge, record, test -> [ step -> judge, record, test, show to the caller ] ... -> end */
#ifndef CS_CONTACT_H
#define CS_CONTACT_H

#include "problem/problem.h"
#include "methods/pivoting/polyhedral_cone.h"
#include "mlcp/pivoting.h"
#include "methods/pivoting/renewal.h"
#include "solver/deadline.h"
#include "solver/driver.h"

typedef struct cs_pivoting {
    cs_mlcp *kept; /* the cs_mlcp before an update of the problem, for its factors; or NULL */
    cs_mlcp *mlcp; /* NULL if there is a cone */
    cs_cone *cone; /* the whole problem as one LCP; or NULL */
    struct cs_hybrid *hybrid; /* only of methods that also sweep; otherwise NULL */
    cs_renewal *renewal;      /* of friction bounds; NULL if the option averaging is given */
    int coupled;     /* friction bounds depend on the solution: one step may not be enough */
    double *lo, *hi; /* (rows): bounds of the current mixed LCP */
    double *normal;  /* (rows), used in normal rows: the normal impulse that bounds friction */
    double *fixed;   /* (rows): initial impulses; rows that no impulse moves keep them */
    signed char *index_set; /* (rows): of the last solve */
    double *previous;       /* (rows): impulses before the last solve */
} cs_pivoting;

/* The figures of all methods that pivot: totals of all solves. */
enum {
    CS_PIVOTS,
    CS_SINGLE_PIVOTS,
    CS_FACTORIZATIONS,
    CS_CACHED_HITS,
    CS_CACHED_MISSES,
    CS_CACHED_EVICTIONS,
    CS_CACHED_ENTRIES,
    CS_CACHED_BYTES,
    CS_CACHED_MOST_BYTES,
    CS_REUSE_SOLVES,
    CS_REUSE_STEPS,
    CS_REUSE_FAILED,
    CS_PIVOTING_FIGURES
};
extern const cs_figure cs_pivoting_figure[CS_PIVOTING_FIGURES];

typedef struct cs_pivoting_run cs_pivoting_run;

/* One step from solver->lambda to the next. */
typedef cs_status (*cs_pivoting_step)(cs_pivoting_run *run, cs_result *result, cs_error *error);

struct cs_pivoting_run {
    cs_run run;
    cs_pivoting *pivoting;
    cs_result *result;
    const cs_control *control; /* the caller's control, which also stops at the deadline */
    cs_timed timed;
    cs_pivoting_step step;
    int cold_start; /* all initial impulses are zero: the first solve leaves the tangents free */
    int unfinished; /* the last solve has reached the maximum number of pivots */
    int first_unfinished; /* the first solve was given few pivots and has reached that number */
};

/* Returns CS_INTERRUPTED if the run was aborted, because an exception raised by the caller must not be
 * lost. */
cs_status cs_pivoting_aborted(const cs_pivoting_run *run, cs_error *error);

/* After a step that was stopped before its end: restores the impulses before the step if their natural map
 * is not larger. */
void cs_pivoting_keep_better(cs_pivoting_run *run);

/* Refuses options about sweeps, and a dtype other than float64. */
cs_status cs_pivoting_check_options(const cs_options *options, const char *name, cs_error *error);

/* The functions that the cs_method of a pivoting method points to. */
cs_status cs_pivoting_check(const cs_options *options, const char *name, const cs_problem *problem,
                            cs_error *error);
cs_status cs_pivoting_prepare(cs_solver *solver, cs_budget *budget, cs_error *error);
cs_status cs_pivoting_solve(cs_solver *solver, cs_budget *budget, cs_result *result,
                            cs_error *error);
void cs_pivoting_release(cs_solver *solver, int again);
void cs_pivoting_describe(const cs_solver *solver, cs_solver_info *info);

/* Allocates the arrays of cs_pivoting, but no cs_mlcp. */
cs_status cs_pivoting_take(cs_solver *solver, cs_error *error);

/* matrix <- A by scalar rows, in `arena`. A is assembled if the problem does not hold it. */
cs_status cs_pivoting_matrix(const cs_solver *solver, cs_arena *arena, const cs_budget *budget,
                             cs_csr *matrix, cs_error *error);

/* Iterates `step` until the problem is solved or `max_iterations` is reached. */
cs_status cs_pivoting_iterate(cs_solver *solver, cs_budget *budget, cs_pivoting_step step,
                              cs_result *result, cs_error *error);

/* x <- the solution of the mixed LCP with pivoting->lo and ->hi. `initial`: the first index set, or NULL.
 * Adds the counts of the solve to the figures of the solver. */
cs_status cs_pivoting_mlcp(cs_pivoting_run *run, const double *b, const signed char *initial,
                           double *x, cs_result *result, cs_error *error);

#endif
