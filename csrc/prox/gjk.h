/* The nearest point of a convex set that is known by its support points only. [GJK88]; S1 section 2.3
 *
 *     support(d) = a point x of S with the largest d . x
 *
 * In the plane the direction from the nearest point to y is found between two others, as a root: the
 * answer is exact to rounding for smooth shapes, polygons, and what lies between them.
 *
 * In space the simplex of Gilbert, Johnson and Keerthi comes closer step by step, and Newton's method
 * for the direction finishes where S is smooth or has a corner. Polytopes are exact to rounding, too.
 * Where S has straight lines in it, but is no polytope there (the side of a cylinder), the simplex
 * itself is the answer: to about 1e-13 in distance, but in place to the root of that only, 1e-7 of the
 * larger of |y| and S, or better. */
#ifndef CS_GJK_H
#define CS_GJK_H

#include "core/compiler.h"

typedef struct cs_oracle {
    /* Returns 0, or anything else to give up. */
    int (*support)(const void *context, int n, const double *direction, double *point);
    const void *context;
    int n; /* 2 or 3 */
} cs_oracle;

/* y (n) <- the nearest point of S; a point inside is left as it is. `has_origin`: the origin is known
 * to be in S. Returns 0, or what a failed support function returned; y is zero then. */
CS_CALLED int cs_nearest_by_support(const cs_oracle *oracle, int has_origin, double *y);

/* The same for S times a scale >= 0, in the units of z (n), for S with the origin in it. */
CS_CALLED int cs_nearest_in_scaled(const cs_oracle *oracle, double scale, double *z);

/* G (n, n) <- how x, the nearest point to z of S times a scale, moves with z. With u the direction from
 * x to z, D their distance and W = ds/du, which differences of support points tell,
 *
 *     G = W (W + D)^-1 across u,
 *
 * where W is infinite along edges and faces, and zero at corners. Zero where the scale is zero or the
 * support function fails. */
void cs_slope_in_scaled(const cs_oracle *oracle, double scale, const double *z, const double *x,
                        double *G);

#if defined(__cplusplus)
#include "prox/gjk.inc"
#endif

#endif
