/* The loops of a sparse Cholesky factor in 3 x 3 blocks of double numbers, for one instruction set. */
#ifndef CS_FACTOR_KERNELS_H
#define CS_FACTOR_KERNELS_H

#include <stdint.h>

/* L by columns: blocks below the diagonal, column by column; inverses of those on it, row by row. */
typedef struct cs_factor_columns {
    int64_t count;
    const int64_t *start;
    const int32_t *row;
    const double *value, *inverse;
} cs_factor_columns;

typedef struct cs_factor_kernels {
    const char *name;
    /* work_r -= (L_rj l^T)^T for the blocks begin .. end - 1 of a column, r their rows. work: rows of four numbers, three of
     * each r; l is column by column. */
    void (*subtract)(const double *value, const int32_t *row, int64_t begin, int64_t end,
                     const double *l, double *work);
    /* x (4 numbers each) <- (L L^T)^-1 x */
    void (*solve)(const cs_factor_columns *columns, double *x);
} cs_factor_kernels;

/* Those with the widest vectors of this machine. */
const cs_factor_kernels *cs_factor_kernels_here(void);

#endif
