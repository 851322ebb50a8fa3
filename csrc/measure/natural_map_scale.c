/* The scales of the natural map: the step length rho of each coupled set and the speed V of each island. */
#include "measure/measure.h"

#include <float.h>
#include <math.h>
#include <string.h>

void cs_set_scales(const cs_block_group *group, const double *diagonal, double *rho)
{
    double largest[CS_MAX_ROWS] = {0};

    /* The largest diagonal entry of each set. */
    for (int i = 0; i < group->rows; i++) {
        double entry = diagonal[i * group->rows + i];
        int set = group->coupled_set[i];
        if (entry > largest[set]) largest[set] = entry;
    }

    /* Its inverse, or 0 if nothing moves or the inverse overflows. */
    for (int i = 0; i < group->rows; i++) {
        double inverse = 1 / largest[group->coupled_set[i]];
        rho[i] = isfinite(inverse) ? inverse : 0;
    }
}

/* Updates the largest |A| of a row and of a column by one entry. */
static void take_entry(void *context, int64_t row, int64_t column, double entry)
{
    double *coupling = context;
    coupling[row] = fmax(coupling[row], fabs(entry));
    coupling[column] = fmax(coupling[column], fabs(entry));
}

/* coupling (rows) <- the largest |A| in each row and column of a given A */
static void largest_couplings(const cs_problem *problem, double *coupling)
{
    for (int64_t i = 0; i < problem->rows; i++) coupling[i] = 0;
    cs_each_entry(problem, take_entry, coupling);
}

/* Sets rho of those sets of one block that have none, from the couplings. Returns the first row of these sets,
 * or -1. */
static int64_t take_couplings(const cs_block_group *group, int64_t row, const double *coupling,
                              double *rho)
{
    double largest[CS_MAX_ROWS] = {0};
    int64_t first = -1;
    for (int i = 0; i < group->rows; i++) {
        double *most = &largest[group->coupled_set[i]];
        *most = fmax(*most, coupling[row + i]);
    }
    for (int i = 0; i < group->rows; i++) {
        double most = largest[group->coupled_set[i]];
        if (rho[row + i] > 0 || !(most > 0)) continue;
        rho[row + i] = 1 / most;
        if (first < 0) first = row + i;
    }
    return first;
}

int64_t cs_find_couplings(const cs_problem *problem, double *rho, double *coupling)
{
    /* Only sets of a given A with zero diagonal entries need this. */
    int64_t first = -1, zeros = 0;
    for (int64_t i = 0; i < problem->rows && problem->matrix; i++) zeros += rho[i] == 0;
    if (zeros == 0) return -1;

    largest_couplings(problem, coupling);
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++) {
            int64_t row = cs_group_row(group, k);
            int64_t found = take_couplings(group, row, coupling, rho);
            if (first < 0) first = found;
        }
    }
    return first;
}

void cs_number_all_islands(const cs_problem *problem, int64_t *island)
{
    int64_t islands = 0;
    for (int64_t k = 0; k < problem->blocks; k++)
        if (island[k] >= islands) islands = island[k] + 1;
    for (int64_t k = 0; k < problem->blocks; k++)
        if (island[k] < 0) island[k] = islands++;
}

/* response <- a_s of one block's sets, from the diagonal of J M^-1 J^T. Where that is zero, only compliance
 * acts on the set, and 1 / rho stays. */
static void block_responses(const cs_problem *problem, const cs_block_group *group, int64_t index,
                            double *response)
{
    double diagonal[CS_MAX_ROWS * CS_MAX_ROWS], inverse[CS_MAX_ROWS];
    cs_mass_diagonal(problem, group, index, diagonal);
    cs_set_scales(group, diagonal, inverse);
    for (int i = 0; i < group->rows; i++)
        if (inverse[i] > 0) response[i] = 1 / inverse[i];
}

void cs_find_responses(const cs_problem *problem, const double *rho, double *response)
{
    for (int64_t i = 0; i < problem->rows; i++) response[i] = rho[i] > 0 ? 1 / rho[i] : 0;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        int soft = group->compliance || group->included;
        for (int64_t k = 0; soft && k < group->count; k++)
            block_responses(problem, group, k, response + cs_group_row(group, k));
    }
}

