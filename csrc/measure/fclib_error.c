/* The full error of the FCLIB community (Acary, Bremond, Huber: On solving contact problems with
 * Coulomb friction, 2018). With u = A lambda + b, u~ = u + (mu |u_T|, 0, 0) and the second-order
 * cone K = {|r_T| <= mu r_N}; for rolling friction, u~ = u + (mu |u_T| + mu_r |u_R|, 0, ..., 0) and
 * K = {|r_T| <= mu r_N, |r_R| <= mu_r r_N}:
 *
 *     err = sqrt( sum_i |r_i - P_K(r_i - u~_i)|^2 ) / max(|b|, |r|, |u|)
 *
 * A bilateral constraint has K = R^m and u~ = u, so that its part is |u|^2. */
#include "measure/measure.h"

#include <math.h>

/* A friction cone {|x_s| <= c_s x_N for all s}, with |x_s| of one vector x. Section s = 0 holds the tangents
 * of Coulomb friction, section 1 the rolling moments. */
typedef struct sections {
    int count;
    double c[CS_MAX_ROWS], norm[CS_MAX_ROWS];
} sections;

/* s->norm <- |x_s| of each section. */
static void measure_sections(const cs_block_group *group, const double *x, sections *s)
{
    for (int i = 0; i < s->count; i++) s->norm[i] = 0;
    for (int i = 1; i < group->rows; i++) s->norm[group->coupled_set[i] - 1] += x[i] * x[i];
    for (int i = 0; i < s->count; i++) s->norm[i] = sqrt(s->norm[i]);
}

/* x_N of the Euclidean projection: the root of the concave, increasing and piecewise linear
 *
 *     g(t) = t - x_N - sum_s c_s max(0, |x_s| - c_s t)
 *
 * by Newton's method from the left, which needs at most one step per section. In the polar cone the root is
 * negative and the result 0. */
static double project_normal(const sections *s, double normal)
{
    double t = -INFINITY;
    for (int step = 0; step <= s->count; step++) {
        double numerator = normal, denominator = 1;
        for (int i = 0; i < s->count; i++) {
            if (!(s->norm[i] > s->c[i] * t) || s->c[i] == 0) continue;
            numerator += s->c[i] * s->norm[i];
            denominator += s->c[i] * s->c[i];
        }
        t = numerator / denominator;
    }
    return t > 0 ? t : 0;
}

/* x <- P_K(x), Euclidean. */
static void project_cone(const cs_block_group *group, sections *s, double *x)
{
    measure_sections(group, x, s);
    x[0] = project_normal(s, x[0]);
    for (int i = 1; i < group->rows; i++) {
        int section = group->coupled_set[i] - 1;
        double radius = s->c[section] * x[0];
        if (s->norm[section] > radius) x[i] *= radius / s->norm[section];
    }
}

/* |r - P_K(r - u~)|^2 of one block. */
static double block_square(const cs_state *state, const cs_block_group *group, int64_t index)
{
    int rows = group->rows;
    const double *r = state->lambda + cs_group_row(group, index);
    const double *u = state->xi + cs_group_row(group, index);
    double square = 0;

    /* Every impulse of a bilateral constraint is feasible. */
    if (group->set->bilateral) {
        for (int i = 0; i < rows; i++) square += u[i] * u[i];
        return square;
    }

    /* The cone of the block. */
    sections s = {.count = group->coupled_set[rows - 1]};
    for (int i = 0; i < s.count; i++) s.c[i] = cs_friction_of(state, group, index, i + 1);

    /* step = P_K(r - u~) */
    double step[CS_MAX_ROWS] = {0};
    for (int i = 0; i < rows; i++) step[i] = r[i] - u[i];
    measure_sections(group, u, &s);
    for (int i = 0; i < s.count; i++) step[0] -= s.c[i] * s.norm[i];
    project_cone(group, &s, step);

    for (int i = 0; i < rows; i++) square += (r[i] - step[i]) * (r[i] - step[i]);
    return square;
}

static double norm(const double *x, int64_t count)
{
    double square = 0;
    for (int64_t i = 0; i < count; i++) square += x[i] * x[i];
    return sqrt(square);
}

/* A cs_block_number. */
static double square_of(const cs_state *state, const void *context, const cs_block_group *group,
                        int64_t index)
{
    (void)context;
    return block_square(state, group, index);
}

/* The sum of the numerator's squares, and the largest norm, by parts of the problem. */
static double evaluate_by_parts(const cs_state *state, double *scale)
{
    const double *vector[] = {state->b, state->lambda, state->xi};
    *scale = 0;
    for (int i = 0; i < 3; i++)
        *scale = fmax(*scale, sqrt(cs_square_over_parts(state, vector[i], NULL)));
    return cs_sum_over_parts(state, square_of, NULL);
}

/* The same over all blocks in their order. */
static double evaluate_in_order(const cs_state *state, double *scale)
{
    const cs_problem *problem = state->problem;
    double square = 0;
    for (int g = 0; g < problem->block_groups; g++)
        for (int64_t k = 0; k < problem->block_group[g].count; k++)
            square += block_square(state, &problem->block_group[g], k);
    *scale = fmax(norm(state->b, problem->rows),
                  fmax(norm(state->lambda, problem->rows), norm(state->xi, problem->rows)));
    return square;
}

static double evaluate(cs_state *state)
{
    /* Numerator and denominator of err. */
    double scale = 0;
    double square =
        state->sums ? evaluate_by_parts(state, &scale) : evaluate_in_order(state, &scale);

    /* If a square overflows, the quotient could be 0 for a diverged iterate; report NaN instead. */
    if (!isfinite(square) || !isfinite(scale)) return (double)NAN;
    return scale > 2.2e-16 ? sqrt(square) / scale : sqrt(square);
}

static const char *obstacle(const cs_problem *problem)
{
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        if (group->count && !group->set->cone && !group->set->bilateral)
            return "it is defined for contacts with circular friction cones, or without friction, "
                   "and for bilateral constraints";
    }
    return NULL;
}

const cs_measure cs_measure_fclib_error = {
    .name = "fclib_error",
    .summary = "full error of the FCLIB community, friction problems only [1]",
    .evaluate = evaluate,
    .on_ranks = 1,
    .obstacle = obstacle,
};
