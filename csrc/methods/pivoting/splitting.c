/* Joints, boxes and normal impulses by direct solves, friction by sweeps.  Lacoursiere 2007; S3 section
 * 1.3.3
 *
 * The direct part is exact for any mass ratio. It exchanges impulses with friction once per pass: if the
 * two are strongly coupled, as in stiff chains that lie on the ground, thousands of passes are needed.
 * Therefore passes are steps of conjugate gradients, and the friction bounds are updated only after many
 * passes, because they converge only if each convex problem is nearly solved. */
#include "methods/pivoting/hybrid.h"

#include <string.h>

/* A pass whose squared size, relative to the first one, is below this counts as convergence. */
#define NEGLIGIBLE_PASS 1e-12

enum { SWEEPS, PASSES, OPTIONS };

static const cs_method_option option[OPTIONS] = {
    [SWEEPS] = CS_COUNT_OPTION("sweeps", 5, 0, "sweeps over friction after each direct step"),
    [PASSES] = CS_COUNT_OPTION("passes", 100, 1,
                               "maximum passes per iteration, after which the friction bounds are "
                               "updated; a pass is a direct step and its sweeps"),
};

/* One pass: a direct step with friction fixed, then sweeps over friction. */
static cs_status pass(cs_pivoting_run *run, cs_result *result, cs_error *error)
{
    cs_hybrid *hybrid = run->pivoting->hybrid;
    size_t bytes = sizeof(double) * (size_t)run->run.solver->problem->rows;
    if (bytes) memcpy(hybrid->before, hybrid->x, bytes);
    cs_hybrid_bound(run);
    cs_status status = cs_hybrid_step(run, result, error);
    if (!status) cs_hybrid_sweep(run, (int64_t)run->run.solver->setting[SWEEPS], 1);
    return status ? status : cs_pivoting_aborted(run, error);
}

/* One iteration: passes until they converge, then new friction bounds. */
static cs_status step(cs_pivoting_run *run, cs_result *result, cs_error *error)
{
    double first = 0, last = 0;
    cs_hybrid_begin(run);
    for (int64_t i = 0; i < (int64_t)run->run.solver->setting[PASSES] && !run->run.stopped; i++) {
        /* One pass, extrapolated. */
        if (i) cs_hybrid_evaluate(run);
        cs_status status = pass(run, result, error);
        if (status) return status;
        last = cs_hybrid_extrapolate(run, last);

        /* Stop if the passes have become negligible. */
        if (i == 0) first = last;
        if (last <= NEGLIGIBLE_PASS * first) break;
    }
    cs_hybrid_end(run);
    return CS_OK;
}

static cs_status prepare(cs_solver *solver, cs_budget *budget, cs_error *error)
{
    cs_status status = cs_hybrid_prepare(solver, budget, error);
    return status ? status : cs_hybrid_use_renewal(solver, error);
}

static cs_status solve(cs_solver *solver, cs_budget *budget, cs_result *result, cs_error *error)
{
    return cs_pivoting_iterate(solver, budget, step, result, error);
}

const cs_method cs_method_splitting = {
    .name = "splitting",
    .experimental = 1,
    .summary = "direct solves for joints and normal impulses, sweeps for friction",
    .about = "A pass is one direct solve for joints, boxes and normal impulses with friction "
             "fixed, followed by `sweeps` over friction with the others fixed. Passes are steps of "
             "conjugate gradients; an iteration makes up to `passes` of them and then updates the "
             "friction bounds. Where friction and joints are strongly coupled, as in a chain that "
             "lies on the ground, `subspace` mostly takes less time.",
    .paper = "Lacoursière 2007; S3 section 1.3.3; Silcowitz-Hansen, Niebe and Erleben 2010",
    .needs = CS_BIT(CS_NEEDS_FLOAT64),
    .solves =
        CS_BIT(CS_SOLVES_FRICTIONLESS) | CS_BIT(CS_SOLVES_JOINTS) | CS_BIT(CS_SOLVES_REDUNDANT),
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
    .prepare = prepare,
    .solve = solve,
};
