#include "collide/convex.h"

#include "core/vector.h"

#include <float.h>
#include <string.h>

enum { MOST_STEPS = 256 };

/* Of separations and distances, in parts of the largest |a - b|. */
#define ROUNDING 1e-15

int cs_convex_support(const cs_convex *set, const double *direction, double *point)
{
    if (!set->vertices) {
        /* A cylinder: the rim of one of its ends. */
        double along = cs_dot(direction, set->axis), radial[3];
        cs_add_scaled(set->center, along < 0 ? -set->half : set->half, set->axis, point);
        cs_add_scaled(direction, -along, set->axis, radial);
        /* Again: of a direction almost along the axis, little but rounding is left, and that may point along it. */
        cs_add_scaled(radial, -cs_dot(radial, set->axis), set->axis, radial);
        double length = cs_length(radial);
        if (length > 1e-14 * fabs(along)) cs_add_scaled(point, set->radius / length, radial, point);
        return -1;
    }
    int best = 0;
    double most = cs_dot(direction, set->vertex[0]);
    for (int v = 1; v < set->vertices; v++) {
        double value = cs_dot(direction, set->vertex[v]);
        if (value > most) most = value, best = v;
    }
    cs_assign(point, set->vertex[best]);
    return best;
}

/* ---- the nearest point of a simplex to the origin ---------------------------------------------- */

/* Keeps these corners, with these weights. */
static void keep(cs_closest *c, int count, const int *which, const double *weight)
{
    cs_simplex_vertex kept[4];
    for (int i = 0; i < count; i++) {
        kept[i] = c->corner[which[i]];
        kept[i].weight = weight[i];
    }
    for (int i = 0; i < count; i++) c->corner[i] = kept[i];
    c->corners = count;
}

static int nearest_of_line(const double *a, const double *b, int *which, double *weight)
{
    double ab[3];
    cs_subtract(b, a, ab);
    double t = -cs_dot(a, ab), length = cs_dot(ab, ab);
    which[0] = 0, which[1] = 1;
    if (t <= 0) return weight[0] = 1, 1;
    if (t >= length) return which[0] = 1, weight[0] = 1, 1;
    weight[1] = t / length;
    weight[0] = 1 - weight[1];
    return 2;
}

/* The square of the distance of a point of the simplex. */
static double square_of(const double *const *w, int count, const int *which, const double *weight)
{
    double v[3] = {0};
    for (int i = 0; i < count; i++) cs_add_scaled(v, weight[i], w[which[i]], v);
    return cs_dot(v, v);
}

/* The nearest point of the sides of a triangle beyond which the foot of the origin lies. */
static int nearest_of_sides(const double *const *w, const double *share, int *which, double *weight)
{
    double least = INFINITY;
    int count = 0;
    for (int k = 0; k < 3; k++) {
        int end[2] = {(k + 1) % 3, (k + 2) % 3}, on[2], corners;
        double part[2];
        if (share[k] > 0) continue;
        corners = nearest_of_line(w[end[0]], w[end[1]], on, part);
        for (int i = 0; i < corners; i++) on[i] = end[on[i]];
        double square = square_of(w, corners, on, part);
        if (square >= least) continue;
        least = square;
        count = corners;
        for (int i = 0; i < corners; i++) which[i] = on[i], weight[i] = part[i];
    }
    return count;
}

/* The shares of the corners in the foot of the origin are ratios of volumes: products of dot products, as in the usual
 * formulas, would lose twice as many digits in slivers. [Montanari, Petrinic & Barbieri 2017] */
static int nearest_of_triangle(const double *const *w, int *which, double *weight)
{
    double ab[3], ac[3], n[3], cross[3], share[3];
    cs_subtract(w[1], w[0], ab);
    cs_subtract(w[2], w[0], ac);
    cs_cross(ab, ac, n);
    double square = cs_dot(n, n);
    int inside = square > 0;
    for (int k = 0; k < 3; k++) {
        cs_cross(w[(k + 1) % 3], w[(k + 2) % 3], cross);
        share[k] = square > 0 ? cs_dot(n, cross) / square : -1;
        inside &= share[k] > 0;
    }
    if (!inside) return nearest_of_sides(w, share, which, weight);
    for (int k = 0; k < 3; k++) which[k] = k, weight[k] = share[k];
    return 3;
}

