#include "bvh/polygon.h"

#include "core/compiler.h"
#include "core/vector.h"

#include <float.h>
#include <string.h>

/* Two edges of the polygon at corner 0, to the corners 1 and last, and their cross product. */
typedef struct frame {
    double e[3], f[3], normal[3], square;
} frame;

CS_INLINE void find_frame(int corners, const cs_polygon *polygon, frame *own)
{
    cs_subtract(polygon->at[1], polygon->at[0], own->e);
    cs_subtract(polygon->at[corners - 1], polygon->at[0], own->f);
    cs_cross(own->e, own->f, own->normal);
    own->square = cs_dot(own->normal, own->normal);
}

/* The nearest point of the edge from corner k to the next one is (1 - share) at[k] + share at[next]. Returns its squared
 * distance. No branch depends on numbers: it would be taken at random. */
CS_INLINE double along_edge(const cs_polygon *polygon, int k, int next, double *share)
{
    const double *from = polygon->at[k], *to = polygon->at[next];
    double edge[3], point[3];
    cs_subtract(to, from, edge);
    double square = cs_dot(edge, edge), part = -cs_dot(from, edge) / (square + DBL_MIN);
    part = part > 0 ? part : 0;
    part = part < 1 ? part : 1;
    for (int c = 0; c < 3; c++) point[c] = (1 - part) * from[c] + part * to[c];
    *share = part;
    return cs_dot(point, point);
}

static void put_on_edge(const cs_polygon *polygon, int k, double share, cs_nearest *nearest)
{
    int next = cs_next_corner(polygon, k);
    nearest->feature = share > 0 && share < 1 ? CS_ON_EDGE : CS_ON_CORNER;
    nearest->first = share < 1 ? k : next;
    memset(nearest->weight, 0, sizeof nearest->weight);
    nearest->weight[k] = 1 - share;
    nearest->weight[next] = share;
    for (int c = 0; c < 3; c++)
        nearest->point[c] = (1 - share) * polygon->at[k][c] + share * polygon->at[next][c];
}

/* The nearest point of all edges, if it is nearer than what was found before. */
CS_INLINE void try_edges(int corners, const cs_polygon *polygon, cs_nearest *nearest)
{
    double least = nearest->square, share = 0, part;
    int best = -1;
    CS_UNROLL for (int k = 0; k < corners; k++)
    {
        double distance = along_edge(polygon, k, k + 1 < corners ? k + 1 : 0, &part);
        int is_nearer = distance < least;
        best = is_nearer ? k : best;
        share = is_nearer ? part : share;
        least = is_nearer ? distance : least;
    }
    if (best >= 0) nearest->square = least;
    if (best >= 0) put_on_edge(polygon, best, share, nearest);
    else if (!(nearest->square < INFINITY)) put_on_edge(polygon, 0, 0, nearest);
}

/* Numbers s, t of the point at[0] + s e + t f below the origin, and whether it lies inside. */
CS_INLINE int is_inside(int corners, const double *s)
{
    if (!(s[0] >= 0 && s[1] >= 0)) return 0;
    return corners == 3 ? s[0] + s[1] <= 1 : s[0] <= 1 && s[1] <= 1;
}

CS_INLINE void point_of(const cs_polygon *polygon, const frame *own, const double *s, double *point)
{
    for (int c = 0; c < 3; c++) point[c] = polygon->at[0][c] + s[0] * own->e[c] + s[1] * own->f[c];
}

/* Cramer's rule, and where the edges are nearly parallel a step of refinement: the residual, the slope of the point along
 * the edges, is small and nearly exact. */
CS_INLINE void solve_below(const cs_polygon *polygon, const frame *own, int refine, double *s)
{
    double across[3];
    cs_cross(own->f, polygon->at[0], across);
    s[0] = cs_dot(own->normal, across) / own->square;
    cs_cross(polygon->at[0], own->e, across);
    s[1] = cs_dot(own->normal, across) / own->square;
    if (!refine) return;

    double point[3];
    point_of(polygon, own, s, point);
    double ee = cs_dot(own->e, own->e), ff = cs_dot(own->f, own->f), ef = cs_dot(own->e, own->f);
    double along_e = cs_dot(point, own->e), along_f = cs_dot(point, own->f);
    s[0] -= (along_e * ff - along_f * ef) / own->square;
    s[1] -= (along_f * ee - along_e * ef) / own->square;
}

