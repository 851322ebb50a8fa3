/* Contact problems by pivoting: a sequence of mixed LCPs, each with fixed friction bounds.
 *
 *     bounds +-mu lambda_n of the last solve -> mixed LCP -> lambda -> judge, record, test
 *            ^                                                              |
 *            '----------------------- not converged ------------------------'
 *
 * Without friction one solve is the answer. The first solve leaves the tangents free, as S3 does, unless
 * initial impulses were given; each later solve starts with the last index set. If the option averaging is
 * not given, renewal.h updates the bounds.  S3 section 1.2.2, eq. 1.21 */
#include "methods/pivoting/contact.h"

#include "core/error.h"
#include "problem/friction.h"
#include "solver/judge.h"

#include <math.h>
#include <string.h>

/* ---- friction bounds -------------------------------------------------------------------------- */

/* Sets the bounds of one block. `normal` bounds the tangents; rows that no impulse moves keep their
 * impulses. */
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

        /* The bounds of the set; the first row of a contact is the normal. */
        if (box) {
            *lo = parameters[i];
            *hi = parameters[group->rows + i];
        } else if (!group->set->bilateral && i == 0) {
            *lo = 0;
        } else if (friction && !it->cold_start) {
            *hi = parameters[0] * p->normal[row];
            *lo = -*hi;
        } else if (!group->set->bilateral && !friction) {
            *lo = *hi = 0; /* the tangents of a frictionless contact */
        }

        /* Rows that no impulse moves. */
        if (it->run.state.rho[row + i] == 0) *lo = *hi = p->fixed[row + i];
    }
}

/* Sets the bounds of all blocks. */
static void set_bounds(cs_pivoting_run *it)
{
    const cs_problem *problem = it->run.solver->problem;
    for (int g = 0; g < problem->block_groups; g++)
        for (int64_t k = 0; k < problem->block_group[g].count; k++)
            bound_block(it, &problem->block_group[g], k);
}

/* normal += weight (lambda - normal): moves the normal impulses that bound friction towards those just
 * found. */
static void average_normals(cs_pivoting_run *it, double weight)
{
    cs_pivoting *p = it->pivoting;
    for (int64_t i = 0; i < it->run.solver->problem->rows; i++) {
        double found = fmax(it->run.solver->lambda[i], 0);
        p->normal[i] += weight * (found - p->normal[i]);
    }
}

/* Updates the normal impulses that bound friction, from those just found. */
static void renew_normals(cs_pivoting_run *it)
{
    cs_solver *solver = it->run.solver;
    cs_renewal *renewal = it->pivoting->renewal;
    if (it->cold_start || !renewal)
        average_normals(it, it->cold_start ? 1 : solver->options.averaging);
    else
        cs_renewal_next(renewal, it->run.state.rho, solver->lambda,
                        cs_natural_map_of(&it->run.state)->scaled, it->pivoting->normal);
}

/* Guesses from initial impulses what is unknown of the index set: a row is tight if its impulse is at a bound, or
 * nearly so. */
static void guess_index_set(cs_pivoting_run *it)
{
    const double near = 1e-6;
    cs_pivoting *p = it->pivoting;
    for (int64_t i = 0; i < it->run.solver->problem->rows; i++) {
        double lambda = it->run.solver->lambda[i], margin = near * fabs(lambda);
        if (p->index_set[i] != CS_INDEX_UNKNOWN) continue;
        p->index_set[i] = lambda <= p->lo[i] + margin   ? CS_INDEX_LOW
                          : lambda >= p->hi[i] - margin ? CS_INDEX_HIGH
                                                        : CS_INDEX_FREE;
    }
}

/* ---- interruption ----------------------------------------------------------------------------- */

cs_status cs_pivoting_aborted(const cs_pivoting_run *it, cs_error *error)
{
    if (!it->run.aborted) return CS_OK;
    return cs_fail(error, CS_INTERRUPTED, "interrupted at iteration %lld",
                   (long long)it->run.number);
}

/* The scaled natural map of solver->lambda. */
static double judge(cs_pivoting_run *it)
{
    cs_evaluate(it->run.solver, &it->run.state);
    return cs_natural_map_of(&it->run.state)->scaled;
}

void cs_pivoting_keep_better(cs_pivoting_run *it)
{
    double *before = it->pivoting->previous, *lambda = it->run.solver->lambda;
    size_t bytes = sizeof(double) * (size_t)it->run.solver->problem->rows;

    /* Judge the impulses after the step; swap them with those before it, and judge these. */
    double after = judge(it);
    for (int64_t i = 0; i < it->run.solver->problem->rows; i++) {
        double kept = lambda[i];
        lambda[i] = before[i];
        before[i] = kept;
    }

    /* Keep the better ones in both arrays. */
    int better = judge(it) <= after || isnan(after);
    if (bytes) memcpy(better ? before : lambda, better ? lambda : before, bytes);
}

