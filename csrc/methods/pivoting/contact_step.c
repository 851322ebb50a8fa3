/* Contact problems by pivoting: a mixed LCP for the friction bounds at hand, again and again.
 *
 *     bounds +-mu lambda_n of the last solve -> mixed LCP -> lambda -> measured, recorded, tested
 *            ^                                                              |
 *            '----------------------- not converged ------------------------'
 *
 * Without friction one solve is the answer. The first one leaves the tangents free, as S3 does,
 * unless impulses to begin with were given; each later one begins with the last index set. Where no
 * averaging was given, renewal.h says how bounds follow what is found.  S3 section 1.2.2, eq. 1.21 */
#include "methods/pivoting/contact.h"

#include "core/error.h"
#include "problem/friction.h"
#include "solver/judge.h"

#include <math.h>
#include <string.h>

/* ---- bounds at hand -------------------------------------------------------------------------- */

/* The bounds of one block, tangents by `normal`; rows that no impulse moves keep theirs. */
static void bound_block(cs_pivoting_run *it, const cs_block_group *group, int64_t index)
{
    cs_pivoting *p = it->pivoting;
    const double *parameters = cs_state_parameters(&it->run.state, group, index);
    int64_t row = cs_group_row(group, index);
    int box = group->set->bounds, friction = cs_has_intervals(group);
    for (int i = 0; i < group->rows; i++) {
        double *lo = &p->lo[row + i], *hi = &p->hi[row + i];
        *lo = -INFINITY;
        *hi = INFINITY;
        if (box) {
            *lo = parameters[i];
            *hi = parameters[group->rows + i];
        } else if (!group->set->bilateral && i == 0) {
            *lo = 0;
        } else if (friction && !it->begins_anew) {
            *hi = parameters[0] * p->normal[row];
            *lo = -*hi;
        } else if (!group->set->bilateral && !friction) {
            *lo = *hi = 0; /* a frictionless contact's tangents */
        }
        if (it->run.state.rho[row + i] == 0) *lo = *hi = p->fixed[row + i];
    }
}

static void set_bounds(cs_pivoting_run *it)
{
    const cs_problem *problem = it->run.solver->problem;
    for (int g = 0; g < problem->block_groups; g++)
        for (int64_t k = 0; k < problem->block_group[g].count; k++)
            bound_block(it, &problem->block_group[g], k);
}

/* The normal impulses that bound friction move on towards those just found. */
static void average_normals(cs_pivoting_run *it, double weight)
{
    cs_pivoting *p = it->pivoting;
    for (int64_t i = 0; i < it->run.solver->problem->rows; i++) {
        double found = fmax(it->run.solver->lambda[i], 0);
        p->normal[i] += weight * (found - p->normal[i]);
    }
}

static void renew_normals(cs_pivoting_run *it)
{
    cs_solver *solver = it->run.solver;
    cs_renewal *renewal = it->pivoting->renewal;
    if (it->begins_anew || !renewal)
        average_normals(it, it->begins_anew ? 1 : solver->options.averaging);
    else
        cs_renewal_next(renewal, it->run.state.rho, solver->lambda,
                        cs_natural_map_of(&it->run.state)->scaled, it->pivoting->normal);
}

/* An index set from impulses: what is at a bound, or nearly so, is tight. */
static void guess_index_set(cs_pivoting_run *it)
{
    const double near = 1e-6;
    cs_pivoting *p = it->pivoting;
    for (int64_t i = 0; i < it->run.solver->problem->rows; i++) {
        double lambda = it->run.solver->lambda[i], margin = near * fabs(lambda);
        p->index_set[i] = lambda <= p->lo[i] + margin   ? CS_INDEX_LOW
                          : lambda >= p->hi[i] - margin ? CS_INDEX_HIGH
                                                        : CS_INDEX_FREE;
    }
}

/* ---- left off -------------------------------------------------------------------------------- */

cs_status cs_pivoting_aborted(const cs_pivoting_run *it, cs_error *error)
{
    if (!it->run.aborted) return CS_OK;
    return cs_fail(error, CS_INTERRUPTED, "interrupted at iteration %lld",
                   (long long)it->run.number);
}

static double judge(cs_pivoting_run *it)
{
    cs_evaluate(it->run.solver, &it->run.state);
    return cs_natural_map_of(&it->run.state)->scaled;
}

