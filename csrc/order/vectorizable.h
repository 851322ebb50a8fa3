/* Contacts in the lanes of a vector: which of them there are kernels for. */
#ifndef CS_VECTORIZABLE_H
#define CS_VECTORIZABLE_H

#include "prox/prox.h"

/* Whether batches of a group's contacts can be visited at once. Parameters of sets that take any number
 * of them do not fit into lanes, and a caller's function is no work for them. */
static inline int cs_fits_lanes(const cs_block_group *group)
{
    const cs_set *set = group->set;
    int spatial =
        group->dof[0] == 6 && group->dof[1] == 6 && (group->rows == 3 || group->rows == 4);
    int planar = group->dof[0] == 3 && group->dof[1] == 3 && group->rows == 2;
    int fits = !set->variable && !set->alone && group->parameters <= CS_LANE_PARAMETERS;
    return (spatial || planar) && fits && group->count > 0;
}

#endif
