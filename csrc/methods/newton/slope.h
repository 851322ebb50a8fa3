/* The prox of one block and its generalised derivative, for Newton's method. */
#ifndef CS_SLOPE_H
#define CS_SLOPE_H

#include "problem/problem.h"

/* Whether the derivative of the set's prox is known. `shifted`: discs are cones with a shift (see below),
 * and other sets whose friction bounds depend on the normal impulse are not supported. */
int cs_slope_is_known(const cs_block_group *group, int shifted);

/* Whether the block is a cone with a shift of its normal velocity: v_n + mu |v_t| replaces v_n, so that
 * solutions for the cone satisfy Coulomb's law.  De Saxce and Feng 1998 */
int cs_slope_is_shifted(const cs_block_group *group, int shifted);

/* p (m) <- prox(z); slope (m, m) <- one element of its generalised Jacobian at z. It is unsymmetric for
 * friction, whose bound depends on the normal impulse. `cone`: projects on the cone of friction and normal
 * impulse. */
void cs_prox_slope(const cs_block_group *group, int cone, const double *parameters, const double *z,
                   double *p, double *slope);

#endif
