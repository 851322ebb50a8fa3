/* Spheres, capsules, boxes and hulls with boxes and hulls; and shapes of the plane: all but two discs, and two polygons
 * where pair_polygons.c finds contacts over a side. Each has a core, which is a polytope, and a radius around it.
 *
 *     axis over a face    the facing part of the other shape, clipped to the face
 *     axis of two edges   where they cross, and what the faces beside them share
 *     otherwise           the nearest points; of edges that are parallel, the ends of what they share
 *
 * The axis of the largest separation is that of the distance if what is nearest along it lies over the face, or if the
 * edges cross. It always is if the cores overlap. */
#include "collide/features.h"
#include "collide/penetration.h"
#include "collide/posed.h"
#include "core/vector.h"

#include <float.h>

/* The least cosine between a direction and the normal of a face over which corners lie along it. */
#define STEEP 0.1

typedef struct pair {
    cs_posed a, b;
    double around, size, margin;
    int dimension;
    cs_axis axis;
} pair;

/* ---- contacts over a face ------------------------------------------------------------------------ */

static double smallest_gap(const cs_manifold *manifold)
{
    double least = INFINITY;
    for (int i = 0; i < manifold->count; i++) least = fmin(least, manifold->at[i].gap);
    return least;
}

/* In the plane the sides of a face are the ends of its line. */
static void clip_to(const pair *p, cs_outline *outline, const cs_outline *face,
                    const double *normal)
{
    if (p->dimension == 3) {
        cs_outline_clip(outline, face, normal, CS_BESIDE * p->size);
        return;
    }
    /* A face through the line, along z. */
    cs_outline wall = {.count = 4};
    for (int i = 0; i < 4; i++) {
        cs_assign(wall.corner[i], face->corner[i == 1 || i == 2]);
        wall.corner[i][2] = i < 2 ? -p->size : p->size;
    }
    cs_outline_clip(outline, &wall, normal, CS_BESIDE * p->size);
}

/* outline <- what the other shape has over the face of the axis. */
static void clip_facing(const pair *p, const cs_posed *reference, const cs_posed *other,
                        cs_outline *outline)
{
    cs_outline face;
    const double *plane = reference->plane[p->axis.feature[0]];
    int facing = cs_facing(other, plane, p->axis.deepest, CS_BESIDE * p->size);
    if (facing >= 0) cs_posed_face(other, facing, outline);
    else {
        outline->count = 1;
        outline->in[0] = outline->out[0] = 0;
        cs_assign(outline->corner[0], other->vertex[p->axis.deepest]);
    }
    cs_posed_face(reference, p->axis.feature[0], &face);
    clip_to(p, outline, &face, plane);
}

/* Contacts over the face of the axis. Returns 0, with none, if the nearest point is not over it; of cores that overlap,
 * it counts where it is. */
static int land_on_face(const pair *p, int overlap, cs_manifold *manifold)
{
    int reversed = p->axis.kind == CS_AXIS_FACE_B, f = p->axis.feature[0];
    const cs_posed *reference = reversed ? &p->b : &p->a, *other = reversed ? &p->a : &p->b;
    cs_outline outline;
    cs_landing landing = {
        .normal = reference->plane[f],
        .offset = reference->plane[f][3],
        .reversed = reversed,
        .radius = {reference->radius, other->radius},
        .base = (reversed ? CS_FACE_OF_SECOND : 0) | f << CS_FACE_SHIFT,
        .most = p->dimension == 3 ? CS_MOST_POINTS : 2,
        .margin = p->margin,
    };
    clip_facing(p, reference, other, &outline);
    cs_manifold_land(manifold, &outline, &landing);
    double wanted = p->axis.separation - p->around;
    if (smallest_gap(manifold) <= wanted + 2 * CS_BESIDE * p->size) return 1;

    manifold->count = 0;
    if (!overlap) return 0;
    outline.count = 1;
    cs_assign(outline.corner[0], other->vertex[p->axis.deepest]);
    outline.in[0] = outline.out[0] = (uint8_t)p->axis.deepest;
    cs_manifold_land(manifold, &outline, &landing);
    return 1;
}

