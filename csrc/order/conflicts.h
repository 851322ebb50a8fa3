/* Which blocks may not be updated at once: those that share a moving body, or, for a given A, have a
 * non-zero block of A in common. */
#ifndef CS_CONFLICTS_H
#define CS_CONFLICTS_H

#include "problem/adjacency.h"
#include "problem/problem.h"

typedef struct cs_conflicts {
    const cs_problem *problem;
    cs_adjacency adjacency;        /* of bodies; unused for a given A */
    const int64_t *start, *column; /* of a given A: its pattern together with its transpose's */
} cs_conflicts;

/* The blocks in conflict with one, itself among them. */
typedef struct cs_conflict_list {
    const int64_t *entry;
    int64_t count;
    int shift;    /* entry >> shift is a block */
    int64_t body; /* that the blocks share; -1 for a row of A */
} cs_conflict_list;

/* With `fixed_as_body` immovable bodies of the problem conflict, too. */
cs_status cs_conflicts_build(const cs_problem *problem, int fixed_as_body, cs_arena *scratch,
                             cs_conflicts *conflicts, cs_error *error);

/* The pattern of A + A^T, `start` (blocks + 1) into `column`: A may be unsymmetric, and a conflict is
 * one seen from either side. */
cs_status cs_symmetric_pattern(const cs_block_matrix *matrix, cs_arena *scratch,
                               const int64_t **start, const int64_t **column, cs_error *error);

/* Writes up to two lists; returns how many. */
int cs_conflicts_of(const cs_conflicts *conflicts, int64_t block, cs_conflict_list list[2]);

/* Highest number of blocks that one conflicts with: S1's edge degree, eq. 4.1. */
int64_t cs_highest_degree(const cs_conflicts *conflicts);

#endif
