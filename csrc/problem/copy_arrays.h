/* Copies the caller's arrays into a group and checks the copies, by several threads if that pays.
 *
 *     given arrays --pieces of bodies or blocks--> copies, roots L of M^-1, places of velocities
 *
 * `pace` decides whether several threads copy: that of earlier copies, or NULL for a problem that is made.
 *
 * A piece is checked while it is in the cache. What is checked is the copy: the caller's array may be changed
 * by another thread meanwhile. If a piece is wrong, the checks of problem/check_arrays.h find the first wrong
 * entry, one after another, so that the error does not depend on the number of threads. */
#ifndef CS_COPY_ARRAYS_H
#define CS_COPY_ARRAYS_H

#include "core/pace.h"
#include "problem/problem.h"

/* Copies M^-1 (NULL if there are no bodies) into the group's array, factors it, and marks immovable bodies. The
 * group is described, and its arrays are allocated. */
cs_status cs_copy_bodies(const cs_problem *problem, cs_body_group *group,
                         const double *inverse_mass, cs_pace *pace, cs_error *error);

/* Copies those arrays of `given` that are not NULL into the group's arrays, and finds the places of velocities if
 * bodies are given. The group is described, and its arrays are allocated. */
cs_status cs_copy_blocks(const cs_problem *problem, cs_block_group *group, const cs_blocks *given,
                         cs_pace *pace, cs_error *error);

/* velocity (count, 2) <- the index of each partner's first velocity; -1 for the fixed world and immovable
 * bodies. Of blocks first ... end - 1 of a group whose body numbers are checked. */
void cs_find_velocities(const cs_problem *problem, cs_block_group *group, int64_t first,
                        int64_t end);

#endif
