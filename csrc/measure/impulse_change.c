/* The change of the impulses in one sweep (measure/impulse_change.h), on the processor. Without a tolerance the ratios are
 * NaN. */
#include "measure/impulse_change.h"

#include "measure/measure.h"

#include <string.h>

/* Sums of lanes, of which the first `used` are not zero. The largest ratio needs no order: it is that of the bits of numbers
 * that are not negative, among which NaN is above infinity. */
typedef struct lanes {
    double change[CS_CHANGE_LANES], size[CS_CHANGE_LANES];
    int used;
    int64_t element;
} lanes;

static int64_t bits_of(double number)
{
    int64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

/* Adds up to CS_CHANGE_LANES rows, a lane each: cs_change_of_row and cs_change_add, written for vectors. */
CS_INLINE void add_rows(lanes *to, int count, const double *old, const double *updated, double rtol,
                        double atol)
{
    int64_t element = to->element;
    if (!to->used) {
        for (int l = 0; l < count; l++) to->change[l] = to->size[l] = 0;
        to->used = count;
    }
    for (int l = 0; l < count; l++) {
        double change = fabs(updated[l] - old[l]);
        double ratio = fabs(change / (fabs(old[l]) * rtol + atol));
        int64_t bits = bits_of(change == 0 ? 0 : ratio);
        element = bits > element ? bits : element;
        to->change[l] += change * change;
        to->size[l] += old[l] * old[l];
    }
    to->element = element;
}

/* Adds the sums of the i-th piece. */
static void add_piece(lanes *to, int64_t i, const cs_change_sums *piece)
{
    int64_t l = i % CS_CHANGE_LANES, bits = bits_of(piece->element);
    if (i < CS_CHANGE_LANES) {
        to->change[l] = to->size[l] = 0;
        to->used++;
    }
    to->change[l] += piece->change;
    to->size[l] += piece->size;
    if (bits > to->element) to->element = bits;
}

/* The sum over all lanes, in halves. */
static cs_change_sums total(lanes *all)
{
    cs_change_sums sums = {0, 0, 0};
    if (!all->used) return sums;
    for (int half = CS_CHANGE_LANES / 2; half; half /= 2)
        for (int l = 0; l + half < all->used && l < half; l++) {
            all->change[l] += all->change[l + half];
            all->size[l] += all->size[l + half];
        }
    memcpy(&sums.element, &all->element, sizeof sums.element);
    sums.change = all->change[0];
    sums.size = all->size[0];
    return sums;
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
            lanes rows;
            rows.used = 0;
            rows.element = 0;
            for (int64_t i = begin; i < begin + CS_CHANGE_ROWS && i < end; i += CS_CHANGE_LANES) {
                const double *before = old + i, *after = updated + i;
                if (end - i >= CS_CHANGE_LANES)
                    add_rows(&rows, CS_CHANGE_LANES, before, after, state->rtol, state->atol);
                else add_rows(&rows, (int)(end - i), before, after, state->rtol, state->atol);
            }
            cs_change_sums piece = total(&rows);
            add_piece(&pieces, made++, &piece);
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
