/* Which groups of contacts the vector kernels can visit, one contact in each lane. */
#ifndef CS_VECTORIZABLE_H
#define CS_VECTORIZABLE_H

#include "prox/prox.h"

/* Whether a kernel can visit several contacts at once that are like those of this group. It needs one of four shapes and
 * a fixed, small number of parameters, and cannot call a user's support function. */
static inline int cs_shape_fits_lanes(const cs_block_group *group)
{
    const cs_set *set = group->set;
    int spatial = cs_has_pairs_of(group, 6) && (group->rows == 3 || group->rows == 4);
    int planar = cs_has_pairs_of(group, 3) && group->rows == 2;
    int cloth = cs_has_four_vertices(group) && group->rows == 3;
    int fits = !set->variable && !set->alone && group->parameters <= CS_LANE_PARAMETERS;
    return (spatial || planar || cloth) && fits;
}

/* The same, if there are any. */
static inline int cs_fits_lanes(const cs_block_group *group)
{
    return cs_shape_fits_lanes(group) && group->count > 0;
}

#endif
