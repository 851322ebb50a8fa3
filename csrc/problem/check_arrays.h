/* Checks of the arrays of a group, one after another: the first wrong entry is the error. */
#ifndef CS_CHECK_ARRAYS_H
#define CS_CHECK_ARRAYS_H

#include "problem/problem.h"

/* The largest accepted |M^-1 - M^-T| over the largest entry: the input may come from single precision. */
#define CS_SYMMETRY 1e-6

/* Whether some number is infinite or NaN. */
int cs_has_not_finite(const double *values, int64_t count);

/* root <- L with L L^T = M^-1 of the bodies first ... end - 1, which must be symmetric and semidefinite. */
cs_status cs_factor_bodies(cs_body_group *group, int64_t first, int64_t end, cs_error *error);

/* Checks the group's copy of M^-1. */
cs_status cs_check_bodies(cs_body_group *group, cs_error *error);

/* The partners of blocks that a caller describes: two where the number is 0. */
static inline int cs_partners_of(const cs_blocks *blocks)
{
    return blocks->partners ? blocks->partners : CS_PAIR;
}

/* Whether the body numbers of block `index` exist, and their degrees of freedom match the columns of J. */
int cs_partners_fit(const cs_problem *problem, const cs_blocks *blocks, int64_t index);

/* Whether the numbers of columns of J, and the arrays together, are ones that a problem takes. */
int cs_blocks_fit(const cs_blocks *blocks);

/* Checks those arrays of `blocks` that are not NULL; `group` describes them. */
cs_status cs_check_blocks(const cs_problem *problem, const cs_block_group *group,
                          const cs_blocks *blocks, cs_error *error);

#endif
