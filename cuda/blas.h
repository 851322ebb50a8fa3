/* cuBLAS, loaded when it is first asked for: nothing is linked with it. Under emulation a kernel stands in its place. */
#ifndef CS_CUDA_BLAS_H
#define CS_CUDA_BLAS_H

#include "cuda/kernels.h"

typedef struct cs_blas cs_blas;

/* blas <- cuBLAS for the work of a queue, or an error that says what is missing. Close it before the queue. */
cs_status cs_blas_open(cs_queue *queue, cs_blas **blas, cs_error *error);
void cs_blas_close(cs_blas *blas);

/* y <- A x of a square A, by columns; addresses of the device. */
void cs_blas_multiply(cs_blas *blas, int64_t rows, const float *matrix, int64_t pitch,
                      const float *x, float *y);
void cs_blas_multiply(cs_blas *blas, int64_t rows, const double *matrix, int64_t pitch,
                      const double *x, double *y);

#endif
