#include "methods/newton/slope.h"

#include "problem/friction.h"
#include "prox/slope.h"

#include <string.h>

/* Discs become circular cones. */
int cs_slope_is_shifted(const cs_block_group *group, int shifted)
{
    return shifted && cs_has_discs(group);
}

int cs_slope_is_known(const cs_block_group *group, int shifted)
{
    int moves = !group->set->convex;
    return group->set->slope && !(shifted && moves && !cs_slope_is_shifted(group, shifted));
}

void cs_prox_slope(const cs_block_group *group, int cone, const double *parameters, const double *z,
                   double *p, double *slope)
{
    int rows = group->rows;
    memset(p, 0, sizeof(double) * (size_t)rows);
    memset(slope, 0, sizeof(double) * (size_t)(rows * rows));
    if (cone) cs_slope_of_cone(rows, parameters[0], z, p, slope);
    else group->set->slope(rows, parameters, z, p, slope);
}
