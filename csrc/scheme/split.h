/* Masses of bodies that are split over the parts of a concurrent stage (Tonge, Benevolenski and Voroshilov 2012).
 *
 * A part sees a body b that n parts visit with 1/n of its mass: with G_s sqrt(n) in place of G_s, in its copies of the
 * velocities with u / sqrt(n) in place of u, and, where factors are compressed, with roots of M^-1 times sqrt(n). Visits
 * need not know of it: b + G u is the same. The mean of the parts' velocities is then the sum of their impulses on
 * the whole mass:
 *
 *     u + 1/n sum_p (u_p - u) = u + sum_p G_p^T delta_p    with    u_p = u + n G_p^T delta_p */
#ifndef CS_SPLIT_H
#define CS_SPLIT_H

#include "scheme/scheme.h"

/* Multiplies the factors of group g, as they have just been filled, in the visits of concurrent stages. */
void cs_split_factors(const cs_packed *packed, int g);

/* Lists 1 / sqrt(n) of the parts' copies (cs_packed.copy_scale) and of the terms of u (gather_scale). Called when both
 * are placed. */
cs_status cs_pack_splits(cs_packed *packed, cs_arena *arena, cs_error *error);

/* Multiplies the roots of M^-1 that have just been copied to the parts' copies. */
void cs_split_roots(const cs_packed *packed);

#endif
