/* Rows of A in the order of the visits: what the schemes share that multiply them.
 *
 *     matrix                       xi_k = A_row k lambda + b_k
 *     iteration_matrix             z_k  = T_row k lambda + c_k
 *     half_sweep, symmetric_half   xi_k from rows cut in three: before | neither | after
 *
 * What a visit may not see of others it reads behind lambda, as it was before the stage: such
 * columns point there, and the kernels know nothing of it. */
#ifndef CS_ROWS_H
#define CS_ROWS_H

#include "scheme/scheme.h"

/* The phases of a stage: lambda kept as it is before it, where the stage hides, and the visits. */
enum { ROWS_KEEP, ROWS_VISIT, ROWS_PHASES };
int64_t cs_rows_tasks(const cs_packed *packed, const cs_stage *stage, int phase);

/* The rows of every block of the problem; 0 where they differ. Empty groups do not count. */
int cs_uniform_rows(const cs_problem *problem);

/* When a forward sweep visits each block. */
typedef struct cs_places {
    const cs_schedule *schedule;
    int64_t *stage, *part, *visit; /* (blocks): counted through the whole sweep */
} cs_places;

cs_status cs_find_places(const cs_packed *packed, cs_arena *scratch, cs_places *places,
                         cs_error *error);

/* The piece of row k that column l belongs to. Neither before nor after are k itself and what k
 * sees as before the stage. */
int cs_piece_of(const cs_places *places, int64_t k, int64_t l);

/* A as given, or built from the Jacobians in `arena`. */
cs_status cs_rows_of(const cs_packed *packed, cs_arena *arena, const cs_control *control,
                     const cs_block_matrix **matrix, cs_error *error);

/* What rows of blocks are laid out from, and how. */
typedef struct cs_layout {
    const cs_block_matrix *matrix;
    const cs_places *places;
    int share; /* values stay those of `matrix`, which has them in place and lives as long; but for
                * groups in vectors */
    int split; /* rows are cut into three pieces */
} cs_layout;

/* Where the values of a visited row begin. */
static inline int64_t cs_first_value(const cs_packed_group *group, int64_t visit)
{
    if (!group->matrix.in_vectors) return group->matrix.first[visit];
    return group->matrix.start[visit] * group->rows * group->rows;
}

/* Lays out the rows of all groups. */
cs_status cs_pack_rows(cs_packed *packed, const cs_layout *layout, cs_arena *arena,
                       cs_error *error);

#endif
