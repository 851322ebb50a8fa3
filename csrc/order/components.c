#include "order/components.h"

#include "core/disjoint_sets.h"
#include "core/error.h"

#include <string.h>

typedef struct component_search {
    const cs_graph *graph;
    int64_t *block; /* (count): the blocks to sort into components */
    int64_t count;
    int64_t *parent; /* (vertices): disjoint-set forest; a root is its own parent */
    int64_t *member; /* given A, (blocks): 1 if the block is in `block` */
    int64_t *number; /* (vertices): the component (+ 1) of a root; 0 without one */
    int64_t components;
    int64_t *component; /* (count): the component of each block */
    int64_t *size;      /* (count): number of blocks of each component */
    int64_t *part;      /* (components): the part that gets the component */
} component_search;

/* Unites the vertices that the blocks connect. */
static void join_all(component_search *g)
{
    const cs_graph *graph = g->graph;

    /* Begin with single vertices. For a given A, only couplings between members of `block` count. */
    for (int64_t v = 0; v < graph->vertices; v++) g->parent[v] = v;
    for (int64_t i = 0; i < g->count && graph->column; i++) g->member[g->block[i]] = 1;

    /* Unite over each block's bodies, or over its row of A. */
    for (int64_t i = 0; i < g->count; i++) {
        int64_t block = g->block[i], end[CS_MAX_PARTNERS];
        int ends = cs_graph_ends(graph, block, end);
        for (int e = 1; e < ends; e++) cs_disjoint_unite(g->parent, end[0], end[e]);
        if (!graph->column) continue;
        for (int64_t e = graph->start[block]; e < graph->start[block + 1]; e++)
            if (g->member[graph->column[e]]) cs_disjoint_unite(g->parent, block, graph->column[e]);
    }
}

/* Numbers the components by their first blocks. A block between immovable bodies is a component. */
static void number_components(component_search *g)
{
    for (int64_t i = 0; i < g->count; i++) {
        /* A block with a vertex belongs to the component of that vertex, or begins a new one. */
        int64_t end[CS_MAX_PARTNERS], component = g->components;
        int has_vertex = cs_graph_ends(g->graph, g->block[i], end);
        int64_t *number = has_vertex ? &g->number[cs_disjoint_root(g->parent, end[0])] : NULL;
        if (has_vertex && *number) component = *number - 1;
        else g->components++;
        if (has_vertex) *number = component + 1;

        /* Count the block. */
        g->component[i] = component;
        g->size[component]++;
    }
}

/* sorted <- the components, larger ones first, by counting sort. `place` (count + 2) is scratch and zero on
 * entry. */
static void sort_by_size(const component_search *g, int64_t *place, int64_t *sorted)
{
    int64_t most = g->count;
    for (int64_t c = 0; c < g->components; c++) place[most - g->size[c] + 1]++;
    for (int64_t i = 0; i < most; i++) place[i + 1] += place[i];
    for (int64_t c = 0; c < g->components; c++) sorted[place[most - g->size[c]]++] = c;
}

/* A binary heap of parts: part[0] has the smallest load, and the lowest number of those with that load. */
typedef struct heap {
    int64_t parts, *part;
    int64_t *load; /* (parts): blocks assigned to each part */
} heap;

/* Adds blocks to the load of the heap's top, and moves that part down to its place. */
static void add_to_top(heap *h, int64_t blocks)
{
    int64_t top = h->part[0], at = 0;
    h->load[top] += blocks;
    for (;;) {
        /* Find the smaller child. */
        int64_t child = 2 * at + 1, other = child + 1;
        if (child >= h->parts) break;
        int64_t a = h->part[child], b = other < h->parts ? h->part[other] : a;
        if (h->load[b] < h->load[a] || (h->load[b] == h->load[a] && b < a)) child = other, a = b;

        /* Stop where the child is not smaller; otherwise move it up. */
        if (h->load[a] > h->load[top] || (h->load[a] == h->load[top] && a > top)) break;
        h->part[at] = a;
        at = child;
    }
    h->part[at] = top;
}

/* Assigns the components to parts, largest first, each to the part with the fewest blocks so far. */
static cs_status assign_parts(component_search *g, int64_t parts, cs_arena *scratch,
                              cs_error *error)
{
    /* Allocate. */
    heap h = {.parts = parts};
    int64_t *place = cs_arena_take(scratch, g->count + 2, sizeof(int64_t));
    int64_t *sorted = cs_arena_take(scratch, g->components, sizeof(int64_t));
    g->part = cs_arena_take(scratch, g->components, sizeof(int64_t));
    h.part = cs_arena_take(scratch, parts, sizeof(int64_t));
    h.load = cs_arena_take(scratch, parts, sizeof(int64_t));
    if (cs_arena_failed(scratch)) return cs_no_memory(error, "groups of contacts");

    /* Assign the components, largest first. */
    sort_by_size(g, place, sorted);
    for (int64_t p = 0; p < parts; p++) h.part[p] = p;
    for (int64_t i = 0; i < g->components; i++) {
        g->part[sorted[i]] = h.part[0];
        add_to_top(&h, g->size[sorted[i]]);
    }
    return CS_OK;
}

