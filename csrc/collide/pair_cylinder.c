/* Cylinders with every other shape of space.
 *
 *     direction   of the nearest points; of sets that overlap, the one of least penetration
 *     flat parts  a face or an end that is orthogonal to it: the facing part of the other is clipped to it
 *     lines       two sides that run side by side: the ends of their common part
 *     otherwise   one contact, and what the facing parts share where they overlap */
#include "collide/penetration.h"
#include "collide/posed.h"
#include "core/vector.h"

/* Parts of the size of a pair: how exact penetration is; differences of separation that the nearest points of curved
 * shapes leave; and how far beyond a side a contact may lie. */
#define EXACT 1e-12
#define TIE 1e-10
#define BESIDE 1e-10
#define PARALLEL 1e-7

/* How far shapes that overlap are moved apart, in parts of their size, to find their nearest points. */
#define APART 1e-2

enum { CORNERS = 8 }; /* of the polygon inside an end */

/* Features: labels below the face; where that is; lines; a single contact. */
enum { FACE_SHIFT = 14, FACE_OF_SECOND = 1 << 21, LINE = 1 << 22, POINT = 1 << 23 };

typedef struct cylinder {
    cs_convex set;
    double x[3], y[3]; /* across the axis: angles are counted from x */
} cylinder;

/* A pair whose second shape is a cylinder. */
typedef struct pair {
    cs_posed first; /* unless that is a cylinder, too */
    int is_cylinder;
    cylinder cylinder[2];
    cs_convex set[2];
    double radius, size, margin;
    double normal[3], separation; /* of the cores */
} pair;

static cylinder cylinder_of(const cs_placed *placed, const double *origin)
{
    const double *R = placed->rotation;
    cylinder c = {.set = {.axis = {R[2], R[5], R[8]},
                          .radius = placed->solid->radius,
                          .half = placed->solid->half},
                  .x = {R[0], R[3], R[6]},
                  .y = {R[1], R[4], R[7]}};
    cs_subtract(placed->center, origin, c.set.center);
    return c;
}

/* ---- parts of a cylinder ------------------------------------------------------------------------- */

/* The direction across the axis that goes most along -normal, and the eighth of a turn in which it lies. Along the axis
 * there is none: x. */
static int lowest_across(const cylinder *c, const double *normal, double *across)
{
    double x = -cs_dot(normal, c->x), y = -cs_dot(normal, c->y), length = hypot(x, y);
    if (!(length > 1e-9)) x = 1, y = 0, length = 1;
    for (int i = 0; i < 3; i++) across[i] = (x * c->x[i] + y * c->y[i]) / length;
    return (int)lround(atan2(y, x) * (4 / 3.14159265358979323846)) & (CORNERS - 1);
}

/* outline <- a polygon inside the end towards -normal that has its lowest point. A corner keeps its label while it stays
 * in its eighth of the turn. */
static void end_of(const cylinder *c, const double *normal, cs_outline *outline)
{
    double across[3], aside[3], center[3], along = cs_dot(normal, c->set.axis);
    int first = lowest_across(c, normal, across);
    cs_cross(c->set.axis, across, aside);
    cs_add_scaled(c->set.center, along > 0 ? -c->set.half : c->set.half, c->set.axis, center);
    outline->count = CORNERS;
    for (int k = 0; k < CORNERS; k++) {
        double angle = k * (3.14159265358979323846 / 4);
        double *corner = outline->corner[k];
        cs_add_scaled(center, c->set.radius * cos(angle), across, corner);
        cs_add_scaled(corner, c->set.radius * sin(angle), aside, corner);
        outline->in[k] = outline->out[k] = (uint8_t)((first + k) % CORNERS);
    }
}

/* outline <- the line of the side that is lowest along the normal. */
static void side_of(const cylinder *c, const double *normal, cs_outline *outline)
{
    double across[3], line[3];
    lowest_across(c, normal, across);
    cs_add_scaled(c->set.center, c->set.radius, across, line);
    outline->count = 2;
    cs_add_scaled(line, -c->set.half, c->set.axis, outline->corner[0]);
    cs_add_scaled(line, c->set.half, c->set.axis, outline->corner[1]);
    cs_outline_label(outline);
}