void cs_pivoting_keep_better(cs_pivoting_run *it)
{
    double *before = it->pivoting->previous, *lambda = it->run.solver->lambda;
    size_t bytes = sizeof(double) * (size_t)it->run.solver->problem->rows;
    double after = judge(it);
    for (int64_t i = 0; i < it->run.solver->problem->rows; i++) {
        double kept = lambda[i];
        lambda[i] = before[i];
        before[i] = kept;
    }
    int better = judge(it) <= after || isnan(after);
    if (bytes) memcpy(better ? before : lambda, better ? lambda : before, bytes);
}

/* ---- one solve ------------------------------------------------------------------------------- */

/* A matrix that is not positive definite, in the words of the problem. */
static cs_status explain(cs_solver *solver, const cs_pivoting *p, cs_error *error)
{
    const cs_pivot_failure *failure = &p->mlcp->failure;
    if (failure->row < 0) return CS_UNSUPPORTED;
    solver->failure = (cs_row_failure){failure->row, failure->pivot, failure->entry, failure->cure};
    return cs_explain_failure(&solver->failure, solver->problem, failure->row, error);
}

/* The whole problem at once, friction being that of a polyhedral cone. */
static cs_status run_cone(cs_pivoting_run *it, cs_result *result, cs_error *error)
{
    cs_solver *solver = it->run.solver;
    cs_cone_solve solve = {
        .b = solver->b,
        .parameters = solver->parameters,
        .rho = solver->factors.rho,
        .control = it->control,
        .max_pivots = solver->options.pivoting.max_pivots,
        .lambda = solver->lambda,
    };
    memcpy(solver->lambda, it->pivoting->fixed, sizeof(double) * (size_t)solver->problem->rows);
    cs_status status = cs_cone_run(it->pivoting->cone, &solve, error);
    result->pivots += solve.pivots;
    result->single_pivots += solve.pivots;
    result->pivoting = cs_mlcp_outcome_name(solve.outcome);
    it->run.stopped = solve.outcome == CS_MLCP_STOPPED;
    return status;
}

/* What caches did in one more solve. */
static void add_counts(cs_cache_counts *sum, const cs_cache_counts *last)
{
    sum->hits += last->hits;
    sum->misses += last->misses;
    sum->evictions += last->evictions;
    sum->entries = last->entries;
    sum->bytes = last->bytes;
    if (last->most_bytes > sum->most_bytes) sum->most_bytes = last->most_bytes;
}

/* Solves with the bounds at hand. */
static cs_status run_mlcp(cs_pivoting_run *it, cs_result *result, cs_error *error)
{
    cs_solver *solver = it->run.solver;
    cs_pivoting *p = it->pivoting;
    int first = it->run.number == it->run.budget->made + 1;
    int pivots = first && p->coupled ? it->run.budget->pivots : 0;
    if (!first) renew_normals(it);
    if (!first) it->begins_anew = 0;
    p->mlcp->options.max_pivots = pivots ? pivots : solver->options.pivoting.max_pivots;
    set_bounds(it);
    if (first && !it->begins_anew) guess_index_set(it);
    const signed char *initial =
        first && it->begins_anew ? it->run.budget->index_set : p->index_set;
    if (p->mlcp->rule->no_factors) initial = NULL;
    cs_status status = cs_pivoting_mlcp(it, solver->b, initial, solver->lambda, result, error);
    it->too_long = pivots && it->unfinished;
    return status;
}

cs_status cs_pivoting_mlcp(cs_pivoting_run *it, const double *b, const signed char *initial,
                           double *x, cs_result *result, cs_error *error)
{
    cs_pivoting *p = it->pivoting;
    cs_mlcp_result answer = {.x = x, .index_set = p->index_set};
    cs_status status =
        cs_mlcp_solve(p->mlcp, b, p->lo, p->hi, initial, it->control, &answer, error);
    if (status) return status == CS_UNSUPPORTED ? explain(it->run.solver, p, error) : status;
    result->reuse.solves += answer.reuse.solves;
    result->reuse.steps += answer.reuse.steps;
    result->reuse.failed += answer.reuse.failed;
    it->run.stopped = answer.outcome == CS_MLCP_STOPPED;
    it->unfinished = answer.outcome == CS_MLCP_MAX_PIVOTS;
    result->pivots += answer.pivots;
    result->single_pivots += answer.single_pivots;
    result->factorizations += answer.factorizations;
    result->pivoting = cs_mlcp_outcome_name(answer.outcome);
    add_counts(&result->cache, &answer.cache);
    return CS_OK;
}

cs_status cs_pivoting_solve(cs_solver *solver, cs_budget *budget, cs_result *result,
                            cs_error *error)
{
    const cs_pivoting *p = solver->own;
    cs_pivoting_step step = p->cone ? run_cone : run_mlcp;
    return cs_pivoting_iterate(solver, budget, step, result, error);
}
