/* The graph that orders partition and traverse (S1 chapter 4). It hides whether A is given:
 *
 *     Jacobians   the vertices are the bodies; each block is an edge between its movable bodies
 *     a given A   the vertices are the blocks; each non-zero block of A or A^T is an edge
 *
 * Immovable bodies are vertices without edges. */
#ifndef CS_GRAPH_H
#define CS_GRAPH_H

#include "order/schedule.h"
#include "problem/adjacency.h"

typedef struct cs_graph {
    const cs_problem *problem;
    int64_t vertices;
    const int64_t
        *start; /* (vertices + 1): the edges of vertex v are start[v] ... start[v + 1] - 1 */
    const int64_t *column; /* given A: the other vertex of each edge; otherwise NULL */
    cs_adjacency adjacency;
    int threads; /* how many share the work of an order */
} cs_graph;

/* Builds the graph in `scratch`. Fails only if memory runs out. */
cs_status cs_graph_build(const cs_problem *problem, cs_arena *scratch, cs_graph *graph,
                         cs_error *error);

/* The same by the threads that the options ask for, which then share the work on the graph. */
cs_status cs_graph_share(const cs_problem *problem, const cs_order_options *options,
                         cs_arena *scratch, cs_graph *graph, cs_error *error);

/* The most vertices that an edge has. */
static inline int cs_graph_partners(const cs_graph *graph)
{
    return graph->column ? CS_PAIR : cs_adjacency_partners(&graph->adjacency);
}

/* Another vertex of an edge, number 1 ... cs_graph_partners - 1; -1 if that body is immovable or none. */
static inline int64_t cs_graph_other(const cs_graph *graph, int64_t edge, int number)
{
    if (graph->column) return graph->column[edge];
    return cs_adjacency_other(&graph->adjacency, graph->adjacency.entry[edge], number);
}

/* The block of an edge: with Jacobians the block that is the edge, for a given A the other vertex. */
static inline int64_t cs_graph_block(const cs_graph *graph, int64_t edge)
{
    return graph->column ? graph->column[edge]
                         : cs_entry_block(&graph->adjacency, graph->adjacency.entry[edge]);
}

/* end <- the distinct vertices of a block: its movable bodies, or for a given A the block itself. Returns
 * their number, 0 to CS_MAX_PARTNERS. */
static inline int cs_graph_ends(const cs_graph *graph, int64_t block, int64_t *end)
{
    if (graph->column) {
        end[0] = block;
        return 1;
    }
    return cs_adjacency_ends(&graph->adjacency, block, end);
}

/* The number of edges of a vertex. */
static inline int64_t cs_graph_degree(const cs_graph *graph, int64_t vertex)
{
    return graph->start[vertex + 1] - graph->start[vertex];
}

/* The vertices with edges, sorted by breadth-first levels. The search starts at an outermost vertex of each
 * connected component, and a level has edges to the previous and next levels only. Inside a level the
 * vertices follow in the order in which the search finds them, lower degrees first: Cuthill and McKee's
 * ordering. */
typedef struct cs_levels {
    int64_t *vertex; /* (count), one level after another */
    int64_t count;
    int64_t *start; /* (levels + 1) into vertex */
    int64_t levels;
} cs_levels;

/* levels <- the levels of the graph, in `scratch`. Fails only if memory runs out. */
cs_status cs_graph_levels(const cs_graph *graph, cs_arena *scratch, cs_levels *levels,
                          cs_error *error);

#endif