/* outline <- the end or the line that faces a plane. */
static void facing_of(const cylinder *c, const double *normal, cs_outline *outline)
{
    if (fabs(cs_dot(normal, c->set.axis)) > 0.7) end_of(c, normal, outline);
    else side_of(c, normal, outline);
}

/* ---- half-spaces and spheres --------------------------------------------------------------------- */

void cs_pair_cylinder_half_space(const cs_placed *a, const cs_placed *b, double margin,
                                 cs_manifold *manifold)
{
    double n[3], apart[3];
    cs_outline outline;
    cylinder c = cylinder_of(a, a->center);
    cs_rotate(b->rotation, b->solid->normal, n);
    cs_subtract(b->center, a->center, apart);
    facing_of(&c, n, &outline);
    cs_landing landing = {
        .normal = n,
        .offset = b->solid->offset + cs_dot(n, apart),
        .reversed = 1,
        .most = CS_MOST_POINTS,
        .margin = margin,
    };
    cs_manifold_land(manifold, &outline, &landing);
}

void cs_pair_sphere_cylinder(const cs_placed *a, const cs_placed *b, double margin,
                             cs_manifold *manifold)
{
    cylinder c = cylinder_of(b, a->center);
    double away[3] = {-c.set.center[0], -c.set.center[1], -c.set.center[2]}, across[3];
    double along = cs_dot(away, c.set.axis);
    cs_add_scaled(away, -along, c.set.axis, across);
    double far = cs_normalize(across);
    if (!(far > 0)) cs_assign(across, c.set.axis[0] * c.set.axis[0] < 0.5 ? c.x : c.y);

    /* How far beyond the end and the side: inside, the nearer of both counts. */
    double end = along < 0 ? -1 : 1, beyond[2] = {fabs(along) - c.set.half, far - c.set.radius};
    double distance = fmax(beyond[0], beyond[1]), share[2] = {beyond[0] >= beyond[1], 0};
    share[1] = 1 - share[0];
    if (beyond[0] > 0 && beyond[1] > 0) {
        distance = hypot(beyond[0], beyond[1]);
        share[0] = beyond[0] / distance, share[1] = beyond[1] / distance;
    }
    double surface[3];
    for (int i = 0; i < 3; i++)
        manifold->normal[i] = -share[0] * end * c.set.axis[i] - share[1] * across[i];
    cs_normalize(manifold->normal);
    for (int i = 0; i < 3; i++) surface[i] = a->solid->radius * manifold->normal[i];
    cs_manifold_add(manifold, surface, distance - a->solid->radius, 0, margin);
}

/* ---- the direction ------------------------------------------------------------------------------- */

/* Takes a direction if the cores overlap less along it, or are farther apart. */
static void try_direction(pair *p, const double *direction, double sign)
{
    double n[3] = {sign * direction[0], sign * direction[1], sign * direction[2]};
    double separation = -cs_convex_overlap(&p->set[0], &p->set[1], n);
    if (!(separation > p->separation + EXACT * p->size)) return;
    p->separation = separation;
    cs_assign(p->normal, n);
}

/* Directions across the axis of the cylinder: of its side with an edge or another axis, and with a point. */
static void try_side(pair *p, const double *along, const double *point)
{
    const cs_convex *c = &p->cylinder[1].set;
    double n[3], apart[3];
    cs_cross(along, c->axis, n);
    if (cs_normalize(n) > PARALLEL * cs_length(along)) {
        try_direction(p, n, 1);
        try_direction(p, n, -1);
    }
    cs_subtract(c->center, point, apart);
    cs_add_scaled(apart, -cs_dot(apart, c->axis), c->axis, n);
    if (cs_normalize(n) > 0) try_direction(p, n, 1);
}

/* Of all directions but those of a rim with an edge or a rim, takes the best. */
static void try_directions(pair *p)
{
    for (int k = 0; k < 2; k++)
        for (int sign = -1; sign <= 1 && (k == 1 || p->is_cylinder); sign += 2)
            try_direction(p, p->cylinder[k].set.axis, sign);
    if (p->is_cylinder) {
        try_side(p, p->cylinder[0].set.axis, p->cylinder[0].set.center);
        return;
    }
    for (int f = 0; f < p->first.faces; f++) try_direction(p, p->first.plane[f], 1);
    for (int e = 0; e < p->first.edges; e++) {
        static const uint8_t rod[2] = {0, 1};
        const uint8_t *end = p->first.topology ? p->first.topology->edge[e] : rod;
        double along[3];
        cs_subtract(p->first.vertex[end[1]], p->first.vertex[end[0]], along);
        try_side(p, along, p->first.vertex[end[0]]);
        try_side(p, along, p->first.vertex[end[1]]);
    }
}

