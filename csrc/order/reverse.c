/* order="reverse": from the last contact to the first. */
#include "order/schedule.h"

static cs_status plan_reverse(const cs_problem *problem, const cs_order_options *options,
                              cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    (void)options, (void)scratch, (void)error;
    for (int64_t i = 0; i < problem->blocks; i++) plan->block[i] = problem->blocks - 1 - i;
    cs_plan_close(plan, CS_SEQUENTIAL, problem->blocks);
    return CS_OK;
}

const cs_order cs_order_reverse = {
    .name = "reverse",
    .summary = "from the last contact to the first",
    .by_islands = cs_order_is_by_islands,
    .plan = plan_reverse,
};
