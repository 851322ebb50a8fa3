#include "measure/measure.h"

/* S1 eq. 3.30 */
static double evaluate(cs_state *state) { return state->merit; }

const cs_measure cs_measure_merit = {
    .name = "merit",
    .summary = "sum of squared changes in the last sweep [N^2 s^2] (S1 eq. 3.30)",
    .of_sweep = CS_SWEEP_MERIT,
    .across = CS_SUM,
    .evaluate = evaluate,
};
