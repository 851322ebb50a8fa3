/* S1's naive parallel Gauss-Seidel (section 7.1): near-equal contiguous ranges at once, each seeing
 * the others' values of the last sweep. */
#include "order/schedule.h"

enum { WEIGHTED, OPTIONS };

static const cs_option options_of_ranges[OPTIONS] = {
    [WEIGHTED] = CS_FLAG_OPTION(
        "weighted", 0,
        "balance the ranges by blocks of A, the cost of a visit with the scheme \"matrix\", "
        "instead of by contacts. Contacts are added until N/p blocks are reached (S1 section "
        "3.7.3), so that a range exceeds this number by at most the blocks of one contact. Where "
        "one contact has more than a range's share, there are fewer ranges"),
};

static cs_status plan_ranges(const cs_problem *problem, const cs_order_options *options,
                             cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    for (int64_t i = 0; i < problem->blocks; i++) plan->block[i] = i;
    cs_plan_close(plan, CS_CONCURRENT, problem->blocks);
    int weighted = cs_order_value(options, WEIGHTED) != 0;
    return cs_plan_cut_parts(problem, options->parts, weighted, scratch, plan, 0, problem->blocks,
                             error);
}

const cs_order cs_order_ranges = {
    .name = "ranges",
    .summary = "contiguous ranges in parallel, which do not see each other within a sweep (S1 "
               "section 7.1)",
    .about = "S1's naive parallel Gauss-Seidel: the contacts are divided into contiguous ranges, "
             "as many as the solver's option parts. The ranges are swept in parallel, and each "
             "sees the others as they were before the sweep.",
    .option = options_of_ranges,
    .options = OPTIONS,
    .divides = 1,
    .plan = plan_ranges,
};
