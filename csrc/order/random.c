/* order="random": one random permutation for all sweeps. */
#include "core/splitmix.h"
#include "order/schedule.h"

static cs_status plan_random(const cs_problem *problem, const cs_order_options *options,
                             cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    (void)scratch, (void)error;

    /* Shuffle (Fisher and Yates). */
    uint64_t state = options->seed;
    for (int64_t i = 0; i < problem->blocks; i++) plan->block[i] = i;
    for (int64_t i = problem->blocks - 1; i > 0; i--) {
        int64_t j = (int64_t)(cs_splitmix(&state) % (uint64_t)(i + 1)), swap = plan->block[i];
        plan->block[i] = plan->block[j];
        plan->block[j] = swap;
    }
    cs_plan_close(plan, CS_SEQUENTIAL, problem->blocks);
    return CS_OK;
}

const cs_order cs_order_random = {
    .name = "random",
    .summary = "one random order, the same in every sweep (option rng)",
    .about = "The solver's option rng is its seed.",
    .draws = 1,
    .plan = plan_random,
};
