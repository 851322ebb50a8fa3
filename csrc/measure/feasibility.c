/* Which conditions of contact hold, one by one, in the units they have. */
#include "measure/measure.h"

#include <math.h>

double cs_block_infeasibility(const cs_state *state, const cs_block_group *group, int64_t index)
{
    double z[CS_MAX_ROWS], square[CS_MAX_ROWS] = {0}, largest = 0;
    const double *lambda = state->lambda + cs_group_row(group, index);
    for (int i = 0; i < group->rows; i++) z[i] = lambda[i];
    group->set->prox_f64(group->rows, z, cs_state_parameters(state, group, index), NULL);
    for (int i = 0; i < group->rows; i++) {
        double change = lambda[i] - z[i], *sum = &square[group->coupled_set[i]];
        *sum += change * change;
        if (*sum > largest || isnan(*sum)) largest = *sum;
    }
    return sqrt(largest);
}

/* max(0, -xi_n) */
static double block_penetration(const cs_state *state, const cs_block_group *group, int64_t index)
{
    return fmax(0, -state->xi[cs_group_row(group, index)]);
}

/* |lambda_n xi_n|; over all rows of a second-order cone, whose normal row is not by itself. */
static double block_complementarity(const cs_state *state, const cs_block_group *group,
                                    int64_t index)
{
    int64_t row = cs_group_row(group, index);
    double product = 0;
    for (int i = 0; i < group->rows; i++)
        if (group->coupled_set[i] == 0) product += state->lambda[row + i] * state->xi[row + i];
    return fabs(product);
}

/* The most work that an impulse within the bound of coupled set s, for lambda_n = 1, can take from
 * the velocity xi: sup (-xi) . lambda_s.  S1 eq. 2.34 */
static double dissipation(const cs_state *state, const cs_block_group *group, int64_t index, int s,
                          const double *xi, double norm)
{
    if (!group->set->reach) return cs_friction_of(state, group, index, s) * norm;
    double against[CS_MAX_ROWS] = {0};
    for (int i = 1; i < group->rows; i++) against[i] = -xi[i];
    return group->set->reach(group->rows, s, cs_state_parameters(state, group, index), against);
}

/* |xi_s . lambda_s + lambda_n sup (-xi_s) . S|, for a disc |xi_t . lambda_t + mu lambda_n |xi_t||, the
 * largest over the coupled sets of rows beside the normal one: friction does the most work that its
 * bound allows. */
static double block_dissipation_gap(const cs_state *state, const cs_block_group *group,
                                    int64_t index)
{
    int64_t row = cs_group_row(group, index);
    const double *lambda = state->lambda + row, *xi = state->xi + row;
    double work[CS_MAX_ROWS] = {0}, square[CS_MAX_ROWS] = {0}, largest = 0;
    for (int i = 1; i < group->rows; i++) {
        work[group->coupled_set[i]] += xi[i] * lambda[i];
        square[group->coupled_set[i]] += xi[i] * xi[i];
    }
    for (int s = group->rows > 1 ? group->coupled_set[1] : CS_MAX_ROWS;
         s <= group->coupled_set[group->rows - 1]; s++) {
        double most = dissipation(state, group, index, s, xi, sqrt(square[s]));
        double gap = fabs(work[s] + lambda[0] * most);
        if (gap > largest || isnan(gap)) largest = gap;
    }
    return largest;
}

/* The largest value of all blocks, or of all contacts; keeps a NaN. */
static double largest(cs_state *state, int contacts,
                      double (*of_block)(const cs_state *, const cs_block_group *, int64_t))
{
    double most = 0;
    for (int g = 0; g < state->problem->block_groups; g++) {
        const cs_block_group *group = &state->problem->block_group[g];
        if (contacts && !group->set->contact) continue;
        for (int64_t k = 0; k < group->count; k++) {
            double value = of_block(state, group, k);
            if (value > most || isnan(value)) most = value;
        }
    }
    return most;
}

static double evaluate_infeasibility(cs_state *state)
{
    return largest(state, 0, cs_block_infeasibility);
}

static double evaluate_penetration(cs_state *state) { return largest(state, 1, block_penetration); }

static double evaluate_complementarity(cs_state *state)
{
    return largest(state, 1, block_complementarity);
}

static double evaluate_dissipation_gap(cs_state *state)
{
    return largest(state, 1, block_dissipation_gap);
}

/* Other blocks beside contacts are passed over; without contacts there is nothing to measure. */
static const char *no_contacts(const cs_problem *problem)
{
    int contacts = problem->blocks == 0;
    for (int g = 0; g < problem->block_groups; g++)
        contacts |= problem->block_group[g].set->contact;
    return contacts ? NULL : "it is defined for contacts, and there are none";
}

const cs_measure cs_measure_infeasibility = {
    .name = "infeasibility",
    .summary = "largest distance of an impulse from its set [N s]",
    .across = CS_LARGEST,
    .evaluate = evaluate_infeasibility,
};

const cs_measure cs_measure_penetration = {
    .name = "penetration",
    .summary = "largest approaching velocity of a contact [m/s]",
    .across = CS_LARGEST,
    .evaluate = evaluate_penetration,
    .obstacle = no_contacts,
};

const cs_measure cs_measure_complementarity = {
    .name = "complementarity",
    .summary = "largest |normal impulse x normal velocity| [J]",
    .across = CS_LARGEST,
    .evaluate = evaluate_complementarity,
    .obstacle = no_contacts,
};

const cs_measure cs_measure_dissipation_gap = {
    .name = "dissipation_gap",
    .summary = "largest lack of friction work against maximal dissipation [J]",
    .across = CS_LARGEST,
    .evaluate = evaluate_dissipation_gap,
    .obstacle = no_contacts,
};
