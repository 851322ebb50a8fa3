/* Compressed contacts: G = J L takes fewer numbers if J is the Jacobian of a contact between rigid bodies.
 *
 *     rows of J:  [-d, -(r_0 x d)]  [d, r_1 x d]   for d = n, t, s     and [0, -n] [0, n] (spin)
 *     stored:     n, t and the lever arms r_0, r_1: 12 numbers instead of 36 or 48; s = +-(n x t)
 *
 * and for each body its L, if M^-1 is a multiple of the identity for the linear velocity, and I^-1 (for spheres also a
 * multiple) for the angular one, without coupling between the two. In the plane, n and the four angular entries
 * of G are stored: 6 numbers instead of 12. If a sweep reads its data from memory, half the bytes take half the
 * time. Contacts of four vertices of a cloth have G_s = g_s F with one frame F (3, 3) for all of them: 13 numbers instead of
 * 36. A group is compressed if J of each of its contacts has this form to rounding. */
#ifndef CS_COMPRESSED_H
#define CS_COMPRESSED_H

#include "problem/block_lanes.h"
#include "scheme/scheme.h"

/* form <- the form that the bodies and the first contacts of a group allow; handedness <- 1 if s = n x t, -1 if
 * s = -n x t. Later contacts may not fit, which cs_compress finds. */
void cs_choose_form(const cs_packed *packed, int g, cs_form *form, int *handedness);

/* numbers (cs_form_width) <- the compressed block `index`. Returns 0 if it does not fit the form and the handedness
 * of its group. */
int cs_compress(const cs_packed *packed, int g, int64_t index, double *numbers);

/* The same for CS_BLOCK_LANES blocks in space, with their numbers as in problem/block_lanes.h. Uses the widest
 * vectors of this machine, and gives the same bits. */
int cs_compress_lanes(const cs_packed *packed, int g, const cs_block_lanes *lanes, double *numbers);

/* The kernel of cs_compress_lanes for one instruction set. */
typedef int (*cs_compress_kernel)(const cs_block_lanes *lanes, double tolerance, int handedness,
                                  double *numbers);

/* numbers <- L of a body: sqrt(m^-1), then the root of I^-1, which is one number (CS_SPHERES, CS_PLANAR) or
 * L_00 L_10 L_20 L_11 L_21 L_22 (CS_SOLIDS). */
void cs_body_root(const cs_body_group *owner, int64_t body, cs_form form, double *numbers);

#endif
