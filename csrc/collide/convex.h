/* The distance of two convex sets by the algorithm of Gilbert, Johnson and Keerthi, on differences of support points
 * w = a - b. [GJK88] */
#ifndef CS_CONVEX_H
#define CS_CONVEX_H

/* The hull of a few points; or a cylinder, where there are none. */
typedef struct cs_convex {
    int vertices;
    const double (*vertex)[3];
    double center[3], axis[3], radius, half; /* of a cylinder */
} cs_convex;

/* point <- the point of the set that is farthest in a direction. Returns the number of the vertex, or -1. */
int cs_convex_support(const cs_convex *set, const double *direction, double *point);

/* A support point of A - B, with the points of A and B, and its share in the nearest point. */
typedef struct cs_simplex_vertex {
    double w[3], a[3], b[3], weight;
    int of_a, of_b; /* numbers of vertices, or -1 */
} cs_simplex_vertex;

typedef struct cs_closest {
    int overlap;       /* the sets meet, to within rounding: nothing else is set but the simplex */
    double a[3], b[3]; /* the nearest points, of A and of B */
    double distance;   /* of these points: the sets are at most so far apart */
    double normal
        [3]; /* unit length, from A to B: along it the sets are the farthest apart, and at least this: */
    double separation;
    int corners; /* of the simplex on which the nearest point of A - B lies */
    cs_simplex_vertex corner[4];
} cs_closest;

/* The nearest points of two sets. `direction`: a guess, from A to B. Distances of polytopes are exact to rounding;
 * those of cylinders to 1e-9 of their size, most of them to 1e-13. */
void cs_convex_distance(const cs_convex *a, const cs_convex *b, const double *direction,
                        cs_closest *closest);

#endif
