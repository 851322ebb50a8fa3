/* The change of the impulses in one sweep (measure/impulse_change.h), on the processor. Without a tolerance the ratios are
 * NaN. */
#include "measure/impulse_change.h"

#include "measure/measure.h"

/* Sums of lanes, of which the first `used` are not zero. */
typedef struct lanes {
    cs_change_sums lane[CS_CHANGE_LANES];
    int used;
} lanes;

/* Adds the i-th summand. */
static void add(lanes *to, int64_t i, cs_change_sums summand)
{
    if (i < CS_CHANGE_LANES) to->lane[to->used++] = summand;
    else cs_change_add(&to->lane[i % CS_CHANGE_LANES], &summand);
}

/* The sum over all lanes, in halves. */
static cs_change_sums total(lanes *all)
{
    if (!all->used) return (cs_change_sums){0, 0, 0};
    for (int half = CS_CHANGE_LANES / 2; half; half /= 2)
        for (int l = 0; l + half < all->used && l < half; l++)
            cs_change_add(&all->lane[l], &all->lane[l + half]);
    return all->lane[0];
}

/* Sums over all rows. */
static cs_change_sums sum_changes(const cs_state *state, const double *old, const double *updated)
{
    lanes pieces = {.used = 0};
    int64_t made = 0;
    for (int g = 0; g < state->problem->block_groups; g++) {
        const cs_block_group *group = &state->problem->block_group[g];
        int64_t begin = group->first_row, end = cs_group_row(group, group->count);
        for (; begin < end; begin += CS_CHANGE_ROWS) {
            int64_t count = end - begin < CS_CHANGE_ROWS ? end - begin : CS_CHANGE_ROWS;
            lanes rows = {.used = 0};
            for (int64_t i = 0; i < count; i++)
                add(&rows, i,
                    cs_change_of_row(old[begin + i], updated[begin + i], state->rtol, state->atol));
            add(&pieces, made++, total(&rows));
        }
    }
    return total(&pieces);
}

void cs_measure_change(cs_state *state, const double *old, const double *updated)
{
    cs_change_sums sums = sum_changes(state, old, updated);

    /* Over the parts of the problem and all ranks. */
    if (state->sums) {
        sums.change = cs_square_over_parts(state, updated, old);
        sums.size = cs_square_over_parts(state, old, NULL);
        cs_ranks_largest(state->ranks, &sums.element, 1);
    }

    cs_impulse_change ratios = {(double)NAN, (double)NAN};
    if (!state->no_tolerance) ratios = cs_change_of_all(&sums, state->rtol, state->atol);
    state->delta_element = ratios.element;
    state->delta_norm = ratios.norm;
}

static double evaluate_element(cs_state *state) { return state->delta_element; }
static double evaluate_norm(cs_state *state) { return state->delta_norm; }

const cs_measure cs_measure_delta_element = {
    .name = "delta_element",
    .summary = "largest change of an impulse over its tolerance [1]; met at 1 (S2 eq. 4.49)",
    .of_sweep = CS_SWEEP_DELTA_ELEMENT,
    .of_change = 1,
    .is_ratio = 1,
    .across = CS_LARGEST,
    .evaluate = evaluate_element,
};

const cs_measure cs_measure_delta_norm = {
    .name = "delta_norm",
    .summary = "norm of the change over its tolerance [1]; met at 1 (S2 eq. 4.50)",
    .of_sweep = CS_SWEEP_DELTA_NORM,
    .of_change = 1,
    .is_ratio = 1,
    .evaluate = evaluate_norm,
};
