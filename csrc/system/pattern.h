/* Where the unknowns of a sparse symmetric system are, and which of them share an entry.
 *
 *     nodes      blocks of A (constraint space), or bodies (body space), of which immovable ones have
 *                no unknowns
 *     graph      two nodes are neighbours where A has a block, or where a contact joins two bodies
 *     order      of the nodes, which makes the envelope narrow or the fill small
 *     unknowns   those of one node after another, in that order
 *
 * A Cholesky factor within the envelope (linalg/panel.h) takes the first column of each row; a sparse one
 * (linalg/sparse.h) takes the lower triangle. */
#ifndef CS_PATTERN_H
#define CS_PATTERN_H

#include "linalg/ordering.h"
#include "problem/problem.h"

typedef struct cs_pattern {
    const cs_problem *problem;
    const cs_block_matrix *matrix; /* its blocks are the nodes; NULL: the bodies are */
    const int64_t *body; /* (blocks, 1 << shift): bodies of each block, -1: immovable; or NULL */
    int shift;           /* 1 where there are none */
    cs_graph graph;                /* of the nodes in their old numbers */
    int64_t *order, *place;        /* (nodes): old numbers by new ones, new numbers by old ones */
    int64_t *begin;                /* (nodes + 1): first unknown of each node, by new numbers */
    int64_t unknowns;
    int64_t *scratch; /* (nodes, 3) */
} cs_pattern;

/* Builds the graph and orders its nodes. Reverse Cuthill-McKee counts a neighbour once for each contact
 * or stored block; for minimum degree the graph has each neighbour once, and no diagonal. Non-zero: no
 * memory, or cancelled (`cancellation` may be NULL). */
int cs_pattern_find(cs_pattern *pattern, const cs_problem *problem, const cs_block_matrix *matrix,
                    cs_fill_order order, cs_cancellation *cancellation, cs_arena *arena);

/* The first column of each row (unknowns); NULL: no memory. */
int64_t *cs_pattern_envelope(const cs_pattern *pattern, cs_arena *arena);

/* The lower triangle with whole diagonal blocks, columns ascending, of a pattern ordered by minimum
 * degree. Non-zero: no memory. */
int cs_pattern_lower(const cs_pattern *pattern, cs_arena *arena, cs_graph *lower);

#endif
