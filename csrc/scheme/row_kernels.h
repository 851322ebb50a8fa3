/* Visits to rows of blocks with vectors inside each block.
 *
 *     block of A, column by column      a d g | b e h | c f i | (next block)
 *     xi += (a d g .) x + (b e h .) y + (c f i .) z
 *
 * Four numbers are read at once, of a column and what is behind it; nothing is added up across
 * lanes. No two visits need to be independent, so that every order profits and any A, a dense one
 * too. Groups visited so have `short_column` in place of `column`.
 *
 * What does not fit (blocks of several sizes, blocks solved outright, more rows than 32 bits count)
 * is visited by the scalar loop of scheme/rows.inc, which is the reference. */
#ifndef CS_ROW_KERNELS_H
#define CS_ROW_KERNELS_H

#include "scheme/scheme.h"

enum { CS_ROW_SLACK = 4 }; /* numbers read behind the last block */

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

/* "wide rows, avx2" */
void cs_rows_kernel(const cs_packed *packed, char *text, size_t size);

#endif
