/* A border that all parts visit at once, each with velocities of its own; their changes are added in the order of the parts
 * (S1 section 7.1). */
#include "core/counting_sort.h"
#include "core/error.h"
#include "order/graph_partition.h"

/* The lowest part that a block lies between. */
static int64_t lowest_part(const cs_graph *graph, const cs_parts *parts, int64_t block)
{
    int64_t end[CS_MAX_PARTNERS], lowest = parts->count - 1;
    int ends = cs_graph_ends(graph, block, end);
    for (int i = 0; i < ends; i++)
        if (parts->label[end[i]] < lowest) lowest = parts->label[end[i]];
    return lowest;
}

cs_status cs_plan_concurrent_border(const cs_graph *graph, const cs_parts *parts, int64_t first,
                                    cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    /* Sort the border by part. */
    int64_t blocks = graph->problem->blocks, count = blocks - first;
    int64_t *part = cs_arena_take_unset(scratch, blocks, sizeof(int64_t));
    int64_t *border = cs_arena_take_unset(scratch, count, sizeof(int64_t));
    int64_t *start = cs_arena_take(scratch, parts->count + 1, sizeof(int64_t));
    if (cs_arena_failed(scratch)) return cs_no_memory(error, "the border of the parts");
    for (int64_t i = 0; i < count; i++) {
        border[i] = plan->block[first + i];
        part[border[i]] = lowest_part(graph, parts, border[i]);
    }
    cs_counting_sort sort = {
        .threads = graph->threads,
        .count = count,
        .item = border,
        .key = part,
        .keys = parts->count,
        .sorted = plan->block + first,
        .start = start,
    };
    cs_status status = cs_sort_by_key(&sort, scratch, error);
    if (status) return status;

    /* One stage, with a part of it for each part that has blocks. */
    for (int64_t p = 0; p < parts->count; p++)
        if (start[p] < start[p + 1]) plan->cut[first + start[p]] = 1;
    cs_plan_close(plan, CS_CONCURRENT, blocks);
    return CS_OK;
}
