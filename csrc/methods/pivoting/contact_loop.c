/* The driver loop of methods that pivot. A step solves one mixed LCP, or several, and replaces
 * solver->lambda. */
#include "methods/pivoting/contact.h"

#include "solver/judge.h"

#include <math.h>
#include <string.h>

/* Called when a solve failed because A is not positive definite. If A is singular along a ray that proves
 * that no solution exists, the solve ends with this proof; otherwise it fails. */
static cs_status explain_by_ray(cs_run *run, cs_status failure, cs_error *error)
{
    cs_error failed = *error;
    cs_status status = cs_try_ray(run->solver, NULL, &run->proven, error);
    if (status) return status;
    *error = run->proven ? (cs_error){0} : failed;
    return run->proven ? CS_OK : failure;
}

/* Whether another step would find the same: without friction bounds that depend on impulses, the first
 * solve is the answer. */
static int is_final(const cs_pivoting_run *it)
{
    return it->first_unfinished || (!it->pivoting->coupled && !it->run.solver->fixed_iterations);
}

/* One iteration of the driver. */
static cs_step advance(cs_run *run)
{
    cs_pivoting_run *it = (cs_pivoting_run *)run;
    cs_solver *solver = run->solver;
    memcpy(it->pivoting->previous, solver->lambda, sizeof(double) * (size_t)solver->problem->rows);
    run->status = it->step(it, it->result, run->error);

    /* A failure may be explained by a proof that there is no solution. */
    if (run->status == CS_UNSUPPORTED) run->status = explain_by_ray(run, run->status, run->error);
    if (run->proven) {
        it->result->pivoting = "singular";
        run->stopped = 1;
    }
    if (run->status || run->proven) return CS_EXHAUSTED;

    /* Return the better impulses if the step was stopped. */
    if (run->stopped) cs_pivoting_keep_better(it);
    cs_run_note_change(run, it->pivoting->previous, solver->lambda);
    return is_final(it) ? CS_EXHAUSTED : CS_STEPPED;
}

/* The threads of the mixed LCP flush no denormals to zero; the driver keeps them too. */
static const cs_iteration iteration = {.step = advance, .needs_state = 1, .keeps_denormals = 1};

/* After a solve that did not converge: tests whether a ray proves that the problem has no solution, either
 * the ray of Lemke's method or the direction in which b drives the impulses. */
static cs_status try_rays(cs_pivoting_run *it, cs_result *result, cs_error *error)
{
    cs_run *run = &it->run;
    const double *ray = it->pivoting->cone ? it->pivoting->cone->ray : NULL;
    run->solver->unbounded = ray;
    if (strcmp(result->pivoting, "converged") == 0) return CS_OK;
    cs_status status = cs_try_ray(run->solver, ray, &run->proven, error);
    if (run->proven) result->outcome = CS_INFEASIBLE;
    return status;
}

/* Takes the initial impulses: they bound friction in the first solve, and rows that no impulse moves keep
 * them. Takes the initial index set, too. */
static void begin(cs_pivoting_run *it)
{
    const cs_solver *solver = it->run.solver;
    const signed char *set = it->run.budget->index_set;
    size_t rows = (size_t)solver->problem->rows;
    if (set) memcpy(it->pivoting->index_set, set, rows);
    else memset(it->pivoting->index_set, CS_INDEX_UNKNOWN, rows);
    it->cold_start = 1;
    if (it->pivoting->renewal) cs_renewal_begin(it->pivoting->renewal);
    for (int64_t i = 0; i < solver->problem->rows; i++) {
        it->cold_start &= solver->lambda[i] == 0;
        it->pivoting->fixed[i] = solver->lambda[i];
        it->pivoting->normal[i] = fmax(solver->lambda[i], 0);
    }
}

#define OF_CACHE(text, line)                                              \
    {                                                                     \
        .name = text, .summary = line, .group = "cache", .kind = CS_COUNT \
    }
#define OF_REUSE(text, line)                                              \
    {                                                                     \
        .name = text, .summary = line, .group = "reuse", .kind = CS_COUNT \
    }

