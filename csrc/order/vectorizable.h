/* Which groups of contacts the vector kernels can visit, one contact in each lane. */
#ifndef CS_VECTORIZABLE_H
#define CS_VECTORIZABLE_H

#include "prox/prox.h"

/* Whether a kernel can visit several contacts of this group at once. It needs one of three shapes and a fixed,
 * small number of parameters, and cannot call a user's support function. */
static inline int cs_fits_lanes(const cs_block_group *group)
{
    const cs_set *set = group->set;
    int spatial = cs_has_pairs_of(group, 6) && (group->rows == 3 || group->rows == 4);
    int planar = cs_has_pairs_of(group, 3) && group->rows == 2;
    int fits = !set->variable && !set->alone && group->parameters <= CS_LANE_PARAMETERS;
    return (spatial || planar) && fits && group->count > 0;
}

#endif
