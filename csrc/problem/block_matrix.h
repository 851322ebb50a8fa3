/* A by rows of blocks (S1 section 3.1): the blocks of a row one after another, columns ascending,
 * each block (m_row, m_column) row-major. Block sizes may differ between groups. */
#ifndef CS_BLOCK_MATRIX_H
#define CS_BLOCK_MATRIX_H

#include "contactsolve.h"
#include "core/memory.h"

typedef struct cs_block_matrix {
    int64_t blocks;  /* rows of blocks, K */
    int64_t *start;  /* (K + 1) into column */
    int64_t *column; /* block numbers */
    int64_t *first;  /* (K + 1) into value: where a row of blocks begins */
    double *value;
    double asymmetry; /* max |A - A^T| / max |A|; 0 for an assembled A */
} cs_block_matrix;

/* A matrix of `blocks` rows of blocks with `start` and `first` to be filled (NULL: no memory), and
 * then the room for its columns and values (non-zero: no memory). */
cs_block_matrix *cs_block_matrix_new(cs_arena *arena, int64_t blocks);
int cs_block_matrix_take(cs_arena *arena, cs_block_matrix *matrix);

void cs_sort_ascending(int64_t *values, int64_t count);

/* A = J M^-1 J^T from bodies and Jacobians, immovable bodies apart.  S1 eq. 3.3
 * Asks `control` (may be NULL) now and then. */
cs_status cs_assemble(const cs_problem *problem, cs_arena *arena, const cs_control *control,
                      cs_block_matrix **matrix, cs_error *error);

/* Number of non-zero blocks of A by the bodies alone (S1 Corollary 3.2), without building it. With
 * `fixed_as_body`, immovable bodies of the problem couple their contacts as S1's ground does.
 * -1 when memory runs out. */
int64_t cs_count_blocks(const cs_problem *problem, int fixed_as_body);

/* The same, given up beyond `limit`: some number above it then. The work is bounded by the answer,
 * not by the square of a body's contacts. */
int64_t cs_count_blocks_up_to(const cs_problem *problem, int fixed_as_body, int64_t limit);

/* The same row by row, `count` (blocks): in linear time. -1 when memory runs out. */
int cs_row_blocks(const cs_problem *problem, int64_t *count);

#endif
