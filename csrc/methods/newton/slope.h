/* The prox of one block together with its generalised derivative, for Newton's method. */
#ifndef CS_SLOPE_H
#define CS_SLOPE_H

#include "problem/problem.h"

/* Whether the set tells its slope; `shifted`: circular cones are to be taken as such, see below, and
 * other sets whose bounds follow the normal impulse not at all. */
int cs_slope_is_known(const cs_block_group *group, int shifted);

/* Whether the block's friction is taken as a cone with a shift of its normal velocity, so that the
 * cone's solutions are Coulomb's: v_n + mu |v_t| in place of v_n.  De Saxce and Feng 1998 */
int cs_slope_is_shifted(const cs_block_group *group, int shifted);

/* p <- prox(z) (m), slope <- one element of its generalised Jacobian at z (m, m): for friction also
 * how its bound follows the normal impulse, which makes it unsymmetric. `cone`: friction bounds and
 * normal impulse as one cone, projected on together. */
void cs_prox_slope(const cs_block_group *group, int cone, const double *parameters, const double *z,
                   double *p, double *slope);

#endif
