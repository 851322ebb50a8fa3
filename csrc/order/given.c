#include "core/error.h"
#include "order/schedule.h"

#include <string.h>

static cs_status plan_given(const cs_problem *problem, const cs_order_options *options,
                            cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    int64_t count = problem->blocks;
    if (!options->permutation)
        return cs_fail(error, CS_INVALID, "order='given' needs a permutation of the contacts");
    int64_t *seen = cs_arena_take(scratch, count, sizeof(int64_t));
    if (!seen) return cs_fail(error, CS_NO_MEMORY, "out of memory for the order");
    for (int64_t i = 0; i < count; i++) {
        int64_t block = options->permutation[i];
        if (block < 0 || block >= count)
            return cs_fail(error, CS_INVALID, "order[%lld] is %lld: contacts run from 0 to %lld",
                           (long long)i, (long long)block, (long long)count - 1);
        if (seen[block])
            return cs_fail(error, CS_INVALID,
                           "order[%lld] is %lld, as order[%lld] is: every contact is visited once",
                           (long long)i, (long long)block, (long long)seen[block] - 1);
        seen[block] = i + 1;
        plan->block[i] = block;
    }
    cs_plan_close(plan, CS_SEQUENTIAL, count);
    return CS_OK;
}

const cs_order cs_order_given = {
    .name = "given",
    .summary = "a permutation of one's own: pass it as the order",
    .plan = plan_given,
};
