#include "collide/penetration.h"

#include "collide/vector.h"

enum { MOST_POINTS = 256, MOST_TRIANGLES = 2 * MOST_POINTS };

typedef struct facet {
    int corner[3];
    double normal[3], distance; /* outward from the origin */
} facet;

/* A polytope inside of A - B, around the origin. */
typedef struct expanding {
    const cs_convex *a, *b;
    int points, facets;
    double point[MOST_POINTS][3];
    facet facet[MOST_TRIANGLES];
} expanding;

static double reach_of(const cs_convex *a, const cs_convex *b, const double *normal, double *w)
{
    double on_a[3], on_b[3], opposite[3] = {-normal[0], -normal[1], -normal[2]};
    cs_convex_support(a, normal, on_a);
    cs_convex_support(b, opposite, on_b);
    cs_subtract(on_a, on_b, w);
    return cs_dot(w, normal);
}

double cs_convex_overlap(const cs_convex *a, const cs_convex *b, const double *normal)
{
    double w[3];
    return reach_of(a, b, normal, w);
}

/* Adds a facet, whose corners are counterclockwise from outside. Returns -1 if it has no area or there is no room. */
static int add_facet(expanding *e, int i, int j, int k)
{
    double ij[3], ik[3];
    if (e->facets == MOST_TRIANGLES) return -1;
    facet *f = &e->facet[e->facets++];
    *f = (facet){.corner = {i, j, k}};
    cs_subtract(e->point[j], e->point[i], ij);
    cs_subtract(e->point[k], e->point[i], ik);
    cs_cross(ij, ik, f->normal);
    if (!(cs_normalize(f->normal) > 0)) return -1;
    f->distance = cs_dot(f->normal, e->point[i]);
    return 0;
}

/* The tetrahedron that holds the origin. Returns -1 if it is flat. */
static int begin(expanding *e, const cs_closest *closest)
{
    if (closest->corners != 4) return -1;
    for (int i = 0; i < 4; i++) cs_assign(e->point[i], closest->corner[i].w);
    e->points = 4;
    double u[3], v[3], w[3], n[3];
    cs_subtract(e->point[1], e->point[0], u);
    cs_subtract(e->point[2], e->point[0], v);
    cs_subtract(e->point[3], e->point[0], w);
    cs_cross(u, v, n);
    int inward = cs_dot(n, w) > 0; /* the fourth corner lies above the first three */
    int p = inward ? 2 : 1, q = inward ? 1 : 2;
    return add_facet(e, 0, p, q) < 0 || add_facet(e, 0, 3, p) < 0 || add_facet(e, p, 3, q) < 0 ||
                   add_facet(e, q, 3, 0) < 0
               ? -1
               : 0;
}

static int nearest_facet(const expanding *e)
{
    int best = 0;
    for (int f = 1; f < e->facets; f++)
        if (e->facet[f].distance < e->facet[best].distance) best = f;
    return best;
}

typedef struct outline {
    int count, edge[MOST_TRIANGLES][2];
} outline;

/* Adds an edge; or removes it if the neighbour has added it the other way round. Returns -1 if there is no room. */
static int toggle_edge(outline *o, int from, int to)
{
    for (int k = 0; k < o->count; k++)
        if (o->edge[k][0] == to && o->edge[k][1] == from) {
            o->count--;
            o->edge[k][0] = o->edge[o->count][0];
            o->edge[k][1] = o->edge[o->count][1];
            return 0;
        }
    if (o->count == MOST_TRIANGLES) return -1;
    o->edge[o->count][0] = from;
    o->edge[o->count++][1] = to;
    return 0;
}

/* Replaces the facets that see a point by a fan. Returns -1 if rounding or room forbid it. */
static int add_point(expanding *e, const double *w)
{
    outline o = {.count = 0};
    int kept = 0;
    if (e->points == MOST_POINTS) return -1;
    for (int f = 0; f < e->facets; f++) {
        const facet *seen = &e->facet[f];
        if (!(cs_dot(seen->normal, w) > seen->distance)) {
            e->facet[kept++] = *seen;
            continue;
        }
        for (int i = 0; i < 3; i++)
            if (toggle_edge(&o, seen->corner[i], seen->corner[(i + 1) % 3]) < 0) return -1;
    }
    if (kept == e->facets) return -1;
    e->facets = kept;
    cs_assign(e->point[e->points], w);
    for (int k = 0; k < o.count; k++)
        if (add_facet(e, o.edge[k][0], o.edge[k][1], e->points) < 0) return -1;
    e->points++;
    return 0;
}

double cs_convex_penetration(const cs_convex *a, const cs_convex *b, const cs_closest *closest,
                             double tolerance, double *normal)
{
    expanding e;
    e.a = a;
    e.b = b;
    e.facets = 0;
    double least = cs_convex_overlap(a, b, normal);
    if (begin(&e, closest) < 0) return least;

    /* The nearest facet bounds the least overlap from below, its direction from above. */
    for (;;) {
        const facet *nearest = &e.facet[nearest_facet(&e)];
        double direction[3], w[3];
        if (least - nearest->distance <= tolerance) return least;
        cs_assign(direction, nearest->normal);
        double reach = reach_of(a, b, direction, w);
        if (reach < least) {
            least = reach;
            cs_assign(normal, direction);
        }
        if (reach - nearest->distance <= tolerance || add_point(&e, w) < 0) return least;
    }
}
