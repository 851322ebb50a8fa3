/* Measures the memory bandwidth of one core or of several, and the arithmetic rate of one, with the widest
 * vectors that this machine runs: one or the other limits the speed of a sweep (the roofline model). */
#ifndef CS_STREAM_H
#define CS_STREAM_H

#include <stdint.h>

/* Seconds that `threads` threads (at least one) take together to read `bytes` (positive) of memory once: the
 * least over loops with one, four and eight concurrent streams, and over several repetitions. Each thread
 * reads a part of its own, of 8 kB at least, until the last one has finished. Data that fits the caches is
 * read from the caches, because the loops read it many times. Negative if there is not enough memory. */
double cs_stream_read(int64_t bytes, int threads);

/* Multiplications and additions a second, in double precision, of one thread with all numbers
 * in registers; a fused multiply-add counts as two. */
double cs_stream_multiply(void);

/* One build of the loops. */
typedef struct cs_stream_kernels {
    /* The sum of `count` numbers, read at 1, 4 and 8 places at once; `count` is a multiple of 1,024,
     * `values` aligned to 64 bytes. */
    double (*sum[3])(const double *values, int64_t count);
    /* a x + b in each of `chains` chains of vectors, `rounds` times; writes how many operations. */
    double (*multiply)(int64_t rounds, double *operations);
} cs_stream_kernels;

#endif
