/* The blocks of a system: their places among its unknowns, their scaled Jacobians G_k, their squares
 * (m, m); and products with all of them.
 *
 *     body space         G_k begins at scaled[first[g] + k * size]; one place for each of its bodies
 *     constraint space   no G; one place for the block itself */
#ifndef CS_SYSTEM_BLOCKS_H
#define CS_SYSTEM_BLOCKS_H

#include "core/compiler.h"
#include "system/pattern.h"

typedef struct cs_system_blocks {
    const cs_problem *problem;
    int64_t unknowns;
    int shift;      /* places of a block: 1 << shift */
    int64_t *place; /* (blocks, 1 << shift): first unknown of each body, or of the block; -1: none */
    double *scaled; /* G_k of all blocks; NULL in constraint space */
    int64_t first[CS_MAX_GROUPS];  /* where a group's blocks begin there, */
    int64_t square[CS_MAX_GROUPS]; /* and in arrays of (m, m) */
    int64_t squares;               /* entries of such an array */
    int compliant;                 /* whether a group has compliance */
} cs_system_blocks;

/* Places the blocks and computes G, in body space. Non-zero: no memory, or cancelled. */
int cs_system_blocks_take(cs_system_blocks *blocks, const cs_pattern *pattern,
                          cs_cancellation *cancellation, cs_arena *arena);

/* One block and what belongs to it. */
typedef struct cs_system_block {
    const cs_block_group *group;
    int rows;
    int64_t block, row, square;
    const double *compliance; /* (m), or NULL */
    const double *scaled;     /* G_k of one body after another; or NULL */
    const int64_t *place;     /* one for each body, or for the block */
} cs_system_block;

CS_INLINE cs_system_block cs_system_block_of(const cs_system_blocks *blocks, int g, int64_t index)
{
    const cs_block_group *group = &blocks->problem->block_group[g];
    int rows = group->rows;
    int64_t block = group->first_block + index;
    return (cs_system_block){
        .group = group,
        .rows = rows,
        .block = block,
        .row = cs_group_row(group, index),
        .square = blocks->square[g] + index * rows * rows,
        .compliance = group->compliance ? group->compliance + index * rows : NULL,
        .scaled = blocks->scaled
                      ? blocks->scaled + blocks->first[g] + index * cs_jacobian_size(group)
                      : NULL,
        .place = blocks->place + (block << blocks->shift),
    };
}

/* The same of a block by its number. */
CS_INLINE cs_system_block cs_system_block_at(const cs_system_blocks *blocks, int64_t block)
{
    const cs_block_group *group = cs_block_group_of(blocks->problem, block);
    return cs_system_block_of(blocks, (int)(group - blocks->problem->block_group),
                              block - group->first_block);
}

/* y (unknowns) <- G^T x */
void cs_system_gather(const cs_system_blocks *blocks, const double *x, double *y);

/* x <- x + factor G y */
void cs_system_add_product(const cs_system_blocks *blocks, double factor, const double *y,
                           double *x);

/* y <- a x, or a^T x, a being block diagonal; x and y may be one. */
void cs_system_multiply_squares(const cs_system_blocks *blocks, const double *a, int transposed,
                                const double *x, double *y);

/* product (rows, columns) <- left^T a right, a (rows, columns) being a block of A between two squares. */
void cs_system_between(int rows, int columns, const double *left, const double *a,
                       const double *right, double *product);

/* In constraint space: unknowns in the order of the rows, and back. */
void cs_system_to_unknowns(const cs_system_blocks *blocks, const double *x, double *y);
void cs_system_to_rows(const cs_system_blocks *blocks, const double *y, double *x);

#endif
