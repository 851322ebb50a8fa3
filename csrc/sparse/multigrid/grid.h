/* A level of smoothed aggregation.  Vanek, Mandel and Brezina 1996; its smoother: Baker, Falgout, Kolev and Yang 2011
 *
 *     vertex       a row of 3 x 3 blocks of the level's matrix, a cs_block_system in parts
 *     node         `group` vertices that go together: one on the finest level, translations and rotations of a
 *                  rigid body on the others
 *     aggregate    some nodes, which become one of the next level, of `width` vertices
 *
 *     T            the near-nullspace (rigid motions) within each aggregate, made orthonormal
 *     P            (I - omega D^-1 A) T
 *     next level   P^T A P
 *
 * The smoother is forward Gauss-Seidel within the parts before the correction from the next level, and backward after it. It
 * works on C^-1 A C^-T, whose diagonal blocks are 1 - slack: C C^T = (1 + delta) D, where delta bounds the couplings
 * between parts so that the whole cycle is positive definite. */
#ifndef CS_GRID_H
#define CS_GRID_H

#include "core/cancellation.h"
#include "sparse/scaled_blocks.h"

/* All blocks of each row, below the diagonal, too. `source`: 2 e: block e of A_loc; 2 e + 1: its transpose; -1 - e: block e
 * of A_ext. */
typedef struct cs_grid_rows {
    int64_t *start;  /* (vertices + 1) */
    int32_t *column; /* new numbers */
    int32_t *source;
} cs_grid_rows;

typedef struct cs_grid {
    /* The matrix of the level, `own` if it is not the finest. */
    const cs_block_system *system;
    cs_block_system own;
    const cs_block_system
        *values; /* the same in double precision, if that is known: products read it */
    cs_block_system exact;
    cs_scaled_blocks scaled;
    void *slack;  /* (vertices) */
    double *mode; /* (nodes, 3 group, 3 width): the near-nullspace, row by row */
    int64_t nodes, group, width;
    cs_grid_rows rows;
    int64_t *shared_start; /* (parts + 1) */
    int32_t *shared;       /* vertices that are coupled with other parts */

    /* The prolongator: blocks start[i] ... start[i + 1] - 1 of vertex i, each `width` blocks column by column. */
    int64_t aggregates;
    int32_t *aggregate;    /* (nodes) */
    int32_t *root;         /* (nodes at most): the first node of each aggregate; they ascend */
    unsigned char *dead;   /* (aggregates): a bit for each mode that the aggregate does not have */
    double *tentative;     /* (vertices): blocks of T, three rows of 4 width numbers */
    int64_t *start;        /* (vertices + 1) */
    int32_t *target;       /* aggregates, ascending in each row */
    int32_t *slot;         /* their numbers among those of the part */
    void *value;           /* C^T P */
    int64_t *slot_first;   /* (parts + 1) */
    int64_t *gather_start; /* (aggregates + 1): the slots of each aggregate in all parts */
    int32_t *gather;

    /* Its product P^T A P, for each part of the next level: which rows of A take part, and where each product of theirs
     * goes: pairs of aggregates, of which the second has a higher number or is in another part. */
    int64_t *halo_start, *halo_pair; /* (parts + 1) */
    int32_t *halo, *pair;
    int64_t *pair_start; /* (aggregates + 1) */
    int32_t *pair_column;
    int64_t widest; /* aggregates that a row of A P has at most */

    /* What levels use one after another, while their values are computed. */
    double *wide;  /* (blocks of P): three rows of 4 width numbers each */
    double *pairs; /* (pairs): sums of products, 3 width rows each */
    int64_t wide_room, pairs_room;

    /* Vectors of an application: 4 numbers a vertex, and a slot. */
    void *right, *x, *w, *partial;
    void *beside;    /* (neighbours of all parts), of products with A */
    double products; /* multiplications of P and P^T A P */
} cs_grid;

/* What one thread needs while it computes products. */
typedef struct cs_grid_scratch {
    int32_t *place; /* (aggregates), -1 between rows */
    int32_t *list;  /* (widest) */
    double *sum;    /* (widest): rows of A P */
    double *pairs;  /* sums of all pairs; threads share it */
} cs_grid_scratch;

/* Loops over parts for one instruction set. The index is 1 for float. */
typedef struct cs_grid_kernels {
    const char *name;
    /* right of the next level's part `to` <- the sums of all parts of this level. */
    void (*collect[2])(const cs_grid *grid, const cs_grid *next, int64_t to);
    /* partial <- P^T (r - A x), of x <- (L + D)^-1 r: first of the rows that are not shared. */
    void (*restricts[2])(const cs_grid *grid, int64_t part, int shared);
    /* w <- x;  then, of all rows: x <- x + P e;  w <- w - U^T P e. */
    void (*copy[2])(const cs_grid *grid, int64_t part);
    void (*prolong[2])(const cs_grid *grid, const void *e, int64_t part, int shared);
    /* z <- C^-T (I + U)^-1 (w + slack x - E x) */
    void (*backward[2])(const cs_grid *grid, int64_t part, void *z);

    /* P <- T - damping D^-1 A T of one part. `weight` (vertices): 1 + delta. */
    void (*smooth[2])(const cs_grid *grid, int64_t part, double damping, const double *weight,
                      cs_grid_scratch *scratch);
    /* Sums of the pairs of one part of the next level. */
    void (*multiply[2])(const cs_grid *grid, const cs_block_system *next, int64_t part,
                        cs_grid_scratch *scratch);
    /* value <- C^T P */
    void (*scale[2])(const cs_grid *grid, int64_t part);
} cs_grid_kernels;

const cs_grid_kernels *cs_grid_kernels_here(void);

/* ---- making a level; each takes memory in `arena` and may run out of it ---------------------------- */

/* The finest level. `exact`: the matrix whose values are read, perhaps in another precision. */
cs_status cs_grid_begin(cs_grid *grid, const cs_block_system *system, const cs_block_system *exact,
                        const double *position, cs_arena *arena, cs_error *error);

/* All rows of the matrix. */
cs_status cs_grid_take_rows(cs_grid *grid, cs_arena *arena, cs_error *error);

/* Memory for vectors, and for the matrix of the smoother if there is one. */
cs_status cs_grid_take(cs_grid *grid, int is_smoothed, cs_arena *arena, cs_error *error);

/* Aggregates of strongly coupled nodes, T, and the modes of the next level. */
cs_status cs_grid_aggregate(cs_grid *grid, cs_grid *next, cs_arena *arena, cs_error *error);

/* The pattern of P. */
cs_status cs_grid_lay_out(cs_grid *grid, cs_arena *arena, cs_error *error);

/* The next level's matrix, without values, and how it is computed. */
cs_status cs_grid_lay_out_next(cs_grid *grid, cs_grid *next, cs_arena *arena, cs_error *error);

/* Memory for values while they are computed; that of a finer level if it suffices. */
cs_status cs_grid_take_room(cs_grid *grid, const cs_grid *finer, cs_arena *arena, cs_error *error);

/* ---- values ------------------------------------------------------------------------------------------- */

/* The matrix of the smoother; `weight` (vertices) <- 1 + delta. Returns -1 or a vertex whose diagonal block is not positive
 * definite. */
int64_t cs_grid_scale(cs_grid *grid, double *weight, int threads);

/* P and the next level's matrix. */
cs_status cs_grid_multiply(cs_grid *grid, cs_grid *next, const double *weight, int threads,
                           cs_error *error);

#endif
