/* Stencils: the four vertices of a query, and how their Minkowski difference moves.
 *
 *     CS_VERTEX_FACE   v, f_0, f_1, f_2
 *     CS_EDGE_EDGE     a_0, a_1, b_0, b_1
 *
 * Vertices move along straight lines over t from 0 to 1, and so do the corners of the difference. A difference of two
 * doubles has an error of one rounding of itself: how far the scene is from the origin does not matter. */
#ifndef CS_STENCIL_H
#define CS_STENCIL_H

#include "bvh/polygon.h"

#include <stdint.h>

enum { CS_STENCIL_VERTICES = 4 };

typedef enum cs_stencil_kind { CS_VERTEX_FACE, CS_EDGE_EDGE, CS_STENCIL_KINDS } cs_stencil_kind;

/* Positions of vertices, (vertices, 3), and the four of each stencil; `index` NULL: rows 4 i to 4 i + 3. */
typedef struct cs_stencils {
    cs_stencil_kind kind;
    int64_t count;
    const double *start, *end; /* at t = 0 and 1; equal for a question about one time */
    const int64_t *index;      /* (count, 4) */
} cs_stencils;

/* A polygon in motion. Lengths are in units of 2^exponent, which is 1 unless squares would overflow or vanish. */
typedef struct cs_motion {
    cs_polygon start, end;
    int exponent;
    double size;   /* the largest coordinate of start and end */
    double margin; /* in these units */
} cs_motion;

void cs_motion_load(const cs_stencils *stencils, int64_t i, double margin, cs_motion *motion);

/* at <- the polygon at a time t from 0 to 1. */
static inline void cs_motion_at(const cs_motion *motion, double t, cs_polygon *at)
{
    double rest = 1 - t;
    at->corners = motion->start.corners;
    for (int k = 0; k < at->corners; k++)
        for (int c = 0; c < 3; c++)
            at->at[k][c] = rest * motion->start.at[k][c] + t * motion->end.at[k][c];
}

/* What is known of the nearest points, in terms of the four vertices: `separation`, the vector between the nearest points,
 * from face to vertex or from the second edge to the first, is the sum of weight[i] x_i. Any of the last three may be
 * NULL. */
void cs_stencil_put(const cs_motion *motion, const cs_nearest *nearest, double *distance,
                    double *weight, double *separation);

#endif