/* Improves a direction: along the right one, the nearest points stay the same when the second shape is moved, and at
 * another distance they may be found to more digits. Ends once the separation is as large as `distance`. */
static void polish(pair *p, double distance)
{
    static const double apart[] = {APART, 0.1, 1};
    int failures = 0;
    for (int turn = 0; turn < 12 && failures < 3; turn++) {
        double before = p->separation, away = apart[turn % 3] * p->size - p->separation;
        cs_closest closest;
        cs_convex moved = p->set[1];
        if (p->separation >= distance - EXACT * p->size) return;
        cs_add_scaled(moved.center, away, p->normal, moved.center);
        cs_convex_distance(&p->set[0], &moved, p->normal, &closest);
        if (!closest.overlap) try_direction(p, closest.normal, 1);
        failures = p->separation > before ? 0 : failures + 1;
    }
}

/* Finds the direction and the separation. Returns 0 if the shapes are farther apart than the margin. */
static int find_direction(pair *p, cs_closest *closest)
{
    double start[3], most = p->margin + p->radius;
    const double *first = p->is_cylinder ? p->set[0].center : p->first.vertex[0];
    cs_subtract(p->set[1].center, first, start);
    cs_convex_distance(&p->set[0], &p->set[1], start, closest);
    if (!closest->overlap && closest->separation > most) return 0;

    p->separation = -INFINITY;
    try_directions(p);
    if (!closest->overlap && closest->distance <= p->separation + EXACT * p->size) return 1;
    if (!closest->overlap && closest->distance > 1e-9 * p->size)
        try_direction(p, closest->normal, 1);
    else {
        double normal[3];
        cs_assign(normal, p->normal);
        cs_convex_penetration(&p->set[0], &p->set[1], EXACT * p->size, normal);
        try_direction(p, normal, 1);
    }
    polish(p, closest->overlap ? INFINITY : closest->distance);
    return p->separation <= most;
}

/* ---- flat parts ---------------------------------------------------------------------------------- */

/* Whether the separation along a direction is that of the shapes: they touch at a face with this normal. */
static int is_flat(const pair *p, const double *direction, double sign)
{
    double n[3] = {sign * direction[0], sign * direction[1], sign * direction[2]};
    if (cs_dot(n, p->normal) < 0.5) return 0;
    return -cs_convex_overlap(&p->set[0], &p->set[1], n) >= p->separation - TIE * p->size;
}

static void add_corner(cs_outline *outline, const double *x, uint8_t in, uint8_t out)
{
    if (outline->count == CS_MOST_CORNERS) return;
    cs_assign(outline->corner[outline->count], x);
    outline->in[outline->count] = in;
    outline->out[outline->count++] = out;
}

/* The distance of a point from the axis, minus the radius. */
static double beyond_side(const cs_convex *c, const double *x)
{
    double apart[3];
    cs_subtract(x, c->center, apart);
    cs_add_scaled(apart, -cs_dot(apart, c->axis), c->axis, apart);
    return cs_length(apart) - c->radius;
}

/* Adds the points where a line enters and leaves the cylinder. */
static void cross_circle(const cs_convex *c, const double *from, const double *to, uint8_t label,
                         cs_outline *outline)
{
    double along[3], apart[3];
    cs_subtract(to, from, along);
    cs_subtract(from, c->center, apart);
    double u = cs_dot(along, c->axis), v = cs_dot(apart, c->axis), root;
    double aa = cs_dot(along, along) - u * u, ab = cs_dot(along, apart) - u * v;
    double bb = cs_dot(apart, apart) - v * v - c->radius * c->radius;
    if (!(aa > 0) || !((root = ab * ab - aa * bb) > 0)) return;
    for (int k = 0; k < 2; k++) {
        double t = (-ab + (k ? 1 : -1) * sqrt(root)) / aa, x[3];
        if (!(t > 0 && t < 1)) continue;
        cs_add_scaled(from, t, along, x);
        add_corner(outline, x, label, (uint8_t)(64 + k));
    }
}

