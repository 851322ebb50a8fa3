/* Nearest points of plane sets, in double precision whatever the solve's.
 *
 * The bodies of the prox (prox/dispatch.inc) melt into the kernels; what is longer than a few lines is
 * called, and lives here. */
#ifndef CS_NEAREST_H
#define CS_NEAREST_H

#include "core/compiler.h"

/* y (2) <- the nearest point of the ellipse with semi-axes c_0 lambda_n and c_1 lambda_n along the
 * axes, either possibly zero. Exact to a few rounding units of the larger semi-axis; a point inside
 * is left as it is. S1 eq. 2.45 */
CS_CALLED void cs_nearest_in_ellipse(double c_0, double c_1, double normal, double *y);

/* y (2) <- the nearest point of the convex polygon with `sides` vertices (sides, 2), listed one way
 * round or the other, times mu lambda_n. Exact to a few rounding units of the larger of |y| and the
 * polygon; a point inside is left as it is. */
CS_CALLED void cs_nearest_in_polygon_f32(int sides, const float *vertices, double mu, double normal,
                                         double *y);
CS_CALLED void cs_nearest_in_polygon_f64(int sides, const double *vertices, double mu,
                                         double normal, double *y);

/* The same, and G (2, 2) <- how the nearest point moves with y: along an edge, at a vertex not at all. */
void cs_slope_in_polygon(int sides, const double *vertices, double mu, double normal, double *y,
                         double *G);

#if defined(__cplusplus)
#include "prox/nearest.inc"
#endif

#endif
