/* Products with A = J M^-1 J^T + Sigma, or a given A, in double precision and with the data as the user gave them:
 * what iterates are judged by. */
#ifndef CS_PRODUCTS_H
#define CS_PRODUCTS_H

#include "core/pace.h"
#include "core/phases.h"
#include "problem/adjacency.h"

/* velocity <- M^-1 J^T lambda. S1 eq. 3.18 */
void cs_velocity_change(const cs_problem *problem, const double *lambda, double *velocity);

/* xi += A lambda. `velocity` (velocities) is scratch; at return it holds M^-1 J^T lambda. It is unused for a given A. */
void cs_add_products(const cs_problem *problem, const double *lambda, double *velocity, double *xi);

/* xi <- A lambda + b, with `velocity` as above. S1 eq. 2.69 */
void cs_residual_velocity(const cs_problem *problem, const double *lambda, const double *b,
                          double *velocity, double *xi);

/* The same by several threads, with the same bits: each body adds the impulses of its contacts in the order in which
 * one thread would, and each contact its velocities. Zeroed, it is one thread's. */
typedef struct cs_shared_products {
    int threads;
    int paced;    /* `threads` are the most: shared or not as the pace says */
    cs_pace pace; /* of the products so far */
    cs_adjacency adjacency;
    cs_phase *phase; /* (2): bodies, contacts */
} cs_shared_products;

/* How many threads share products: at most so many as `asked` for, 0 for all, by size; or `exact`ly as many. */
int cs_threads_of_products(const cs_problem *problem, int asked, int exact);

/* Prepares products by so many threads; what they need is in `arena`. Keeps the pace of earlier ones. */
cs_status cs_share_products(const cs_problem *problem, int threads, int paced, cs_arena *arena,
                            cs_shared_products *shared, cs_error *error);

/* cs_residual_velocity by these threads. */
void cs_shared_residual_velocity(cs_shared_products *shared, const cs_problem *problem,
                                 const double *lambda, const double *b, double *velocity,
                                 double *xi);

#endif
