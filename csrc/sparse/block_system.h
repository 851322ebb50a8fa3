/* A symmetric matrix of 3 x 3 blocks, one for each pair of coupled vertices, divided into parts.  S5 sections 4.1, 4.2
 *
 *     rows of part p     | A_loc  A_ext |     A_loc is symmetric: its upper triangle is stored
 *
 *     columns of A_loc   the vertices of the part: first interior ones, then those with neighbours in other parts
 *     columns of A_ext   these neighbours, numbered within the part
 *
 * The vertices of a part are numbered one after another, each kind in the reverse order of Cuthill and McKee. A product
 * is computed part by part: threads share the parts, and what it computes depends on them alone. */
#ifndef CS_BLOCK_SYSTEM_H
#define CS_BLOCK_SYSTEM_H

#include "core/memory.h"
#include "linalg/ordering.h"

enum {
    CS_BLOCK_ROWS = 3,
    CS_BLOCK_SIZE = 9,
    CS_BLOCK_STRIDE = 4
}; /* numbers; of a vertex in vectors */

/* The rows of some vertices: blocks start[i] ... start[i + 1] - 1 of row i, column by column. `source`: the block that is
 * given; -1: zero. */
typedef struct cs_block_rows {
    int64_t *start;
    int32_t *column;
    int64_t *source;
    void *value; /* (9 blocks + what a load reads beyond) */
    int64_t blocks;
} cs_block_rows;

/* A symmetric pattern by rows of blocks: `mirror` is the place of each block's mirror image. */
typedef struct cs_block_pattern {
    int64_t vertices, blocks;
    const int64_t *column, *mirror;
} cs_block_pattern;

/* Vectors of a product: 4 numbers a vertex, and a neighbour. */
typedef struct cs_block_product {
    void *x, *y, *x_outer;
} cs_block_product;

typedef struct cs_block_system {
    int64_t vertices, parts;
    int single;            /* numbers are float */
    int64_t *first;        /* (parts + 1): vertices of a part, in the new numbers */
    int64_t *boundary;     /* (parts): the first of them that is no interior vertex */
    int64_t *old;          /* (vertices): new number -> old number */
    cs_block_rows local;   /* columns: new numbers, the diagonal first, then ascending */
    cs_block_rows outer;   /* columns: from outer_first of the part on */
    int64_t *outer_first;  /* (parts + 1) */
    int64_t *outer_vertex; /* (outer_first[parts]): new numbers, ascending in each part */
    int64_t *task;         /* (parts): the order in which parts begin */
} cs_block_system;

/* label (vertices) <- `parts` slices of equal size, in the reverse order of Cuthill and McKee. */
cs_status cs_block_slices(const cs_graph *graph, int64_t parts, int64_t *label, cs_error *error);

/* Lays out a system in `arena`; fails if a label is not from 0 to parts - 1. `graph`: symmetric, blocks in the order of its
 * columns. Values are zero until cs_block_system_put. */
cs_status cs_block_system_make(cs_block_system *system, const cs_graph *graph, int64_t parts,
                               const int64_t *label, int single, cs_arena *arena, cs_error *error);

/* Takes values (blocks, 3, 3), of which it reads those on and above the diagonal of A_loc, and A_ext. */
void cs_block_system_put(cs_block_system *system, const double *value, int threads);

/* Takes the vectors of a product: products at the same time need some each. */
cs_status cs_block_product_take(const cs_block_system *system, cs_block_product *product,
                                cs_arena *arena, cs_error *error);

/* y (3 vertices) <- A x, in the old numbers; float or double as the system. */
void cs_block_system_multiply(const cs_block_system *system, const cs_block_product *product,
                              const void *x, void *y, int threads);

/* The same for vectors of the system: `to` and `from` hold 4 numbers a vertex in the new numbers, the fourth one zero;
 * x and y 3 numbers in the old ones. `single`: all of them are float. */
void cs_block_system_take(const cs_block_system *system, int single, const void *x, void *to,
                          int threads);
void cs_block_system_give(const cs_block_system *system, int single, const void *from, void *y,
                          int threads);

/* The largest difference of values (blocks, 3, 3) from the transpose of their mirror images, with its place among the
 * numbers: the first of equal ones. It is relative to sqrt(d_i d_j), where d is the largest entry of a diagonal block, or
 * to the largest entry of block and image if that is larger. */
typedef struct cs_asymmetry {
    double apart;
    int64_t place;
} cs_asymmetry;
cs_status cs_block_asymmetry(const cs_block_pattern *pattern, const double *value, int threads,
                             cs_asymmetry *worst, cs_error *error);

/* Calls work(context, part, thread) for all parts, which threads share. */
void cs_block_system_share(const cs_block_system *system, int threads,
                           void (*work)(void *context, int64_t part, int thread), void *context);

/* Number `at` of a vector or matrix of float or double numbers. */
static inline size_t cs_number_size(int single) { return single ? sizeof(float) : sizeof(double); }

static inline double cs_number_at(const void *from, int single, int64_t at)
{
    return single ? (double)((const float *)from)[at] : ((const double *)from)[at];
}

static inline void cs_number_put(void *to, int single, int64_t at, double number)
{
    if (single) ((float *)to)[at] = (float)number;
    else ((double *)to)[at] = number;
}

/* Stores a block, given row by row, as number `block` of float or double ones, column by column; and the other way. */
static inline void cs_block_store(void *to, int single, int64_t block, const double *from)
{
    float *few = (float *)to + CS_BLOCK_SIZE * block;
    double *many = (double *)to + CS_BLOCK_SIZE * block;
    for (int row = 0; row < CS_BLOCK_ROWS; row++)
        for (int k = 0; k < CS_BLOCK_ROWS; k++) {
            double number = from[CS_BLOCK_ROWS * row + k];
            if (single) few[CS_BLOCK_ROWS * k + row] = (float)number;
            else many[CS_BLOCK_ROWS * k + row] = number;
        }
}

static inline void cs_block_load(const void *from, int single, int64_t block, double *to)
{
    const float *few = (const float *)from + CS_BLOCK_SIZE * block;
    const double *many = (const double *)from + CS_BLOCK_SIZE * block;
    for (int row = 0; row < CS_BLOCK_ROWS; row++)
        for (int k = 0; k < CS_BLOCK_ROWS; k++) {
            int at = CS_BLOCK_ROWS * k + row;
            to[CS_BLOCK_ROWS * row + k] = single ? (double)few[at] : many[at];
        }
}

/* block (9), row by row <- the e-th block of these rows. */
void cs_block_system_get(const cs_block_system *system, const cs_block_rows *rows, int64_t e,
                         double *block);

/* Its trace. */
double cs_block_system_trace(const cs_block_system *system, const cs_block_rows *rows, int64_t e);

/* Bytes of values and indices that a product reads. */
int64_t cs_block_system_bytes(const cs_block_system *system);

/* The name of the instruction set of the kernels. */
const char *cs_block_system_kernel(void);

#endif
