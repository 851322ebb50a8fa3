/* A Cholesky factor by columns within a skyline, from which rows are taken out and put back.
 *
 *     |d      |    Column k is kept from the diagonal to row last[k], the last row whose envelope
 *     |o d    |    reaches k. A row that is out is one of the identity: L keeps its size and its
 *     |o o d  |    skyline, and a solve gives the row what its right side holds.
 *     |  o o d|
 *
 * With last[k] = n - 1 the factor is a full one.  S3 section 2.2.3 */
#ifndef CS_SKYLINE_H
#define CS_SKYLINE_H

#include "linalg/panel.h"

typedef struct cs_skyline {
    int64_t rows;
    int64_t *last;  /* (rows), never falling */
    int64_t *start; /* (rows + 1) into value; start[k] is the diagonal of column k */
    double *value;
} cs_skyline;

/* Room for the factor of a matrix whose rows begin in these columns. Non-zero: no memory. */
int cs_skyline_take(cs_skyline *skyline, int64_t rows, const int64_t *first, cs_arena *arena);

/* The same factor in another layout; both of the same matrix. */
void cs_skyline_unpack(cs_skyline *skyline, const cs_panels *panels);

/* Takes row and column i out. The block behind them gains sigma sigma^T, sigma being the column: no
 * cancellation.  S3 Algorithms 2.3 and 2.5, line 16 with the factor sqrt(z)/y that is missing there.
 * `scratch` (rows) must be zero, and is again. */
void cs_skyline_remove(cs_skyline *skyline, int64_t i, double *scratch);

/* Puts row i back, which is out: `column` (rows) holds column i of the matrix, zero in the rows that
 * are out, and ends as zero. The block behind loses sigma sigma^T. Returns 0, or -1 where a pivot
 * falls to `floor` times what it was or below: then the factor is spoilt. */
int cs_skyline_add(cs_skyline *skyline, int64_t i, double *column, double floor);

/* x <- (L L^T)^-1 x.  S3 Algorithms 2.4 and 2.6, the backward substitution descending */
void cs_skyline_solve(const cs_skyline *skyline, double *x);

typedef struct cs_skyline_kernels {
    void (*remove)(cs_skyline *skyline, int64_t i, double *scratch);
    int (*add)(cs_skyline *skyline, int64_t i, double *column, double floor);
    void (*solve)(const cs_skyline *skyline, double *x);
} cs_skyline_kernels;

#endif