/* ---- contacts of edges and points ---------------------------------------------------------------- */

static void ends_of(const cs_posed *posed, int edge, const double **from, double *along)
{
    int first = posed->topology ? posed->topology->edge[edge][0] : 0;
    int second = posed->topology ? posed->topology->edge[edge][1] : 1;
    *from = posed->vertex[first];
    cs_subtract(posed->vertex[second], *from, along);
}

/* a <- the point of edge i of A that is nearest to the line of edge j of B. Returns whether the edges cross, seen along
 * the axis. */
static int cross_edges(const pair *p, double *a)
{
    const double *from_a, *from_b;
    double u[3], v[3], w[3];
    ends_of(&p->a, p->axis.feature[0], &from_a, u);
    ends_of(&p->b, p->axis.feature[1], &from_b, v);
    cs_subtract(from_b, from_a, w);
    double uu = cs_dot(u, u), uv = cs_dot(u, v), vv = cs_dot(v, v);
    double uw = cs_dot(u, w), vw = cs_dot(v, w), square = uu * vv - uv * uv;
    double on_a = (uw * vv - vw * uv) / square, on_b = (uw * uv - vw * uu) / square;
    cs_add_scaled(from_a, fmin(fmax(on_a, 0), 1), u, a);
    return on_a >= -CS_BESIDE && on_a <= 1 + CS_BESIDE && on_b >= -CS_BESIDE &&
           on_b <= 1 + CS_BESIDE;
}

/* Of both faces beside an edge, the one that faces most along a direction; of a rod its only side, of a triangle the
 * one that is a face. */
static int face_beside(const cs_posed *posed, int edge, const double *direction)
{
    if (!posed->topology) return 0;
    const uint8_t *beside = posed->topology->beside[edge];
    if (beside[1] >= posed->topology->faces) return beside[0];
    double first = cs_dot(posed->plane[beside[0]], direction);
    return beside[cs_dot(posed->plane[beside[1]], direction) > first];
}

/* Contacts along the axis of two edges, at the corners of what A has over the face of B: faces that are nearly parallel,
 * and deep in each other, would rock on the one point where edges cross. Returns 0 if only that point touches. */
static int land_beside_edges(const pair *p, cs_manifold *manifold)
{
    double along[3];
    for (int i = 0; i < 3; i++) along[i] = -p->axis.normal[i];
    int of_a = face_beside(&p->a, p->axis.feature[0], p->axis.normal);
    int of_b = face_beside(&p->b, p->axis.feature[1], along);
    if (cs_dot(p->b.plane[of_b], along) < STEEP) return 0;
    cs_landing landing = {
        .normal = p->b.plane[of_b],
        .along = along,
        .offset = p->b.plane[of_b][3],
        .reversed = 1,
        .radius = {p->b.radius, p->a.radius},
        .base = CS_FACE_OF_SECOND | of_b << CS_FACE_SHIFT,
        .most = CS_MOST_POINTS,
        .margin = p->margin,
    };
    cs_outline outline, face;
    cs_posed_face(&p->a, of_a, &outline);
    cs_posed_face(&p->b, of_b, &face);
    cs_outline_clip(&outline, &face, along, CS_BESIDE * p->size);
    cs_manifold several = {0};
    cs_manifold_land(&several, &outline, &landing);

    /* One of the corners is where the edges cross. */
    double wanted = p->axis.separation - p->around;
    if (several.count < 2 || smallest_gap(&several) > wanted + 2 * CS_BESIDE * p->size) return 0;
    *manifold = several;
    return 1;
}

