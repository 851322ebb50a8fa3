/* Convex polytopes of at most 64 vertices: boxes, hulls, and the polygons of the plane. */
#ifndef CS_POLYTOPE_H
#define CS_POLYTOPE_H

#include "collide/collide.h"
#include "core/memory.h"

/* Of a polyhedron with V vertices, by Euler's formula: at most 2 V - 4 faces and 3 V - 6 edges. */
enum { CS_MOST_FACES = 2 * CS_MOST_VERTICES, CS_MOST_EDGES = 3 * CS_MOST_VERTICES };

/* How faces and edges join vertices. Face f has the vertices corner[first[f]] ... corner[first[f + 1] - 1],
 * counterclockwise seen from outside. An edge lies between the faces of `beside`; seen from outside, the first is on
 * the left of it. */
typedef struct cs_topology {
    int faces, edges;
    int planes;            /* at least as many as faces: those behind them are beside edges only */
    const int16_t *first;  /* (faces + 1) */
    const uint8_t *corner; /* (first[faces]) */
    const uint8_t (*edge)[2];   /* (edges): vertices */
    const uint8_t (*beside)[2]; /* (edges): faces */
} cs_topology;

typedef struct cs_polytope {
    int vertices;
    double (*vertex)[3]; /* (vertices) */
    double (*plane)[4];  /* (faces): outward unit normal and offset; of a polygon: of its sides */
    const cs_topology *topology; /* NULL: a polygon, whose vertices are in counterclockwise order */
} cs_polytope;

/* The box with these half extents. NULL if memory is too small. */
cs_polytope *cs_polytope_box(const double *half, cs_arena *arena);

/* The triangle with these corners, as a polytope without thickness: two faces, and one beside each edge. CS_INVALID, and
 * `why`, if they are on a line. */
cs_status cs_polytope_triangle(const double (*corner)[3], cs_arena *arena, cs_polytope **triangle,
                               const char **why);

/* The convex hull of points in space, or in the plane, where z is zero. Points that are no vertices of it are left out,
 * coplanar triangles are merged into faces. CS_INVALID, and `why`, if it is degenerate. */
cs_status cs_polytope_hull(int dimension, const double (*point)[3], int count, cs_arena *arena,
                           cs_polytope **hull, const char **why);

#endif
