#include "order/graph.h"

#include "core/ascending.h"
#include "core/error.h"
#include "core/parallel.h"
#include "order/conflicts.h"

/* Builds the graph, on so many threads if A is not given. */
static cs_status build(const cs_problem *problem, int threads, cs_arena *scratch, cs_graph *graph,
                       cs_error *error)
{
    *graph = (cs_graph){.problem = problem, .vertices = problem->bodies, .threads = threads};
    if (problem->matrix) {
        graph->vertices = problem->blocks;
        return cs_symmetric_pattern(problem->matrix, scratch, &graph->start, &graph->column, error);
    }
    cs_status status = cs_adjacency_share(problem, threads, scratch, &graph->adjacency, error);
    graph->start = graph->adjacency.start;
    return status;
}

cs_status cs_graph_build(const cs_problem *problem, cs_arena *scratch, cs_graph *graph,
                         cs_error *error)
{
    return build(problem, 1, scratch, graph, error);
}

cs_status cs_graph_share(const cs_problem *problem, const cs_order_options *options,
                         cs_arena *scratch, cs_graph *graph, cs_error *error)
{
    int threads = options->exact_threads ? cs_threads_exactly(options->threads, CS_MOST_PIECES)
                                         : cs_threads_for(options->threads, problem->blocks,
                                                          CS_WORTH_THREADS_SETUP, CS_MOST_PIECES);
    return build(problem, threads, scratch, graph, error);
}

/* ---- breadth-first levels -------------------------------------------------------------------- */

enum { MAX_SEARCHES = 4 }; /* per component, to find an outermost vertex; two usually suffice */

typedef struct search {
    const cs_graph *graph;
    cs_levels *levels;
    int64_t *found_in; /* (vertices): number of the last search that found the vertex */
    int64_t number;
} search;

/* Appends the neighbours of a vertex that this search has not found yet, lower degrees first. */
static void append_neighbors(search *s, int64_t vertex)
{
    const cs_graph *graph = s->graph;
    cs_levels *levels = s->levels;
    int64_t *found = levels->vertex + levels->count, count = 0;

    /* One number holds degree and vertex, so that sorting the numbers sorts by degree. */
    int partners = cs_graph_partners(graph);
    for (int64_t e = graph->start[vertex]; e < graph->start[vertex + 1]; e++)
        for (int number = 1; number < partners; number++) {
            int64_t other = cs_graph_other(graph, e, number);
            if (other < 0 || s->found_in[other] == s->number) continue;
            s->found_in[other] = s->number;
            found[count++] = cs_graph_degree(graph, other) * graph->vertices + other;
        }
    cs_sort_64(found, count);
    for (int64_t i = 0; i < count; i++) found[i] %= graph->vertices;
    levels->count += count;
}

/* Searches the component of `root` breadth first, and stores its vertices after the first `count` vertices and
 * its levels after the first `first` levels. */
static void search_levels(search *s, int64_t root, int64_t count, int64_t first)
{
    /* The root is the first vertex of the component. */
    cs_levels *levels = s->levels;
    s->found_in[root] = ++s->number;
    levels->vertex[count] = root;
    levels->levels = first;
    levels->count = count + 1;

    /* The neighbours of one level form the next one. */
    for (int64_t at = count; at < levels->count;) {
        int64_t end = levels->count;
        levels->start[levels->levels++] = at;
        for (; at < end; at++) append_neighbors(s, levels->vertex[at]);
    }
    levels->start[levels->levels] = levels->count;
}

/* A vertex of lowest degree in the last level. */
static int64_t outermost(const search *s)
{
    const cs_levels *levels = s->levels;
    int64_t at = levels->start[levels->levels - 1], best = levels->vertex[at];
    for (; at < levels->count; at++)
        if (cs_graph_degree(s->graph, levels->vertex[at]) < cs_graph_degree(s->graph, best))
            best = levels->vertex[at];
    return best;
}

cs_status cs_graph_levels(const cs_graph *graph, cs_arena *scratch, cs_levels *levels,
                          cs_error *error)
{
    /* Allocate. */
    search s = {.graph = graph, .levels = levels};
    *levels = (cs_levels){0};
    levels->vertex = cs_arena_take(scratch, graph->vertices, sizeof(int64_t));
    levels->start = cs_arena_take(scratch, graph->vertices + 1, sizeof(int64_t));
    s.found_in = cs_arena_take(scratch, graph->vertices, sizeof(int64_t));
    if (cs_arena_failed(scratch))
        return cs_no_memory(error, "the levels of %lld vertices", (long long)graph->vertices);

    /* Treat each component that no search has found yet. */
    for (int64_t vertex = 0; vertex < graph->vertices; vertex++) {
        int64_t count = levels->count, first = levels->levels, root = vertex, depth = 0;
        if (s.found_in[vertex] || !cs_graph_degree(graph, vertex)) continue;

        /* Search again from a vertex of the last level as long as the number of levels grows. */
        for (int i = 0; i < MAX_SEARCHES; i++) {
            search_levels(&s, root, count, first);
            if (levels->levels - first <= depth) break;
            depth = levels->levels - first;
            root = outermost(&s);
        }
    }
    return CS_OK;
}
