/* Measures of single contact conditions, each in its physical unit: feasible impulses, no penetration,
 * complementarity, maximal dissipation. */
#include "measure/measure.h"

#include <math.h>

double cs_block_infeasibility(const cs_state *state, const cs_block_group *group, int64_t index)
{
    double z[CS_MAX_ROWS], square[CS_MAX_ROWS] = {0}, largest = 0;
    const double *lambda = state->lambda + cs_group_row(group, index);

    /* Project the impulses. */
    for (int i = 0; i < group->rows; i++) z[i] = lambda[i];
    group->set->prox_f64(group->rows, z, cs_state_parameters(state, group, index), NULL);

    /* Take the largest distance of a coupled set. */
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

/* |lambda_n xi_n|, or |lambda . xi| over all rows of a second-order cone, which couples them. */
static double block_complementarity(const cs_state *state, const cs_block_group *group,
                                    int64_t index)
{
    int64_t row = cs_group_row(group, index);
    double product = 0;
    for (int i = 0; i < group->rows; i++)
        if (group->coupled_set[i] == 0) product += state->lambda[row + i] * state->xi[row + i];
    return fabs(product);
}

/* The largest dissipation rate at velocity xi of friction in coupled set s with lambda_n = 1:
 * sup (-xi_s) . lambda_s. `norm`: |xi_s|.  S1 eq. 2.34 */
static double dissipation(const cs_state *state, const cs_block_group *group, int64_t index, int s,
                          const double *xi, double norm)
{
    if (!group->set->reach) return cs_friction_of(state, group, index, s) * norm;
    double against[CS_MAX_ROWS] = {0};
    for (int i = 1; i < group->rows; i++) against[i] = -xi[i];
    return group->set->reach(group->rows, s, cs_state_parameters(state, group, index), against);
}

/* |xi_s . lambda_s + lambda_n sup (-xi_s) . S|, the largest over the coupled sets of tangential rows. It is
 * zero if friction dissipates as much as its bound allows; for a disc it is
 * |xi_t . lambda_t + mu lambda_n |xi_t||. */
static double block_dissipation_gap(const cs_state *state, const cs_block_group *group,
                                    int64_t index)
{
    int64_t row = cs_group_row(group, index);
    const double *lambda = state->lambda + row, *xi = state->xi + row;
    double work[CS_MAX_ROWS] = {0}, square[CS_MAX_ROWS] = {0}, largest = 0;

    /* xi_s . lambda_s and |xi_s|^2 of each set. */
    for (int i = 1; i < group->rows; i++) {
        work[group->coupled_set[i]] += xi[i] * lambda[i];
        square[group->coupled_set[i]] += xi[i] * xi[i];
    }

    /* Compare with the largest dissipation. */
    for (int s = group->rows > 1 ? group->coupled_set[1] : CS_MAX_ROWS;
         s <= group->coupled_set[group->rows - 1]; s++) {
        double most = dissipation(state, group, index, s, xi, sqrt(square[s]));
        double gap = fabs(work[s] + lambda[0] * most);
        if (gap > largest || isnan(gap)) largest = gap;
    }
    return largest;
}

/* The largest value over the blocks begin .. end - 1, or with `contacts` over the contacts among them; NaN if one of
 * them is. */
static double largest(const cs_state *state, int64_t begin, int64_t end, int contacts,
                      double (*of_block)(const cs_state *, const cs_block_group *, int64_t))
{
    double most = 0;
    for (int g = 0; g < state->problem->block_groups; g++) {
        const cs_block_group *group = &state->problem->block_group[g];
        int64_t k, last;
        if (contacts && !group->set->contact) continue;
        if (!cs_group_part(group, begin, end, &k, &last)) continue;
        for (; k < last; k++) {
            double value = of_block(state, group, k);
            if (value > most || isnan(value)) most = value;
        }
    }
    return most;
}

static double infeasibility(const cs_state *state, int64_t begin, int64_t end)
{
    return largest(state, begin, end, 0, cs_block_infeasibility);
}

static double penetration(const cs_state *state, int64_t begin, int64_t end)
{
    return largest(state, begin, end, 1, block_penetration);
}

static double complementarity(const cs_state *state, int64_t begin, int64_t end)
{
    return largest(state, begin, end, 1, block_complementarity);
}

static double dissipation_gap(const cs_state *state, int64_t begin, int64_t end)
{
    return largest(state, begin, end, 1, block_dissipation_gap);
}

/* These measures skip blocks that are no contacts, and are undefined if there are no others. */
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
    .part = infeasibility,
};

const cs_measure cs_measure_penetration = {
    .name = "penetration",
    .summary = "largest approaching velocity of a contact [m/s]",
    .across = CS_LARGEST,
    .part = penetration,
    .obstacle = no_contacts,
};

const cs_measure cs_measure_complementarity = {
    .name = "complementarity",
    .summary = "largest |normal impulse x normal velocity| [J]",
    .across = CS_LARGEST,
    .part = complementarity,
    .obstacle = no_contacts,
};

const cs_measure cs_measure_dissipation_gap = {
    .name = "dissipation_gap",
    .summary = "largest shortfall of friction work against maximal dissipation [J]",
    .across = CS_LARGEST,
    .part = dissipation_gap,
    .obstacle = no_contacts,
};
