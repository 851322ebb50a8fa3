/* Shapes as the collider keeps them: the origin of a solid's frame is the centre of its bounding sphere. */
#ifndef CS_SOLID_H
#define CS_SOLID_H

#include "collide/polytope.h"

/* Coordinates beyond these would overflow when they are squared, or vanish. */
#define CS_LARGEST_LENGTH 1e100
#define CS_LEAST_LENGTH 1e-100

typedef struct cs_solid {
    cs_shape_kind kind;
    double radius;    /* of a sphere, disc, capsule, cylinder or segment; otherwise zero */
    double half;      /* half length, along z; of a segment along x */
    double extent[3]; /* a box about the origin that holds the shape; half extents of a box */
    double bound;     /* radius of the bounding sphere; of a half-space infinite */
    double normal[3], offset; /* of a half-space */
    int inner; /* bit k: edge k of a triangle is an inner one of a mesh, which nothing touches alone */
    cs_polytope *polytope; /* of a box, hull or polygon */
    double position[3];    /* of this frame in the frame of the body */
    double rotation[9];
    cs_arena memory; /* of the polytope */
} cs_solid;

/* Checks a shape, and makes the solid. `index`: of the shape, for messages. The caller clears solid->memory, also after
 * a failure. */
cs_status cs_solid_make(cs_solid *solid, const cs_shape *shape, int dimension, int64_t index,
                        cs_error *error);

/* box (low, high) <- the box that holds a solid at this place. */
void cs_solid_box(const cs_solid *solid, const double *center, const double *rotation,
                  double box[2][3]);

#endif
