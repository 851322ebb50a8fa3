/* The contacts of one pair of shapes. Each family of pairs is one file, pair_*.c; pairs.def lists them. */
#ifndef CS_PAIR_H
#define CS_PAIR_H

#include "collide/solid.h"

enum { CS_MOST_POINTS = 4 }; /* contacts of a pair; 2 in the plane */

/* A shape at its place in the world. */
typedef struct cs_placed {
    const cs_solid *solid;
    const double *center;   /* (3) */
    const double *rotation; /* (3, 3); of spheres and discs unset */
    double bound;           /* the radius of the bounding sphere */
} cs_placed;

typedef struct cs_manifold_point {
    double point[3]; /* midway between the surfaces, relative to the centre of the first shape */
    double gap;
    int32_t feature;
} cs_manifold_point;

typedef struct cs_manifold {
    int count;
    double normal[3]; /* from the first shape to the second */
    cs_manifold_point at[CS_MOST_POINTS];
} cs_manifold;

/* Fills the manifold with contacts whose gap is at most `margin`, the smallest of them the distance of the shapes or
 * minus their penetration. */
typedef void cs_pair_test(const cs_placed *a, const cs_placed *b, double margin,
                          cs_manifold *manifold);

#define CS_PAIR(first, second, function) cs_pair_test cs_pair_##function;
#include "collide/pairs.def"
#undef CS_PAIR

/* Adds a contact, if its gap is at most `margin`; `a` is the point of the first surface. The normal is set before. */
void cs_manifold_add(cs_manifold *manifold, const double *a, double gap, int32_t feature,
                     double margin);

/* The contact of a point of each shape with a distance around it: the cores are at `a` and `b`, relative to the first
 * centre, and the surfaces radius[0] and radius[1] from them. `otherwise`: the normal where a and b are the same. */
void cs_manifold_of_cores(cs_manifold *manifold, const double *a, const double *b,
                          const double *radius, const double *otherwise, double margin);

#endif
