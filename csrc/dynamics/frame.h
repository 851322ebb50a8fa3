/* Frames of contacts in space: two tangents to a normal. */
#ifndef CS_FRAME_H
#define CS_FRAME_H

/* normal = tangent[0] x tangent[1], all of unit length. */
typedef struct cs_frame {
    double normal[3], tangent[2][3];
} cs_frame;

static inline double cs_dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* The tangents of contactsolve.tangent_basis: smooth but for a circle of normals at this height, away from the
 * coordinate directions. Duff et al., Building an orthonormal basis, revisited, JCGT 6(1), 2017 */
#define CS_SEAM_HEIGHT (-0.55)

static inline void cs_frame_of(const double *normal, cs_frame *frame)
{
    double x = normal[0], y = normal[1], z = normal[2];
    double pole = z > CS_SEAM_HEIGHT ? 1 : -1, scale = -1 / (pole + z), mixed = x * y * scale;
    for (int k = 0; k < 3; k++) frame->normal[k] = normal[k];
    frame->tangent[0][0] = 1 + pole * x * x * scale;
    frame->tangent[0][1] = pole * mixed;
    frame->tangent[0][2] = -pole * x;
    frame->tangent[1][0] = mixed;
    frame->tangent[1][1] = pole + y * y * scale;
    frame->tangent[1][2] = -y;
}

#endif
