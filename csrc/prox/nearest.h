/* Nearest points of sets in the plane, in double precision whatever precision the solve has.
 *
 * The compiler inlines the prox of a set (prox/dispatch.inc) into the kernels. These functions are too long for
 * that; kernels call them. */
#ifndef CS_NEAREST_H
#define CS_NEAREST_H

#include "core/compiler.h"

/* y (2) <- the nearest point to y of the ellipse with semi-axes c_0 lambda_n and c_1 lambda_n along the
 * coordinate axes; either may be zero. The error is a few rounding units of the larger semi-axis; a point
 * inside is unchanged. S1 eq. 2.45 */
CS_CALLED void cs_nearest_in_ellipse(double c_0, double c_1, double normal, double *y);

/* y (2) <- the nearest point to y of mu lambda_n times the convex polygon with vertices (sides, 2), in either
 * sense of rotation. The error is a few rounding units of the larger of |y| and the polygon; a point inside is
 * unchanged. */
CS_CALLED void cs_nearest_in_polygon_f32(int sides, const float *vertices, double mu, double normal,
                                         double *y);
CS_CALLED void cs_nearest_in_polygon_f64(int sides, const double *vertices, double mu,
                                         double normal, double *y);

/* Computes the nearest point as above, and G (2, 2) <- its derivative by y: the projection onto an edge, zero at a
 * vertex, the identity inside. */
void cs_slope_in_polygon(int sides, const double *vertices, double mu, double normal, double *y,
                         double *G);

#if defined(__cplusplus)
#include "prox/nearest.inc"
#endif

#endif
