/* The full error of the FCLIB community (Acary, Bremond, Huber: On solving contact problems with
 * Coulomb friction, 2018). With u = A lambda + b, u~ = u + (mu |u_T|, 0, 0) and the second-order
 * cone K = {|r_T| <= mu r_N}:
 *
 *     err = sqrt( sum_i |r_i - P_K(r_i - u~_i)|^2 ) / max(|b|, |r|, |u|)
 */
#include "measure/measure.h"

#include <math.h>

static double tangential_norm(int rows, const double *x)
{
    double square = 0;
    for (int i = 1; i < rows; i++) square += x[i] * x[i];
    return sqrt(square);
}

/* x <- P_K(x), Euclidean. */
static void project_cone(int rows, double mu, double *x)
{
    double tangential = tangential_norm(rows, x);
    if (mu * tangential <= -x[0]) { /* in the polar cone: asked first, for mu = 0 it is in both */
        for (int i = 0; i < rows; i++) x[i] = 0;
        return;
    }
    if (tangential <= mu * x[0]) return;
    double normal = (x[0] + mu * tangential) / (1 + mu * mu);
    x[0] = normal;
    for (int i = 1; i < rows; i++) x[i] *= mu * normal / tangential;
}

static double block_square(const cs_state *state, const cs_block_group *group, int64_t index)
{
    int rows = group->rows;
    double mu = group->set->frictional ? *cs_state_parameters(state, group, index) : 0;
    const double *r = state->lambda + group->first_row + index * rows;
    const double *u = state->xi + group->first_row + index * rows;
    double step[CS_MAX_ROWS] = {0}, square = 0;
    for (int i = 0; i < rows; i++) step[i] = r[i] - u[i];
    step[0] -= mu * tangential_norm(rows, u);
    project_cone(rows, mu, step);
    for (int i = 0; i < rows; i++) square += (r[i] - step[i]) * (r[i] - step[i]);
    return square;
}

static double norm(const double *x, int64_t count)
{
    double square = 0;
    for (int64_t i = 0; i < count; i++) square += x[i] * x[i];
    return sqrt(square);
}

static double evaluate(cs_state *state)
{
    const cs_problem *problem = state->problem;
    double square = 0;
    for (int g = 0; g < problem->block_groups; g++)
        for (int64_t k = 0; k < problem->block_group[g].count; k++)
            square += block_square(state, &problem->block_group[g], k);
    double scale = fmax(norm(state->b, problem->rows),
                        fmax(norm(state->lambda, problem->rows), norm(state->xi, problem->rows)));
    return scale > 2.2e-16 ? sqrt(square) / scale : sqrt(square);
}

static const char *obstacle(const cs_problem *problem)
{
    for (int g = 0; g < problem->block_groups; g++)
        if (problem->block_group[g].count && !problem->block_group[g].set->contact)
            return "it is defined for contacts, with Coulomb friction or without, only";
    return NULL;
}

const cs_measure cs_measure_fclib_error = {
    .name = "fclib_error",
    .summary = "full error of the FCLIB community, friction problems only [1]",
    .evaluate = evaluate,
    .obstacle = obstacle,
};
