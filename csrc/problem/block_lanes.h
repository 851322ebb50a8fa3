/* Kernels that compute G_k, A_kk and the largest eigenvalue of a scaled A_kk for eight blocks at once, one
 * block in each lane of a vector. Solvers need these for every block during set-up.
 *
 *     lane    0   1   2   3   4   5   6   7
 *     (0, 0)  x   x   x   x   x   x   x   x     entry (0, 0) of all eight blocks, then entry (0, 1), ...
 *     (0, 1)  x   x   x   x   x   x   x   x
 *
 * Every build of the kernels computes the same numbers, to the last bit, as the functions for single blocks
 * in problem/problem.h, because set-up must not depend on the machine. The kernels cover the most frequent
 * shapes (cs_block_lanes_fit); single blocks are the fallback for all others. */
#ifndef CS_BLOCK_LANES_H
#define CS_BLOCK_LANES_H

#include "problem/problem.h"

enum { CS_BLOCK_LANES = 8, CS_BLOCK_LANES_NUMBERS = 4 * 12 /* most entries of one G_k */ };

/* A diagonal entry of A between these bounds is plain: it and its inverse can be represented in either precision. */
#define CS_BLOCK_LANES_LEAST 1e-30
#define CS_BLOCK_LANES_MOST 1e30

/* Eight blocks of one group: where the kernels find their data. */
typedef struct cs_block_lanes {
    int rows, dof, diagonal;         /* diagonal: whether M^-1 is */
    int frames;                      /* `jacobian` holds frames (problem/frames.h) */
    const double *jacobian, *root;   /* of the whole group of blocks, and of the group of bodies */
    int32_t place[CS_BLOCK_LANES];   /* index in `jacobian` of what is stored of J_k */
    int32_t body[2][CS_BLOCK_LANES]; /* index of each partner's L in `root` */
    _Alignas(64) double moving[2][CS_BLOCK_LANES]; /* 1, or 0 for an immovable partner */
    int twofold; /* whether both partners of some block are one body */
} cs_block_lanes;

/* The kernels, compiled for one instruction set. Arrays are (numbers, 8): lane last. */
typedef struct cs_block_lanes_kernels {
    /* scaled (2 rows dof, 8) <- G_k, as cs_scaled_jacobian computes it for blocks that are not twofold */
    void (*scaled)(const cs_block_lanes *lanes, double *scaled);
    /* diagonal (rows^2, 8) <- G_k G_k^T, as cs_mass_diagonal computes it for such blocks */
    void (*diagonals)(const cs_block_lanes *lanes, double *diagonal);
    /* result (8) <- lambda_max(R^1/2 A_kk R^1/2) for the diagonal R (rows, 8) and A_kk (rows^2, 8), as
     * cs_largest_eigenvalue computes it */
    void (*overshoots)(int rows, const double *diagonal, const double *r, double *result);
    /* rho, r (rows, 8) <- the inverse of the largest diagonal entry in each row's coupled set (rows), and with it the
     * step that does not overshoot, times the relaxation. Returns 0 if some diagonal entry is not plain. */
    int (*local)(int rows, const int *coupled_set, const double *diagonal, double relaxation,
                 double *rho, double *r);
} cs_block_lanes_kernels;

/* The build for the widest vectors that this machine supports. */
const cs_block_lanes_kernels *cs_block_lanes_widest(void);

/* Whether the kernels cover the blocks of a group: contacts in space with 3 or 4 rows or in the plane with 2,
 * between bodies of one group, and arrays that 32-bit indices reach. */
int cs_block_lanes_fit(const cs_problem *problem, const cs_block_group *group);

/* Describes the blocks index[0] ... index[7] of the group. */
void cs_block_lanes_find(const cs_problem *problem, const cs_block_group *group,
                         const int64_t index[CS_BLOCK_LANES], cs_block_lanes *lanes);

#endif
