/* Rows of blocks in the order of the visits. The schemes that multiply rows share this code:
 *
 *     matrix                       xi_k = A_row k lambda + b_k
 *     iteration_matrix             z_k  = T_row k lambda + c_k
 *     dense                        the same, with zeros between the blocks of T
 *     half_sweep, symmetric_half   xi_k from rows in three pieces: before | neither | after
 *
 * If a visit must not see the update of another block, its column points to the copy of lambda from before the
 * stage, which is stored behind lambda. The kernels need not distinguish the two. */
#ifndef CS_ROWS_H
#define CS_ROWS_H

#include "scheme/scheme.h"

/* The number of a visited block. */
static inline int64_t cs_visited_block(const cs_packed *packed, int group, int64_t visit)
{
    return packed->problem->block_group[group].first_block + packed->schedule->visit[group][visit];
}

/* Index of a block's first impulse in lambda as it is packed. */
int64_t cs_first_impulse(const cs_packed *packed, int64_t block);

/* The phases of a stage: copy lambda if the stage hides updates, then make the visits, then weigh the changes of a concurrent
 * stage with a weight. */
enum { ROWS_KEEP, ROWS_VISIT, ROWS_WEIGH, ROWS_PHASES };

/* cs_scheme.tasks of the schemes over rows. */
int64_t cs_rows_tasks(const cs_packed *packed, const cs_stage *stage, int phase);

/* The number of rows of every block of the problem; 0 if blocks differ. Empty groups do not count. */
int cs_uniform_rows(const cs_problem *problem);

/* When a forward sweep visits each block. */
typedef struct cs_places {
    const cs_schedule *schedule;
    int64_t *stage, *part; /* (blocks): number of the stage, and of the part in it */
    int64_t *visit;        /* (blocks): number of the visit in the sweep */
} cs_places;

/* Fills `places` from the schedule. */
cs_status cs_find_places(const cs_packed *packed, cs_arena *scratch, cs_places *places,
                         cs_error *error);

/* The piece of row k that column l belongs to. CS_NEITHER: k itself, and the blocks whose updates are hidden from
 * k. */
int cs_piece_of(const cs_places *places, int64_t k, int64_t l);

/* A as given, or built from the Jacobians in `arena`. */
cs_status cs_rows_of(const cs_packed *packed, cs_arena *arena, const cs_control *control,
                     const cs_block_matrix **matrix, cs_error *error);

/* From what, and how, rows of blocks are laid out. */
typedef struct cs_layout {
    const cs_block_matrix *matrix;
    const cs_places *places;
    int share; /* use the entries of `matrix` without a copy, except for groups in vectors; `matrix` has them in
                * the order of the visits and exists as long as the packed problem */
    int split; /* cut the rows into three pieces */
} cs_layout;

/* Where the entries of a visited row begin in cs_packed_rows.value. */
static inline int64_t cs_first_value(const cs_packed_group *group, int64_t visit)
{
    if (!group->matrix.in_vectors) return group->matrix.first[visit];
    return group->matrix.start[visit] * group->rows * group->rows;
}

/* Computes a row of blocks from A, or rescales it by *factor. */
typedef void cs_make_row(cs_packed *packed, int group, int64_t visit, const double *factor);

/* Makes the rows of all visits, on threads; each depends on its own row of A and R only. */
void cs_make_rows(cs_packed *packed, cs_make_row *make);

/* Lays out the rows of all groups. */
cs_status cs_pack_rows(cs_packed *packed, const cs_layout *layout, cs_arena *arena,
                       cs_error *error);

#endif
