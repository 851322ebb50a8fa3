/* The scheme `dense`: every row of T = 1 - R A is stored whole, as S2 does it (sections 4.6, 5.2 and 5.3).
 *
 *     T   row 0:  T_00 T_01 ... T_0n 0 0     rows of `dense_stride` numbers, in the order of the visits of a group
 *         row 1:  ...                        columns in the order of lambda
 *
 * A visit multiplies its rows by lambda, adds c, and projects: lambda_k <- prox(T_k lambda + c_k). Where the visits of
 * a stage do not see each other, they write behind lambda, and the stage ends with a copy. Where a part sees its own
 * updates only, it works on a copy of lambda of its own. */
#ifndef CS_DENSE_H
#define CS_DENSE_H

#include "scheme/scheme.h"

/* Products of whole rows, for one instruction set. */
typedef struct cs_dense_kernels {
    const char *name;
    /* sum (rows) += the rows of T, `stride` numbers apart, times x (count). Float or double. */
    void (*multiply[2])(int rows, int64_t count, const void *rows_of_T, int64_t stride,
                        const void *x, void *sum);
} cs_dense_kernels;

/* The phases of a stage. */
enum { CS_DENSE_VISIT, CS_DENSE_TAKE, CS_DENSE_PHASES };

/* Whether the visits of a stage write behind lambda. */
static inline int cs_dense_writes_behind(cs_stage_kind kind) { return kind != CS_SEQUENTIAL; }

/* Whether the parts of a stage work on copies of lambda. */
static inline int cs_dense_copies(cs_stage_kind kind)
{
    return kind == CS_CONCURRENT || kind == CS_DISJOINT;
}

/* text <- a description of the kernels, for example "dense rows, avx2". */
void cs_dense_kernel(const cs_packed *packed, char *text, size_t size);

#endif