/* Whether the origin is beyond face (p, q, r) of a tetrahedron, as seen from its other corner s. A flat tetrahedron has
 * it beyond all. */
static int is_beyond(const double *p, const double *q, const double *r, const double *s)
{
    double pq[3], pr[3], ps[3], n[3];
    cs_subtract(q, p, pq);
    cs_subtract(r, p, pr);
    cs_subtract(s, p, ps);
    cs_cross(pq, pr, n);
    double inner = cs_dot(n, ps), outer = -cs_dot(n, p);
    double rounding = 16 * DBL_EPSILON * cs_length(n) * cs_length(ps);
    return fabs(inner) <= rounding || inner * outer < 0;
}

/* Keeps the part of a tetrahedron that is nearest to the origin; all of it if the origin is inside. `is_outside`: a plane
 * separates the sets, so the origin cannot be inside, whatever rounding makes of a flat tetrahedron. */
static void reduce_tetrahedron(cs_closest *c, int is_outside)
{
    static const int faces[4][4] = {{0, 1, 2, 3}, {0, 1, 3, 2}, {0, 2, 3, 1}, {1, 2, 3, 0}};
    int best[3] = {0}, count = 0;
    double share[3] = {0}, least = INFINITY;
    for (int f = 0; f < 4; f++) {
        const double *w[4];
        int which[3];
        double weight[3];
        for (int i = 0; i < 4; i++) w[i] = c->corner[faces[f][i]].w;
        if (!is_outside && !is_beyond(w[0], w[1], w[2], w[3])) continue;
        int corners = nearest_of_triangle(w, which, weight);
        double square = square_of(w, corners, which, weight);
        for (int i = 0; i < corners; i++) which[i] = faces[f][which[i]];
        if (square >= least) continue;
        least = square;
        count = corners;
        memcpy(best, which, sizeof best);
        memcpy(share, weight, sizeof share);
    }
    if (count) keep(c, count, best, share);
}

static void reduce(cs_closest *c, int is_outside)
{
    int which[3], count = 1;
    double weight[3] = {1};
    const double *w[3];
    which[0] = 0;
    switch (c->corners) {
    case 1: c->corner[0].weight = 1; return;
    case 2: count = nearest_of_line(c->corner[0].w, c->corner[1].w, which, weight); break;
    case 3:
        for (int i = 0; i < 3; i++) w[i] = c->corner[i].w;
        count = nearest_of_triangle(w, which, weight);
        break;
    default: reduce_tetrahedron(c, is_outside); return;
    }
    keep(c, count, which, weight);
}

/* ---- the iteration ------------------------------------------------------------------------------- */

static void support(const cs_convex *a, const cs_convex *b, const double *direction,
                    cs_simplex_vertex *vertex)
{
    double opposite[3] = {-direction[0], -direction[1], -direction[2]};
    vertex->of_a = cs_convex_support(a, direction, vertex->a);
    vertex->of_b = cs_convex_support(b, opposite, vertex->b);
    cs_subtract(vertex->a, vertex->b, vertex->w);
}

/* v <- the point of the simplex that is nearest to the origin; with it, those of A and B. In slivers the weights do not
 * add up to one, which puts v nearer to the foot of the origin, but would put the points outside of the sets. */
static void sum_points(cs_closest *c, double *v)
{
    double sum = 0;
    for (int i = 0; i < c->corners; i++) sum += c->corner[i].weight;
    cs_set_vector(v, 0, 0, 0);
    cs_set_vector(c->a, 0, 0, 0);
    cs_set_vector(c->b, 0, 0, 0);
    for (int i = 0; i < c->corners; i++) {
        cs_add_scaled(v, c->corner[i].weight, c->corner[i].w, v);
        cs_add_scaled(c->a, c->corner[i].weight / sum, c->corner[i].a, c->a);
        cs_add_scaled(c->b, c->corner[i].weight / sum, c->corner[i].b, c->b);
    }
}

