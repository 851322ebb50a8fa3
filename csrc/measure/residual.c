#include "measure/measure.h"

/* S1 eq. 3.31 */
static double evaluate(cs_state *state) { return state->residual; }

const cs_measure cs_measure_residual = {
    .name = "residual",
    .summary = "largest change of an impulse in the last sweep [N s] (S1 eq. 3.31)",
    .of_sweep = CS_SWEEP_RESIDUAL,
    .across = CS_LARGEST,
    .evaluate = evaluate,
};
