/* Conflicts: two blocks must not be updated at once if they share a movable body or, for a given A, if a
 * non-zero block of A couples them. */
#ifndef CS_CONFLICTS_H
#define CS_CONFLICTS_H

#include "problem/adjacency.h"
#include "problem/problem.h"

typedef struct cs_conflicts {
    const cs_problem *problem;
    cs_adjacency adjacency;        /* contact graph; unused for a given A */
    const int64_t *start, *column; /* given A: the pattern of A + A^T */
} cs_conflicts;

/* The blocks in conflict with one block. The block itself is in the list, too. */
typedef struct cs_conflict_list {
    const int64_t *entry;
    int64_t count;
    int shift;    /* entry[i] >> shift is the number of a block */
    int64_t body; /* the body that the blocks share; -1 for a row of A */
} cs_conflict_list;

/* Prepares the conflicts. With `fixed_as_body`, contacts with the same immovable body conflict as well. */
cs_status cs_conflicts_build(const cs_problem *problem, int fixed_as_body, cs_arena *scratch,
                             cs_conflicts *conflicts, cs_error *error);

/* The pattern of A + A^T, with `start` (blocks + 1) into `column`. A given A may be unsymmetric, and two blocks
 * conflict if either acts on the other. */
cs_status cs_symmetric_pattern(const cs_block_matrix *matrix, cs_arena *scratch,
                               const int64_t **start, const int64_t **column, cs_error *error);

/* list <- the lists of conflicts of a block, one for each body or row of A. Returns their number. */
int cs_conflicts_of(const cs_conflicts *conflicts, int64_t block,
                    cs_conflict_list list[CS_MAX_PARTNERS]);

/* The highest number of blocks that one block conflicts with: S1's edge degree, eq. 4.1. */
int64_t cs_highest_degree(const cs_conflicts *conflicts);

#endif
