/* Two tangents to a normal in space. */
#ifndef CS_TANGENTS_H
#define CS_TANGENTS_H

#include "core/vector.h"

/* normal = tangent[0] x tangent[1], all of unit length. */
typedef struct cs_tangents {
    double normal[3], tangent[2][3];
} cs_tangents;

/* The tangents of contactsolve.tangent_basis: smooth but for a circle of normals at this height, away from the
 * coordinate directions. Duff et al., Building an orthonormal basis, revisited, JCGT 6(1), 2017 */
#define CS_SEAM_HEIGHT (-0.55)

static inline void cs_tangents_of(const double *normal, cs_tangents *tangents)
{
    double x = normal[0], y = normal[1], z = normal[2];
    double pole = z > CS_SEAM_HEIGHT ? 1 : -1, scale = -1 / (pole + z), mixed = x * y * scale;
    cs_assign(tangents->normal, normal);
    cs_set_vector(tangents->tangent[0], 1 + pole * x * x * scale, pole * mixed, -pole * x);
    cs_set_vector(tangents->tangent[1], mixed, pole + y * y * scale, -y);
}

#endif
