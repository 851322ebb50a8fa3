/* A in block compressed rows (S1 section 3.1). The blocks of a block row follow each other, columns
 * ascending; each block is (m_row, m_column), row-major. Block sizes may differ between groups.
 *
 *     start   block row k holds column[start[k]] ... column[start[k + 1] - 1]
 *     first   their values are value[first[k]] ... value[first[k + 1] - 1] */
#ifndef CS_BLOCK_MATRIX_H
#define CS_BLOCK_MATRIX_H

#include "contactsolve.h"
#include "core/memory.h"

typedef struct cs_block_matrix {
    int64_t blocks;  /* number of block rows, K */
    int64_t *start;  /* (K + 1) into column */
    int64_t *column; /* block numbers */
    int64_t *first;  /* (K + 1) into value: where a block row begins */
    double *value;
    double asymmetry; /* max |A - A^T| / max |A|; 0 for an assembled A */
} cs_block_matrix;

/* A matrix of `blocks` block rows whose `start` and `first` are zero; NULL if memory runs out. */
cs_block_matrix *cs_block_matrix_new(cs_arena *arena, int64_t blocks);

/* Allocates the columns and values, once `start` and `first` are filled, and leaves them unset. Returns
 * non-zero if memory runs out. */
int cs_block_matrix_take(cs_arena *arena, cs_block_matrix *matrix);

/* Assembles A = J M^-1 J^T + Sigma from bodies and Jacobians; immovable bodies couple no blocks.
 * S1 eq. 3.3. At most `threads` share the rows (0: as many as pay). Asks `control` (may be
 * NULL) at intervals whether to cancel. */
cs_status cs_assemble(const cs_problem *problem, int threads, cs_arena *arena,
                      const cs_control *control, cs_block_matrix **matrix, cs_error *error);

/* The number of non-zero blocks of A, from the contact graph alone (S1 Corollary 3.2), without
 * assembling A. With `fixed_as_body`, immovable bodies of the problem couple their contacts, as the
 * ground does in S1. Returns -1 if memory runs out. */
int64_t cs_count_blocks(const cs_problem *problem, int fixed_as_body);

/* The same number if it is at most `limit`; otherwise the count stops early and some number above
 * `limit` is returned. The work is proportional to the result: the count may be the square of the
 * number of contacts of one body. */
int64_t cs_count_blocks_up_to(const cs_problem *problem, int fixed_as_body, int64_t limit);

/* count (blocks) <- the number of non-zero blocks in each block row of A, in time linear in the number
 * of blocks. Returns 0, or -1 if memory runs out. */
int cs_row_blocks(const cs_problem *problem, int64_t *count);

#endif
