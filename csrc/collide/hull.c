/* The convex hull of points in space. Points are added one by one to a hull of triangles: those that see the point give
 * way to a fan from it to their outline. Coplanar triangles are then merged into faces; points that are corners of
 * fewer than three faces are no vertices, and the hull is made again without them. */
#include "collide/hull.h"
#include "core/vector.h"

#include <string.h>

enum { V = CS_MOST_VERTICES, TRIANGLES = 4 * V };

typedef struct triangle {
    int corner[3];
    double plane[4];
    int face; /* after merging */
} triangle;

typedef struct building {
    const double (*point)[3];
    int count;
    double size;
    int triangles;
    triangle triangle[TRIANGLES];
    int16_t owner[V][V]; /* 1 + the triangle with the edge from one point to another; 0: none */

    /* Faces, merged. */
    int faces;
    double plane[TRIANGLES][4];
    int first[TRIANGLES + 1];
    uint8_t corner[6 * V];
} building;

/* ---- triangles ----------------------------------------------------------------------------------- */

static void plane_of(const double *a, const double *b, const double *c, double *plane)
{
    double ab[3], ac[3];
    cs_subtract(b, a, ab);
    cs_subtract(c, a, ac);
    cs_cross(ab, ac, plane);
    cs_normalize(plane);
    plane[3] = cs_dot(plane, a);
}

static double above(const double *plane, const double *point)
{
    return cs_dot(plane, point) - plane[3];
}

/* Adds a triangle. Returns -1 if there is no room: rounding has spoilt the hull. */
static int add_triangle(building *h, int a, int b, int c)
{
    if (h->triangles == TRIANGLES) return -1;
    triangle *t = &h->triangle[h->triangles++];
    *t = (triangle){.corner = {a, b, c}};
    plane_of(h->point[a], h->point[b], h->point[c], t->plane);
    h->owner[a][b] = h->owner[b][c] = h->owner[c][a] = (int16_t)h->triangles;
    return 0;
}

/* The point with the largest distance from a point, a line or a plane that corner[0 ... known - 1] span. */
static int farthest(const building *h, const int *corner, int known, double *distance)
{
    const double *a = h->point[corner[0]];
    double along[3] = {0}, plane[4];
    int best = 0;
    *distance = -1;
    if (known > 1) {
        cs_subtract(h->point[corner[1]], a, along);
        cs_normalize(along);
    }
    if (known > 2) plane_of(a, h->point[corner[1]], h->point[corner[2]], plane);
    for (int p = 0; p < h->count; p++) {
        double apart[3];
        cs_subtract(h->point[p], a, apart);
        cs_add_scaled(apart, -cs_dot(apart, along), along, apart);
        double d = known > 2 ? fabs(above(plane, h->point[p])) : cs_length(apart);
        if (d > *distance) *distance = d, best = p;
    }
    return best;
}

/* The first four points. Returns 0, or how many dimensions the points have instead of three. */
static int start(building *h, int *corner)
{
    double distance;
    corner[0] = 0;
    for (int known = 1; known < 4; known++) {
        corner[known] = farthest(h, corner, known, &distance);
        if (!(distance > CS_HULL_COPLANAR * h->size)) return known;
    }
    double plane[4];
    plane_of(h->point[corner[0]], h->point[corner[1]], h->point[corner[2]], plane);
    if (above(plane, h->point[corner[3]]) > 0) {
        int other = corner[0];
        corner[0] = corner[1];
        corner[1] = other;
    }
    const int *c = corner;
    add_triangle(h, c[0], c[1], c[2]);
    add_triangle(h, c[0], c[3], c[1]);
    add_triangle(h, c[1], c[3], c[2]);
    add_triangle(h, c[2], c[3], c[0]);
    return 0;
}

/* Replaces the triangles that see a point. Returns -1 if rounding has spoilt the hull. */
static int add_point(building *h, int p)
{
    int visible[TRIANGLES], some = 0, kept = 0, fan[TRIANGLES][2], fans = 0;
    for (int t = 0; t < h->triangles; t++) {
        visible[t] = above(h->triangle[t].plane, h->point[p]) > CS_HULL_OUTSIDE * h->size;
        some |= visible[t];
    }
    if (!some) return 0;

    /* The outline: edges of visible triangles beside hidden ones. */
    for (int t = 0; t < h->triangles; t++)
        for (int i = 0; visible[t] && i < 3; i++) {
            int a = h->triangle[t].corner[i], b = h->triangle[t].corner[(i + 1) % 3];
            int other = h->owner[b][a] - 1;
            if (other < 0 || fans == TRIANGLES) return -1;
            if (visible[other]) continue;
            fan[fans][0] = a;
            fan[fans++][1] = b;
        }

    /* Hidden triangles stay; the edges know their triangles by number. */
    for (int t = 0; t < h->triangles; t++)
        if (!visible[t]) h->triangle[kept++] = h->triangle[t];
    h->triangles = kept;
    memset(h->owner, 0, sizeof h->owner);
    for (int t = 0; t < kept; t++)
        for (int i = 0; i < 3; i++)
            h->owner[h->triangle[t].corner[i]][h->triangle[t].corner[(i + 1) % 3]] =
                (int16_t)(t + 1);
    for (int f = 0; f < fans; f++)
        if (add_triangle(h, fan[f][0], fan[f][1], p) < 0) return -1;
    return 0;
}

