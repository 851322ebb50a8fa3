/* Orders in which a sparse symmetric matrix fills little, from its pattern alone.
 *
 * A pattern is a graph: the columns of row i, start[i] to start[i + 1], are its neighbours. It must
 * be symmetric; the diagonal may be there or not. An order lists old numbers: order[new] = old. */
#ifndef CS_ORDERING_H
#define CS_ORDERING_H

#include "core/memory.h"
#include "core/cancellation.h"

typedef struct cs_graph {
    int64_t count;
    const int64_t *start, *column;
} cs_graph;

/* The connected parts: `part` (count) gets the number of each node's, from 0 in the order of their
 * first nodes. Returns how many there are. `stack` (count) is scratch. */
int64_t cs_components(const cs_graph *graph, int64_t *part, int64_t *stack);

/* Reverse Cuthill-McKee, part after part, each from an end of a long path (George and Liu).
 * `scratch` holds 3 count numbers. */
void cs_reverse_cuthill_mckee(const cs_graph *graph, int64_t *order, int64_t *scratch);

/* Approximate minimum degree: always the node next that touches fewest others, as far as a bound
 * tells, its neighbours joined; the first of equals. Non-zero without memory, or where the cancellation (may be
 * NULL) says to leave off. */
int cs_minimum_degree(const cs_graph *graph, int64_t *order, cs_cancellation *cancellation);

/* Row by row, the first column of the lower triangle in this order; `place` (count) gets the inverse
 * of the order. */
void cs_envelope(const cs_graph *graph, const int64_t *order, int64_t *place, int64_t *first);

/* The elimination tree in this order: parent[i] > i, or -1 for a root. `scratch` (count).
 * Liu 1990. The matrix is given in its new order. */
void cs_elimination_tree(const cs_graph *graph, int64_t *parent, int64_t *scratch);

#endif
