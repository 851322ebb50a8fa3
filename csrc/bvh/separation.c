#include "bvh/separation.h"

#include "core/compiler.h"
#include "core/vector.h"

void cs_path_load(const cs_stencils *stencils, int64_t i, double margin, cs_path *path)
{
    cs_motion_load(stencils, i, margin, &path->motion);
    double raised = path->motion.margin * (1 + 0x1p-49);
    path->fixed = raised + CS_FIXED_ERROR * path->motion.size;
    path->turning = raised + CS_TURNING_ERROR * path->motion.size;
}

void cs_moment_find(const cs_path *path, double time, cs_moment *moment)
{
    moment->time = time;
    cs_motion_at(&path->motion, time, &moment->polygon);
    cs_polygon_nearest(&moment->polygon, &moment->nearest);
    moment->is_plane = cs_polygon_normal(&moment->polygon, &moment->nearest, moment->normal);
}

/* ---- a fixed plane ------------------------------------------------------------------------------ */

/* What is left of a span above whose ends a line has these heights. */
CS_INLINE void cut_span(cs_free_span *span, double start, double end)
{
    if (start > 0 && end > 0) return;
    if (start > 0) {
        double to = start / (start - end) * (1 - 0x1p-50);
        if (to < span->to) span->to = to;
    } else if (end > 0) {
        double from = -start / (end - start) * (1 + 0x1p-50);
        if (from > span->from) span->from = from;
    } else {
        *span = (cs_free_span){2, -1};
    }
}

CS_INLINE cs_free_span fixed_plane(int corners, const cs_path *path, const double *normal)
{
    cs_free_span span = {0, 2};
    CS_UNROLL for (int k = 0; k < corners; k++)
    {
        double start = cs_dot(normal, path->motion.start.at[k]) - path->fixed;
        double end = cs_dot(normal, path->motion.end.at[k]) - path->fixed;
        cut_span(&span, start, end);
    }
    return span;
}

cs_free_span cs_fixed_plane(const cs_path *path, const double *normal)
{
    return path->motion.start.corners == 3 ? fixed_plane(3, path, normal)
                                           : fixed_plane(4, path, normal);
}

/* ---- a turning plane ---------------------------------------------------------------------------- */

/* Whether a quadratic with these coefficients in the basis of Bernstein is positive from 0 to 1. */
CS_INLINE int is_positive(double first, double middle, double last)
{
    if (!(first > 0 && last > 0)) return 0;
    return middle > 0 || middle * middle < first * last * (1 - 0x1p-48);
}

int cs_turning_plane(const cs_path *path, const cs_moment *first, const cs_moment *last)
{
    if (!first->is_plane || !last->is_plane) return 0;
    for (int k = 0; k < path->motion.start.corners; k++) {
        const double *p = first->polygon.at[k], *q = last->polygon.at[k];
        double middle = 0.5 * (cs_dot(first->normal, q) + cs_dot(last->normal, p));
        double begin = cs_dot(first->normal, p), end = cs_dot(last->normal, q);
        if (!is_positive(begin - path->turning, middle - path->turning, end - path->turning))
            return 0;
    }
    return 1;
}

/* ---- where the nearest point gives no good plane ------------------------------------------------- */

static double later(const cs_path *path, const double *normal, double time, double found)
{
    cs_free_span span = cs_fixed_plane(path, normal);
    return span.from <= time && span.to > found ? span.to : found;
}

double cs_other_planes(const cs_path *path, const cs_moment *moment, double time)
{
    double normal[3], found = time;
    const cs_polygon *polygon = &moment->polygon;
    if (cs_polygon_face_normal(polygon, normal)) found = later(path, normal, time, found);
    for (int k = 0; k < polygon->corners; k++)
        if (cs_polygon_edge_normal(polygon, k, moment->nearest.point, normal))
            found = later(path, normal, time, found);
    return found;
}