/* ---- faces --------------------------------------------------------------------------------------- */

static int is_coplanar(const building *h, const double *plane, const triangle *t)
{
    for (int i = 0; i < 3; i++)
        if (fabs(above(plane, h->point[t->corner[i]])) > CS_HULL_COPLANAR * h->size) return 0;
    return cs_dot(plane, t->plane) > 0.5;
}

/* Gives all triangles that continue triangle `seed` in its plane the number of a face. */
static void spread(building *h, int seed, int face)
{
    int pending[TRIANGLES], count = 1;
    double plane[4];
    memcpy(plane, h->triangle[seed].plane, sizeof plane);
    pending[0] = seed;
    h->triangle[seed].face = face;
    while (count) {
        const triangle *t = &h->triangle[pending[--count]];
        for (int i = 0; i < 3; i++) {
            int beside = h->owner[t->corner[(i + 1) % 3]][t->corner[i]] - 1;
            if (beside < 0 || h->triangle[beside].face >= 0) continue;
            if (!is_coplanar(h, plane, &h->triangle[beside])) continue;
            h->triangle[beside].face = face;
            pending[count++] = beside;
        }
    }
}

static double area_of(const building *h, const triangle *t)
{
    double ab[3], ac[3], cross[3];
    cs_subtract(h->point[t->corner[1]], h->point[t->corner[0]], ab);
    cs_subtract(h->point[t->corner[2]], h->point[t->corner[0]], ac);
    cs_cross(ab, ac, cross);
    return cs_length(cross);
}

/* Merges triangles into faces, beginning with the largest, whose plane is the most accurate. */
static void merge(building *h)
{
    for (int t = 0; t < h->triangles; t++) h->triangle[t].face = -1;
    for (h->faces = 0;; h->faces++) {
        int largest = -1;
        for (int t = 0; t < h->triangles; t++)
            if (h->triangle[t].face < 0 &&
                (largest < 0 ||
                 area_of(h, &h->triangle[t]) > area_of(h, &h->triangle[largest]) * (1 + 1e-9)))
                largest = t;
        if (largest < 0) return;
        spread(h, largest, h->faces);
    }
}

/* The face on the left of the edge from a to b, or -1. */
static int face_left(const building *h, int a, int b)
{
    return h->owner[a][b] ? h->triangle[h->owner[a][b] - 1].face : -1;
}

/* The plane of a loop by Newell's sums, moved outward until no corner is above it. */
static void fit_plane(building *h, int face)
{
    double *plane = h->plane[face];
    cs_set_vector(plane, 0, 0, 0);
    int first = h->first[face], count = h->first[face + 1] - first;
    const double *origin = h->point[h->corner[first]];
    for (int i = 0; i < count; i++) {
        double a[3], b[3], cross[3];
        cs_subtract(h->point[h->corner[first + i]], origin, a);
        cs_subtract(h->point[h->corner[first + (i + 1) % count]], origin, b);
        cs_cross(a, b, cross);
        cs_add_scaled(plane, 1, cross, plane);
    }
    cs_normalize(plane);
    plane[3] = cs_dot(plane, origin);
    for (int i = 1; i < count; i++)
        plane[3] = fmax(plane[3], cs_dot(plane, h->point[h->corner[first + i]]));
}

/* Follows the outline of a face. Returns -1 if it is not one loop. */
static int trace_face(building *h, int face)
{
    int next[V], begin = -1, edges = 0, at = h->first[face];
    for (int a = 0; a < h->count; a++) next[a] = -1;
    for (int a = 0; a < h->count; a++)
        for (int b = 0; b < h->count; b++)
            if (face_left(h, a, b) == face && face_left(h, b, a) != face) {
                if (next[a] >= 0) return -1;
                next[a] = b;
                begin = begin < 0 ? a : begin;
                edges++;
            }
    int a = begin;
    for (int i = 0; i < edges; i++, a = next[a]) {
        if (a < 0 || at >= 6 * V || (i > 0 && a == begin)) return -1;
        h->corner[at++] = (uint8_t)a;
    }
    h->first[face + 1] = at;
    if (edges < 3 || a != begin) return -1;
    fit_plane(h, face);
    return 0;
}

