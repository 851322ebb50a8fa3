#include "measure/measure.h"

/* |prox(lambda - R_const (A lambda + b)) - lambda|^2 of one block */
static double block_square(const cs_state *state, const cs_block_group *group, int64_t index)
{
    double z[CS_MAX_ROWS], square = 0;
    const double *lambda = state->lambda + cs_group_row(group, index);
    const double *xi = state->xi + cs_group_row(group, index);
    for (int i = 0; i < group->rows; i++) z[i] = lambda[i] - state->quality_r * xi[i];
    group->set->prox_f64(group->rows, z, cs_state_parameters(state, group, index), NULL);
    for (int i = 0; i < group->rows; i++) square += (z[i] - lambda[i]) * (z[i] - lambda[i]);
    return square;
}

/* gamma = 1/2 |prox(lambda - R_const (A lambda + b)) - lambda|^2.  S1 eq. 3.32 */
static double part(const cs_state *state, int64_t begin, int64_t end)
{
    double sum = 0;
    for (int g = 0; g < state->problem->block_groups; g++) {
        const cs_block_group *group = &state->problem->block_group[g];
        int64_t k, last;
        if (!cs_group_part(group, begin, end, &k, &last)) continue;
        for (; k < last; k++) sum += block_square(state, group, k);
    }
    return 0.5 * sum;
}

/* The same for one block. A half is exact, so that the sum of halves is half the sum. */
static double of_block(const cs_state *state, const cs_block_group *group, int64_t index)
{
    return 0.5 * block_square(state, group, index);
}

const cs_measure cs_measure_quality = {
    .name = "quality",
    .summary = "half the squared prox step with one large constant r [N^2 s^2] (S1 eq. 3.32)",
    .across = CS_SUM,
    .part = part,
    .of_block = of_block,
};
