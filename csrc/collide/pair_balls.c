/* Two spheres, or two discs. */
#include "collide/pair.h"
#include "core/vector.h"

void cs_pair_balls(const cs_placed *a, const cs_placed *b, double margin, cs_manifold *manifold)
{
    /* Spheres with one centre are pushed apart along x. */
    static const double zero[3] = {0}, x[3] = {1, 0, 0};
    double radius[2] = {a->bound, b->bound}, apart[3];
    cs_subtract(b->center, a->center, apart);
    cs_manifold_of_cores(manifold, zero, apart, radius, x, margin);
}