/* Whether a point of a polygon's plane, whose normal is n, lies in the polygon. */
static int is_inside(const cs_outline *polygon, const double *n, const double *x)
{
    for (int i = 0; i < polygon->count; i++) {
        double along[3], side[3], apart[3];
        cs_subtract(polygon->corner[(i + 1) % polygon->count], polygon->corner[i], along);
        cs_subtract(x, polygon->corner[i], apart);
        cs_cross(along, n, side);
        if (cs_dot(side, apart) > 0) return 0;
    }
    return 1;
}

/* Adds the corners of the cylinder's end that lie over a polygon, raised to its plane. */
static void add_end(const cylinder *c, const cs_outline *polygon, const double *normal,
                    cs_outline *outline)
{
    cs_outline end;
    double u[3], v[3], n[3];
    end_of(c, (const double[3]){-normal[0], -normal[1], -normal[2]}, &end);
    cs_subtract(polygon->corner[1], polygon->corner[0], u);
    cs_subtract(polygon->corner[2], polygon->corner[0], v);
    cs_cross(u, v, n);
    double facing = cs_dot(n, normal);
    if (!(fabs(facing) > 0.1 * cs_length(n))) return;
    for (int k = 0; k < end.count; k++) {
        cs_subtract(polygon->corner[0], end.corner[k], u);
        cs_add_scaled(end.corner[k], cs_dot(n, u) / facing, normal, v);
        uint8_t label = (uint8_t)(64 + end.in[k]);
        if (is_inside(polygon, n, v)) add_corner(outline, v, label, label);
    }
}

/* Clips an outline to the end of a cylinder. */
static void clip_to_end(const pair *p, const cylinder *c, const double *normal, cs_outline *outline)
{
    cs_outline all = *outline;
    int edges = all.count > 2 ? all.count : all.count - 1;
    outline->count = 0;
    for (int i = 0; i < all.count; i++) {
        if (beyond_side(&c->set, all.corner[i]) <= BESIDE * p->size)
            add_corner(outline, all.corner[i], all.in[i], all.out[i]);
        if (i < edges)
            cross_circle(&c->set, all.corner[i], all.corner[(i + 1) % all.count], all.out[i],
                         outline);
    }
    if (all.count > 2) add_end(c, &all, normal, outline);
}

/* outline <- the part of shape `k` that faces a plane. */
static void facing_part(const pair *p, int k, const double *normal, cs_outline *outline)
{
    if (k == 1 || p->is_cylinder) {
        facing_of(&p->cylinder[k], normal, outline);
        return;
    }
    int deepest = 0;
    for (int v = 1; v < p->first.vertices; v++)
        if (cs_dot(normal, p->first.vertex[v]) < cs_dot(normal, p->first.vertex[deepest]))
            deepest = v;
    cs_posed_face(&p->first, cs_facing(&p->first, normal, deepest, BESIDE * p->size), outline);
}

/* Contacts over a face of the first shape (f >= 0) or over an end of cylinder k. Returns 0 if the nearest point is not
 * among them. */
static int land(const pair *p, int k, int f, const double *direction, double sign,
                cs_manifold *manifold)
{
    double n[3] = {sign * direction[0], sign * direction[1], sign * direction[2]};
    cs_outline outline, face;
    const cylinder *c = &p->cylinder[k];
    facing_part(p, 1 - k, n, &outline);
    cs_landing landing = {
        .normal = n,
        .reversed = k,
        .base = (k ? FACE_OF_SECOND : 0) | (f >= 0 ? f : sign > 0) << FACE_SHIFT,
        .radius = {k ? 0 : p->radius, k ? p->radius : 0},
        .most = CS_MOST_POINTS,
        .margin = p->margin,
    };
    if (f >= 0) {
        cs_posed_face(&p->first, f, &face);
        cs_outline_clip(&outline, &face, n, BESIDE * p->size);
        landing.offset = p->first.plane[f][3];
    } else {
        clip_to_end(p, c, n, &outline);
        landing.offset = cs_dot(n, c->set.center) + c->set.half;
    }
    manifold->count = 0;
    cs_manifold_land(manifold, &outline, &landing);
    double least = INFINITY;
    for (int i = 0; i < manifold->count; i++) least = fmin(least, manifold->at[i].gap);
    return least <= p->separation - p->radius + 2 * TIE * p->size;
}

