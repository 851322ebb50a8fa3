/* Boxes, and what hulls in space and in the plane have in common. */
#include "collide/hull.h"
#include "core/vector.h"

/* Vertex 1 x + 2 y + 4 z of a box is at +x, +y, +z where that bit is set. */
static const int16_t box_first[] = {0, 4, 8, 12, 16, 20, 24};
static const uint8_t box_corner[] = {
    0, 4, 6, 2, /* -x */
    1, 3, 7, 5, /* +x */
    0, 1, 5, 4, /* -y */
    2, 6, 7, 3, /* +y */
    0, 2, 3, 1, /* -z */
    4, 5, 7, 6, /* +z */
};
static const uint8_t box_edge[][2] = {
    {0, 4}, {4, 6}, {6, 2}, {2, 0}, {1, 3}, {3, 7}, {7, 5}, {5, 1}, {0, 1}, {5, 4}, {6, 7}, {3, 2},
};
static const uint8_t box_beside[][2] = {
    {0, 2}, {0, 5}, {0, 3}, {0, 4}, {1, 4}, {1, 3}, {1, 5}, {1, 2}, {2, 4}, {2, 5}, {3, 5}, {3, 4},
};
static const cs_topology box_topology = {6, 12, 6, box_first, box_corner, box_edge, box_beside};

cs_polytope *cs_polytope_box(const double *half, cs_arena *arena)
{
    cs_polytope *box = cs_arena_take(arena, 1, sizeof *box);
    double(*vertex)[3] = cs_arena_take(arena, 8, sizeof *vertex);
    double(*plane)[4] = cs_arena_take(arena, 6, sizeof *plane);
    if (cs_arena_failed(arena)) return NULL;
    *box = (cs_polytope){8, vertex, plane, &box_topology};
    for (int v = 0; v < 8; v++)
        for (int i = 0; i < 3; i++) vertex[v][i] = v >> i & 1 ? half[i] : -half[i];
    for (int f = 0; f < 6; f++) {
        plane[f][f / 2] = f & 1 ? 1 : -1;
        plane[f][3] = half[f / 2];
    }
    return box;
}

/* Faces 0 and 1 of a triangle are its sides, from which its corners are seen counterclockwise and clockwise. Plane 2 + k is
 * beside edge k, from corner k to the next one. Every edge is there twice, between face 0 and that plane and between that
 * plane and face 1, as in a prism whose height goes to zero: so the normals around an edge are those of a prism. */
static const int16_t triangle_first[] = {0, 3, 6};
static const uint8_t triangle_corner[] = {0, 1, 2, 2, 1, 0};
static const uint8_t triangle_edge[][2] = {{0, 1}, {1, 2}, {2, 0}, {1, 0}, {2, 1}, {0, 2}};
static const uint8_t triangle_beside[][2] = {{0, 2}, {0, 3}, {0, 4}, {1, 2}, {1, 3}, {1, 4}};
static const cs_topology triangle_topology = {
    2, 6, 5, triangle_first, triangle_corner, triangle_edge, triangle_beside,
};

cs_status cs_polytope_triangle(const double (*corner)[3], cs_arena *arena, cs_polytope **triangle,
                               const char **why)
{
    /* The normal. */
    double side[3], other[3], normal[3];
    double size = cs_points_size(corner, 3);
    cs_subtract(corner[1], corner[0], side);
    cs_subtract(corner[2], corner[0], other);
    cs_cross(side, other, normal);
    if (!(cs_normalize(normal) > CS_HULL_COPLANAR * size * size)) {
        *why = "the corners are on a line";
        return CS_INVALID;
    }

    /* Corners and planes. */
    cs_polytope *made = *triangle = cs_arena_take(arena, 1, sizeof *made);
    double(*vertex)[3] = cs_arena_take(arena, 3, sizeof *vertex);
    double(*plane)[4] = cs_arena_take(arena, 5, sizeof *plane);
    if (cs_arena_failed(arena)) return CS_NO_MEMORY;
    *made = (cs_polytope){3, vertex, plane, &triangle_topology};
    for (int k = 0; k < 3; k++) {
        cs_assign(vertex[k], corner[k]);
        plane[0][k] = normal[k];
        plane[1][k] = -normal[k];
    }
    for (int k = 0; k < 3; k++) {
        cs_subtract(corner[(k + 1) % 3], corner[k], side);
        cs_cross(side, normal, plane[2 + k]);
        cs_normalize(plane[2 + k]);
        plane[2 + k][3] = cs_dot(plane[2 + k], corner[k]);
    }
    for (int f = 0; f < 2; f++) plane[f][3] = cs_dot(plane[f], corner[0]);
    return CS_OK;
}

double cs_points_size(const double (*point)[3], int count)
{
    double size = 0;
    for (int p = 1; p < count; p++) {
        double apart[3];
        cs_subtract(point[p], point[0], apart);
        size = fmax(size, cs_length(apart));
    }
    return size;
}

cs_status cs_polytope_hull(int dimension, const double (*point)[3], int count, cs_arena *arena,
                           cs_polytope **hull, const char **why)
{
    if (!(cs_points_size(point, count) > 0)) {
        *why = "all points are the same";
        return CS_INVALID;
    }
    return dimension == 3 ? cs_hull_in_space(point, count, arena, hull, why)
                          : cs_hull_in_plane(point, count, arena, hull, why);
}
