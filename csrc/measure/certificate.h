/* Proofs that a problem has no solution.
 *
 * Let K be the directions in which impulses may grow for ever: any for free rows, towards infinite ends of
 * boxes, the cone itself for cones, d_n >= 0 for contacts. At a solution xi is normal to the sets, so that
 * d . xi >= 0 for every d in K, and
 *
 *     d . (A lambda + b) >= 0   while   sum_i (|A^T d| + 4 eps |A|^T |d|)_i Lambda_i < -b.d - 64 eps |b|.|d|
 *
 * cannot both be true with |lambda_i| <= Lambda_i. Lambda_i = tau_i / (4 eps) are the impulses beyond which
 * rounding alone exceeds the tolerance: no solution can be told there. A direction along which A is definite,
 * d . A^T d above rounding, has a solution however far away, and is no proof. With friction in K, |d_t| <= mu d_n,
 * Coulomb's law allows a solution in spite of such a d; it tells that impulses grow without bound.
 *
 * The direction comes from iterates: of a problem without solution they grow along such a d. */
#ifndef CS_CERTIFICATE_H
#define CS_CERTIFICATE_H

#include "measure/measure.h"

typedef enum cs_proof { CS_NO_PROOF, CS_PROVES_UNBOUNDED, CS_PROVES_INFEASIBLE } cs_proof;

typedef struct cs_certificate {
    cs_proof proof;
    double
        *direction; /* (rows): d, the largest entry 1; zero outside the islands that are proven */
    double bound;   /* the least Lambda_i of their rows */
} cs_certificate;

/* What proofs need of the problem, beside a state whose impulses need not be known. */
typedef struct cs_proof_data {
    const cs_state *state;
    const int64_t *island; /* (blocks): from 0 */
    int refinements; /* steps of least squares that remove from d what A sees of it; 0: none */
    double nearly;   /* max rho |A^T d| of a direction that is worth these, at most */
} cs_proof_data;

/* Tries the direction `candidate` (rows) island by island, and writes the certificate. `with_friction`:
 * also directions that only tell of unbounded impulses. Fails for want of memory only. */
cs_status cs_prove(const cs_proof_data *data, const double *candidate, int with_friction,
                   cs_certificate *certificate, cs_error *error);

/* Tries directions in which b drives impulses that know no bounds, as a direct method needs them, which has
 * no iterates: d <- P_K(d - rho (A^T d + b) / theta), theta the largest row sum of sqrt(rho) |A| sqrt(rho),
 * accelerated, so many steps. Without a solution d grows along a proof. Nesterov 1983; Beck and Teboulle 2009 */
cs_status cs_prove_driven(const cs_proof_data *data, int64_t steps, cs_certificate *certificate,
                          cs_error *error);

#endif
