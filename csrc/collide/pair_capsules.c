/* Spheres and capsules with capsules: the nearest points of two segments, or of a point and a segment. */
#include "collide/pair.h"
#include "core/vector.h"

/* Capsules that are parallel to this angle touch at two points. */
#define PARALLEL 1e-7

/* The axis of a capsule: from its middle, `half` along `along` to both sides. */
typedef struct rod {
    double middle[3], along[3], half;
} rod;

static rod rod_of(const cs_placed *placed, const double *origin)
{
    const double *R = placed->rotation;
    rod r = {.along = {R[2], R[5], R[8]}, .half = placed->solid->half};
    cs_subtract(placed->center, origin, r.middle);
    return r;
}

static double clamp(double value, double half) { return fmin(fmax(value, -half), half); }

/* How far along the rod its nearest point to x is. */
static double nearest_on(const rod *r, const double *x)
{
    double apart[3];
    cs_subtract(x, r->middle, apart);
    return clamp(cs_dot(apart, r->along), r->half);
}

void cs_pair_sphere_capsule(const cs_placed *a, const cs_placed *b, double margin,
                            cs_manifold *manifold)
{
    static const double zero[3] = {0};
    double nearest[3], aside[3], radius[2] = {a->solid->radius, b->solid->radius};
    rod r = rod_of(b, a->center);
    cs_add_scaled(r.middle, nearest_on(&r, zero), r.along, nearest);
    cs_any_orthogonal(r.along, aside);
    cs_manifold_of_cores(manifold, zero, nearest, radius, aside, margin);
}

/* Where the nearest points of two rods lie: Ericson, Real-Time Collision Detection, 5.1.9. */
static void nearest_of_rods(const rod *a, const rod *b, double *at)
{
    double apart[3];
    cs_subtract(a->middle, b->middle, apart);
    double c = cs_dot(a->along, b->along), of_a = cs_dot(a->along, apart);
    double of_b = cs_dot(b->along, apart), square = 1 - c * c;
    at[0] = square > 1e-14 ? clamp((c * of_b - of_a) / square, a->half) : 0;
    at[1] = c * at[0] + of_b;
    if (fabs(at[1]) > b->half) {
        at[1] = clamp(at[1], b->half);
        at[0] = clamp(c * at[1] - of_a, a->half);
    }
}

/* A normal for axes that meet: across both. */
static void across(const rod *a, const rod *b, double *normal)
{
    cs_cross(a->along, b->along, normal);
    if (!(cs_normalize(normal) > PARALLEL)) cs_any_orthogonal(a->along, normal);
}

/* The ends of the part in which parallel rods run side by side: two contacts. Returns 0 if there is none. */
static int touch_along(const rod *a, const rod *b, const double *radius, double margin,
                       cs_manifold *manifold)
{
    double c = cs_dot(a->along, b->along), apart[3];
    cs_subtract(b->middle, a->middle, apart);
    double middle = cs_dot(a->along, apart), from = fmax(-a->half, middle - b->half);
    double to = fmin(a->half, middle + b->half);
    if (!(to - from > 1e-6 * a->half)) return 0;

    for (int end = 0; end < 2; end++) {
        double at = end ? to : from, on_a[3], on_b[3];
        cs_add_scaled(a->middle, at, a->along, on_a);
        cs_add_scaled(b->middle, (at - middle) * (c < 0 ? -1 : 1), b->along, on_b);
        cs_subtract(on_b, on_a, apart);
        double gap = cs_dot(manifold->normal, apart) - radius[0] - radius[1];
        cs_add_scaled(on_a, radius[0], manifold->normal, on_a);
        cs_manifold_add(manifold, on_a, gap, 1 + end, margin);
    }
    return 1;
}

void cs_pair_capsules(const cs_placed *a, const cs_placed *b, double margin, cs_manifold *manifold)
{
    double at[2], on_a[3], on_b[3], otherwise[3], apart[3], cross[3];
    double radius[2] = {a->solid->radius, b->solid->radius};
    rod first = rod_of(a, a->center), second = rod_of(b, a->center);
    nearest_of_rods(&first, &second, at);
    cs_add_scaled(first.middle, at[0], first.along, on_a);
    cs_add_scaled(second.middle, at[1], second.along, on_b);

    /* Axes that meet, to within rounding, are pushed apart across both. */
    across(&first, &second, otherwise);
    cs_subtract(on_b, on_a, apart);
    if (cs_length(apart) <= 1e-14 * (first.half + second.half)) cs_assign(on_b, on_a);
    cs_manifold_of_cores(manifold, on_a, on_b, radius, otherwise, margin);
    cs_cross(first.along, second.along, cross);
    if (!manifold->count || cs_length(cross) > PARALLEL) return;

    /* Side by side, the normal is orthogonal to the axes; end to end it is not. */
    if (fabs(cs_dot(manifold->normal, first.along)) > PARALLEL) return;
    cs_manifold single = *manifold;
    manifold->count = 0;
    if (!touch_along(&first, &second, radius, margin, manifold)) *manifold = single;
}
