/* Coloured Gauss-Seidel, rigid and relaxed (S1 sections 4.3.1, 7.2): one independent stage a colour;
 * colours too small to share are, if asked, merged into an unsafe stage. */
#include "core/error.h"
#include "order/coloring.h"
#include "order/components.h"

/* Adds the colours below, or not below, `unsafe_below`; the small ones as one stage. */
static int64_t add_safe(const cs_order_options *options, const cs_coloring *coloring,
                        const int64_t *sorted, const int64_t *start, cs_plan *plan, int64_t at)
{
    for (int64_t c = 0; c < coloring->colors; c++) {
        if (coloring->size[c] < options->unsafe_below) continue;
        at = cs_plan_color(coloring, c, sorted, start, plan, at);
        cs_plan_close(plan, CS_INDEPENDENT, at);
    }
    return at;
}

/* How the unsafe stage runs: blind, in ranges blind to each other, or in groups of what depends on
 * each other (S1 section 7.4), which is Gauss-Seidel. */
static cs_status close_unsafe(const cs_problem *problem, const cs_order_options *options,
                              int64_t first, int64_t end, cs_arena *scratch, cs_plan *plan,
                              cs_error *error)
{
    cs_stage_kind kind = options->unsafe_simultaneous ? CS_SIMULTANEOUS : CS_CONCURRENT;
    if (options->unsafe_groups && first < end) {
        cs_graph graph;
        cs_status status = cs_graph_build(problem, scratch, &graph, error);
        if (!status)
            status = cs_plan_components(&graph, options->parts, first, end, scratch, plan, error);
        if (status) return status;
        kind = CS_DISJOINT;
    }
    cs_plan_close(plan, kind, end);
    if (kind != CS_CONCURRENT) return CS_OK;
    return cs_plan_cut_parts(problem, options, scratch, plan, first, end, error);
}

static cs_status add_unsafe(const cs_problem *problem, const cs_order_options *options,
                            const cs_coloring *coloring, const int64_t *sorted,
                            const int64_t *start, cs_arena *scratch, cs_plan *plan, int64_t *at,
                            cs_error *error)
{
    int64_t first = *at;
    for (int64_t c = 0; c < coloring->colors; c++)
        if (coloring->size[c] < options->unsafe_below)
            *at = cs_plan_color(coloring, c, sorted, start, plan, *at);
    return close_unsafe(problem, options, first, *at, scratch, plan, error);
}

static cs_status plan_colored(const cs_problem *problem, const cs_order_options *options,
                              cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    cs_coloring coloring;
    int64_t *sorted, *start, at = 0;
    cs_status status = cs_color(problem, options, scratch, &coloring, error);
    if (status) return status;
    if (cs_sort_colors(problem, &coloring, scratch, &sorted, &start))
        return cs_no_memory(error, "the colours");
    for (int64_t c = 0; c < coloring.colors; c++) cs_plan_add_to_color(plan, c, coloring.size[c]);
    plan->rounds = coloring.rounds;
    if (options->unsafe_first)
        status = add_unsafe(problem, options, &coloring, sorted, start, scratch, plan, &at, error);
    if (status) return status;
    at = add_safe(options, &coloring, sorted, start, plan, at);
    if (options->unsafe_first) return CS_OK;
    return add_unsafe(problem, options, &coloring, sorted, start, scratch, plan, &at, error);
}

const cs_order cs_order_colored = {
    .name = "colored",
    .summary = "colour by colour, no two contacts of one sharing a moving body (S1 section 4.3)",
    .plan = plan_colored,
};
