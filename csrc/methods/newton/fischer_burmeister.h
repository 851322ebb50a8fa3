/* Fischer and Burmeister's function of one block, phi(x, y) = x + y - (x^2 + y^2)^(1/2), which is zero if
 * and only if x >= 0, y >= 0 and x y = 0.
 *
 *     half-line          x = lambda_n,  y = r v_n
 *     box                phi(lambda - lo, -phi(hi - lambda, -r v))
 *     box friction       as a box with the bounds -+ mu max(0, lambda_n)
 *     free               r v
 *     cone, and disc     x = (mu lambda_n, lambda_t),  y = r (v_n + s, mu v_t),  with squares and root of the
 *                        second-order cone's Jordan algebra; s = 0 for a cone, and mu |v_t| for a disc
 *
 * Fischer 1992; boxes: Billups 1995; cones: Fukushima, Luo and Tseng 2002; s: De Saxce and Feng 1998 */
#ifndef CS_FISCHER_BURMEISTER_H
#define CS_FISCHER_BURMEISTER_H

#include "problem/problem.h"

/* Whether the function is known for the set. */
int cs_fischer_burmeister_is_known(const cs_block_group *group);

/* phi (m) <- the function; by_impulse, by_velocity (m, m) <- one element of its generalised Jacobian,
 * including the derivative of the shift. r (m): positive, and one number for all rows of a cone. */
void cs_fischer_burmeister(const cs_block_group *group, const double *parameters, const double *r,
                           const double *impulse, const double *velocity, double *phi,
                           double *by_impulse, double *by_velocity);

#endif
