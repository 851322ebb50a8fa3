/* Compressed contacts: what is left of G = J L when J is that of rigid bodies.
 *
 *     rows of J:  [-d, -(r_0 x d)]  [d, r_1 x d]   for d = n, t, s     and [0, -n] [0, n] (spin)
 *     kept:       n, t; s = +-(n x t); the lever arms r_0, r_1: 12 numbers in place of 36 or 48
 *
 * and of the bodies their part of L, M^-1 being a multiple of the identity for the linear velocities
 * and I^-1, any or again a multiple, for the angular ones. In the plane the frame and the four
 * angular entries of G are kept: 6 numbers in place of 12. Half the bytes a visit are half the time
 * once they come from memory. A group is compressed if J says so to rounding for each contact. */
#ifndef CS_COMPRESSED_H
#define CS_COMPRESSED_H

#include "problem/block_lanes.h"
#include "scheme/scheme.h"

/* Numbers of a visit in cs_packed_factors.scaled. */
static inline int cs_form_width(cs_form form, int rows, int dof_sum)
{
    return form == CS_GENERAL ? rows * dof_sum : form == CS_PLANAR ? 6 : 12;
}

/* Finds the form that the bodies and the first contacts of a group suggest, and the handedness of
 * its frames: 1 where s = n x t, else -1. Whether all contacts fit shows as they are compressed. */
void cs_choose_form(const cs_packed *packed, int g, cs_form *form, int *hand);

/* Writes the numbers of block `index`: cs_form_width of them. Returns 0 if it does not fit the form
 * and the hand of its group. */
int cs_compress(const cs_packed *packed, int g, int64_t index, double *numbers);

/* The same for eight blocks in space, with their numbers as in problem/block_lanes.h; by the widest
 * vectors that this machine runs, with the same bits. */
int cs_compress_by_eight(const cs_packed *packed, int g, const cs_block_lanes *eight,
                         double *numbers);

/* One build of it. */
typedef int (*cs_compress_kernel)(const cs_block_lanes *eight, double tolerance, int hand,
                                  double *numbers);

/* Writes a body's part of L: sqrt(m^-1), then, of the root of I^-1, one number (CS_SPHERES,
 * CS_PLANAR) or L_00 L_10 L_20 L_11 L_21 L_22 (CS_SOLIDS). */
void cs_body_root(const cs_body_group *owner, int64_t body, cs_form form, double *numbers);

#endif
