#include "measure/measure.h"

/* gamma = 1/2 |prox(lambda - R_const (A lambda + b)) - lambda|^2.  S1 eq. 3.32 */
static double evaluate(cs_state *state)
{
    double sum = 0;
    for (int g = 0; g < state->problem->block_groups; g++) {
        const cs_block_group *group = &state->problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++) {
            double z[CS_MAX_ROWS];
            const double *lambda = state->lambda + cs_group_row(group, k);
            const double *xi = state->xi + cs_group_row(group, k);
            for (int i = 0; i < group->rows; i++) z[i] = lambda[i] - state->quality_r * xi[i];
            group->set->prox_f64(group->rows, z, cs_state_parameters(state, group, k), NULL);
            for (int i = 0; i < group->rows; i++) sum += (z[i] - lambda[i]) * (z[i] - lambda[i]);
        }
    }
    return 0.5 * sum;
}

const cs_measure cs_measure_quality = {
    .name = "quality",
    .summary = "half the squared prox step with one large constant r [N^2 s^2] (S1 eq. 3.32)",
    .across = CS_SUM,
    .reads_quality_r = 1,
    .evaluate = evaluate,
};
