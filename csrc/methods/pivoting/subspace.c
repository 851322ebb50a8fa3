/* Gauss-Seidel with subspace minimization.  Silcowitz-Hansen, Niebe and Erleben 2010; S3 section 1.3.3
 *
 * Sweeps determine which contacts are open, stick and slide. Then a direct step solves for the rows that
 * remain free, with their bounds, and is followed as far as the energy decreases. In addition to the paper,
 * the friction of a sliding contact may turn in the direct step: along the circle that bounds it, where the
 * bound resists with the stiffness |xi_t| / radius (the curvature of the Lagrangian). */
#include "methods/pivoting/hybrid.h"

#include <math.h>
#include <string.h>

/* Stiffness that keeps a sliding contact on its circle, relative to its diagonal entry. */
#define STIFF 1e6

enum { SWEEPS, STEPS, OPTIONS };

static const cs_method_option option[OPTIONS] = {
    [SWEEPS] = CS_COUNT_OPTION("sweeps", 5, 0, "Gauss-Seidel sweeps after each direct step"),
    [STEPS] =
        CS_COUNT_OPTION("subspace_steps", 3, 1,
                        "direct steps per iteration, after which the friction bounds are updated"),
};

/* Adds the stiffness of a circular friction bound to the 2 x 2 diagonal block of the tangents from `row`
 * on: `stiffness` along the radius (`out`, a unit vector), `turning` along the circle. */
static void stiffen(cs_hybrid *hybrid, int64_t row, const double *out, double stiffness,
                    double turning)
{
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            double across = out[i] * out[j], along = (i == j) - across;
            *cs_hybrid_entry(hybrid, row + i, row + j) += stiffness * across + turning * along;
        }
}

/* Bounds the two tangents of a contact whose friction lies in a disc: by intervals if it sticks, by
 * stiffness if it slides. */
static void bound_disc(cs_pivoting_run *run, int64_t row, double radius)
{
    cs_pivoting *p = run->pivoting;
    cs_hybrid *hybrid = p->hybrid;
    const double *x = hybrid->x + row, *xi = hybrid->xi + row;
    double rho = run->run.state.rho[row], z[2] = {x[0] - rho * xi[0], x[1] - rho * xi[1]};
    double size = hypot(z[0], z[1]);
    if (!(rho > 0) || radius == 0) return;

    /* A sticking contact may move up to the bound in each tangent. */
    int slides = size > radius;
    for (int i = 0; i < 2; i++) {
        p->lo[row + i] = slides ? -INFINITY : fmin(-radius - x[i], 0);
        p->hi[row + i] = slides ? INFINITY : fmax(radius - x[i], 0);
    }

    /* A sliding contact moves along the circle only. */
    if (!slides) return;
    double out[2] = {z[0] / size, z[1] / size};
    stiffen(hybrid, row, out, STIFF / rho, fmin((size - radius) / radius, STIFF) / rho);
}

/* Bounds the friction rows of one block for the direct step, one coupled set after another. */
static void bound_friction(cs_pivoting_run *run, const cs_block_group *group, int64_t index)
{
    cs_pivoting *p = run->pivoting;
    int64_t row = cs_group_row(group, index);
    for (int i = 1; i < group->rows; i++) {
        /* The coupled set of row i, and whether the row is its first or its last one. */
        int s = group->coupled_set[i], first = group->coupled_set[i - 1] != s;
        int last = i + 1 == group->rows || group->coupled_set[i + 1] != s;
        double radius = cs_friction_of(&run->run.state, group, index, s) * p->normal[row];
        double x = p->hybrid->x[row + i];

        /* Two tangents share a disc; a tangent by itself has an interval. */
        if (first && !last) bound_disc(run, row + i, radius);
        if (!first || !last || !(run->run.state.rho[row + i] > 0)) continue;
        p->lo[row + i] = fmin(-radius - x, 0);
        p->hi[row + i] = fmax(radius - x, 0);
    }
}

/* Lets friction take part in the direct step, as far as balls bound it, and factors the matrix again. */
static cs_status free_friction(cs_pivoting_run *run, cs_error *error)
{
    const cs_problem *problem = run->run.solver->problem;
    cs_hybrid_load(run->run.solver);
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        if (!group->set->frictional) continue;
        for (int64_t k = 0; k < group->count; k++) bound_friction(run, group, k);
    }
    return cs_hybrid_factor(run->run.solver, &run->pivoting->hybrid->cancellation, error);
}

/* One iteration: direct steps, each with its sweeps, then new friction bounds. */
static cs_status step(cs_pivoting_run *run, cs_result *result, cs_error *error)
{
    cs_hybrid_begin(run);
    const double *setting = run->run.solver->setting;
    for (int64_t i = 0; i < (int64_t)setting[STEPS] && !run->run.stopped; i++) {
        /* A direct step on the free rows. */
        if (i) cs_hybrid_evaluate(run);
        cs_hybrid_bound(run);
        cs_status status = free_friction(run, error);
        if (!status) status = cs_hybrid_step(run, result, error);

        /* If the solve is to stop, the current iterate is the answer. */
        if (status == CS_INTERRUPTED && run->run.stopped) {
            *error = (cs_error){0};
            break;
        }
        if (status) return status;

        /* Sweeps. */
        cs_hybrid_sweep(run, (int64_t)setting[SWEEPS], 0);
        if (run->run.aborted) break;
    }
    cs_hybrid_end(run);
    return cs_pivoting_aborted(run, error);
}

static cs_status solve(cs_solver *solver, cs_budget *budget, cs_result *result, cs_error *error)
{
    return cs_pivoting_iterate(solver, budget, step, result, error);
}

const cs_method cs_method_subspace = {
    .name = "subspace",
    .summary = "Gauss-Seidel, and direct steps on the free rows: subspace minimization",
    .about = "Sweeps determine which contacts are open, stick and slide. A direct solve for the "
             "rows that remain free gives a step, which is followed as far as the energy falls. "
             "The normal impulses of the last iteration bound friction meanwhile. The method is "
             "made for large mass ratios and long chains of joints, where sweeps alone stall.",
    .paper = "Silcowitz-Hansen, Niebe and Erleben 2010; S3 section 1.3.3",
    .needs = CS_BIT(CS_NEEDS_FLOAT64),
    .solves = CS_BIT(CS_SOLVES_FRICTIONLESS) | CS_BIT(CS_SOLVES_JOINTS) |
              CS_BIT(CS_SOLVES_REDUNDANT) | CS_BIT(CS_SOLVES_MASS_RATIO),
    .option = option,
    .options = OPTIONS,
    .figure = cs_pivoting_figure,
    .figures = CS_PIVOTING_FIGURES,
    .stage = CS_SEQUENTIAL,
    .without_sweeps = 1,
    .check = cs_hybrid_check,
    .own = sizeof(cs_pivoting),
    .release = cs_pivoting_release,
    .describe = cs_pivoting_describe,
    .prepare = cs_hybrid_prepare,
    .solve = solve,
};
