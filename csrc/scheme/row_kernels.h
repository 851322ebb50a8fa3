/* Kernels for visits to rows of blocks, with vectors inside each block.
 *
 *     block of A, column by column      a d g | b e h | c f i | (next block)
 *     xi += (a d g .) x + (b e h .) y + (c f i .) z
 *
 * A vector loads four numbers: a column of the block and the numbers behind it. Nothing is summed across lanes.
 * Visits need not be independent of each other, so that the kernels work with every order and any A, even a dense
 * one. Groups in vectors have `short_column` instead of `column`.
 *
 * The scalar loop of scheme/rows.inc visits all other groups: those of problems whose blocks have several sizes, those
 * whose local problems are solved, and those with more rows than 32 bits count. It is also the reference. */
#ifndef CS_ROW_KERNELS_H
#define CS_ROW_KERNELS_H

#include "scheme/scheme.h"

enum { CS_ROW_SLACK = 4 }; /* how many numbers vectors may read behind the last block */

/* One build of the kernels. */
typedef struct cs_row_kernels {
    const char *name;
    /* Makes the visits of a walk and adds to `stats`. */
    void (*visit[CS_DTYPES])(const cs_packed *packed, const cs_packed_group *group,
                             cs_row_products products, cs_walk walk, cs_sweep_stats *stats);
} cs_row_kernels;

/* Chooses the kernels and the groups that they visit; cs_scheme.lay_out of schemes over rows. */
cs_status cs_rows_lay_out(cs_packed *packed, const cs_local *local, cs_arena *arena,
                          cs_error *error);

/* text <- a description of the kernels, for example "wide rows, avx2". */
void cs_rows_kernel(const cs_packed *packed, char *text, size_t size);

#endif
