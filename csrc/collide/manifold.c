/* What tests of pairs share. */
#include "collide/pair.h"
#include "core/vector.h"

void cs_manifold_add(cs_manifold *manifold, const double *a, double gap, int32_t feature,
                     double margin)
{
    if (!(gap <= margin) || manifold->count >= CS_MOST_POINTS) return;
    cs_manifold_point *point = &manifold->at[manifold->count++];
    cs_add_scaled(a, 0.5 * gap, manifold->normal, point->point);
    point->gap = gap;
    point->feature = feature;
}

void cs_manifold_of_cores(cs_manifold *manifold, const double *a, const double *b,
                          const double *radius, const double *otherwise, double margin)
{
    double surface[3];
    cs_subtract(b, a, manifold->normal);
    double distance = cs_normalize(manifold->normal);
    if (!(distance > 0)) cs_assign(manifold->normal, otherwise);
    cs_add_scaled(a, radius[0], manifold->normal, surface);
    cs_manifold_add(manifold, surface, distance - radius[0] - radius[1], 0, margin);
}
