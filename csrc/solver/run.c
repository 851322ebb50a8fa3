#include "solver/run.h"

#include "core/clock.h"
#include "solver/judge.h"

#include <math.h>

#define POLL_SECONDS 0.005

cs_run cs_run_begin(cs_solver *solver, cs_budget *budget)
{
    return (cs_run){
        .solver = solver,
        .budget = budget,
        .control = budget->control,
        .number = budget->made,
        .seconds = budget->spent,
        .last_poll = cs_clock(),
        .state = cs_state_of(solver),
        .mode = cs_flush_denormals(),
    };
}

void cs_run_evaluate(cs_run *run)
{
    cs_solver *solver = run->solver;
    cs_get_impulses(&solver->packed, solver->lambda);
    cs_evaluate(solver, &run->state);
    run->known = 1;
}

/* Whether the recorded measures need the state at all. */
static int records_state(const cs_history *history)
{
    for (int c = 0; c < history->columns - 2; c++)
        if (!history->measure[c]->of_sweep) return 1;
    return 0;
}

static cs_status record(cs_run *run, cs_error *error)
{
    cs_history *history = &run->solver->history;
    cs_status status = cs_history_reserve(history, 1, error);
    if (!status) cs_history_append(history, run->number, run->seconds, &run->state, run->known);
    return status;
}

/* Whether the growth of the impulses proves that there is no solution, which ends the solve. */
static cs_status look_for_ray(cs_run *run, cs_error *error)
{
    cs_solver *solver = run->solver;
    double start = cs_clock();
    if (!run->known) cs_get_impulses(&solver->packed, solver->lambda);
    cs_status status = cs_watch_rays(solver, run->number, &run->proven, error);
    run->stopped |= run->proven;
    cs_time_check(solver, run->budget, start, &run->seconds);
    return status;
}

/* A row of the history. What it alone asks for is not known to the method: its iterates do not depend on it. */
static cs_status record_at(cs_run *run, int due, cs_error *error)
{
    cs_solver *solver = run->solver;
    double start = cs_clock();
    int known = run->known || due, every = solver->options.measure_every > 0;
    int measured = due || (every && run->number % solver->options.measure_every == 0);
    if (!run->known && measured && records_state(&solver->history)) cs_run_evaluate(run);
    cs_status status = record(run, error);
    run->known &= known;
    run->budget->unclocked += cs_clock() - start;
    return status;
}

cs_status cs_run_check(cs_run *run, cs_error *error)
{
    cs_solver *solver = run->solver;
    const cs_options *options = &solver->options;
    int last = run->number == options->max_iterations;
    int due = run->number % options->check_every == 0 || last || solver->method->each;
    int decides = !solver->fixed_iterations && (due || solver->stop->of_sweep);
    double start = cs_clock();
    run->known = 0;
    if (decides && !solver->stop->of_sweep) cs_run_evaluate(run);
    if (decides) run->converged = cs_stop_rule(solver, &run->state, run->number);
    cs_time_check(solver, run->budget, start, &run->seconds);

    if (!run->converged && cs_ray_is_due(solver, run->number)) {
        cs_status status = look_for_ray(run, error);
        if (status) return status;
    }
    last = last || run->converged;
    if (run->number % options->record_every != 0 && !last) return CS_OK;
    return record_at(run, due || last, error);
}

cs_status cs_run_poll(cs_run *run, cs_error *error)
{
    const cs_control *control = run->control;
    double now = cs_clock();
    if (now >= run->budget->deadline) run->late = run->stopped = 1;
    if (run->late || !control || !control->poll) return CS_OK;
    if (!control->every_iteration && now - run->last_poll < POLL_SECONDS) return CS_OK;
    run->last_poll = now;
    cs_solver *solver = run->solver;
    if (control->every_iteration) cs_get_impulses(&solver->packed, solver->lambda);
    cs_restore_denormals(run->mode); /* whoever is asked may compute, too */
    cs_status status = cs_ask(solver, control, run->number, &run->stopped, error);
    cs_flush_denormals();
    return status;
}

int cs_run_leaves_off(void *context)
{
    cs_run *run = context;
    const cs_control *control = run->control;
    double now = cs_clock();
    if (now >= run->budget->deadline) return run->late = run->stopped = 1;
    if (!control || !control->poll || now - run->last_poll < POLL_SECONDS) return 0;
    run->last_poll = now;
    cs_restore_denormals(run->mode);
    int answer = control->poll(control->context, NULL);
    cs_flush_denormals();
    run->aborted |= answer < 0;
    run->stopped |= answer > 0;
    return answer != 0;
}

double cs_run_largest_impulse(const cs_run *run)
{
    double largest = 0;
    cs_get_impulses(&run->solver->packed, run->solver->lambda);
    for (int64_t i = 0; i < run->solver->problem->rows; i++)
        largest = fmax(largest, fabs(run->solver->lambda[i]));
    return largest;
}

/* Ends the history with the last iteration, which may lie between two that are recorded. */
static cs_status record_end(cs_run *run, cs_error *error)
{
    const cs_history *history = &run->solver->history;
    const double *row = cs_history_last(history);
    run->known = 0;
    return row[0] == (double)run->number ? CS_OK : record(run, error);
}

/* The last row tells of the impulses returned, also where it came between two checks, or of others. */
static void complete_last_row(cs_run *run, int restored)
{
    cs_history *history = &run->solver->history;
    double *row = cs_history_last(history);
    for (int c = 2; c < history->columns; c++) {
        const cs_measure *measure = history->measure[c - 2];
        if (!measure->of_sweep && (restored || isnan(row[c])))
            row[c] = measure->evaluate(&run->state);
    }
}

cs_status cs_run_end(cs_run *run, cs_status status, int restored, cs_result *result,
                     cs_error *error)
{
    cs_solver *solver = run->solver;
    if (!status) status = record_end(run, error);
    if (!status) {
        cs_get_impulses(&solver->packed, solver->lambda);
        cs_settle(solver);
        cs_evaluate(solver, &run->state);
        run->known = 1;
        complete_last_row(run, restored);
        cs_hand_out(solver, &run->state, run->number, run->seconds, result);
        if (run->late && result->outcome == CS_STOPPED) result->outcome = CS_MAX_SECONDS;
        if (run->proven && result->outcome == CS_STOPPED) result->outcome = CS_INFEASIBLE;
        status = cs_find_verdict(solver, run->budget, &run->state, result, error);
        result->block_products = solver->packed.products;
        result->unfinished_blocks = run->stats.unfinished;
    }
    cs_restore_denormals(run->mode);
    return status;
}
