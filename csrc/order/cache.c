/* An order for speed: contacts follow the bodies in memory, and a chunk of them, small enough for a
 * cache, is coloured at a time, so that neighbours in the sweep do not wait for each other.
 *
 *     domains     each part owns contiguous bodies: its inner contacts chunk by chunk, all parts at
 *                 once; then the contacts between parts, coloured: few synchronisations a sweep
 *     no domains  chunk by chunk, colour by colour: one synchronisation each
 */
#include "core/error.h"
#include "order/palette.h"
#include "order/parts.h"

#include <string.h>

enum { CHUNK = 4096 };

static cs_status no_memory(cs_error *error)
{
    return cs_fail(error, CS_NO_MEMORY, "out of memory for the order");
}

/* The vertices that contacts touch, in their own order or by breadth-first levels. */
static cs_status order_vertices(const cs_graph *graph, int breadth_first, cs_arena *scratch,
                                cs_levels *levels, cs_error *error)
{
    if (breadth_first) return cs_graph_levels(graph, scratch, levels, error);
    *levels = (cs_levels){0};
    levels->vertex = cs_arena_take(scratch, graph->vertices, sizeof(int64_t));
    if (!levels->vertex) return no_memory(error);
    for (int64_t v = 0; v < graph->vertices; v++)
        if (cs_graph_degree(graph, v)) levels->vertex[levels->count++] = v;
    return CS_OK;
}

/* Blocks sorted by the later of their vertices: when both have come up. Those without one, which
 * nothing moves, come first. */
static cs_status sort_blocks(const cs_graph *graph, const cs_levels *levels, cs_arena *scratch,
                             int64_t **sequence, cs_error *error)
{
    int64_t blocks = graph->problem->blocks;
    int64_t *place = cs_arena_take(scratch, graph->vertices, sizeof(int64_t)); /* from 1 on */
    int64_t *next = cs_arena_take(scratch, graph->vertices + 2, sizeof(int64_t));
    int64_t *key = cs_arena_take(scratch, blocks, sizeof(int64_t));
    *sequence = cs_arena_take(scratch, blocks, sizeof(int64_t));
    if (!place || !next || !key || !*sequence) return no_memory(error);
    for (int64_t i = 0; i < levels->count; i++) place[levels->vertex[i]] = i + 1;
    for (int64_t block = 0; block < blocks; block++) {
        int64_t end[2];
        int ends = cs_graph_ends(graph, block, end);
        for (int i = 0; i < ends; i++)
            if (place[end[i]] > key[block]) key[block] = place[end[i]];
        next[key[block] + 1]++;
    }
    for (int64_t i = 0; i <= graph->vertices; i++) next[i + 1] += next[i];
    for (int64_t block = 0; block < blocks; block++) (*sequence)[next[key[block]]++] = block;
    return CS_OK;
}

static cs_status plan_chunks(const cs_graph *graph, const int64_t *sequence, int64_t chunk,
                             cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    cs_palette palette;
    int64_t blocks = graph->problem->blocks;
    cs_status status = cs_palette_new(graph, scratch, &palette, error);
    if (status) return status;
    memcpy(plan->block, sequence, sizeof(int64_t) * (size_t)blocks);
    for (int64_t at = 0; at < blocks; at += chunk) {
        int64_t count = blocks - at < chunk ? blocks - at : chunk;
        int64_t colors = cs_palette_sort(&palette, plan->block + at, count);
        for (int64_t c = 0; c < colors; c++) {
            cs_plan_add_to_color(plan, c, cs_palette_size(&palette, c));
            cs_plan_close(plan, CS_INDEPENDENT, at + palette.end[c]);
        }
    }
    return CS_OK;
}

static cs_status plan_cache(const cs_problem *problem, const cs_order_options *options,
                            cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    cs_graph graph;
    cs_levels levels;
    int64_t *sequence, chunk = options->chunk ? options->chunk : CHUNK;
    if (chunk < 0)
        return cs_fail(error, CS_INVALID, "chunk is %lld: at least 1 is needed", (long long)chunk);
    if (chunk > problem->blocks) chunk = problem->blocks + 1;
    cs_status status = cs_graph_build(problem, scratch, &graph, error);
    if (!status) status = order_vertices(&graph, options->breadth_first, scratch, &levels, error);
    if (!status) status = sort_blocks(&graph, &levels, scratch, &sequence, error);
    if (status) return status;
    if (options->no_domains) return plan_chunks(&graph, sequence, chunk, scratch, plan, error);
    cs_parts parts = {.count = cs_parts_wanted(&graph, options)};
    parts.label = cs_arena_take(scratch, graph.vertices, sizeof(int64_t));
    if (!parts.label) return no_memory(error);
    cs_parts_cut(&graph, levels.vertex, NULL, levels.count, &parts);
    return cs_plan_parts(&graph, &parts, sequence, chunk, CS_BORDER_COLORED, scratch, plan, error);
}

const cs_order cs_order_cache = {
    .name = "cache",
    .summary = "for speed: contacts as their bodies lie in memory, coloured in small chunks",
    .plan = plan_cache,
};
