/* S1's naive parallel Gauss-Seidel (section 7.1): near-equal contiguous ranges at once, each seeing
 * the others' values of the last sweep. */
#include "order/schedule.h"

static cs_status plan_ranges(const cs_problem *problem, const cs_order_options *options,
                             cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    for (int64_t i = 0; i < problem->blocks; i++) plan->block[i] = i;
    cs_plan_close(plan, CS_CONCURRENT, problem->blocks);
    return cs_plan_cut_parts(problem, options, scratch, plan, 0, problem->blocks, error);
}

const cs_order cs_order_ranges = {
    .name = "ranges",
    .summary = "contiguous ranges at once, blind to each other within a sweep (S1 section 7.1)",
    .plan = plan_ranges,
};
