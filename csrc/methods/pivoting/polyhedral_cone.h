/* A contact problem as one linear complementarity problem, with friction in a polyhedral cone. S1 eq. 2.42
 *
 *     0 <= xi_n                     _|_  lambda_n >= 0
 *     0 <= D^T xi_t + e gamma       _|_  beta >= 0          lambda_t = D beta
 *     0 <= mu lambda_n - e^T beta   _|_  gamma >= 0
 *
 * The columns of D are the corners of the friction polygon: for a disc or an ellipse, as many points on it
 * as `directions` says; for a polygon, its own corners; for box friction, the four corners; for one
 * tangent, +-1. There is no outer loop: the normal impulse that bounds friction is an unknown like the
 * others. Free rows and boxes are part of the same problem (Stewart and Trinkle 1996). A is used as it is,
 * and may be singular. */
#ifndef CS_POLYHEDRAL_CONE_H
#define CS_POLYHEDRAL_CONE_H

#include "core/cancellation.h"
#include "problem/problem.h"

typedef struct cs_cone {
    const cs_problem *problem;
    cs_csr matrix; /* A by scalar rows */
    int directions;
    double *diagonal;        /* (rows) */
    int64_t islands, *first; /* (islands + 1): the first entry of each island in `block` */
    int64_t *block;          /* (blocks): the blocks, sorted by island */
    int64_t *place, *count; /* (rows) in the current island: first unknown of a row, and how many */
    double *ray; /* (rows): impulses could grow for ever in this direction; largest entry 1 */
} cs_cone;

/* The input and the result of one solve. */
typedef struct cs_cone_solve {
    const double *b, *parameters;
    const double *rho; /* (rows): 0 in rows that no impulse moves; these keep their impulses */
    const cs_control *control;
    int64_t max_pivots; /* per island; 0: 100 + 20 x unknowns */
    double *lambda;     /* (rows): in: impulses of rows with rho = 0; out: the solution */
    int64_t pivots;
    cs_mlcp_outcome outcome;
    cs_cancellation cancellation; /* during the solve: polls `control` */
    double last_poll;
    int aborted;
} cs_cone_solve;

/* Whether the set has a friction polygon, or needs none. */
int cs_cone_takes(const cs_block_group *group);

/* Splits the problem into islands; the matrix must outlive the result. NULL: no memory. */
cs_cone *cs_cone_take(const cs_problem *problem, const cs_csr *matrix, int directions,
                      cs_arena *arena);

/* Bytes of the dictionary of the largest island; `unknowns` <- its number of unknowns. */
double cs_cone_bytes(const cs_cone *cone, int64_t *unknowns);

/* Solves all islands. solve->outcome tells how the solve ended. */
cs_status cs_cone_run(cs_cone *cone, cs_cone_solve *solve, cs_error *error);

#endif
