/* Many small problems at once, each of which iterates and stops by itself:
 *
 *     problems --side by side--> one cs_problem --order "given": a disjoint part for each--> cs_backend.solve_parts
 *
 * One solver packs all problems, finds R and V, and judges what is returned, with loops over all contacts; only the
 * iterations are made problem by problem. */
#ifndef CS_BATCH_H
#define CS_BATCH_H

#include "backend/parts.h"
#include "contactsolve.h"

/* What is known of each problem, by its part of the order; the caller's arrays (parts). */
typedef struct cs_batch_result {
    double *impulses, *residual_velocities; /* (rows) of the whole problem; these two */
    double *velocity_change;                /* and this (velocities) may be NULL */
    cs_outcome *outcome;
    int64_t *iterations;
    int *rollbacks;
    double *residual;           /* of the last sweep; NaN before the first */
    double *natural_map;        /* at the returned impulses [N s] */
    double *natural_map_scaled; /* over rho V */
    int64_t *worst_block;       /* of the whole problem; -1 without contacts */
    const char *used;           /* cs_parts_call.used */
    double setup_seconds, seconds;
    double sweep_seconds; /* cs_parts_call.seconds */
    int found;            /* whether cs_batch_call.there has the impulses */
} cs_batch_result;

typedef struct cs_batch_call {
    const double *initial; /* (rows), or NULL */
    double *there; /* (rows) in the memory of the device, where impulses are copied to; or NULL */
    cs_per per;
    const int32_t *recorded; /* as in cs_parts_call */
    double *history;
    int64_t histories;
    int (*poll)(void *context, int64_t ended); /* likewise; may be NULL */
    void *context;
    const cs_control *control; /* of the set-up */
} cs_batch_call;

/* Solves a problem whose order is "given", in one disjoint stage with a part for each problem, by Gauss-Seidel sweeps
 * over factors. Ends with CS_INTERRUPTED if `poll` says so. */
cs_status cs_batch_solve(const cs_problem *whole, const cs_options *options,
                         const cs_batch_call *call, cs_batch_result *result, cs_error *error);

#endif
