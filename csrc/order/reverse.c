#include "order/schedule.h"

static void sequence(const cs_problem *problem, uint64_t seed, int64_t *visits)
{
    (void)seed;
    for (int64_t i = 0; i < problem->blocks; i++) visits[i] = problem->blocks - 1 - i;
}

const cs_order cs_order_reverse = {
    .name = "reverse",
    .summary = "from the last contact to the first",
    .sequence = sequence,
};
