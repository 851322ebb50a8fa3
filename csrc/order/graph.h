/* Who touches whom, as orders that cut and walk see it (S1 chapter 4).
 *
 *     bodies      vertices are the bodies; a block joins its moving ones; immovable ones are alone
 *     a given A   vertices are the blocks; a non-zero block of A or of its transpose joins two
 */
#ifndef CS_GRAPH_H
#define CS_GRAPH_H

#include "order/schedule.h"
#include "problem/adjacency.h"

typedef struct cs_graph {
    const cs_problem *problem;
    int64_t vertices;
    const int64_t *start;  /* (vertices + 1) into the edges */
    const int64_t *column; /* given A: the other vertex of an edge */
    cs_adjacency adjacency;
} cs_graph;

cs_status cs_graph_build(const cs_problem *problem, cs_arena *scratch, cs_graph *graph,
                         cs_error *error);

/* The other vertex of an edge; -1 where it cannot move. */
static inline int64_t cs_graph_other(const cs_graph *graph, int64_t edge)
{
    if (graph->column) return graph->column[edge];
    return cs_adjacency_other(&graph->adjacency, graph->adjacency.entry[edge]);
}

/* The block behind an edge: for a given A the other vertex, else the contact itself. */
static inline int64_t cs_graph_block(const cs_graph *graph, int64_t edge)
{
    return graph->column ? graph->column[edge] : cs_entry_block(graph->adjacency.entry[edge]);
}

/* The vertices of a block, none twice: its moving bodies, or itself. Returns how many. */
static inline int cs_graph_ends(const cs_graph *graph, int64_t block, int64_t *end)
{
    if (graph->column) {
        end[0] = block;
        return 1;
    }
    const int64_t *body = cs_adjacency_bodies(&graph->adjacency, block);
    int count = 0;
    if (body[0] >= 0) end[count++] = body[0];
    if (body[1] >= 0 && body[1] != body[0]) end[count++] = body[1];
    return count;
}

/* How much hangs on a vertex: its contacts, or the blocks in its row. */
static inline int64_t cs_graph_degree(const cs_graph *graph, int64_t vertex)
{
    return graph->start[vertex + 1] - graph->start[vertex];
}

/* The vertices that have edges, by breadth-first levels from an outermost one of each connected
 * component; a level meets the ones before and behind it only. Inside a level the vertices stand as
 * they are found, those of lower degree first: Cuthill and McKee's order. */
typedef struct cs_levels {
    int64_t *vertex; /* (count), level after level */
    int64_t count;
    int64_t *start; /* (levels + 1) into vertex */
    int64_t levels;
} cs_levels;

cs_status cs_graph_levels(const cs_graph *graph, cs_arena *scratch, cs_levels *levels,
                          cs_error *error);

#endif
