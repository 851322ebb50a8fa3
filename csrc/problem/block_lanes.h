/* Factors and diagonal blocks of A for eight contacts at once, one in each lane of a vector.
 *
 *     block   0   1   2   3   4   5   6   7
 *     (0, 0)  x   x   x   x   x   x   x   x     number (0, 0) of all eight, then (0, 1), ...
 *     (0, 1)  x   x   x   x   x   x   x   x
 *
 * The same numbers, to the last bit, as those of one block after another (problem/problem.h), by
 * every instruction set: set-up must not depend on the machine. For the shapes that matter and bodies
 * of one group; the rest is made one by one. */
#ifndef CS_BLOCK_LANES_H
#define CS_BLOCK_LANES_H

#include "problem/problem.h"

enum { CS_BLOCK_LANES = 8, CS_BLOCK_LANES_NUMBERS = 4 * 12 /* numbers of one block's G */ };

/* Eight blocks of a group: where their numbers are. */
typedef struct cs_block_lanes {
    int rows, dof, diagonal; /* diagonal: M^-1 is */
    const double *jacobian, *root;
    int32_t place[CS_BLOCK_LANES];                 /* of J_k in `jacobian` */
    int32_t body[2][CS_BLOCK_LANES];               /* of L in `root` */
    _Alignas(64) double moving[2][CS_BLOCK_LANES]; /* 1, or 0 where a body cannot move */
    int twofold;                                   /* whether a block joins a body to itself */
} cs_block_lanes;

/* One build of the kernels. */
typedef struct cs_block_lanes_kernels {
    /* G (rows 2 dof, eight), as cs_scaled_jacobian for blocks that are not twofold */
    void (*scaled)(const cs_block_lanes *lanes, double *scaled);
    /* G G^T (rows^2, eight), as cs_diagonal_block for blocks that are not twofold, without Sigma */
    void (*diagonals)(const cs_block_lanes *lanes, double *diagonal);
    /* lambda_max(R^1/2 A_kk R^1/2) (eight) of R (rows, eight) and A_kk (rows^2, eight), as
     * cs_largest_eigenvalue */
    void (*overshoots)(int rows, const double *diagonal, const double *r, double *result);
} cs_block_lanes_kernels;

/* The widest build that this machine runs. */
const cs_block_lanes_kernels *cs_block_lanes_widest(void);

/* Whether the blocks of a group can be had by eights. */
int cs_block_lanes_fit(const cs_problem *problem, const cs_block_group *group);

/* The blocks index[0] ... index[7]. */
void cs_block_lanes_find(const cs_problem *problem, const cs_block_group *group,
                         const int64_t index[CS_BLOCK_LANES], cs_block_lanes *lanes);

#endif
