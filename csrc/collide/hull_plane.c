/* The convex hull of points in the plane: Andrew's monotone chain. */
#include "collide/hull.h"
#include "core/vector.h"

#include <string.h>

/* How far c lies to the left of the line from a to b. */
static double left_of(const double *a, const double *b, const double *c)
{
    double x = b[0] - a[0], y = b[1] - a[1], length = hypot(x, y);
    return length > 0 ? (x * (c[1] - a[1]) - y * (c[0] - a[0])) / length : 0;
}

static void sort_points(double (*point)[3], int count)
{
    for (int i = 1; i < count; i++) {
        double moved[3];
        int at = i;
        cs_assign(moved, point[i]);
        for (; at > 0 && (point[at - 1][0] > moved[0] ||
                          (point[at - 1][0] == moved[0] && point[at - 1][1] > moved[1]));
             at--)
            cs_assign(point[at], point[at - 1]);
        cs_assign(point[at], moved);
    }
}

/* Adds one point to the chain, whose last points may then be no corners. */
static int extend(double (*chain)[3], int count, int least, const double *point, double tolerance)
{
    while (count > least && left_of(chain[count - 2], chain[count - 1], point) <= tolerance)
        count--;
    cs_assign(chain[count], point);
    return count + 1;
}

cs_status cs_hull_in_plane(const double (*point)[3], int count, cs_arena *arena, cs_polytope **hull,
                           const char **why)
{
    double sorted[CS_MOST_VERTICES][3], chain[2 * CS_MOST_VERTICES][3];
    double tolerance = CS_HULL_COPLANAR * cs_points_size(point, count);
    memcpy(sorted, point, sizeof(double[3]) * (size_t)count);
    sort_points(sorted, count);

    /* The lower chain from left to right, then the upper one back. */
    int corners = 0;
    for (int p = 0; p < count; p++) corners = extend(chain, corners, 1, sorted[p], tolerance);
    int lower = corners;
    for (int p = count - 2; p >= 0; p--)
        corners = extend(chain, corners, lower, sorted[p], tolerance);
    corners--; /* the first point, again */
    if (corners < 3) {
        *why = "the points lie on a line, to within 1e-9 of their size";
        return CS_INVALID;
    }

    cs_polytope *polygon = cs_arena_take(arena, 1, sizeof *polygon);
    double(*vertex)[3] = cs_arena_take(arena, corners, sizeof *vertex);
    double(*side)[4] = cs_arena_take(arena, corners, sizeof *side);
    if (cs_arena_failed(arena)) return CS_NO_MEMORY;
    *polygon = (cs_polytope){corners, vertex, side, NULL};
    memcpy(vertex, chain, sizeof(double[3]) * (size_t)corners);
    for (int v = 0; v < corners; v++) {
        const double *a = vertex[v], *b = vertex[(v + 1) % corners];
        cs_set_vector(side[v], b[1] - a[1], a[0] - b[0], 0);
        cs_normalize(side[v]);
        side[v][3] = cs_dot(side[v], a);
    }
    *hull = polygon;
    return CS_OK;
}