const cs_figure cs_pivoting_figure[CS_PIVOTING_FIGURES] = {
    [CS_PIVOTS] = CS_COUNT_FIGURE("pivots", "changes of the index set, in all mixed LCPs"),
    [CS_SINGLE_PIVOTS] = CS_COUNT_FIGURE("single_pivots", "pivots that changed one row"),
    [CS_FACTORIZATIONS] = CS_COUNT_FIGURE("factorizations", "factors computed anew"),
    [CS_CACHED_HITS] = OF_CACHE("hits", "removals of tight rows that were found in the cache"),
    [CS_CACHED_MISSES] = OF_CACHE("misses", "removals of tight rows that were made"),
    [CS_CACHED_EVICTIONS] = OF_CACHE("evictions", "entries evicted because the cache was full"),
    [CS_CACHED_ENTRIES] = OF_CACHE("entries", "entries of the cache at the end"),
    [CS_CACHED_BYTES] = OF_CACHE("bytes", "memory of the entries at the end [bytes]"),
    [CS_CACHED_MOST_BYTES] = OF_CACHE("most_bytes", "peak memory of the entries [bytes]"),
    [CS_REUSE_SOLVES] =
        OF_REUSE("solves", "linear systems solved with a factor of an earlier matrix"),
    [CS_REUSE_STEPS] = OF_REUSE("steps", "steps of conjugate gradients for these"),
    [CS_REUSE_FAILED] = OF_REUSE("failed", "linear systems that needed a new factor"),
};

/* solver->index_found <- the index set of the last mixed LCP; the index of a row whose bounds are equal means nothing.
 * If the initial impulses were good enough, there was none: then the initial index set goes with them. */
static void keep_index_set(cs_pivoting_run *it)
{
    const cs_pivoting *p = it->pivoting;
    int was_solved = it->run.number > it->run.budget->made;
    for (int64_t i = 0; was_solved && i < it->run.solver->problem->rows; i++)
        if (p->lo[i] == p->hi[i]) p->index_set[i] = CS_INDEX_UNKNOWN;
    it->run.solver->index_found = p->index_set;
}

/* Leaves out the figures of the cache without a cache, and those of reuse if no factor was reused. */
static void leave_out_unused(cs_solver *solver)
{
    const cs_pivoting *pivoting = solver->own;
    double *figure = solver->figure_value;
    cs_mlcp_info mlcp = {.engine = ""};
    if (pivoting->mlcp) cs_mlcp_describe(pivoting->mlcp, &mlcp);
    int caches = strcmp(mlcp.engine, "cached") == 0, reuses = 0;

    for (int i = CS_REUSE_SOLVES; i <= CS_REUSE_FAILED; i++) reuses |= figure[i] > 0;
    for (int i = CS_CACHED_HITS; i <= CS_CACHED_MOST_BYTES && !caches; i++) figure[i] = NAN;
    for (int i = CS_REUSE_SOLVES; i <= CS_REUSE_FAILED && !reuses; i++) figure[i] = NAN;
}

cs_status cs_pivoting_iterate(cs_solver *solver, cs_budget *budget, cs_pivoting_step step,
                              cs_result *result, cs_error *error)
{
    cs_pivoting_run it = {
        .run = cs_run_begin(solver, budget, &iteration, error),
        .pivoting = solver->own,
        .result = result,
        .step = step,
    };

    /* Reset what the solve reports. */
    it.control = cs_control_until(&it.timed, budget->control, budget->deadline);
    result->pivoting = "converged";

    /* Iterate; without convergence, look for a proof that there is no solution. */
    begin(&it);
    cs_status status = cs_run_iterate(&it.run, result);
    if (!status && !it.run.converged && !it.run.proven) status = try_rays(&it, result, error);
    status = cs_run_end(&it.run, status, result);
    if (solver->method->takes_index_sets) keep_index_set(&it);
    leave_out_unused(solver);

    /* If the few pivots of the first solve were not enough, the chain goes on with its next method. */
    budget->overtaken = it.first_unfinished && !it.run.converged;
    return status;
}