static int touch_flat(const pair *p, cs_manifold *manifold)
{
    for (int f = 0; !p->is_cylinder && f < p->first.faces; f++)
        if (is_flat(p, p->first.plane[f], 1) && land(p, 0, f, p->first.plane[f], 1, manifold))
            return 1;
    for (int k = p->is_cylinder ? 0 : 1; k < 2; k++)
        for (int sign = -1; sign <= 1; sign += 2) {
            const double *axis = p->cylinder[k].set.axis;
            /* Outward from the end: away from the second shape if it is the second's. */
            if (is_flat(p, axis, k ? -sign : sign) && land(p, k, -1, axis, sign, manifold))
                return 1;
        }
    return 0;
}

/* ---- lines and points ---------------------------------------------------------------------------- */

/* The line of the first shape that runs along the cylinder: a capsule's axis, or a cylinder's side. */
static int line_of_first(const pair *p, cs_outline *line)
{
    double along[3], cross[3], n[3] = {-p->normal[0], -p->normal[1], -p->normal[2]};
    if (p->is_cylinder) side_of(&p->cylinder[0], n, line);
    else if (p->first.vertices == 2) cs_posed_face(&p->first, 0, line);
    else return 0;
    cs_subtract(line->corner[1], line->corner[0], along);
    cs_normalize(along);
    cs_cross(along, p->cylinder[1].set.axis, cross);
    return cs_length(cross) <= PARALLEL;
}

/* The ends of the part in which a line of the first shape and the side of the cylinder run side by side. */
static int touch_lines(const pair *p, cs_manifold *manifold)
{
    const cs_convex *c = &p->cylinder[1].set;
    cs_outline line;
    if (fabs(cs_dot(p->normal, c->axis)) > PARALLEL || !line_of_first(p, &line)) return 0;
    double at[2], apart[3];
    for (int k = 0; k < 2; k++) {
        cs_subtract(line.corner[k], c->center, apart);
        at[k] = cs_dot(apart, c->axis);
    }
    double from = fmax(fmin(at[0], at[1]), -c->half), to = fmin(fmax(at[0], at[1]), c->half);
    if (!(to - from > 1e-6 * c->half)) return 0;
    cs_assign(manifold->normal, p->normal);
    for (int end = 0; end < 2; end++) {
        double t = ((end ? to : from) - at[0]) / (at[1] - at[0]), x[3], along[3];
        cs_subtract(line.corner[1], line.corner[0], along);
        cs_add_scaled(line.corner[0], t, along, x);
        cs_add_scaled(x, p->radius, p->normal, x);
        cs_manifold_add(manifold, x, p->separation - p->radius, LINE | end, p->margin);
    }
    return 1;
}

/* One contact, at the nearest points; of shapes that overlap, those they have when the second is moved until it is a
 * little apart from the first. */
static void touch_point(const pair *p, const cs_closest *closest, cs_manifold *manifold)
{
    double x[3], across[3], gap = p->separation - p->radius;
    cs_closest apart = *closest;
    if (closest->overlap || !(p->separation > APART * p->size)) {
        double away = APART * p->size - p->separation;
        cs_convex moved = p->set[1];
        cs_add_scaled(moved.center, away, p->normal, moved.center);
        cs_convex_distance(&p->set[0], &moved, p->normal, &apart);
        cs_assign(across, p->normal);
    } else {
        cs_subtract(apart.b, apart.a, across);
        cs_normalize(across);
    }

    /* Between the two points, which are apart along the normal only to within rounding. */
    cs_assign(manifold->normal, p->normal);
    cs_add_scaled(apart.a, p->radius + gap / 2, across, x);
    cs_add_scaled(x, -gap / 2, p->normal, x);
    cs_manifold_add(manifold, x, gap, POINT, p->margin);
}

/* ---- flat parts that are inclined ---------------------------------------------------------------- */

/* A flat part of shape k that faces the other. Returns 0 if there is none, or if it is inclined by more than 60 degrees
 * to the normal of the contact. */
