/* Polytopes at their places, and the axes that separate them. */
#ifndef CS_POSED_H
#define CS_POSED_H

#include "collide/clip.h"
#include "collide/convex.h"

/* The core of a shape: points, the segment of a capsule, or a polytope; relative to the centre of the first shape of the
 * pair. A core of two points has no faces in space, and two sides in the plane. */
typedef struct cs_posed {
    int vertices, faces, edges;
    int inner;                   /* of a triangle: as in cs_solid */
    double radius;               /* of the shape around its core */
    double size;                 /* of the core: its bounding radius */
    const cs_topology *topology; /* NULL: sides of a polygon, or no faces */
    double vertex[CS_MOST_VERTICES][3];
    double plane[CS_MOST_FACES][4];
} cs_posed;

/* Places the core of any shape but cylinders and half-spaces. */
void cs_pose(const cs_placed *placed, const double *origin, cs_posed *posed);

cs_convex cs_convex_of(const cs_posed *posed);

/* The axis with the largest separation of two cores, a lower bound of their distance. Where they overlap, it is minus
 * their penetration. */
typedef enum cs_axis_kind {
    CS_AXIS_NONE,
    CS_AXIS_FACE_A,
    CS_AXIS_FACE_B,
    CS_AXIS_EDGES
} cs_axis_kind;
typedef struct cs_axis {
    cs_axis_kind kind;
    double separation;
    double normal[3]; /* from A to B */
    int feature[2];   /* the face; or the edge of A and of B */
    int deepest;      /* the vertex of the other shape that is nearest to the face */
} cs_axis;

/* Returns 0 if some axis separates the cores by more than `most`. `tolerance`: an axis has to be better by this than
 * one of an earlier kind (faces of A, of B, edges), so that rounding does not choose. */
int cs_find_axis(const cs_posed *a, const cs_posed *b, double most, double tolerance,
                 cs_axis *axis);

/* outline <- face f; for a polygon, or a core of two points, side f. */
void cs_posed_face(const cs_posed *posed, int f, cs_outline *outline);

/* The face of `posed` that faces a plane with this normal: of those with the most vertices as near to it as vertex
 * `deepest`, the one that faces it most; or the only side of a core of two points; -1 for a point. */
int cs_facing(const cs_posed *posed, const double *normal, int deepest, double tolerance);

#endif