/* lambda <- P_C(0), xi <- A P_C(0) + b. Returns whether P_C(0) has a non-zero entry. */
static int project_zero(const cs_scale_data *data, double *lambda, double *xi, double *velocity)
{
    const cs_problem *problem = data->problem;
    int moved = 0;

    /* Project zero. */
    for (int64_t i = 0; i < problem->rows; i++) lambda[i] = 0;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        const double *parameters = data->parameters + group->first_parameter;
        for (int64_t k = 0; k < group->count; k++)
            group->set->prox_f64(group->rows, lambda + cs_group_row(group, k),
                                 parameters + k * group->parameters, NULL);
    }

    /* Without impulses xi is b. */
    for (int64_t i = 0; i < problem->rows; i++) moved |= lambda[i] != 0;
    if (moved) cs_residual_velocity(problem, lambda, data->b, velocity, xi);
    else if (problem->rows) memcpy(xi, data->b, sizeof(double) * (size_t)problem->rows);
    return moved;
}

/* Whether the velocities at P_C(0) in all rows of row i's coupled set are only rounding errors. */
static int is_rounding(const cs_state *state, const cs_block_group *group, int64_t row, int i,
                       const double *magnitude)
{
    for (int j = 0; j < group->rows; j++)
        if (group->coupled_set[j] == group->coupled_set[i] &&
            !(fabs(state->xi[row + j]) <= CS_FLOOR_UNITS * DBL_EPSILON * magnitude[row + j]))
            return 0;
    return 1;
}

/* max of a_s Delta_s(P_C(0)) over the sets of one block, without sets whose velocities are rounding errors. */
static double speed_of_block(const cs_state *state, const cs_block_group *group, int64_t index,
                             const cs_scale_data *data, int moved)
{
    cs_set_defect sets[CS_MAX_ROWS];
    double speed = 0;
    int64_t row = cs_group_row(group, index);
    cs_block_defects(state, group, index, sets);
    for (int i = 0; i < group->rows; i++) {
        if (moved && is_rounding(state, group, row, i, data->magnitude)) continue;
        speed = fmax(speed, data->response[row + i] * sets[group->coupled_set[i]].impulse);
    }
    return speed;
}

/* largest (islands) <- max |b| over the rows with rho > 0 */
static void largest_velocities(const cs_scale_data *data, double *largest)
{
    const cs_problem *problem = data->problem;
    for (int64_t k = 0; k < problem->blocks; k++) largest[k] = 0;
    for (int64_t k = 0; k < problem->blocks; k++) {
        double *most = &largest[data->island[k]];
        for (int64_t i = cs_block_row(problem, k); i < cs_block_end(problem, k); i++)
            if (data->rho[i] > 0) *most = fmax(*most, fabs(data->b[i]));
    }
}

void cs_find_scales(const cs_scale_data *data, double *lambda, double *xi, double *velocity,
                    double *scale)
{
    const cs_problem *problem = data->problem;
    cs_state state = {
        .problem = problem,
        .b = data->b,
        .parameters = data->parameters,
        .rho = data->rho,
        .lambda = lambda,
        .xi = xi,
    };

    /* Evaluate P_C(0), with a bound of its rounding errors. */
    int moved = project_zero(data, lambda, xi, velocity);
    if (moved) cs_magnitude(problem, lambda, data->b, velocity, data->magnitude);

    /* Take the largest speed of each island. */
    for (int64_t k = 0; k < problem->blocks; k++) data->speed[k] = 0;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++) {
            double *speed = &data->speed[data->island[group->first_block + k]];
            *speed = fmax(*speed, speed_of_block(&state, group, k, data, moved));
        }
    }

    /* A speed that the rounding errors of b explain counts as zero: the island needs no impulses. */
    largest_velocities(data, scale);
    for (int64_t k = 0; k < problem->blocks; k++)
        if (data->speed[k] <= CS_B_UNITS * DBL_EPSILON * scale[k]) data->speed[k] = 0;

    /* Copy the speeds from the islands to their blocks. */
    for (int64_t k = 0; k < problem->blocks; k++) scale[k] = data->speed[data->island[k]];
}