/* Contacts where two edges cross. Returns 0 if they do not, unless the cores overlap. */
static int touch_edges(const pair *p, int overlap, cs_manifold *manifold)
{
    double a[3];
    int cross = cross_edges(p, a);
    if (!cross && !overlap) return 0;
    if (cross && land_beside_edges(p, manifold)) return 1;
    cs_assign(manifold->normal, p->axis.normal);
    cs_add_scaled(a, p->a.radius, manifold->normal, a);
    int32_t feature = CS_EDGES | p->axis.feature[0] << CS_EDGE_SHIFT | p->axis.feature[1];
    cs_manifold_add(manifold, a, p->axis.separation - p->around, feature, p->margin);
    return 1;
}

/* The smallest number of a vertex of one set in the simplex, to name the feature. */
static int name_of(const cs_closest *closest, int of_b)
{
    int least = CS_MOST_VERTICES - 1;
    for (int i = 0; i < closest->corners; i++) {
        int vertex = of_b ? closest->corner[i].of_b : closest->corner[i].of_a;
        if (vertex < least) least = vertex;
    }
    return least;
}

/* end <- the two vertices of an edge that is farthest along a direction. Returns 0 if other than two vertices are. */
static int farthest_edge(const cs_posed *posed, const double *direction, double tolerance,
                         int end[2])
{
    double most = -INFINITY;
    int count = 0;
    for (int i = 0; i < posed->vertices; i++)
        most = fmax(most, cs_dot(direction, posed->vertex[i]));
    for (int i = 0; i < posed->vertices; i++) {
        if (cs_dot(direction, posed->vertex[i]) < most - tolerance) continue;
        if (count == 2) return 0;
        end[count++] = i;
    }
    return count == 2;
}

/* Two contacts where parallel edges are nearest to each other along `normal`: at the ends of the part that they share.
 * Returns 0, with none, if the nearest parts are not such edges. */
static int touch_parallel_edges(const pair *p, const double *normal, double distance,
                                cs_manifold *manifold)
{
    /* The edges, and their directions. */
    int a[2], b[2];
    double back[3] = {-normal[0], -normal[1], -normal[2]};
    double tolerance =
        p->size * (CS_BESIDE + 8 * DBL_EPSILON * p->size / distance); /* of the normal */
    double u[3], v[3], across[3];
    if (p->dimension == 2 || !farthest_edge(&p->a, normal, tolerance, a) ||
        !farthest_edge(&p->b, back, tolerance, b))
        return 0;
    const double *from = p->a.vertex[a[0]];
    cs_subtract(p->a.vertex[a[1]], from, u);
    cs_subtract(p->b.vertex[b[1]], p->b.vertex[b[0]], v);
    cs_cross(u, v, across);
    double uu = cs_dot(u, u), vv = cs_dot(v, v);
    if (cs_dot(across, across) > CS_BESIDE * CS_BESIDE * uu * vv) return 0;

    /* The part of the first edge that is beside the second one. */
    double at[2], w[3];
    for (int k = 0; k < 2; k++) {
        cs_subtract(p->b.vertex[b[k]], from, w);
        at[k] = cs_dot(u, w) / uu;
    }
    double low = fmax(fmin(at[0], at[1]), 0), high = fmin(fmax(at[0], at[1]), 1);
    if (high - low <= CS_BESIDE) return 0;
    cs_add_scaled(normal, -cs_dot(normal, u) / uu, u, manifold->normal);
    cs_normalize(manifold->normal);
    for (int k = 0; k < 2; k++) {
        double point[3];
        int32_t feature = CS_POINTS | (k ? CS_SECOND_END : 0) | a[0] << CS_POINT_SHIFT | b[0];
        cs_add_scaled(from, k ? high : low, u, point);
        cs_add_scaled(point, p->a.radius, manifold->normal, point);
        cs_manifold_add(manifold, point, distance - p->around, feature, p->margin);
    }
    return 1;
}

/* Whether the nearest point of a triangle is on inner edges of its mesh: there, the neighbour has a contact over its
 * face. (A contact of its own, with a normal between both, would make a sphere jump that rolls over the edge.) */
