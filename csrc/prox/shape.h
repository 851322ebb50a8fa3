/* Convex shapes, encoded as arrays of numbers, and their support points.
 *
 * A shape is a node of a tree: its code, the total length of the node, then the data of its code:
 *
 *     ELLIPSOID       semi-axes (n)
 *     SUPERELLIPSOID  exponent p >= 1, semi-axes (n): sum |x_i / a_i|^p <= 1; p may be infinite
 *     POINTS          points (k, n): their convex hull
 *     PATCH           k times x, y, weight: a contact patch of points with Coulomb friction, n = 3;
 *                     the sum of weight (f, x f_2 - y f_1) over all |f| <= 1
 *     SUM             shapes: Minkowski sum
 *     HULL            shapes: convex hull of them all
 *     TURNED          cosine, sine, then a shape turned by that angle in the plane of the first two
 *     SHIFTED         offset (n), then a shape
 *
 * n is 2 (rows t1, t2) or 3 (with the spin row). The numbers are parameters of a block, so that each contact can
 * have its own dimensions. */
#ifndef CS_SHAPE_H
#define CS_SHAPE_H

#include "contactsolve.h"
#include "core/compiler.h"
#define CS_SHAPE_DEPTH 16 /* the most shapes within shapes, the outermost one included */
enum cs_shape_code {
    CS_FRICTION_ELLIPSOID = 1,
    CS_FRICTION_SUPERELLIPSOID,
    CS_FRICTION_POINTS,
    CS_FRICTION_PATCH,
    CS_FRICTION_SUM,
    CS_FRICTION_HULL,
    CS_FRICTION_TURNED,
    CS_FRICTION_SHIFTED,
};

/* point (n) <- a support point: a point of the shape that reaches farthest in `direction` (n). */
CS_CALLED void cs_shape_support_f32(int n, const float *shape, const double *direction,
                                    double *point);
CS_CALLED void cs_shape_support_f64(int n, const double *shape, const double *direction,
                                    double *point);

/* z (n) <- the nearest point to z of the shape times `scale`; prox/gjk.h states the accuracy. */
CS_CALLED void cs_nearest_in_shape_f32(int n, const float *shape, double scale, double *z);
CS_CALLED void cs_nearest_in_shape_f64(int n, const double *shape, double scale, double *z);

/* G (n, n) <- the derivative dp/dz of that nearest point p. */
void cs_slope_in_shape(int n, const double *shape, double scale, const double *z, const double *p,
                       double *G);

/* Fails unless the `length` numbers encode one shape in n dimensions that contains the origin. */
cs_status cs_shape_check(int n, const double *shape, int length, int64_t block, cs_error *error);

#if defined(__cplusplus)
#include "prox/gjk.h"
#include <float.h>
#include <math.h>
#include <stddef.h>
#define CS_TEMPLATE "prox/shape.inc"
#include "core/each_precision.h"
#endif

#endif
