/* Inspects an iterate block by block: whether contacts are open, sticking or sliding, which bounds are
 * active, and how far each block is from a solution. */
#include "core/error.h"
#include "measure/measure.h"

#include <math.h>

/* tolerance x rho_s V: impulses up to this size count as zero for the coupled set. */
static double allowance(const cs_state *state, int64_t block, const cs_set_defect *set,
                        double tolerance)
{
    return tolerance * set->rho * state->scale[block];
}

/* Classifies a contact by its step z = lambda - rho xi. It is open if the prox of z has no normal impulse,
 * it slides if z lies outside the friction bound of a tangential set, and otherwise it sticks. A contact
 * that only rolls or spins sticks, too. */
static cs_activity contact_activity(const cs_state *state, const cs_block_group *group,
                                    int64_t index, const double *z, const cs_set_defect *sets,
                                    double tolerance)
{
    double nearest[CS_MAX_ROWS] = {0}, square[CS_MAX_ROWS] = {0};

    /* Open: the prox has no normal impulse. */
    for (int i = 0; i < group->rows; i++) nearest[i] = z[i];
    group->set->prox_f64(group->rows, nearest, cs_state_parameters(state, group, index), NULL);
    int64_t block = group->first_block + index;
    if (nearest[0] <= allowance(state, block, &sets[0], tolerance)) return CS_OPEN;

    /* Sliding: the prox moves the tangential impulse of a set that is no moment. */
    for (int i = 0; i < group->rows; i++)
        square[group->coupled_set[i]] += (z[i] - nearest[i]) * (z[i] - nearest[i]);
    for (int s = 0; s <= group->coupled_set[group->rows - 1]; s++) {
        if (group->set->moment[s]) continue;
        if (sqrt(square[s]) > allowance(state, block, &sets[s], tolerance)) return CS_SLIDE;
    }
    return CS_STICK;
}

/* Finds the active bounds of a block that is no contact. A row is at a bound if its step z ends beyond the
 * bound, or before it by less than the allowance. */
static void row_activities(const cs_state *state, const cs_block_group *group, int64_t index,
                           const double *z, const cs_set_defect *sets, double tolerance,
                           unsigned char *activity)
{
    double below[CS_MAX_ROWS], above[CS_MAX_ROWS], margin[CS_MAX_ROWS];
    const double *parameters = cs_state_parameters(state, group, index);

    /* Project the step, moved down and up by the allowance. */
    for (int i = 0; i < group->rows; i++) {
        const cs_set_defect *set = &sets[group->coupled_set[i]];
        margin[i] = allowance(state, group->first_block + index, set, tolerance);
        below[i] = z[i] - margin[i];
        above[i] = z[i] + margin[i];
    }
    group->set->prox_f64(group->rows, below, parameters, NULL);
    group->set->prox_f64(group->rows, above, parameters, NULL);

    /* The bound that moves its point more is the active one. */
    for (int i = 0; i < group->rows; i++) {
        double low = below[i] - (z[i] - margin[i]), high = z[i] + margin[i] - above[i];
        activity[i] = CS_FREE;
        if (low > 0 || high > 0) activity[i] = low >= high ? CS_LOW : CS_HIGH;
        if (group->set->bilateral) activity[i] = CS_FREE;
    }
}