static int inclined_part(const pair *p, int k, cs_outline *face, cs_landing *landing, double *plane)
{
    double n[3];
    for (int i = 0; i < 3; i++) n[i] = (k ? 1 : -1) * p->normal[i];
    facing_part(p, k, n, face);
    if (face->count < 3) return 0;
    if (k == 0 && !p->is_cylinder) {
        double most = -1;
        int f = 0;
        for (int i = 0; i < p->first.faces; i++) {
            double facing = cs_dot(p->first.plane[i], p->normal);
            if (facing > most) most = facing, f = i;
        }
        cs_posed_face(&p->first, f, face);
        cs_assign(plane, p->first.plane[f]);
        landing->offset = p->first.plane[f][3];
        landing->base = f << FACE_SHIFT;
    } else {
        const cs_convex *c = &p->cylinder[k].set;
        double sign = cs_dot(n, c->axis) > 0 ? -1 : 1;
        for (int i = 0; i < 3; i++) plane[i] = sign * c->axis[i];
        landing->offset = cs_dot(plane, c->center) + c->half;
        landing->base = (k ? FACE_OF_SECOND : 0) | (sign > 0) << FACE_SHIFT;
    }
    return -cs_dot(plane, n) > 0.5;
}

static int nearest_to(const double *x, const cs_manifold *manifold)
{
    int nearest = 0;
    double least = INFINITY;
    for (int i = 0; i < manifold->count; i++) {
        double apart[3];
        cs_subtract(manifold->at[i].point, x, apart);
        if (cs_dot(apart, apart) < least) least = cs_dot(apart, apart), nearest = i;
    }
    return nearest;
}

/* Of shapes that overlap by nearly parallel flat parts, replaces the one contact by the corners of what these parts
 * share, on which they do not rock. */
static void land_inclined(const pair *p, cs_manifold *manifold)
{
    cs_landing landing = {.most = CS_MOST_POINTS, .margin = fmin(p->margin, 0)};
    cs_outline face, outline;
    double plane[3], along[3];

    /* Clip the part of one shape to that of the other, seen along the normal of the contact. */
    int k = inclined_part(p, 0, &face, &landing, plane) ? 0 : 1;
    if (k && !inclined_part(p, 1, &face, &landing, plane)) return;
    for (int i = 0; i < 3; i++) along[i] = (k ? -1 : 1) * p->normal[i];
    facing_part(p, 1 - k, along, &outline);
    cs_outline_clip(&outline, &face, along, BESIDE * p->size);

    landing.normal = plane;
    landing.along = along;
    landing.reversed = k;
    landing.radius[k] = p->radius;
    cs_manifold several = {0};
    cs_manifold_land(&several, &outline, &landing);
    if (several.count < 2) return;

    /* Rims are not corners of an end's polygon: the nearest of these gives way to the one contact. */
    cs_manifold_point *nearest = &several.at[nearest_to(manifold->at[0].point, &several)];
    cs_assign(nearest->point, manifold->at[0].point);
    nearest->gap = manifold->at[0].gap;
    *manifold = several;
}

/* ---- the pair ------------------------------------------------------------------------------------ */

void cs_pair_cylinder(const cs_placed *a, const cs_placed *b, double margin, cs_manifold *manifold)
{
    pair p;
    cs_closest closest;
    p.is_cylinder = a->solid->kind == CS_SHAPE_CYLINDER;
    p.cylinder[1] = cylinder_of(b, a->center);
    p.set[1] = p.cylinder[1].set;
    p.radius = 0;
    p.margin = margin;
    if (p.is_cylinder) {
        p.cylinder[0] = cylinder_of(a, a->center);
        p.set[0] = p.cylinder[0].set;
    } else {
        cs_pose(a, a->center, &p.first);
        p.set[0] = cs_convex_of(&p.first);
        p.radius = p.first.radius;
    }
    p.size = a->solid->bound + b->solid->bound;
    if (!find_direction(&p, &closest)) return;
    if (touch_flat(&p, manifold)) return;
    manifold->count = 0;
    if (touch_lines(&p, manifold)) return;
    touch_point(&p, &closest, manifold);
    if (manifold->count && manifold->at[0].gap < 0) land_inclined(&p, manifold);
}
