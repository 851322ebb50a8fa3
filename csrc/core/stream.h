/* What a core reads from memory and what it multiplies: the yardsticks of sweeps, of which one or
 * the other is the limit. By the widest vectors that this machine runs. */
#ifndef CS_STREAM_H
#define CS_STREAM_H

#include <stdint.h>

/* Seconds that one thread takes to read `bytes` of memory once: the least over several loops (one,
 * four and eight places read at once) and several times. As many bytes as fit a cache are read so
 * often that they are in it. `bytes` is positive. Negative without so much memory. */
double cs_stream_read(int64_t bytes);

/* Multiplications and additions a second, in double precision, of one thread that has all its
 * numbers in registers; a fused one counts twice. */
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
