/* The nearest point of a convex set S that is defined by its support function. [GJK88]; S1 section 2.3
 *
 *     support(d) = a point x of S with the largest d . x
 *
 * In the plane the direction from the nearest point to y is found by bracketing a root. The result is exact to
 * rounding for smooth shapes, polygons, and shapes with both smooth and straight parts.
 *
 * In space the simplex of Gilbert, Johnson and Keerthi approaches the nearest point step by step, and Newton's
 * method for the direction completes the search if S is smooth or has a corner there. Polytopes are exact to
 * rounding, too. If S contains straight lines there, but is not a polytope (the side of a cylinder), the
 * simplex gives the result: its distance is accurate to about 1e-13, but its position only to the square root
 * of that, 1e-7 of the larger of |y| and S, or better. */
#ifndef CS_GJK_H
#define CS_GJK_H

#include "core/compiler.h"

/* A part of a body that is too long to be inlined: a function of its own on a GPU, for whose compiler the values of all parts
 * would be too many for the registers. A processor's compiler inlines it as it likes. */
#if defined(CS_SIMT)
#define CS_CALLED_PART CS_BODY static __attribute__((noinline, unused))
#else
#define CS_CALLED_PART CS_BODY static
#endif

/* The support function of S. */
typedef struct cs_oracle {
#if !defined(__cplusplus)
    /* point <- the support point of a direction. Returns 0, or any other value if it failed. */
    int (*support)(const void *context, int n, const double *direction, double *point);
#endif
    const void *context; /* in C++: a shape (prox/shape.h) */
    int n;               /* 2 or 3 */
} cs_oracle;

#if !defined(__cplusplus)
/* y (n) <- the nearest point of S to y; a point inside is unchanged. `has_origin`: S contains the origin. Returns 0,
 * or, with y zero, the value that a failed support function returned. */
CS_CALLED int cs_nearest_by_support(const cs_oracle *oracle, int has_origin, double *y);

/* z (n) <- the nearest point to z of S times a scale >= 0. S has to contain the origin. Returns as above. */
CS_CALLED int cs_nearest_in_scaled(const cs_oracle *oracle, double scale, double *z);

/* G (n, n) <- dx/dz, where x is the nearest point to z of S times a scale. With u the direction from x to z, D their
 * distance and W = ds/du, which is computed from differences of support points,
 *
 *     G = W (W + D)^-1 orthogonal to u, and G u = 0
 *
 * W is infinite along edges and faces, and zero at corners. G is zero if the scale is zero or the support function
 * fails. */
void cs_slope_in_scaled(const cs_oracle *oracle, double scale, const double *z, const double *x,
                        double *G);

#endif

#endif
