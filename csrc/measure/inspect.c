/* A state seen contact by contact: what each block does, and how far it is from a solution. */
#include "core/error.h"
#include "measure/measure.h"

#include <math.h>

/* tolerance x (|lambda_s| + rho_s max|b|): what counts as nothing for one coupled set. */
static double allowance(const cs_state *state, const cs_set_defect *set, double tolerance)
{
    return tolerance * (sqrt(set->norm_square) + set->rho * state->largest_b);
}

/* Open, sticking or sliding, by where the prox step lambda - rho xi arrives: where the normal impulse
 * nearest to it is none; beyond the friction bound along the tangents; neither. Rolling, and spinning
 * on the spot, is sticking. */
static cs_activity contact_activity(const cs_state *state, const cs_block_group *group,
                                    int64_t index, const double *z, const cs_set_defect *sets,
                                    double tolerance)
{
    double nearest[CS_MAX_ROWS] = {0}, square[CS_MAX_ROWS] = {0};
    for (int i = 0; i < group->rows; i++) nearest[i] = z[i];
    group->set->prox_f64(group->rows, nearest, cs_state_parameters(state, group, index), NULL);
    if (nearest[0] <= allowance(state, &sets[0], tolerance)) return CS_OPEN;
    for (int i = 0; i < group->rows; i++)
        square[group->coupled_set[i]] += (z[i] - nearest[i]) * (z[i] - nearest[i]);
    for (int s = 0; s <= group->coupled_set[group->rows - 1]; s++) {
        if (group->set->moment[s]) continue;
        if (sqrt(square[s]) > allowance(state, &sets[s], tolerance)) return CS_SLIDE;
    }
    return CS_STICK;
}

/* Which bound, if any, each row of another set is at: a step that would leave the set there, or stop
 * short of it by less than the allowance, is held by it. */
static void row_activities(const cs_state *state, const cs_block_group *group, int64_t index,
                           const double *z, const cs_set_defect *sets, double tolerance,
                           unsigned char *activity)
{
    double below[CS_MAX_ROWS], above[CS_MAX_ROWS], margin[CS_MAX_ROWS];
    const double *parameters = cs_state_parameters(state, group, index);
    for (int i = 0; i < group->rows; i++) {
        margin[i] = allowance(state, &sets[group->coupled_set[i]], tolerance);
        below[i] = z[i] - margin[i];
        above[i] = z[i] + margin[i];
    }
    group->set->prox_f64(group->rows, below, parameters, NULL);
    group->set->prox_f64(group->rows, above, parameters, NULL);
    for (int i = 0; i < group->rows; i++) {
        double low = below[i] - (z[i] - margin[i]), high = z[i] + margin[i] - above[i];
        activity[i] = CS_FREE;
        if (low > 0 || high > 0) activity[i] = low >= high ? CS_LOW : CS_HIGH;
        if (group->set->bilateral) activity[i] = CS_FREE;
    }
}

static void inspect_block(cs_state *state, const cs_block_group *group, int64_t index,
                          double tolerance, const cs_inspection *inspection)
{
    cs_set_defect sets[CS_MAX_ROWS];
    int64_t block = group->first_block + index, row = group->first_row + index * group->rows;
    int count = cs_block_defects(state, group, index, sets);
    double z[CS_MAX_ROWS], map = 0, scaled = 0;
    for (int s = 0; s < count; s++) {
        double scale = allowance(state, &sets[s], 1);
        if (!(sets[s].impulse <= map)) map = sets[s].impulse; /* keeps a NaN */
        if (!isfinite(scale)) map = NAN;                      /* as the natural map does */
        if (isnan(map)) scaled = map;
        else if (sets[s].impulse > 0) scaled = fmax(scaled, sets[s].impulse / scale);
    }
    inspection->natural_map[block] = map;
    inspection->natural_map_scaled[block] = scaled;
    inspection->infeasibility[block] = cs_block_infeasibility(state, group, index);
    for (int i = 0; i < group->rows; i++)
        z[i] = state->lambda[row + i] - state->rho[row + i] * state->xi[row + i];
    unsigned char *activity = inspection->activity + row;
    if (!group->set->contact) {
        row_activities(state, group, index, z, sets, tolerance, activity);
        return;
    }
    cs_activity found = contact_activity(state, group, index, z, sets, tolerance);
    for (int i = 0; i < group->rows; i++) activity[i] = (unsigned char)found;
}

cs_status cs_problem_inspect(const cs_problem *problem, const double *impulses, const double *xi,
                             const double *parameters, double largest_b, double tolerance,
                             const cs_inspection *inspection, cs_error *error)
{
    cs_arena scratch = {0};
    double *rho = cs_arena_take(&scratch, problem->rows, sizeof(double));
    double *own = cs_arena_take(&scratch, problem->parameters, sizeof(double));
    cs_status status = CS_OK;
    if (cs_problem_is_open(problem)) {
        status = cs_fail(error, CS_INVALID, "the problem has neither Jacobians nor a matrix");
        goto out;
    }
    if (!rho || !own) {
        status = cs_fail(error, CS_NO_MEMORY, "out of memory for the inspection");
        goto out;
    }
    cs_state state = {
        .problem = problem,
        .parameters = parameters ? parameters : own,
        .rho = rho,
        .largest_b = largest_b,
        .lambda = impulses,
        .xi = xi,
    };
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t i = 0; i < group->count * group->parameters; i++)
            own[group->first_parameter + i] = group->parameter[i];
        for (int64_t k = 0; k < group->count; k++) {
            double diagonal[CS_MAX_ROWS * CS_MAX_ROWS];
            cs_diagonal_block(problem, group, k, diagonal);
            cs_set_scales(group, diagonal, rho + group->first_row + k * group->rows);
            inspect_block(&state, group, k, tolerance, inspection);
        }
    }
out:
    cs_arena_clear(&scratch);
    return status;
}
