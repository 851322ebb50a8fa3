#include "collide/penetration.h"

#include "core/vector.h"

enum { MOST_POINTS = 160, MOST_FACETS = 8 * MOST_POINTS };

/* A triangle; edge i goes from corner i to corner i + 1, and facet beside[i] is on its other side. */
typedef struct facet {
    int corner[3], beside[3];
    int is_gone;
    double normal[3], distance; /* outward from the origin */
} facet;

/* A polytope inside of A - B, around the origin. */
typedef struct expanding {
    const cs_convex *a, *b;
    int points, facets;
    double point[MOST_POINTS][3];
    facet facet[MOST_FACETS]; /* those that are gone keep their places */
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

/* Adds a facet, whose corners are counterclockwise from outside. One without area is never the nearest, nor seen.
 * Returns -1 if there is no room. */
static int add_facet(expanding *e, int i, int j, int k)
{
    double ij[3], ik[3];
    if (e->facets == MOST_FACETS) return -1;
    facet *f = &e->facet[e->facets++];
    *f = (facet){.corner = {i, j, k}};
    cs_subtract(e->point[j], e->point[i], ij);
    cs_subtract(e->point[k], e->point[i], ik);
    cs_cross(ij, ik, f->normal);
    double area = cs_normalize(f->normal);
    int is_flat = !(area > 1e-14 * (cs_dot(ij, ij) + cs_dot(ik, ik)));
    f->distance = is_flat ? INFINITY : cs_dot(f->normal, e->point[i]);
    return 0;
}

/* Point `at` of the polytope <- the support point along a direction or against it, whichever is farther from point 0
 * along it. */
static void add_farther(expanding *e, int at, const double *direction)
{
    double opposite[3] = {-direction[0], -direction[1], -direction[2]}, other[3];
    double level = cs_dot(direction, e->point[0]);
    double up = reach_of(e->a, e->b, direction, e->point[at]) - level;
    double down = reach_of(e->a, e->b, opposite, other) + level;
    if (down > up) cs_assign(e->point[at], other);
}

/* A tetrahedron of support points: along the normal and across it. It need not hold the origin: facets that have it
 * outside are at a negative distance, and the first to give way. */
static void begin(expanding *e, const double *normal)
{
    double opposite[3] = {-normal[0], -normal[1], -normal[2]}, u[3], v[3], across[3];
    reach_of(e->a, e->b, normal, e->point[0]);
    reach_of(e->a, e->b, opposite, e->point[1]);
    cs_subtract(e->point[1], e->point[0], u);
    cs_normalize(u);
    cs_any_orthogonal(u, across);
    add_farther(e, 2, across);
    cs_subtract(e->point[2], e->point[0], v);
    cs_cross(u, v, across);
    cs_normalize(across);
    add_farther(e, 3, across);
    e->points = 4;

    cs_subtract(e->point[3], e->point[0], v);
    int p = cs_dot(across, v) > 0 ? 2 : 1,
        q = 3 - p; /* the fourth point is above the first three */
    static const int beside[4][3] = {{1, 2, 3}, {3, 2, 0}, {1, 3, 0}, {2, 1, 0}};
    add_facet(e, 0, p, q);
    add_facet(e, 0, 3, p);
    add_facet(e, p, 3, q);
    add_facet(e, q, 3, 0);
    for (int f = 0; f < 4; f++)
        for (int i = 0; i < 3; i++) e->facet[f].beside[i] = beside[f][i];
}

static int nearest_facet(const expanding *e)
{
    int best = -1;
    for (int f = 0; f < e->facets; f++)
        if (!e->facet[f].is_gone && (best < 0 || e->facet[f].distance < e->facet[best].distance))
            best = f;
    return best;
}

/* The edges around the facets that see a point, and the facets that stay beyond them. */
typedef struct outline {
    int count, from[MOST_FACETS], to[MOST_FACETS], beyond[MOST_FACETS];
} outline;

/* Removes the facets that see w and are connected with facet f, and lists the edges around them. Connected facets alone:
 * where rounding decides what is seen, others would leave holes. */
static void remove_seen(expanding *e, int f, const double *w, outline *o)
{
    facet *seen = &e->facet[f];
    seen->is_gone = 1;
    for (int i = 0; i < 3; i++) {
        int next = seen->beside[i];
        const facet *beside = &e->facet[next];
        if (beside->is_gone) continue;
        if (cs_dot(beside->normal, w) > beside->distance) remove_seen(e, next, w, o);
        else if (o->count < MOST_FACETS) {
            o->from[o->count] = seen->corner[i];
            o->to[o->count] = seen->corner[(i + 1) % 3];
            o->beyond[o->count++] = next;
        }
    }
}

/* Tells facet `next` that facet f is beside its edge that begins at a corner. */
static void connect(expanding *e, int next, int corner, int f)
{
    for (int i = 0; i < 3; i++)
        if (e->facet[next].corner[i] == corner) e->facet[next].beside[i] = f;
}

/* Replaces the facets that see a point, of which `seen` is one, by a fan. Returns -1 if there is no room, or the
 * outline is not one loop. */
static int add_point(expanding *e, int seen, const double *w)
{
    outline o = {.count = 0};
    int first = e->facets, starts[MOST_POINTS];
    if (e->points == MOST_POINTS) return -1;
    remove_seen(e, seen, w, &o);
    if (o.count < 3 || first + o.count > MOST_FACETS) return -1;
    cs_assign(e->point[e->points], w);

    for (int p = 0; p < e->points; p++) starts[p] = -1;
    for (int k = 0; k < o.count; k++) {
        if (starts[o.from[k]] >= 0) return -1;
        starts[o.from[k]] = first + k;
        add_facet(e, o.from[k], o.to[k], e->points);
    }
    for (int k = 0; k < o.count; k++) {
        int next = starts[o.to[k]];
        if (next < 0) return -1;
        e->facet[first + k].beside[0] = o.beyond[k];
        e->facet[first + k].beside[1] = next;
        e->facet[next].beside[2] = first + k;
        connect(e, o.beyond[k], o.to[k], first + k);
    }
    e->points++;
    return 0;
}

double cs_convex_penetration(const cs_convex *a, const cs_convex *b, double tolerance,
                             double *normal)
{
    expanding e;
    e.a = a;
    e.b = b;
    e.facets = 0;
    double least = cs_convex_overlap(a, b, normal);
    begin(&e, normal);

    /* The nearest facet bounds the least overlap from below, its direction from above. */
    for (;;) {
        int at = nearest_facet(&e);
        if (at < 0) return least;
        const facet *nearest = &e.facet[at];
        double direction[3], w[3];
        if (least - nearest->distance <= tolerance) return least;
        cs_assign(direction, nearest->normal);
        double reach = reach_of(a, b, direction, w);
        if (reach < least) {
            least = reach;
            cs_assign(normal, direction);
        }
        if (reach - nearest->distance <= tolerance || add_point(&e, at, w) < 0) return least;
    }
}