static int is_on_inner_edge(const cs_posed *posed, const cs_closest *closest, int of_b)
{
    if (!posed->inner) return 0;
    int corners = 0;
    for (int i = 0; i < closest->corners; i++)
        corners |= 1 << (of_b ? closest->corner[i].of_b : closest->corner[i].of_a);
    for (int k = 0; k < 3; k++) {
        int next = (k + 1) % 3, last = (k + 2) % 3;
        if (corners == (1 << k | 1 << next)) return posed->inner >> k & 1;
        if (corners == 1 << k) return posed->inner >> k & posed->inner >> last & 1;
    }
    return 0;
}

/* Of the direction of the nearest points, the one that separates the cores in proof of their distance, and the axis, takes
 * the best: points that almost touch leave few digits of theirs. Returns the separation along it. */
static double best_normal(const pair *p, const cs_convex *a, const cs_convex *b,
                          const cs_closest *closest, double *normal)
{
    double separation = -INFINITY;
    cs_assign(normal, p->axis.normal);
    if (!closest->overlap) {
        cs_subtract(closest->b, closest->a, normal);
        if (cs_normalize(normal) > 0) separation = -cs_convex_overlap(a, b, normal);
        if (closest->distance - separation <= p->size * CS_TIE) return closest->distance;
    }
    if (!closest->overlap && closest->separation > separation) {
        cs_assign(normal, closest->normal);
        separation = closest->separation;
    }
    if (p->axis.separation > separation) {
        cs_assign(normal, p->axis.normal);
        separation = p->axis.separation;
    }
    return separation;
}

static void touch_points(const pair *p, cs_manifold *manifold)
{
    cs_closest closest;
    cs_convex a = cs_convex_of(&p->a), b = cs_convex_of(&p->b);
    cs_convex_distance(&a, &b, p->axis.normal, &closest);
    if (is_on_inner_edge(&p->a, &closest, 0) || is_on_inner_edge(&p->b, &closest, 1)) return;
    double normal[3], surface[3], distance = best_normal(p, &a, &b, &closest, normal);
    if (!closest.overlap && distance > CS_TIE * p->size &&
        touch_parallel_edges(p, normal, distance, manifold))
        return;
    int32_t feature = CS_POINTS | name_of(&closest, 0) << CS_POINT_SHIFT | name_of(&closest, 1);
    cs_assign(manifold->normal, normal);
    cs_add_scaled(closest.a, p->a.radius, normal, surface);
    cs_manifold_add(manifold, surface, distance - p->around, feature, p->margin);
}

/* ---- the pair ------------------------------------------------------------------------------------ */

static void find(pair *p, cs_manifold *manifold)
{
    double tie = CS_TIE * p->size;
    if (!cs_find_axis(&p->a, &p->b, p->margin + p->around, tie, &p->axis)) return;
    int overlap =
        p->axis.separation < -tie; /* thin cores on one line may be apart at no separation */
    int done = p->axis.kind == CS_AXIS_EDGES ? touch_edges(p, overlap, manifold)
                                             : land_on_face(p, overlap, manifold);
    if (!done) touch_points(p, manifold);
}

static void find_pair(const cs_placed *a, const cs_placed *b, int dimension, double margin,
                      cs_manifold *manifold)
{
    pair p;
    cs_pose(a, a->center, &p.a);
    cs_pose(b, a->center, &p.b);
    p.around = p.a.radius + p.b.radius;
    p.size = p.a.size + p.b.size;
    p.margin = margin;
    p.dimension = dimension;
    find(&p, manifold);
}

void cs_pair_polytopes(const cs_placed *a, const cs_placed *b, double margin, cs_manifold *manifold)
{
    find_pair(a, b, 3, margin, manifold);
}

void cs_pair_polygons(const cs_placed *a, const cs_placed *b, double margin, cs_manifold *manifold)
{
    find_pair(a, b, 2, margin, manifold);
}
