/* Spheres, capsules, boxes and hulls with boxes and hulls; and all shapes of the plane but two discs. Each has a core,
 * which is a polytope, and a radius around it.
 *
 *     cores overlap       the axis of least penetration
 *     cores apart         the nearest points; if they lie over a face, its normal
 *
 * Over a face, the facing part of the other shape is clipped to it. Otherwise there is one contact. */
#include "collide/posed.h"
#include "collide/vector.h"

/* Parts of the size of a pair: differences of separation that rounding may cause; and how far beyond the side of a face
 * a contact may lie. */
#define TIE 1e-11
#define BESIDE 1e-10

/* Features: 14 bits of labels below the face, the side of the reference face, and what kind it is. */
enum {
    FACE_SHIFT = 14,
    FACE_OF_SECOND = 1 << 21,
    EDGES = 1 << 22,
    EDGE_SHIFT = 8,
    POINTS = 1 << 23,
    POINT_SHIFT = 7
};

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
        cs_outline_clip(outline, face, normal, BESIDE * p->size);
        return;
    }
    /* A face through the line, along z. */
    cs_outline wall = {.count = 4};
    for (int i = 0; i < 4; i++) {
        cs_assign(wall.corner[i], face->corner[i == 1 || i == 2]);
        wall.corner[i][2] = i < 2 ? -p->size : p->size;
    }
    cs_outline_clip(outline, &wall, normal, BESIDE * p->size);
}

static void land_on_face(const pair *p, cs_manifold *manifold)
{
    int reversed = p->axis.kind == CS_AXIS_FACE_B, f = p->axis.feature[0];
    const cs_posed *reference = reversed ? &p->b : &p->a, *other = reversed ? &p->a : &p->b;
    const double *plane = reference->plane[f];
    int facing = cs_facing(other, plane, p->axis.deepest, BESIDE * p->size);
    cs_outline outline, face;
    cs_landing landing = {
        .normal = plane,
        .offset = plane[3],
        .reversed = reversed,
        .radius = {reference->radius, other->radius},
        .base = (reversed ? FACE_OF_SECOND : 0) | f << FACE_SHIFT,
        .most = p->dimension == 3 ? CS_MOST_POINTS : 2,
        .margin = p->margin,
    };

    if (facing >= 0) {
        cs_posed_face(other, facing, &outline);
        cs_posed_face(reference, f, &face);
        clip_to(p, &outline, &face, plane);
        cs_manifold_land(manifold, &outline, &landing);
        double wanted = p->axis.separation - p->around;
        if (smallest_gap(manifold) <= wanted + 2 * BESIDE * p->size) return;
    }

    /* A point, or a nearest vertex that the clipped face has not. */
    outline.count = 1;
    cs_assign(outline.corner[0], other->vertex[p->axis.deepest]);
    outline.in[0] = outline.out[0] = (uint8_t)p->axis.deepest;
    manifold->count = 0;
    cs_manifold_land(manifold, &outline, &landing);
}

/* ---- single contacts ----------------------------------------------------------------------------- */

static void ends_of(const cs_posed *posed, int edge, const double **from, double *along)
{
    int first = posed->topology ? posed->topology->edge[edge][0] : 0;
    int second = posed->topology ? posed->topology->edge[edge][1] : 1;
    *from = posed->vertex[first];
    cs_subtract(posed->vertex[second], *from, along);
}

/* a <- the point of edge i of A that is nearest to the line of edge j of B. */
static void cross_edges(const pair *p, double *a)
{
    const double *from_a, *from_b;
    double u[3], v[3], w[3];
    ends_of(&p->a, p->axis.feature[0], &from_a, u);
    ends_of(&p->b, p->axis.feature[1], &from_b, v);
    cs_subtract(from_b, from_a, w);
    double uu = cs_dot(u, u), uv = cs_dot(u, v), vv = cs_dot(v, v);
    double t = (cs_dot(u, w) * vv - cs_dot(v, w) * uv) / (uu * vv - uv * uv);
    cs_add_scaled(from_a, fmin(fmax(t, 0), 1), u, a);
}

static void touch_edges(const pair *p, cs_manifold *manifold)
{
    double a[3];
    cross_edges(p, a);
    cs_assign(manifold->normal, p->axis.normal);
    cs_add_scaled(a, p->a.radius, manifold->normal, a);
    int32_t feature = EDGES | p->axis.feature[0] << EDGE_SHIFT | p->axis.feature[1];
    cs_manifold_add(manifold, a, p->axis.separation - p->around, feature, p->margin);
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

static void touch_points(const pair *p, const cs_closest *closest, cs_manifold *manifold)
{
    double radius[2] = {p->a.radius, p->b.radius};
    cs_manifold_of_cores(manifold, closest->a, closest->b, radius, p->axis.normal, p->margin);
    manifold->at[0].feature = POINTS | name_of(closest, 0) << POINT_SHIFT | name_of(closest, 1);
}

/* ---- the pair ------------------------------------------------------------------------------------ */

static void find(pair *p, cs_manifold *manifold)
{
    double most = p->margin + p->around, tie = TIE * p->size;
    if (!cs_find_axis(&p->a, &p->b, most, tie, &p->axis)) return;

    /* Apart by more than rounding: the axis is right only if the cores are that near to each other. */
    if (!(p->axis.separation <= tie)) {
        cs_closest closest;
        cs_convex a = cs_convex_of(&p->a), b = cs_convex_of(&p->b);
        cs_convex_distance(&a, &b, p->axis.normal, &closest);
        if (!closest.overlap && closest.distance > p->axis.separation + tie) {
            touch_points(p, &closest, manifold);
            return;
        }
    }
    if (p->axis.kind == CS_AXIS_EDGES) touch_edges(p, manifold);
    else land_on_face(p, manifold);
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
