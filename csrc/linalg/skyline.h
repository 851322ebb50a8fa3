/* A Cholesky factor by columns within a skyline, from which rows can be removed and to which they can be added back.
 *
 *     |d      |    Column k is stored from the diagonal to row last[k], the last row whose envelope
 *     |o d    |    reaches k. A removed row becomes a row of the identity: L keeps its size and its
 *     |o o d  |    skyline, and a solve returns the right-hand side in that row.
 *     |  o o d|
 *
 * With last[k] = n - 1 the factor is a full one.  S3 section 2.2.3 */
#ifndef CS_SKYLINE_H
#define CS_SKYLINE_H

#include "linalg/panel.h"

typedef struct cs_skyline {
    int64_t rows;
    int64_t *last;  /* (rows), not decreasing */
    int64_t *start; /* (rows + 1) into value; start[k] is the diagonal of column k */
    double *value;
} cs_skyline;

/* Allocates the factor of a matrix with these first columns. Returns non-zero if memory runs out. */
int cs_skyline_take(cs_skyline *skyline, int64_t rows, const int64_t *first, cs_arena *arena);

/* Copies a factor from panels; both have to belong to the same matrix. */
void cs_skyline_unpack(cs_skyline *skyline, const cs_panels *panels);

/* Removes row and column i: the block behind them becomes the factor of L L^T + sigma sigma^T, where sigma is the
 * column. This update adds, and therefore loses no digits.  S3 Algorithms 2.3 and 2.5, line 16 with the factor
 * sqrt(z)/y that is missing there. `scratch` (rows) must be zero, and is zero at return. */
void cs_skyline_remove(cs_skyline *skyline, int64_t i, double *scratch);

/* Adds the removed row i back. `column` (rows) holds column i of the matrix, with zeros in removed rows, and is zero at
 * return. The block behind becomes the factor of L L^T - sigma sigma^T. Returns 0, or -1 if a pivot decreases to
 * `floor` times its value or less: the factor is then invalid. */
int cs_skyline_add(cs_skyline *skyline, int64_t i, double *column, double floor);

/* x <- (L L^T)^-1 x.  S3 Algorithms 2.4 and 2.6, with a descending loop in the backward substitution */
void cs_skyline_solve(const cs_skyline *skyline, double *x);

typedef struct cs_skyline_kernels {
    void (*remove)(cs_skyline *skyline, int64_t i, double *scratch);
    int (*add)(cs_skyline *skyline, int64_t i, double *column, double floor);
    void (*solve)(const cs_skyline *skyline, double *x);
} cs_skyline_kernels;

#endif
