/* Convex hulls of a few points. */
#ifndef CS_HULL_H
#define CS_HULL_H

#include "collide/polytope.h"

/* A point is outside of a face if it is farther from its plane than this part of the size of all points; faces that
 * differ by less than the second are one. */
#define CS_HULL_OUTSIDE 1e-11
#define CS_HULL_COPLANAR 1e-9

/* The largest distance of a point from the first one. */
double cs_points_size(const double (*point)[3], int count);

cs_status cs_hull_in_space(const double (*point)[3], int count, cs_arena *arena, cs_polytope **hull,
                           const char **why);
cs_status cs_hull_in_plane(const double (*point)[3], int count, cs_arena *arena, cs_polytope **hull,
                           const char **why);

#endif
