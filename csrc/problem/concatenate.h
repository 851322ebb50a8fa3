/* Puts problems side by side in one problem. */
#ifndef CS_CONCATENATE_H
#define CS_CONCATENATE_H

#include "problem/problem.h"

/* whole <- a new problem with the bodies and the blocks of all `parts` (count), none of which has a given A. Groups of
 * one kind become one group, in which the blocks of the first part come first; kinds are numbered as they appear.
 * group_of (count, CS_MAX_GROUPS) <- the group of `whole` that each group of each part belongs to; the caller's. On failure
 * `whole` is NULL, and the message names the part as problems[i]. The caller destroys the result. */
cs_status cs_concatenate(const cs_problem *const *parts, int64_t count, unsigned char *group_of,
                         cs_problem **whole, cs_error *error);

#endif
