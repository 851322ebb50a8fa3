/* Classifies the friction law of a group by the fields of its set. Methods ask these questions instead of
 * comparing the set's name, so that they accept or refuse a new set by its properties. */
#ifndef CS_FRICTION_H
#define CS_FRICTION_H

#include "problem/problem.h"

#include <math.h>

/* Frictionless contact: a normal impulse >= 0 and no tangential impulse. */
static inline int cs_has_no_friction(const cs_block_group *group)
{
    return group->set->contact && group->set->convex && !group->set->frictional;
}

/* One convex friction cone that contains the normal impulse, such as the second-order cone. */
static inline int cs_has_cones(const cs_block_group *group)
{
    return group->set->frictional && group->set->convex;
}

/* One ball for each coupled set of tangential rows, with a radius proportional to the normal impulse. */
static inline int cs_has_balls(const cs_block_group *group)
{
    return group->set->frictional && !group->set->convex && group->set->balls;
}

/* A single ball for all tangents: Coulomb's disc, or an interval if there is one tangent. */
static inline int cs_has_discs(const cs_block_group *group)
{
    return cs_has_balls(group) && group->set->cone && group->coupled_set[group->rows - 1] == 1;
}

/* A separate interval for each tangent, all with the coefficient in parameter 0. */
static inline int cs_has_intervals(const cs_block_group *group)
{
    int tangents = group->rows - 1, same = !group->set->reach;
    for (int s = 1; s <= tangents; s++) same &= group->set->radius_parameter[s] == 0;
    return cs_has_balls(group) && group->coupled_set[tangents] == tangents && same;
}

/* The shift mu |v_t| of the normal velocity of a disc or cone, which makes Coulomb's law that of the cone.
 * De Saxce and Feng 1998 */
static inline double cs_de_saxce_shift(int rows, double mu, const double *v)
{
    return mu * (rows == 2 ? fabs(v[1]) : hypot(v[1], v[2]));
}

#endif