/* Sorts the blocks by part, stably, and marks where the parts begin. */
static cs_status sort_visits(const component_search *g, int64_t parts, int64_t first,
                             cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    int64_t *start = cs_arena_take(scratch, parts + 2, sizeof(int64_t));
    int64_t *sorted = cs_arena_take(scratch, g->count, sizeof(int64_t));
    if (cs_arena_failed(scratch)) return cs_no_memory(error, "groups of contacts");

    /* Counting sort by part. */
    int64_t *next = start + 1;
    for (int64_t i = 0; i < g->count; i++) next[g->part[g->component[i]] + 1]++;
    for (int64_t p = 0; p < parts; p++) next[p + 1] += next[p];
    for (int64_t i = 0; i < g->count; i++) sorted[next[g->part[g->component[i]]]++] = g->block[i];
    memcpy(g->block, sorted, sizeof(int64_t) * (size_t)g->count);

    /* Mark the parts that are not empty. */
    for (int64_t p = 0; p < parts; p++)
        if (start[p] < start[p + 1]) plan->cut[first + start[p]] = 1;
    return CS_OK;
}

cs_status cs_plan_components(const cs_graph *graph, int64_t parts, int64_t first, int64_t end,
                             cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    /* Allocate. */
    component_search g = {.graph = graph, .block = plan->block + first, .count = end - first};
    if (!g.count) return CS_OK;
    if (parts > g.count) parts = g.count;
    g.parent = cs_arena_take(scratch, graph->vertices, sizeof(int64_t));
    g.member = cs_arena_take(scratch, graph->column ? graph->vertices : 0, sizeof(int64_t));
    g.number = cs_arena_take(scratch, graph->vertices, sizeof(int64_t));
    g.component = cs_arena_take(scratch, g.count, sizeof(int64_t));
    g.size = cs_arena_take(scratch, g.count, sizeof(int64_t));
    if (cs_arena_failed(scratch)) return cs_no_memory(error, "groups of contacts");

    /* Find the components, and distribute them over the parts. */
    join_all(&g);
    number_components(&g);
    cs_status status = assign_parts(&g, parts, scratch, error);
    return status ? status : sort_visits(&g, parts, first, scratch, plan, error);
}

/* label (blocks) <- the island of each block, numbered by their first blocks; -1 between immovable bodies.
 * Returns the number of islands. */
static int64_t label_islands(const component_search *g, int64_t *label)
{
    int64_t *number = g->size, islands = 0; /* overwrites the sizes, which nobody reads any more */
    for (int64_t i = 0; i < g->count; i++) number[i] = -1;
    for (int64_t i = 0; i < g->count; i++) {
        int64_t end[CS_MAX_PARTNERS], component = g->component[i];
        label[i] = -1;
        if (!cs_graph_ends(g->graph, i, end)) continue;
        if (number[component] < 0) number[component] = islands++;
        label[i] = number[component];
    }
    return islands;
}

cs_status cs_islands_of_matrix(const cs_problem *problem, int64_t *label, int64_t *islands,
                               cs_error *error)
{
    cs_arena scratch = {0};
    cs_graph graph;
    component_search g = {.graph = &graph, .count = problem->blocks};
    cs_status status = cs_graph_build(problem, &scratch, &graph, error);
    if (status) goto out;

    /* Search all blocks. */
    g.block = cs_arena_take(&scratch, g.count, sizeof(int64_t));
    g.parent = cs_arena_take(&scratch, graph.vertices, sizeof(int64_t));
    g.member = cs_arena_take(&scratch, graph.column ? graph.vertices : 0, sizeof(int64_t));
    g.number = cs_arena_take(&scratch, graph.vertices, sizeof(int64_t));
    g.component = cs_arena_take(&scratch, g.count, sizeof(int64_t));
    g.size = cs_arena_take(&scratch, g.count, sizeof(int64_t));
    status = cs_arena_status(&scratch, error, "islands");
    if (status) goto out;

    /* Find the components; those with a movable body are the islands. */
    for (int64_t i = 0; i < g.count; i++) g.block[i] = i;
    join_all(&g);
    number_components(&g);
    *islands = label_islands(&g, label);
out:
    cs_arena_clear(&scratch);
    return status;
}
