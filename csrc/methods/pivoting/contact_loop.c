/* Methods that pivot, in the driver's loop: a step is one mixed LCP, or several, and moves solver->lambda. */
#include "methods/pivoting/contact.h"

#include "solver/judge.h"

#include <math.h>
#include <string.h>

/* A matrix that is not definite may be so along a ray: then there is no solution, whatever the matrix. */
static cs_status explain_by_ray(cs_run *run, cs_status failure, cs_error *error)
{
    cs_error failed = *error;
    cs_status status = cs_try_ray(run->solver, NULL, &run->proven, error);
    if (status) return status;
    *error = run->proven ? (cs_error){0} : failed;
    return run->proven ? CS_OK : failure;
}

/* Whether another step would find the same: without friction, the first one is the answer. */
static int is_final(const cs_pivoting_run *it)
{
    return it->too_long || (!it->pivoting->coupled && !it->run.solver->fixed_iterations);
}

static cs_step advance(cs_run *run)
{
    cs_pivoting_run *it = (cs_pivoting_run *)run;
    cs_solver *solver = run->solver;
    memcpy(it->pivoting->previous, solver->lambda, sizeof(double) * (size_t)solver->problem->rows);
    run->status = it->step(it, it->result, run->error);
    if (run->status == CS_UNSUPPORTED) run->status = explain_by_ray(run, run->status, run->error);
    if (run->proven) {
        it->result->pivoting = "singular";
        run->stopped = 1;
    }
    if (run->status || run->proven) return CS_EXHAUSTED;
    if (run->stopped) cs_pivoting_keep_better(it);
    cs_run_note_change(run, it->pivoting->previous, solver->lambda);
    return is_final(it) ? CS_EXHAUSTED : CS_STEPPED;
}

/* Rows are eliminated and added up by threads that flush nothing to zero: nor does this one. */
static const cs_iteration iteration = {
    .step = advance, .unpacked = 1, .needs_state = 1, .keeps_denormals = 1};

/* What a solve without an answer has met: a ray of Lemke's, or the direction in which b drives impulses. */
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

/* Brings the impulses to begin with into the normals and what is fixed. */
static void begin(cs_pivoting_run *it)
{
    const cs_solver *solver = it->run.solver;
    it->begins_anew = 1;
    if (it->pivoting->renewal) cs_renewal_begin(it->pivoting->renewal);
    for (int64_t i = 0; i < solver->problem->rows; i++) {
        it->begins_anew &= solver->lambda[i] == 0;
        it->pivoting->fixed[i] = solver->lambda[i];
        it->pivoting->normal[i] = fmax(solver->lambda[i], 0);
    }
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
    it.control = cs_control_until(&it.timed, budget->control, budget->deadline);
    result->pivots = result->single_pivots = result->factorizations = 0;
    result->pivoting = "converged";
    result->cache = (cs_cache_counts){0};
    result->reuse = (cs_reuse_counts){0};
    begin(&it);
    cs_status status = cs_run_iterate(&it.run, result);
    if (!status && !it.run.converged && !it.run.proven) status = try_rays(&it, result, error);
    status = cs_run_end(&it.run, status, result);
    budget->overtaken = it.too_long && !it.run.converged;
    return status;
}
