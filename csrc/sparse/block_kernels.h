/* The loops over parts of a block system, for one instruction set and three forms:
 *
 *     form        vectors    matrix
 *     CS_BLOCK_DOUBLE  double     double
 *     CS_BLOCK_FLOAT   float      float
 *     CS_BLOCK_MIXED   double     float
 *
 * Vectors hold 4 numbers a vertex in the new numbers. A loop writes zero to the fourth of what it computes. */
#ifndef CS_BLOCK_KERNELS_H
#define CS_BLOCK_KERNELS_H

#include "sparse/block_system.h"

typedef enum cs_block_form {
    CS_BLOCK_DOUBLE,
    CS_BLOCK_FLOAT,
    CS_BLOCK_MIXED,
    CS_BLOCK_FORMS
} cs_block_form_name;

/* The form of vectors with this system. */
static inline int cs_block_form(const cs_block_system *system, int single_vectors)
{
    if (single_vectors) return CS_BLOCK_FLOAT;
    return system->single ? CS_BLOCK_MIXED : CS_BLOCK_DOUBLE;
}

/* A with unit diagonal blocks, C^-1 A C^-T for D / omega = C C^T, of which the parts are I + U + U^T and E: what SSOR
 * multiplies with. Blocks are float or double as the system's. */
typedef struct cs_scaled_blocks {
    const cs_block_system *system;
    void *upper;  /* (9 blocks): U, row by row, as A_loc without its diagonal */
    void *beside; /* (9 blocks): E, as A_ext */
    void *factor; /* (9 vertices): C^-1, column by column */
    double omega;
    float *rest; /* (9 vertices): the diagonal blocks without omega I, symmetric; NULL: zero */
    double *lost,
        *whole; /* (9 vertices), with `rest`: what rows lose, times C^T; C as it is stored */
    const cs_block_system
        *values; /* whose values are scaled: the system, or the same in double precision */
} cs_scaled_blocks;

/* What an iteration of conjugate gradients reads and writes of one part. */
typedef struct cs_block_vectors {
    void *x, *r, *p, *q, *t, *t_outer;
    double alpha, beta;
} cs_block_vectors;

typedef struct cs_block_kernels {
    const char *name;

    /* y <- A_loc x + A_ext x_outer, after x_outer <- x of the neighbours of the part.  S5 Algorithm 1 */
    void (*multiply[CS_BLOCK_FORMS])(const cs_block_system *system, int64_t part, const void *x,
                                     void *x_outer, void *y);

    /* z <- M r of one part, M^-1 = C (I + U^T)(I + U) C^T. */
    void (*ssor[CS_BLOCK_FORMS])(const cs_scaled_blocks *a, int64_t part, const void *r, void *z);

    /* Eisenstat's product, in two halves. p <- r + beta p, t <- (I + U)^-1 p. */
    void (*backward[CS_BLOCK_FORMS])(const cs_scaled_blocks *a, int64_t part,
                                     const cs_block_vectors *v);
    /* q <- t + (I + U^T)^-1 (p + (omega - 2) t + rest t + E t). Returns p.q. */
    double (*forward[CS_BLOCK_FORMS])(const cs_scaled_blocks *a, int64_t part,
                                      const cs_block_vectors *v);
    /* To Eisenstat's residual and back: to <- (I + U^T)^-1 C^-1 from; to <- C (I + U^T) from. */
    void (*reduce[CS_BLOCK_FORMS])(const cs_scaled_blocks *a, int64_t part, const void *from,
                                   void *to);
    void (*expand[CS_BLOCK_FORMS])(const cs_scaled_blocks *a, int64_t part, const void *from,
                                   void *to);
    /* to += C^-T from, where `to` is double. */
    void (*add_scaled[CS_BLOCK_FORMS])(const cs_scaled_blocks *a, int64_t part, const void *from,
                                       double *to);

    /* Numbers begin .. end - 1 of vectors, float if the index is 1, else double.
     * x += alpha p; r -= alpha q. Returns r.r. */
    double (*step[2])(const cs_block_vectors *v, const void *along, int64_t begin, int64_t end);
    /* p <- z + beta p */
    void (*turn[2])(const cs_block_vectors *v, const void *z, int64_t begin, int64_t end);
    double (*dot[2])(const void *x, const void *y, int64_t begin, int64_t end);
    /* r <- by. Returns |r - by|^2 of the r from before. */
    double (*replace[2])(void *r, const void *by, int64_t begin, int64_t end);
    /* Vertices begin .. end - 1, in the new numbers, from the old numbers, and to them. */
    void (*take[2])(const int64_t *old, const void *x, void *to, int64_t begin, int64_t end);
    void (*give[2])(const int64_t *old, const void *from, void *y, int64_t begin, int64_t end);
} cs_block_kernels;

/* Those with the widest vectors of this machine. */
const cs_block_kernels *cs_block_kernels_here(void);

#endif
