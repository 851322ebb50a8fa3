/* What the files behind newton/system.h share: the blocks of a system one by one, the squares (m, m) that
 * belong to them, and products over all of them. */
#ifndef CS_NEWTON_BLOCKS_H
#define CS_NEWTON_BLOCKS_H

#include "core/compiler.h"
#include "system/newton_system.h"

#include <string.h>

/* One block and what belongs to it. */
typedef struct cs_newton_view {
    const cs_block_group *group;
    int rows;
    int64_t block, row, square;
    const double *compliance;
    double *scaled; /* G_k of the first body, then of the second */
    int64_t place[2];
} cs_newton_view;

CS_INLINE cs_newton_view cs_newton_view_of(const cs_newton_system *system, int g, int64_t index)
{
    const cs_block_group *group = &system->problem->block_group[g];
    int rows = group->rows;
    cs_newton_view v = {
        .group = group,
        .rows = rows,
        .block = group->first_block + index,
        .row = cs_group_row(group, index),
        .square = system->square[g] + index * rows * rows,
        .compliance = group->compliance ? group->compliance + index * rows : NULL,
    };
    if (!system->scaled) return v;
    v.scaled = system->scaled + system->first[g] + index * cs_jacobian_size(group);
    memcpy(v.place, system->place + 2 * v.block, sizeof v.place);
    return v;
}

static inline int64_t cs_newton_count_of(const cs_newton_system *system, int g)
{
    return system->problem->block_group[g].count;
}

/* y <- a x, or a^T x, of a block (m, m) */
static inline void cs_newton_multiply_block(int rows, const double *a, int transposed,
                                            const double *x, double *y)
{
    for (int i = 0; i < rows; i++) {
        double sum = 0;
        for (int j = 0; j < rows; j++) sum += a[transposed ? j * rows + i : i * rows + j] * x[j];
        y[i] = sum;
    }
}

/* y <- a x, or a^T x, for all blocks; they may be one. */
void cs_newton_multiply_blocks(const cs_newton_system *system, const double *a, int transposed,
                               const double *x, double *y);

/* system->y <- G^T x */
void cs_newton_gather(cs_newton_system *system, const double *x);

/* x <- x + factor G system->y */
void cs_newton_add_product(const cs_newton_system *system, double factor, double *x);

/* Factors with T in place of S, after the exact way has failed. */
int cs_newton_factor_symmetric(cs_newton_system *system);

#endif
