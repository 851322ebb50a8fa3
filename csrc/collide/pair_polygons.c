/* Two polygons of the plane, in the frame of the first: only the second one has to be placed.
 *
 *     axis      the side with the largest separation, as in pair_polytopes.c
 *     contacts  the side of the other polygon that faces it, clipped to its ends
 *
 * Where the nearest points are two corners, the general test of polytopes finds them. */
#include "collide/features.h"
#include "collide/pair.h"

#include <math.h>

/* Labels of the ends of the side that clips, as the general test has them for a wall through it. */
enum { CUT_AT_END = CS_CLIPPED + 1, CUT_AT_START = CS_CLIPPED + 3 };

/* Corners in counterclockwise order; side i, from corner i, has the outward normal (nx, ny) and an offset. */
typedef struct polygon {
    int count;
    double x[CS_MOST_VERTICES], y[CS_MOST_VERTICES];
    double nx[CS_MOST_VERTICES], ny[CS_MOST_VERTICES], offset[CS_MOST_VERTICES];
} polygon;

/* Part of a side: one corner or two, with the labels of the sides that end and begin there. */
typedef struct line {
    int count;
    double x[2], y[2];
    int in[2], out[2];
} line;

/* The side of the largest separation, and the corner of the other polygon that is nearest to it. */
typedef struct axis {
    double separation;
    int side, deepest, of_second;
} axis;

/* ---- places -------------------------------------------------------------------------------------- */

static void copy_polygon(const cs_polytope *own, polygon *to)
{
    to->count = own->vertices;
    for (int i = 0; i < own->vertices; i++) {
        to->x[i] = own->vertex[i][0];
        to->y[i] = own->vertex[i][1];
        to->nx[i] = own->plane[i][0];
        to->ny[i] = own->plane[i][1];
        to->offset[i] = own->plane[i][3];
    }
}

/* to <- a polygon turned by the angle of this cosine and sine, and moved. */
static void place_polygon(const cs_polytope *own, double c, double s, double x, double y,
                          polygon *to)
{
    to->count = own->vertices;
    for (int i = 0; i < own->vertices; i++) {
        const double *corner = own->vertex[i], *plane = own->plane[i];
        to->x[i] = c * corner[0] - s * corner[1] + x;
        to->y[i] = s * corner[0] + c * corner[1] + y;
        to->nx[i] = c * plane[0] - s * plane[1];
        to->ny[i] = s * plane[0] + c * plane[1];
        to->offset[i] = plane[3] + to->nx[i] * x + to->ny[i] * y;
    }
}

/* ---- the axis ------------------------------------------------------------------------------------ */

/* Tries the sides of one polygon. Returns 0 if one separates by more than `most`. */
static int try_sides(const polygon *of, const polygon *other, int of_second, double at_least,
                     double most, axis *best)
{
    for (int f = 0; f < of->count; f++) {
        double nx = of->nx[f], ny = of->ny[f], least = nx * other->x[0] + ny * other->y[0];
        int deepest = 0;
        for (int v = 1; v < other->count; v++) {
            double height = nx * other->x[v] + ny * other->y[v];
            deepest = height < least ? v : deepest;
            least = height < least ? height : least;
        }
        double separation = least - of->offset[f];
        if (separation > most) return 0;
        if (!(separation > at_least)) continue;
        *best = (axis){separation, f, deepest, of_second};
        at_least = separation;
    }
    return 1;
}

/* ---- contacts ------------------------------------------------------------------------------------ */

/* The side that faces a direction: of those with the most corners at most this high along it, the one that faces it
 * most. */
static int facing_side(const polygon *p, double nx, double ny, double level)
{
    int best = -1, most = 0;
    double least = INFINITY;
    int last = nx * p->x[0] + ny * p->y[0] <= level, first = last;
    for (int f = 0; f < p->count; f++) {
        int next = f + 1 == p->count ? first : nx * p->x[f + 1] + ny * p->y[f + 1] <= level;
        int near = last + next;
        double facing = nx * p->nx[f] + ny * p->ny[f];
        last = next;
        if (near < most || (near == most && !(facing < least - 1e-12))) continue;
        best = f;
        most = near;
        least = facing;
    }
    return best;
}

static line side_line(const polygon *p, int f)
{
    int next = f + 1 == p->count ? 0 : f + 1;
    return (line){2, {p->x[f], p->x[next]}, {p->y[f], p->y[next]}, {1, 0}, {0, 1}};
}