CS_INLINE void take_inside(int corners, const cs_polygon *polygon, const double *s,
                           cs_nearest *nearest)
{
    double weight[CS_MOST_CORNERS] = {1 - s[0] - s[1], s[0], s[1], 0}, point[3] = {0, 0, 0};
    if (corners == 4) {
        weight[0] = (1 - s[0]) * (1 - s[1]);
        weight[1] = s[0] * (1 - s[1]);
        weight[2] = s[0] * s[1];
        weight[3] = (1 - s[0]) * s[1];
    }
    for (int k = 0; k < corners; k++) cs_add_scaled(point, weight[k], polygon->at[k], point);
    double distance = cs_dot(point, point);
    if (!(distance <= nearest->square)) return;

    nearest->square = distance;
    nearest->feature = CS_ON_FACE;
    nearest->first = 0;
    memcpy(nearest->weight, weight, sizeof weight);
    cs_assign(nearest->point, point);
}

/* Where the squared sine of the angle at corner 0 is below this number, the inside is computed with refinement, and
 * compared with the edges. */
#define BLUNT 0.01

CS_INLINE void find_nearest(int corners, const cs_polygon *polygon, cs_nearest *nearest)
{
    frame own;
    double s[2];
    nearest->square = INFINITY;
    find_frame(corners, polygon, &own);

    /* Of a polygon with an area: the point below the origin, if it lies inside. */
    int is_sharp = !(own.square >= BLUNT * cs_dot(own.e, own.e) * cs_dot(own.f, own.f));
    if (own.square > 0) {
        solve_below(polygon, &own, is_sharp, s);
        if (is_inside(corners, s)) take_inside(corners, polygon, s, nearest);
    }
    if (nearest->square < INFINITY && !is_sharp) return;

    /* Otherwise that of the nearest edge. */
    try_edges(corners, polygon, nearest);
}

void cs_polygon_nearest(const cs_polygon *polygon, cs_nearest *nearest)
{
    if (polygon->corners == 3) find_nearest(3, polygon, nearest);
    else find_nearest(4, polygon, nearest);
}

/* ---- directions --------------------------------------------------------------------------------- */

int cs_unit(double *n)
{
    double scale = 1 / sqrt(cs_dot(n, n));
    if (!(scale < INFINITY)) return 0;
    cs_set_vector(n, scale * n[0], scale * n[1], scale * n[2]);
    return 1;
}

int cs_polygon_face_normal(const cs_polygon *polygon, double *normal)
{
    frame own;
    find_frame(polygon->corners, polygon, &own);
    double side = cs_dot(own.normal, polygon->at[0]) < 0 ? -1 : 1;
    for (int c = 0; c < 3; c++) normal[c] = side * own.normal[c];
    return cs_unit(normal);
}

int cs_polygon_edge_normal(const cs_polygon *polygon, int k, const double *point, double *normal)
{
    double edge[3];
    cs_subtract(polygon->at[cs_next_corner(polygon, k)], polygon->at[k], edge);
    double square = cs_dot(edge, edge), share = square > 0 ? cs_dot(point, edge) / square : 0;
    cs_add_scaled(point, -share, edge, normal);
    return cs_unit(normal);
}

int cs_polygon_normal(const cs_polygon *polygon, const cs_nearest *nearest, double *normal)
{
    if (nearest->feature == CS_ON_FACE) return cs_polygon_face_normal(polygon, normal);
    if (nearest->feature == CS_ON_EDGE)
        return cs_polygon_edge_normal(polygon, nearest->first, nearest->point, normal);
    cs_assign(normal, nearest->point);
    return cs_unit(normal);
}
