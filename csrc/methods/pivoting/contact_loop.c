/* The loop around the steps of methods that pivot: measured, recorded and tested after each. */
#include "methods/pivoting/contact.h"

#include "core/clock.h"
#include "solver/judge.h"

#include <math.h>
#include <string.h>

/* A matrix that is not definite may be so along a ray: then there is no solution, whatever the matrix. */
static cs_status explain_by_ray(cs_pivoting_run *it, cs_status failure, cs_error *error)
{
    cs_error failed = *error;
    cs_status status = cs_try_ray(it->solver, NULL, &it->proven, error);
    if (status) return status;
    *error = it->proven ? (cs_error){0} : failed;
    return it->proven ? CS_OK : failure;
}

/* One solve; what has changed goes into the state. */
static cs_status advance(cs_pivoting_run *it, cs_result *result, cs_error *error)
{
    cs_solver *solver = it->solver;
    int64_t rows = solver->problem->rows;
    double start = cs_clock();
    it->number++;
    memcpy(it->pivoting->previous, solver->lambda, sizeof(double) * (size_t)rows);
    cs_status status = it->step(it, result, error);
    if (status == CS_UNSUPPORTED) status = explain_by_ray(it, status, error);
    if (it->proven) result->pivoting = "singular";
    if (status || it->proven) return status;
    if (it->stopped) cs_pivoting_keep_better(it);
    it->state.residual = it->state.merit = 0;
    for (int64_t i = 0; i < rows; i++) {
        double change = solver->lambda[i] - it->pivoting->previous[i];
        it->state.residual = fmax(it->state.residual, fabs(change));
        it->state.merit += change * change;
    }
    cs_measure_change(&it->state, it->pivoting->previous, solver->lambda);
    it->seconds += cs_clock() - start;
    return CS_OK;
}

static cs_status record(cs_pivoting_run *it, cs_error *error)
{
    cs_history *history = &it->solver->history;
    double start = cs_clock();
    cs_status status = cs_history_reserve(history, 1, error);
    if (!status) cs_history_append(history, it->number, it->seconds, &it->state, 1);
    it->budget->unclocked += cs_clock() - start;
    return status;
}

static cs_status check_and_record(cs_pivoting_run *it, cs_error *error)
{
    cs_solver *solver = it->solver;
    double start = cs_clock();
    cs_evaluate(solver, &it->state);
    it->converged = cs_stop_rule(solver, &it->state, it->number);
    cs_time_check(solver, it->budget, start, &it->seconds);
    if (!it->converged && cs_ray_is_due(solver, it->number)) {
        cs_status status = cs_watch_rays(solver, it->number, &it->proven, error);
        if (status) return status;
    }
    int last = it->converged || it->number == solver->options.max_iterations;
    return it->number % solver->options.record_every == 0 || last ? record(it, error) : CS_OK;
}

/* Without friction another solve would find the same. */
static int is_final(const cs_pivoting_run *it)
{
    return !it->pivoting->coupled && it->number > it->budget->made && !it->solver->fixed_iterations;
}

static cs_status iterate(cs_pivoting_run *it, cs_result *result, cs_error *error)
{
    const cs_options *options = &it->solver->options;
    const cs_control *control = it->control;
    cs_status status = check_and_record(it, error);
    result->outcome = CS_MAX_ITERATIONS;
    while (!status && !it->converged && !is_final(it) && it->number < options->max_iterations) {
        status = advance(it, result, error);
        if (!status) status = check_and_record(it, error);
        if (!status && control && control->poll)
            status = cs_ask(it->solver, control, it->number, &it->stopped, error);
        int late = cs_clock() >= it->budget->deadline;
        if (late) result->outcome = CS_MAX_SECONDS;
        if (status || it->stopped || late || it->too_long || it->proven) break;
    }
    if (it->stopped && result->outcome != CS_MAX_SECONDS) result->outcome = CS_STOPPED;
    if (it->proven) result->outcome = CS_INFEASIBLE;
    if (it->converged) result->outcome = CS_CONVERGED;
    return status;
}

/* Ends the history with the last solve, which may lie between two that are recorded. */
static cs_status record_end(cs_pivoting_run *it, cs_error *error)
{
    const cs_history *history = &it->solver->history;
    const double *row = cs_history_last(history);
    return row[0] == (double)it->number ? CS_OK : record(it, error);
}

/* What a solve without an answer has met: a ray of Lemke's, or the direction in which b drives impulses. */
static cs_status try_rays(cs_pivoting_run *it, cs_result *result, cs_error *error)
{
    const double *ray = it->pivoting->cone ? it->pivoting->cone->ray : NULL;
    it->solver->unbounded = ray;
    if (strcmp(result->pivoting, "converged") == 0) return CS_OK;
    cs_status status = cs_try_ray(it->solver, ray, &it->proven, error);
    if (it->proven) result->outcome = CS_INFEASIBLE;
    return status;
}

/* Brings the impulses to begin with into the normals and what is fixed. */
static void begin(cs_pivoting_run *it)
{
    cs_solver *solver = it->solver;
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
        .solver = solver,
        .budget = budget,
        .pivoting = solver->own,
        .number = budget->made,
        .seconds = budget->spent,
        .step = step,
        .state = cs_state_of(solver),
    };
    it.control = cs_control_until(&it.timed, budget->control, budget->deadline);
    result->rollbacks = 0;
    result->unfinished_blocks = 0;
    result->pivots = result->single_pivots = result->factorizations = 0;
    result->pivoting = "converged";
    result->cache = (cs_cache_counts){0};
    result->reuse = (cs_reuse_counts){0};
    begin(&it);
    cs_status status = iterate(&it, result, error);
    if (!status && !it.converged && !it.proven) status = try_rays(&it, result, error);
    if (!status) status = record_end(&it, error);
    cs_settle(solver);
    cs_evaluate(solver, &it.state);
    if (!status) cs_hand_out(solver, &it.state, it.number, it.seconds, result);
    if (!status) status = cs_find_verdict(solver, budget, &it.state, result, error);
    budget->overtaken = it.too_long && !it.converged;
    return status;
}
