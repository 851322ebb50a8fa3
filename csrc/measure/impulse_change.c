/* S2's two termination criteria, on the change of the impulses in one sweep, as ratios that are at most 1
 * where the criterion is met.
 *
 *     |Lambda_i^(k+1) - Lambda_i^k| <= |Lambda_i^k| T_rel + T_abs for all i     S2 eq. 4.49
 *     |Lambda^(k+1) - Lambda^k|_2 <= |Lambda^k|_2 T_rel + T_abs                 S2 eq. 4.50
 *
 * T_rel and T_abs are rtol and atol of the solve. Without these the ratios are NaN. */
#include "measure/measure.h"

#include <math.h>

/* change / bound, where no change is within any bound, also within 0. */
static double ratio(double change, double bound)
{
    return change > 0 || isnan(change) ? change / bound : 0;
}

void cs_measure_change(cs_state *state, const double *old, const double *updated)
{
    double element = 0, change_square = 0, old_square = 0;

    /* Add up both norms, and find the largest ratio of an element. */
    for (int64_t i = 0; i < state->problem->rows; i++) {
        double change = fabs(updated[i] - old[i]);
        double here = ratio(change, fabs(old[i]) * state->rtol + state->atol);
        if (here > element || isnan(here)) element = here;
        change_square += change * change;
        old_square += old[i] * old[i];
    }

    /* Over the parts of the problem and all ranks. */
    if (state->sums) {
        change_square = cs_square_over_parts(state, updated, old);
        old_square = cs_square_over_parts(state, old, NULL);
        cs_ranks_largest(state->ranks, &element, 1);
    }

    /* An infinite norm would make every change vanish. */
    if (!isfinite(old_square)) change_square = (double)NAN;

    int defined = !state->no_tolerance;
    state->delta_element = defined ? element : (double)NAN;
    state->delta_norm =
        defined ? ratio(sqrt(change_square), sqrt(old_square) * state->rtol + state->atol)
                : (double)NAN;
}

static double evaluate_element(cs_state *state) { return state->delta_element; }
static double evaluate_norm(cs_state *state) { return state->delta_norm; }

const cs_measure cs_measure_delta_element = {
    .name = "delta_element",
    .summary = "largest change of an impulse over its tolerance [1]; met at 1 (S2 eq. 4.49)",
    .of_sweep = 1,
    .of_change = 1,
    .is_ratio = 1,
    .across = CS_LARGEST,
    .evaluate = evaluate_element,
};

const cs_measure cs_measure_delta_norm = {
    .name = "delta_norm",
    .summary = "norm of the change over its tolerance [1]; met at 1 (S2 eq. 4.50)",
    .of_sweep = 1,
    .of_change = 1,
    .is_ratio = 1,
    .evaluate = evaluate_norm,
};
