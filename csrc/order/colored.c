/* Coloured Gauss-Seidel, rigid and relaxed (S1 sections 4.3.1, 7.2): one independent stage a colour;
 * colours too small to share are, if asked, merged into an unsafe stage. */
#include "core/error.h"
#include "order/coloring.h"

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

static int64_t add_unsafe(const cs_order_options *options, const cs_coloring *coloring,
                          const int64_t *sorted, const int64_t *start, cs_plan *plan, int64_t at)
{
    for (int64_t c = 0; c < coloring->colors; c++)
        if (coloring->size[c] < options->unsafe_below)
            at = cs_plan_color(coloring, c, sorted, start, plan, at);
    cs_plan_close(plan, options->unsafe_simultaneous ? CS_SIMULTANEOUS : CS_CONCURRENT, at);
    return at;
}

static cs_status plan_colored(const cs_problem *problem, const cs_order_options *options,
                              cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    cs_coloring coloring;
    int64_t *sorted, *start, at = 0;
    cs_status status = cs_color(problem, options, scratch, &coloring, error);
    if (status) return status;
    if (cs_sort_colors(problem, &coloring, scratch, &sorted, &start))
        return cs_fail(error, CS_NO_MEMORY, "out of memory for the colours");
    plan->colors = (int)coloring.colors;
    plan->color_size = coloring.size;
    plan->rounds = coloring.rounds;
    if (!options->unsafe_first) at = add_safe(options, &coloring, sorted, start, plan, at);
    int64_t unsafe = at, end = add_unsafe(options, &coloring, sorted, start, plan, at);
    if (options->unsafe_first) add_safe(options, &coloring, sorted, start, plan, end);
    if (options->unsafe_simultaneous) return CS_OK;
    return cs_plan_cut_parts(problem, options, scratch, plan, unsafe, end, error);
}

const cs_order cs_order_colored = {
    .name = "colored",
    .summary = "colour by colour, no two contacts of one sharing a moving body (S1 section 4.3)",
    .plan = plan_colored,
};