/* ---- the hull ------------------------------------------------------------------------------------ */

static const char *const flat[] = {
    "",
    "all points are the same",
    "the points lie on a line, to within 1e-9 of their size",
    "the points lie in a plane, to within 1e-9 of their size",
};
static const char *const spoilt = "the points are too close to each other for a hull";

/* Builds the faces. Returns NULL, or what is wrong. */
static const char *build(building *h)
{
    int corner[4], dimensions = start(h, corner);
    if (dimensions) return flat[dimensions];
    for (int p = 0; p < h->count; p++)
        if (add_point(h, p) < 0) return spoilt;
    merge(h);
    for (int f = 0; f < h->faces; f++)
        if (trace_face(h, f) < 0) return spoilt;

    /* No point may lie outside. */
    for (int f = 0; f < h->faces; f++)
        for (int p = 0; p < h->count; p++)
            if (above(h->plane[f], h->point[p]) > 10 * CS_HULL_COPLANAR * h->size) return spoilt;
    return NULL;
}

/* point <- those that are corners of at least three faces. Returns their number. */
static int keep_vertices(const building *h, double (*point)[3])
{
    int uses[V] = {0}, kept = 0;
    for (int i = 0; i < h->first[h->faces]; i++) uses[h->corner[i]]++;
    for (int p = 0; p < h->count; p++)
        if (uses[p] >= 3) cs_assign(point[kept++], h->point[p]);
    return kept;
}

static cs_status copy(const building *h, cs_arena *arena, cs_polytope **hull)
{
    int corners = h->first[h->faces], edges = 0;
    cs_polytope *polytope = cs_arena_take(arena, 1, sizeof *polytope);
    cs_topology *topology = cs_arena_take(arena, 1, sizeof *topology);
    double(*vertex)[3] = cs_arena_take(arena, h->count, sizeof *vertex);
    double(*plane)[4] = cs_arena_take(arena, h->faces, sizeof *plane);
    int16_t *first = cs_arena_take(arena, h->faces + 1, sizeof *first);
    uint8_t *corner = cs_arena_take(arena, corners, sizeof *corner);
    uint8_t(*edge)[2] = cs_arena_take(arena, corners / 2, sizeof *edge);
    uint8_t(*beside)[2] = cs_arena_take(arena, corners / 2, sizeof *beside);
    if (cs_arena_failed(arena)) return CS_NO_MEMORY;

    memcpy(vertex, h->point, sizeof *vertex * (size_t)h->count);
    memcpy(plane, h->plane, sizeof *plane * (size_t)h->faces);
    memcpy(corner, h->corner, (size_t)corners);
    for (int f = 0; f <= h->faces; f++) first[f] = (int16_t)h->first[f];
    for (int f = 0; f < h->faces; f++)
        for (int i = first[f]; i < first[f + 1]; i++) {
            int a = corner[i], b = corner[i + 1 < first[f + 1] ? i + 1 : first[f]];
            if (a > b) continue;
            edge[edges][0] = (uint8_t)a, edge[edges][1] = (uint8_t)b;
            beside[edges][0] = (uint8_t)f, beside[edges][1] = (uint8_t)face_left(h, b, a);
            edges++;
        }
    *topology = (cs_topology){h->faces,
                              edges,
                              h->faces,
                              first,
                              corner,
                              (const uint8_t(*)[2])edge,
                              (const uint8_t(*)[2])beside};
    *polytope = (cs_polytope){h->count, vertex, plane, topology};
    *hull = polytope;
    return CS_OK;
}

cs_status cs_hull_in_space(const double (*point)[3], int count, cs_arena *arena, cs_polytope **hull,
                           const char **why)
{
    double kept[V][3], vertex[V][3];
    const char *wrong = NULL;
    building *h = cs_allocate(1, sizeof *h);
    if (!h) return CS_NO_MEMORY;
    memcpy(kept, point, sizeof *kept * (size_t)count);

    /* Again without the points that are no vertices, until all are. */
    for (int left = -1; !wrong && left != count;) {
        if (left >= 0) memcpy(kept, vertex, sizeof *kept * (size_t)(count = left));
        memset(h, 0, sizeof *h);
        h->point = (const double(*)[3])kept;
        h->count = count;
        h->size = cs_points_size(h->point, count);
        wrong = build(h);
        if (!wrong) left = keep_vertices(h, vertex);
    }
    cs_status status = wrong ? CS_INVALID : copy(h, arena, hull);
    if (wrong) *why = wrong;
    cs_release(h);
    return status;
}
