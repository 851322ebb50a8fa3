/* A contact problem as one linear complementarity problem, friction in a polyhedral cone. S1 eq. 2.42
 *
 *     0 <= xi_n                     _|_  lambda_n >= 0
 *     0 <= D^T xi_t + e gamma       _|_  beta >= 0          lambda_t = D beta
 *     0 <= mu lambda_n - e^T beta   _|_  gamma >= 0
 *
 * The columns of D are the corners of the friction polygon: k on the circle for a disc or on the
 * ellipse, the set's own for a polygon, the four corners for box friction, +-1 for one tangent. There
 * is no outer loop: the normal impulse that bounds friction is an unknown like the others. Free rows
 * and boxes stand beside (Stewart and Trinkle 1996). A is taken as it is, and may be singular. */
#ifndef CS_CONE_H
#define CS_CONE_H

#include "core/cancellation.h"
#include "problem/problem.h"

typedef struct cs_cone {
    const cs_problem *problem;
    cs_csr matrix; /* A by scalar rows */
    int directions;
    double *diagonal;        /* (rows) */
    int64_t islands, *first; /* (islands + 1) into block */
    int64_t *block;          /* (blocks), island after island */
    int64_t *place, *count;  /* (rows): the unknowns that make up each row, of the island at hand */
    double *ray;             /* (rows): where impulses could grow for ever, largest entry 1 */
} cs_cone;

/* What one solve is given, and what it found. */
typedef struct cs_cone_solve {
    const double *b, *parameters;
    const double *rho; /* (rows): 0 where no impulse moves anything: it keeps its value */
    const cs_control *control;
    int64_t max_pivots; /* of an island; 0: 100 and 20 for each unknown */
    double *lambda;     /* (rows) */
    int64_t pivots;
    cs_mlcp_outcome outcome;
    cs_cancellation cancellation; /* while it runs: of this solve, asking its control */
    double last_poll;
    int aborted;
} cs_cone_solve;

/* Whether the set has a friction polygon, or needs none. */
int cs_cone_takes(const cs_block_group *group);

/* Takes the problem apart into islands; the matrix must outlive the result. NULL: no memory. */
cs_cone *cs_cone_take(const cs_problem *problem, const cs_csr *matrix, int directions,
                      cs_arena *arena);

/* What the dictionary of the largest island takes; `unknowns` <- its size. */
double cs_cone_bytes(const cs_cone *cone, int64_t *unknowns);

cs_status cs_cone_run(cs_cone *cone, cs_cone_solve *solve, cs_error *error);

#endif
