/* Manifolds of flat parts: the part of a face, side or line that lies over a face of another shape. */
#ifndef CS_CLIP_H
#define CS_CLIP_H

#include "collide/pair.h"

/* Corners of a polygon that is clipped: at most those of both faces. */
enum { CS_MOST_CORNERS = 2 * CS_MOST_VERTICES };

/* A convex polygon in space, in order. A corner lies between two edges, whose labels name it: labels 0 ... 63 are of
 * its own edges, edge i being that from corner i, and 64 + i is edge i of the face that clipped it. Two corners make a
 * line, one a point. */
typedef struct cs_outline {
    int count;
    double corner[CS_MOST_CORNERS][3];
    uint8_t in[CS_MOST_CORNERS], out[CS_MOST_CORNERS];
} cs_outline;

/* Gives the corners their labels. */
void cs_outline_label(cs_outline *outline);

/* Cuts off all beyond each side of a face with this normal. Corners within `tolerance` of a side stay as they are, so
 * that where edges coincide rounding does not choose the label. */
void cs_outline_clip(cs_outline *outline, const cs_outline *face, const double *normal,
                     double tolerance);

/* What becomes of an outline that lies over the plane normal . x = offset of a reference face. */
typedef struct cs_landing {
    const double *normal; /* outward from the reference face */
    const double *along;  /* the direction of gaps, a unit vector; NULL: the normal */
    double offset;
    int reversed;     /* the reference face belongs to the second shape */
    double radius[2]; /* around the cores: of the reference shape and the other */
    int32_t base;     /* of features: the low 14 bits are free for the labels */
    int most;         /* contacts */
    double margin;
} cs_landing;

/* Adds the corners of the outline whose gap is at most the margin; of more than `most`, the deepest and those that span
 * the largest area with it. */
void cs_manifold_land(cs_manifold *manifold, const cs_outline *outline, const cs_landing *landing);

#endif
