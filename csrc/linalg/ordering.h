/* Fill-reducing orders of a sparse symmetric matrix, from its pattern alone.
 *
 * A pattern is a graph: the columns of row i, start[i] to start[i + 1], are its neighbours. It must
 * be symmetric, with or without the diagonal. An order lists old numbers: order[new] = old. */
#ifndef CS_ORDERING_H
#define CS_ORDERING_H

#include "core/memory.h"
#include "core/cancellation.h"

typedef struct cs_graph {
    int64_t count;
    const int64_t *start, *column;
} cs_graph;

/* Connected components: part[i] <- the component of node i, numbered from 0 in the order of their first
 * nodes. Returns their number. `stack` (count) is scratch. */
int64_t cs_components(const cs_graph *graph, int64_t *part, int64_t *stack);

/* Reverse Cuthill-McKee for each component, from a pseudo-peripheral node (George and Liu).
 * `scratch` holds 3 count numbers. */
void cs_reverse_cuthill_mckee(const cs_graph *graph, int64_t *order, int64_t *scratch);

/* Approximate minimum degree: repeatedly eliminates the node with the least bound on its degree, the
 * first one of equals, and connects its neighbours. Non-zero: no memory, or cancelled (`cancellation`
 * may be NULL). */
int cs_minimum_degree(const cs_graph *graph, int64_t *order, cs_cancellation *cancellation);

typedef enum cs_fill_order { CS_FILL_NATURAL, CS_FILL_RCM, CS_FILL_MINIMUM_DEGREE } cs_fill_order;

/* order (count) <- the one that is asked for. `scratch` holds 3 count numbers, which only reverse
 * Cuthill-McKee uses. Non-zero: no memory, or cancelled. */
int cs_find_order(const cs_graph *graph, cs_fill_order wanted, int64_t *order, int64_t *scratch,
                  cs_cancellation *cancellation);

/* first[i] <- the first column of row i of the lower triangle, in this order; `place` (count) <- the
 * inverse of the order. */
void cs_envelope(const cs_graph *graph, const int64_t *order, int64_t *place, int64_t *first);

/* The elimination tree in this order: parent[i] > i, or -1 for a root. `scratch` (count).
 * Liu 1990. The matrix is given in its new order. */
void cs_elimination_tree(const cs_graph *graph, int64_t *parent, int64_t *scratch);

#endif