/* ---- one solve ------------------------------------------------------------------------------- */

/* Explains in terms of the problem (rows, contacts, compliance) that A is not positive definite. */
static cs_status explain(cs_solver *solver, const cs_pivoting *p, cs_error *error)
{
    const cs_pivot_failure *failure = &p->mlcp->failure;
    if (failure->row < 0) return CS_UNSUPPORTED;
    solver->failure = (cs_row_failure){failure->row, failure->pivot, failure->entry, failure->cure};
    return cs_explain_failure(&solver->failure, solver->problem, failure->row, error);
}

/* One step with a polyhedral friction cone: solves the whole problem at once. */
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

    /* Report the counts and the outcome. */
    solver->figure_value[CS_PIVOTS] += (double)solve.pivots;
    solver->figure_value[CS_SINGLE_PIVOTS] += (double)solve.pivots;
    result->pivoting = cs_mlcp_outcome_name(solve.outcome);
    it->run.stopped = solve.outcome == CS_MLCP_STOPPED;
    return status;
}

/* figure += the counts of one solve; sizes of the cache are those of the last solve. */
static void add_counts(double *figure, const cs_mlcp_result *last)
{
    figure[CS_PIVOTS] += (double)last->pivots;
    figure[CS_SINGLE_PIVOTS] += (double)last->single_pivots;
    figure[CS_FACTORIZATIONS] += (double)last->factorizations;
    figure[CS_REUSE_SOLVES] += (double)last->reuse.solves;
    figure[CS_REUSE_STEPS] += (double)last->reuse.steps;
    figure[CS_REUSE_FAILED] += (double)last->reuse.failed;

    const cs_cache_counts *cache = &last->cache;
    double most = (double)cache->most_bytes;
    figure[CS_CACHED_HITS] += (double)cache->hits;
    figure[CS_CACHED_MISSES] += (double)cache->misses;
    figure[CS_CACHED_EVICTIONS] += (double)cache->evictions;
    figure[CS_CACHED_ENTRIES] = (double)cache->entries;
    figure[CS_CACHED_BYTES] = (double)cache->bytes;
    figure[CS_CACHED_MOST_BYTES] = fmax(figure[CS_CACHED_MOST_BYTES], most);
}

/* One step with friction bounds: solves the mixed LCP with the current ones. */
static cs_status run_mlcp(cs_pivoting_run *it, cs_result *result, cs_error *error)
{
    cs_solver *solver = it->run.solver;
    cs_pivoting *p = it->pivoting;
    int first = it->run.number == it->run.budget->made + 1;
    int pivots = first && p->coupled ? it->run.budget->pivots : 0;

    /* Later solves bound friction by the normal impulses of the last solve. */
    if (!first) renew_normals(it);
    if (!first) it->cold_start = 0;

    /* The first solve of a link in a chain may have few pivots. */
    p->mlcp->options.max_pivots = pivots ? pivots : solver->options.pivoting.max_pivots;
    set_bounds(it);

    /* Start with the last index set; in the first solve with that of the caller, or with one guessed from initial
     * impulses. Rules without factors take none. */
    int frees_all = first && it->cold_start && !it->run.budget->index_set;
    const signed char *initial = frees_all ? NULL : p->index_set;
    if (first && !frees_all) guess_index_set(it);
    if (p->mlcp->rule->no_factors) initial = NULL;

    cs_status status = cs_pivoting_mlcp(it, solver->b, initial, solver->lambda, result, error);
    it->first_unfinished = pivots && it->unfinished;
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

    /* Report the counts and the outcome. */
    add_counts(it->run.solver->figure_value, &answer);
    it->run.stopped = answer.outcome == CS_MLCP_STOPPED;
    it->unfinished = answer.outcome == CS_MLCP_MAX_PIVOTS;
    result->pivoting = cs_mlcp_outcome_name(answer.outcome);
    return CS_OK;
}

cs_status cs_pivoting_solve(cs_solver *solver, cs_budget *budget, cs_result *result,
                            cs_error *error)
{
    const cs_pivoting *p = solver->own;
    cs_pivoting_step step = p->cone ? run_cone : run_mlcp;
    return cs_pivoting_iterate(solver, budget, step, result, error);
}
