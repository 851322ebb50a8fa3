/* The penetration of two convex sets by an expanding polytope. [van den Bergen 2001] */
#ifndef CS_PENETRATION_H
#define CS_PENETRATION_H

#include "collide/convex.h"

/* How far B has to move along `normal`, of unit length, until A and B only touch: the reach of A - B. */
double cs_convex_overlap(const cs_convex *a, const cs_convex *b, const double *normal);

/* Improves a direction of small overlap: normal <- that of the least one. Both sets have an inside. Returns the overlap,
 * which is never more than that of the direction given, and exact to `tolerance` unless hundreds of support points are
 * too few. */
double cs_convex_penetration(const cs_convex *a, const cs_convex *b, double tolerance,
                             double *normal);

#endif
