/* What a group's set allows, asked by methods in place of its name: a set of one's own with the same
 * fields is taken, or refused, as those of the library are. */
#ifndef CS_FRICTION_H
#define CS_FRICTION_H

#include "problem/problem.h"

/* A normal impulse that presses, and nothing along the tangents. */
static inline int cs_has_no_friction(const cs_block_group *group)
{
    return group->set->contact && group->set->convex && !group->set->frictional;
}

/* One convex cone of friction, the normal impulse in it. */
static inline int cs_has_cones(const cs_block_group *group)
{
    return group->set->frictional && group->set->convex;
}

/* Friction in balls, one for each coupled set, with radii in proportion to the normal impulse. */
static inline int cs_has_balls(const cs_block_group *group)
{
    return group->set->frictional && !group->set->convex && group->set->balls;
}

/* Of these one, of all tangents: Coulomb's disc; an interval where there is one tangent. */
static inline int cs_has_discs(const cs_block_group *group)
{
    return cs_has_balls(group) && group->set->cone && group->coupled_set[group->rows - 1] == 1;
}

/* An interval along each tangent by itself, all with the coefficient that is parameter 0. */
static inline int cs_has_intervals(const cs_block_group *group)
{
    int tangents = group->rows - 1, same = !group->set->reach;
    for (int s = 1; s <= tangents; s++) same &= group->set->radius_parameter[s] == 0;
    return cs_has_balls(group) && group->coupled_set[tangents] == tangents && same;
}

#endif
