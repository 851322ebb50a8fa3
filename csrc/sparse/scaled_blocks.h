/* Setting up cs_scaled_blocks (sparse/block_kernels.h): triangular factors with unit diagonal blocks within the parts. */
#ifndef CS_SCALED_BLOCKS_H
#define CS_SCALED_BLOCKS_H

#include "sparse/block_kernels.h"

/* Takes the arrays of blocks for this system; `beside` only if `couples`. Fails as the arena does. */
void cs_scaled_blocks_take(cs_scaled_blocks *a, const cs_block_system *system, int couples,
                           cs_arena *arena);

/* Also takes `rest`, into which what float loses of the values of `exact` is put. */
void cs_scaled_blocks_keep_sums(cs_scaled_blocks *a, const cs_block_system *exact, cs_arena *arena);

/* factor <- C^-1 with C_i C_i^T = D_i / omega. Returns -1, or the first vertex, in the new numbers, whose block D_i is not
 * positive definite. */
int64_t cs_scaled_blocks_factor(const cs_scaled_blocks *a, int threads);

/* upper, beside and rest <- those of C^-1 A C^-T. */
void cs_scaled_blocks_scale(const cs_scaled_blocks *a, int threads);

/* Bytes that Eisenstat's product reads: U twice, the couplings between parts, what was lost. */
int64_t cs_scaled_blocks_pass_bytes(const cs_scaled_blocks *a);

/* Bytes of a pair of triangular solves, and its multiplications. */
int64_t cs_scaled_blocks_bytes(const cs_scaled_blocks *a);
double cs_scaled_blocks_work(const cs_scaled_blocks *a);

/* inverse (9), lower triangular, row by row <- C^-1 with C C^T = D / omega. Returns -1 if D is not positive definite. */
int cs_block_invert_factor(const double *d, double omega, double *inverse);

/* to <- left block right^T, where left and right are lower triangular. */
static inline void cs_block_scale(const double *left, const double *block, const double *right,
                                  double *to)
{
    double half[CS_BLOCK_SIZE];
    for (int i = 0; i < CS_BLOCK_ROWS; i++)
        for (int j = 0; j < CS_BLOCK_ROWS; j++) {
            double sum = 0;
            for (int k = 0; k <= i; k++)
                sum += left[CS_BLOCK_ROWS * i + k] * block[CS_BLOCK_ROWS * k + j];
            half[CS_BLOCK_ROWS * i + j] = sum;
        }
    for (int i = 0; i < CS_BLOCK_ROWS; i++)
        for (int j = 0; j < CS_BLOCK_ROWS; j++) {
            double sum = 0;
            for (int k = 0; k <= j; k++)
                sum += half[CS_BLOCK_ROWS * i + k] * right[CS_BLOCK_ROWS * j + k];
            to[CS_BLOCK_ROWS * i + j] = sum;
        }
}

/* *least <- i if that is less, while other threads do the same. */
void cs_note_least(_Atomic(long long) *least, long long i);

#endif
