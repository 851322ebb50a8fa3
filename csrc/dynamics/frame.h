/* Frames of contacts in space: two tangents to a normal. */
#ifndef CS_FRAME_H
#define CS_FRAME_H

#include "collide/vector.h"

/* normal = tangent[0] x tangent[1], all of unit length. */
typedef struct cs_frame {
    double normal[3], tangent[2][3];
} cs_frame;

/* The tangents of contactsolve.tangent_basis: smooth but for a circle of normals at this height, away from the
 * coordinate directions. Duff et al., Building an orthonormal basis, revisited, JCGT 6(1), 2017 */
#define CS_SEAM_HEIGHT (-0.55)

static inline void cs_frame_of(const double *normal, cs_frame *frame)
{
    double x = normal[0], y = normal[1], z = normal[2];
    double pole = z > CS_SEAM_HEIGHT ? 1 : -1, scale = -1 / (pole + z), mixed = x * y * scale;
    cs_assign(frame->normal, normal);
    cs_set_vector(frame->tangent[0], 1 + pole * x * x * scale, pole * mixed, -pole * x);
    cs_set_vector(frame->tangent[1], mixed, pole + y * y * scale, -y);
}

#endif
