/* Certificates: proofs that a problem has no solution.
 *
 * Let K be the recession cone of the feasible sets, the directions in which impulses may grow without bound:
 * every direction for free rows, towards the infinite ends of boxes, the cone itself for cones, d_n >= 0 for
 * contacts. At a solution xi is normal to the sets, so that d . xi >= 0 for every d in K, and
 *
 *     d . (A lambda + b) >= 0   while   sum_i (|A^T d| + 4 eps |A|^T |d|)_i Lambda_i < -b.d - 64 eps |b|.|d|
 *
 * contradict each other if |lambda_i| <= Lambda_i. Beyond Lambda_i = tau_i / (4 eps), rounding errors alone
 * exceed the tolerance, so that no solution could be recognised there. A direction with d . A^T d above
 * rounding is no proof: A is definite along it, and a solution exists, however far away. If K includes
 * friction, |d_t| <= mu d_n, Coulomb's law may have a solution in spite of such a d; then d only shows that
 * impulses grow without bound.
 *
 * The candidates for d come from iterates, because the iterates of a problem without solution grow along such
 * a direction. */
#ifndef CS_CERTIFICATE_H
#define CS_CERTIFICATE_H

#include "measure/measure.h"

/* The blocks of islands in pieces: an island's blocks of one part of the problem. Sums over an island are taken over each
 * piece, and then over the island's pieces in the order of their parts, so that they do not depend on which rank has which
 * part. Without parts each island is one piece. */
typedef struct cs_island_pieces {
    int64_t islands, pieces;
    int64_t *of_block; /* (blocks): piece of each block; -1 if the block belongs to another rank */
    int64_t *island;   /* (pieces), ascending: on ranks, shared islands are the first ones */
} cs_island_pieces;

/* pieces <- those of these islands, in memory of the arena. part (blocks): the part of the problem to which each block
 * belongs, which becomes pieces->of_block; NULL: no parts. Blocks of other ranks are left out. */
cs_status cs_island_pieces_make(const cs_problem *problem, const int64_t *island, int64_t islands,
                                int64_t *part, const cs_ranks *ranks, cs_arena *arena,
                                cs_island_pieces *pieces, cs_error *error);

typedef enum cs_proof { CS_NO_PROOF, CS_PROVES_UNBOUNDED, CS_PROVES_INFEASIBLE } cs_proof;

typedef struct cs_certificate {
    cs_proof proof;
    double
        *direction; /* (rows): d, with largest entry 1 in each proven island; zero in all others */
    double bound;   /* the least Lambda_i of the proven islands' rows */
} cs_certificate;

/* The input of a proof. The state's lambda and xi need not be known. */
typedef struct cs_proof_data {
    const cs_state *state;
    cs_shared_products *shared; /* how threads share products with A */
    const int64_t *island;      /* (blocks): numbered from 0 */
    const cs_island_pieces *pieces;
    double (*dot)(void *context, const double *x,
                  const double *y); /* x.y over the rows of all ranks */
    void *context;
    int refinements; /* least-squares steps that project d onto the kernel of A^T; 0: none */
    double nearly;   /* largest max rho |A^T d| of a direction that is worth refining */
} cs_proof_data;

/* Tests the direction `candidate` (rows) for every island, and writes the certificate. With `friction`, K includes
 * friction, and the direction only shows unbounded impulses: it is worth a test after that without. Fails only if memory
 * runs out. Collective on ranks: all of them find the same proof, and each writes its rows of the direction. */
cs_status cs_prove(const cs_proof_data *data, const double *candidate, int friction,
                   cs_certificate *certificate, cs_error *error);

/* Generates candidates itself, for direct methods, which have no iterates. It runs `steps` steps of the
 * accelerated projected gradient method
 *
 *     d <- P_K(d - rho (A^T d + b) / theta),   theta = largest row sum of sqrt(rho) |A|^T sqrt(rho)
 *
 * whose iterates grow along a proof if there is no solution.  Nesterov 1983; Beck and Teboulle 2009 */
cs_status cs_prove_driven(const cs_proof_data *data, int64_t steps, cs_certificate *certificate,
                          cs_error *error);

#endif