/* Cuts off what lies beyond (tx, ty) . x = offset. */
static void cut(line *l, double tx, double ty, double offset, double tolerance, int label)
{
    double beyond[2] = {tx * l->x[0] + ty * l->y[0] - offset, 0};
    int keep[2] = {beyond[0] <= tolerance, 0};
    if (l->count == 2) {
        beyond[1] = tx * l->x[1] + ty * l->y[1] - offset;
        keep[1] = beyond[1] <= tolerance;
        if (keep[0] && keep[1]) return;
    }
    if (!keep[0] && !keep[1]) l->count = 0;
    if (l->count < 2) return;

    /* One end is replaced by the point where the line crosses. */
    int gone = keep[0], own = l->out[0];
    double part = beyond[0] / (beyond[0] - beyond[1]);
    l->x[gone] = l->x[0] + part * (l->x[1] - l->x[0]);
    l->y[gone] = l->y[0] + part * (l->y[1] - l->y[0]);
    l->in[gone] = gone ? own : label;
    l->out[gone] = gone ? label : own;
}

/* Adds the corners of a line, in the frame of the first polygon, whose gap along the axis is at most the margin. */
static void land(const line *l, const axis *best, const polygon *reference, double margin,
                 cs_manifold *manifold)
{
    int f = best->side;
    int32_t base = (best->of_second ? CS_FACE_OF_SECOND : 0) | f << CS_FACE_SHIFT;
    double nx = reference->nx[f], ny = reference->ny[f];
    for (int i = 0; i < l->count; i++) {
        double gap = nx * l->x[i] + ny * l->y[i] - reference->offset[f];
        if (!(gap <= margin)) continue;
        cs_manifold_point *at = &manifold->at[manifold->count++];
        at->point[0] = l->x[i] - 0.5 * gap * nx;
        at->point[1] = l->y[i] - 0.5 * gap * ny;
        at->point[2] = 0;
        at->gap = gap;
        at->feature = base | l->in[i] << CS_LABEL_SHIFT | l->out[i];
    }
    double sign = best->of_second ? -1 : 1;
    manifold->normal[0] = sign * nx;
    manifold->normal[1] = sign * ny;
    manifold->normal[2] = 0;
}

/* Contacts over the side of the axis. Returns 0, with none, if the nearest point is not over it; of polygons that
 * overlap, it counts where it is. */
static int land_on_side(const polygon *a, const polygon *b, const axis *best, double size,
                        double margin, cs_manifold *manifold)
{
    const polygon *reference = best->of_second ? b : a, *other = best->of_second ? a : b;
    int f = best->side, end = f + 1 == reference->count ? 0 : f + 1, d = best->deepest;
    double nx = reference->nx[f], ny = reference->ny[f], beside = CS_BESIDE * size;
    line l =
        side_line(other, facing_side(other, nx, ny, nx * other->x[d] + ny * other->y[d] + beside));
    cut(&l, -ny, nx, nx * reference->y[end] - ny * reference->x[end], beside, CUT_AT_END);
    cut(&l, ny, -nx, ny * reference->x[f] - nx * reference->y[f], beside, CUT_AT_START);
    land(&l, best, reference, margin, manifold);
    for (int i = 0; i < manifold->count; i++)
        if (manifold->at[i].gap <= best->separation + 2 * beside) return 1;

    manifold->count = 0;
    if (!(best->separation < -CS_TIE * size)) return 0;
    l = (line){1, {other->x[d]}, {other->y[d]}, {d}, {d}};
    land(&l, best, reference, margin, manifold);
    return 1;
}

/* From the frame of the first polygon to directions of the world. */
static void turn_back(cs_manifold *manifold, double c, double s)
{
    double *normal = manifold->normal, x = normal[0];
    normal[0] = c * x - s * normal[1];
    normal[1] = s * x + c * normal[1];
    for (int i = 0; i < manifold->count; i++) {
        double *point = manifold->at[i].point, px = point[0];
        point[0] = c * px - s * point[1];
        point[1] = s * px + c * point[1];
    }
}

void cs_pair_two_polygons(const cs_placed *a, const cs_placed *b, double margin,
                          cs_manifold *manifold)
{
    /* The second polygon in the frame of the first. */
    double ca = a->rotation[0], sa = a->rotation[3], cb = b->rotation[0], sb = b->rotation[3];
    double dx = b->center[0] - a->center[0], dy = b->center[1] - a->center[1];
    polygon first, second;
    copy_polygon(a->solid->polytope, &first);
    place_polygon(b->solid->polytope, ca * cb + sa * sb, ca * sb - sa * cb, ca * dx + sa * dy,
                  ca * dy - sa * dx, &second);

    /* Sides of the second polygon have to be better than rounding can make them. */
    double size = a->bound + b->bound;
    axis best = {.separation = -INFINITY};
    if (!try_sides(&first, &second, 0, -INFINITY, margin, &best)) return;
    if (!try_sides(&second, &first, 1, best.separation + CS_TIE * size, margin, &best)) return;
    if (land_on_side(&first, &second, &best, size, margin, manifold)) turn_back(manifold, ca, sa);
    else cs_pair_polygons(a, b, margin, manifold);
}