/* Writes all results of one block. */
static void inspect_block(cs_state *state, const cs_block_group *group, int64_t index,
                          double tolerance, const cs_inspection *inspection)
{
    /* Its natural map, and its distance from the set. */
    cs_set_defect sets[CS_MAX_ROWS];
    int64_t block = group->first_block + index, row = cs_group_row(group, index);
    int count = cs_block_defects(state, group, index, sets);
    double z[CS_MAX_ROWS];
    cs_natural_map map = cs_no_defect();
    cs_set_bounds bounds = cs_bounds_of(state, block);
    for (int s = 0; s < count; s++) cs_add_set(&bounds, &sets[s], block, &map);
    inspection->natural_map[block] = map.impulse;
    inspection->natural_map_scaled[block] = map.scaled;
    inspection->worst_row[block] = map.worst.row;
    inspection->worst_velocity[block] = cs_defect_velocity(&map.worst);
    inspection->infeasibility[block] = cs_block_infeasibility(state, group, index);

    /* Its activity, from the step z = lambda - rho xi. */
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

/* The scratch arrays of an inspection. */
typedef struct workspace {
    double *rho, *response, *parameters, *scale, *speed, *largest, *reach, *lambda, *xi;
    double *velocity, *magnitude;
    int64_t *island, islands;
} workspace;

static cs_status allocate(const cs_problem *problem, cs_arena *scratch, workspace *w,
                          cs_error *error)
{
    double **rows[] = {&w->rho, &w->response, &w->lambda, &w->xi, &w->magnitude};
    double **blocks[] = {&w->scale, &w->speed, &w->largest, &w->reach};
    for (int i = 0; i < 5; i++) *rows[i] = cs_arena_take(scratch, problem->rows, sizeof(double));
    for (int i = 0; i < 4; i++)
        *blocks[i] = cs_arena_take(scratch, problem->blocks, sizeof(double));
    w->parameters = cs_arena_take(scratch, problem->parameters, sizeof(double));
    w->velocity = cs_arena_take(scratch, problem->velocities, sizeof(double));
    w->island = cs_arena_take(scratch, problem->blocks, sizeof(int64_t));
    return cs_arena_status(scratch, error, "the inspection");
}

/* Computes rho and a_s of every set, and finds the islands. The parameters are those of the problem. */
static cs_status prepare_scales(const cs_problem *problem, workspace *w, cs_error *error)
{
    int64_t islands;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t i = 0; i < group->count * group->parameters; i++)
            w->parameters[group->first_parameter + i] = group->parameter[i];
        for (int64_t k = 0; k < group->count; k++) {
            double diagonal[CS_MAX_ROWS * CS_MAX_ROWS];
            cs_diagonal_block(problem, group, k, diagonal);
            cs_set_scales(group, diagonal, w->rho + cs_group_row(group, k));
        }
    }
    cs_find_couplings(problem, w->rho, w->response);
    cs_find_responses(problem, w->rho, 1, w->response);
    cs_status status = cs_problem_islands(problem, w->island, &islands, error);
    if (!status) w->islands = cs_number_all_islands(problem, 1, w->island);
    return status;
}

cs_status cs_problem_inspect(const cs_problem *problem, const double *impulses, const double *xi,
                             const double *b, const double *parameters, double tolerance,
                             const cs_inspection *inspection, cs_error *error)
{
    cs_arena scratch = {0};
    workspace w = {0};
    cs_status status = CS_OK;
    if (cs_problem_is_open(problem))
        status = cs_fail(error, CS_INVALID, "the problem has neither Jacobians nor a matrix");
    if (!status) status = allocate(problem, &scratch, &w, error);
    if (!status) status = prepare_scales(problem, &w, error);
    if (status) goto out;

    /* Find the speed V of each island. */
    cs_shared_products one_thread = {0};
    cs_scale_data data = {
        .problem = problem,
        .shared = &one_thread,
        .b = b,
        .parameters = parameters ? parameters : w.parameters,
        .rho = w.rho,
        .response = w.response,
        .island = w.island,
        .islands = w.islands,
        .scale = w.scale,
        .speed = w.speed,
        .largest = w.largest,
        .reach = w.reach,
        .lambda = w.lambda,
        .xi = w.xi,
        .magnitude = w.magnitude,
        .velocity = w.velocity,
    };
    cs_find_scales(&data);

    /* Inspect every block at the given iterate. */
    cs_state state = {
        .problem = problem,
        .b = b,
        .parameters = data.parameters,
        .rho = w.rho,
        .scale = w.scale,
        .lambda = impulses,
        .xi = xi,
    };
    for (int g = 0; g < problem->block_groups; g++)
        for (int64_t k = 0; k < problem->block_group[g].count; k++)
            inspect_block(&state, &problem->block_group[g], k, tolerance, inspection);
out:
    cs_arena_clear(&scratch);
    return status;
}