/* direction <- that of v, which has the rounding errors of a sum of corners. It is made orthogonal to a line. The normal of
 * a triangle replaces it; but not that of a triangle that is almost a line, which is far from v. */
static void direction_of(const cs_closest *c, const double *v, double *direction)
{
    double ab[3], ac[3], n[3];
    cs_assign(direction, v);
    cs_normalize(direction);
    if (c->corners < 2) return;
    cs_subtract(c->corner[1].w, c->corner[0].w, ab);
    if (c->corners == 2) {
        cs_normalize(ab);
        cs_add_scaled(direction, -cs_dot(direction, ab), ab, direction);
        cs_normalize(direction);
        return;
    }
    cs_subtract(c->corner[2].w, c->corner[0].w, ac);
    cs_cross(ab, ac, n);
    double length = cs_normalize(n), cosine = cs_dot(n, direction);
    if (!(length > 0) || fabs(cosine) < 1 - 1e-4) return;
    for (int i = 0; i < 3; i++) direction[i] = cosine < 0 ? -n[i] : n[i];
}

static int is_corner(const cs_closest *c, const double *w)
{
    for (int i = 0; i < c->corners; i++)
        if (w[0] == c->corner[i].w[0] && w[1] == c->corner[i].w[1] && w[2] == c->corner[i].w[2])
            return 1;
    return 0;
}

/* Adds a support point to the simplex, and moves v to its nearest point. Returns 0, with the simplex as it was, if v came
 * no nearer: then rounding has the last word. */
static int step_to(cs_closest *closest, const cs_simplex_vertex *next, int is_outside, double *v)
{
    cs_closest before = *closest;
    double distance = cs_length(v);
    closest->corner[closest->corners++] = *next;
    reduce(closest, is_outside);
    closest->overlap = closest->corners == 4;
    if (closest->overlap) return 0;
    sum_points(closest, v);
    if (cs_length(v) < distance) return 1;
    *closest = before;
    return 0;
}

/* Moves the simplex towards the origin until the distance of its nearest point is proven, or `overlap` is found. */
static void approach(const cs_convex *a, const cs_convex *b, const double *direction,
                     cs_closest *closest)
{
    double v[3], scale;
    support(a, b, direction, &closest->corner[0]);
    closest->corner[0].weight = 1;
    sum_points(closest, v);
    scale = cs_length(v);
    for (int step = 0; step < MOST_STEPS; step++) {
        /* What a plane separates does not meet, even where the weights of a sliver put v on the origin. */
        double distance = cs_length(v), away[3], opposite[3];
        int is_outside = closest->separation > ROUNDING * scale;
        if (distance <= ROUNDING * scale) {
            closest->overlap = !is_outside;
            return;
        }

        /* The support point towards the origin bounds the distance from below. */
        cs_simplex_vertex next;
        direction_of(closest, v, away);
        for (int i = 0; i < 3; i++) opposite[i] = -away[i];
        support(a, b, opposite, &next);
        scale = fmax(scale, cs_length(next.w));
        double below = cs_dot(away, next.w);
        if (below > closest->separation) {
            /* Of a sliver of a simplex, rounding turns v: the best direction may be an earlier one. */
            closest->separation = below;
            cs_assign(closest->normal, opposite);
        }
        if (distance - below <= ROUNDING * scale || is_corner(closest, next.w)) return;
        is_outside = closest->separation > ROUNDING * scale;
        if (!step_to(closest, &next, is_outside, v)) return;
    }
}

void cs_convex_distance(const cs_convex *a, const cs_convex *b, const double *direction,
                        cs_closest *closest)
{
    double apart[3];
    *closest = (cs_closest){.corners = 1, .separation = -INFINITY};
    approach(a, b, direction, closest);

    /* Not |v|, which the weights of a sliver make too small: the points are in the sets. */
    cs_subtract(closest->b, closest->a, apart);
    closest->distance = cs_length(apart);
}
