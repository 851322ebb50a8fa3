/* The Minkowski difference of two primitives: all differences p - q of a point p of the first and q of the second.
 *
 *     vertex and face   the triangle with the corners v - f_0, v - f_1, v - f_2
 *     two edges         the parallelogram with the corners a_0 - b_0, a_1 - b_0, a_1 - b_1, a_0 - b_1
 *
 * The primitives touch where it contains the origin; their distance is that of the origin from it. */
#ifndef CS_POLYGON_H
#define CS_POLYGON_H

enum { CS_MOST_CORNERS = 4 };

typedef struct cs_polygon {
    int corners; /* 3: a triangle, 4: a parallelogram */
    double at[CS_MOST_CORNERS][3];
} cs_polygon;

/* What the point nearest to the origin lies on: the inside, the edge from corner `first` to the next one, or that
 * corner. */
typedef enum cs_feature { CS_ON_FACE, CS_ON_EDGE, CS_ON_CORNER } cs_feature;

typedef struct cs_nearest {
    cs_feature feature;
    int first;
    double weight[CS_MOST_CORNERS]; /* of the corners: not negative, their sum is one */
    double point[3], square;        /* sum of weight[k] at[k], and its squared length */
} cs_nearest;

/* Coordinates are at most 2^100, and the largest is at least 2^-100: squares of areas neither overflow nor vanish. */
void cs_polygon_nearest(const cs_polygon *polygon, cs_nearest *nearest);

/* The corner after corner k. */
static inline int cs_next_corner(const cs_polygon *polygon, int k)
{
    return k + 1 < polygon->corners ? k + 1 : 0;
}

/* n <- n / |n|, with a length of at most 1 + 8 u, u = 2^-53. Returns 0, and leaves n, if it has no direction. */
int cs_unit(double *n);

/* normal <- the unit vector from the origin to the nearest point, orthogonal to face or edge to rounding also where the
 * point is so close that its own direction is rounding. Returns 0 if there is none. */
int cs_polygon_normal(const cs_polygon *polygon, const cs_nearest *nearest, double *normal);

/* Other directions in which the origin may be separated: that of the face, and those from edge k to the point. They return
 * 0 if there is none. */
int cs_polygon_face_normal(const cs_polygon *polygon, double *normal);
int cs_polygon_edge_normal(const cs_polygon *polygon, int k, const double *point, double *normal);

#endif
