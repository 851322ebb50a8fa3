/* lambda <- prox(lambda - R (A lambda + b)), sweep after sweep, with S1's rollback.
 *
 *     sweep -> diverged? -yes-> restore the best iterate, R <- nu R
 *                |no
 *              record, test, poll -> next sweep */
#include "core/clock.h"
#include "core/denormals.h"
#include "core/error.h"
#include "solver/method.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* S1 section 3.5 */
#define ROLLBACK_FACTOR 0.5
/* Ties on symmetric scenes must not roll back on rounding: this many units are no growth. */
#define ROUNDING_UNITS 256

/* Single precision loses the agreement between u and lambda over many small updates. */
enum { REFRESH_EVERY = 32 };

#define POLL_SECONDS 0.005

typedef struct iteration {
    cs_solver *solver;
    const cs_control *control;
    cs_state state;
    cs_sweep_stats stats;
    int64_t number;
    double seconds;      /* of the sweeps and of the checks that decide */
    double scale;        /* nu: product of the rollbacks so far */
    double best;         /* smallest residual / nu so far */
    int64_t best_number; /* after which sweep it was reached */
    int best_is_current; /* lambda still is the best iterate */
    int backwards;       /* the next sweep; the one that followed the best iterate */
    int best_backwards;
    int rollbacks, converged, stopped;
    double last_poll;
    cs_float_mode mode; /* the caller's */
} iteration;

static size_t impulse_bytes(const cs_solver *solver)
{
    return (size_t)solver->packed.impulses * cs_real_size(solver->packed.dtype);
}

static double rounding_unit(const cs_solver *solver)
{
    return solver->packed.dtype == CS_F32 ? (double)FLT_EPSILON : DBL_EPSILON;
}

/* Residuals tie where R has just been halved: rounding must not tell which iterate is the best. */
static double tie_margin(const cs_solver *solver)
{
    return 1 + ROUNDING_UNITS * rounding_unit(solver);
}

/* Brings xi and the state in line with lambda as it is now. */
static void evaluate_state(iteration *it)
{
    cs_solver *solver = it->solver;
    cs_get_impulses(&solver->packed, solver->lambda);
    cs_residual_velocity(solver->problem, solver->lambda, solver->b, solver->velocity, solver->xi);
    it->state.have_natural_map = 0;
}

/* Whether the stop rule holds. The state must be known, unless the rule looks at the sweep only. */
static int stop_rule(iteration *it)
{
    cs_solver *solver = it->solver;
    if (solver->fixed_iterations) return 0;
    if (solver->stop == cs_measure_find("natural_map")) return cs_natural_map_of(&it->state)->met;
    double bound = solver->stop->is_ratio ? 1 : solver->options.atol;
    return solver->stop->evaluate(&it->state) <= bound;
}

/* Whether the recorded measures need the state at all. */
static int records_state(const cs_history *history)
{
    for (int c = 0; c < history->columns - 2; c++)
        if (!history->measure[c]->of_sweep) return 1;
    return 0;
}

static cs_status record(iteration *it, int known, cs_error *error)
{
    cs_history *history = &it->solver->history;
    cs_status status = cs_history_reserve(history, 1, error);
    if (!status) cs_history_append(history, it->number, it->seconds, &it->state, known);
    return status;
}

/* Tests the stop rule and records, as the iteration number asks. */
static cs_status check_and_record(iteration *it, cs_error *error)
{
    cs_solver *solver = it->solver;
    const cs_options *options = &solver->options;
    int last = it->number == options->max_iterations;
    int due = it->number % options->check_every == 0 || last;
    int decides = !solver->fixed_iterations && (due || solver->stop->of_sweep);
    int known = 0;
    double start = cs_clock();
    if (decides && !solver->stop->of_sweep) {
        evaluate_state(it);
        known = 1;
    }
    if (decides && (it->number > 0 || !solver->stop->of_sweep)) it->converged = stop_rule(it);
    it->seconds += cs_clock() - start;

    last = last || it->converged;
    if (it->number % options->record_every != 0 && !last) return CS_OK;
    if (!known && (due || last) && records_state(&solver->history)) {
        evaluate_state(it);
        known = 1;
    }
    return record(it, known, error);
}

static cs_status poll(iteration *it, cs_error *error)
{
    const cs_control *control = it->control;
    if (!control || !control->poll) return CS_OK;
    double now = cs_clock();
    if (!control->every_iteration && now - it->last_poll < POLL_SECONDS) return CS_OK;
    it->last_poll = now;
    cs_solver *solver = it->solver;
    const cs_history *history = &solver->history;
    if (control->every_iteration) cs_get_impulses(&solver->packed, solver->lambda);
    cs_progress progress = {
        .iteration = it->number,
        .max_iterations = solver->options.max_iterations,
        .row = history->value + (history->rows - 1) * history->columns,
        .columns = history->columns,
        .impulses = control->every_iteration ? solver->lambda : NULL,
    };
    cs_restore_denormals(it->mode); /* whoever is asked may compute, too */
    int answer = control->poll(control->context, &progress);
    cs_flush_denormals();
    if (answer < 0)
        return cs_fail(error, CS_INTERRUPTED, "interrupted at iteration %lld",
                       (long long)it->number);
    it->stopped = answer > 0;
    return CS_OK;
}

static double largest_impulse(const iteration *it)
{
    double largest = 0;
    cs_get_impulses(&it->solver->packed, it->solver->lambda);
    for (int64_t i = 0; i < it->solver->problem->rows; i++)
        largest = fmax(largest, fabs(it->solver->lambda[i]));
    return largest;
}

/* Whether the last sweep moved the impulses more than they ever moved, rounding apart. Residuals
 * are compared over nu: halving R halves them by itself. */
static int diverged(const iteration *it)
{
    if (!isfinite(it->stats.merit)) return 1;
    if (!it->solver->options.rollback) return 0;
    double scaled = it->stats.residual / it->scale;
    double units = ROUNDING_UNITS * rounding_unit(it->solver);
    if (scaled <= it->best * it->solver->options.rollback_growth * tie_margin(it->solver)) return 0;
    return it->stats.residual > units * largest_impulse(it);
}

static void restore_best(iteration *it)
{
    cs_solver *solver = it->solver;
    memcpy(solver->packed.lambda, solver->best, impulse_bytes(solver));
    solver->scheme->refresh[solver->packed.dtype](&solver->packed);
    it->best_is_current = 1;
    cs_balance_forget(solver);
    it->backwards = it->best_backwards;
}

/* Restores the best iterate and halves R; returns 0 when that has been done often enough. With
 * another R it is another iteration, whose residual over nu begins where the last one was given up:
 * growth is counted from there. A sweep that was taken back has no residual. */
static int roll_back(iteration *it)
{
    double rejected = it->stats.residual / it->scale;
    restore_best(it);
    it->state.residual = it->state.merit = NAN;
    it->state.delta_element = it->state.delta_norm = NAN;
    it->best = isfinite(it->stats.merit) && isfinite(rejected) ? rejected : INFINITY;
    if (it->rollbacks == it->solver->options.rollback) return 0;
    it->rollbacks++;
    it->scale *= ROLLBACK_FACTOR;
    it->solver->steps_scale = it->scale;
    cs_scale_steps(&it->solver->packed, ROLLBACK_FACTOR);
    return 1;
}

/* The iterate about to be left was the best so far: keep it. */
static void keep_best(iteration *it)
{
    if (!it->best_is_current) return;
    memcpy(it->solver->best, it->solver->packed.lambda, impulse_bytes(it->solver));
    it->best_backwards = it->backwards;
}

/* One sweep and what follows at once from it. Returns 0 once the iteration has to end. */
static int advance(iteration *it)
{
    cs_solver *solver = it->solver;
    double start = cs_clock();
    it->number++;
    keep_best(it);
    if (solver->previous) cs_get_impulses(&solver->packed, solver->previous);
    solver->packed.backwards = it->backwards;
    cs_sweep(solver->scheme, &solver->packed, &it->stats);
    it->backwards = solver->method->symmetric && !it->backwards;
    if (solver->previous) {
        cs_get_impulses(&solver->packed, solver->lambda);
        cs_measure_change(&it->state, solver->previous, solver->lambda);
    }
    it->state.residual = it->stats.residual;
    it->state.merit = it->stats.merit;
    int healthy = 1;
    if (diverged(it)) {
        healthy = roll_back(it);
    } else {
        double scaled = it->stats.residual / it->scale;
        cs_balance_steps(solver);
        it->best_is_current = scaled <= it->best * tie_margin(solver);
        if (it->best_is_current) {
            it->best = fmin(it->best, scaled);
            it->best_number = it->number;
        }
        if (it->number % REFRESH_EVERY == 0 && solver->packed.dtype == CS_F32)
            solver->scheme->refresh[CS_F32](&solver->packed);
    }
    it->seconds += cs_clock() - start;
    return healthy;
}

static cs_status iterate(iteration *it, cs_result *result, cs_error *error)
{
    const cs_options *options = &it->solver->options;
    cs_status status = check_and_record(it, error);
    result->outcome = CS_MAX_ITERATIONS;
    while (!status && !it->converged && it->number < options->max_iterations) {
        int healthy = advance(it);
        if (!healthy) result->outcome = CS_DIVERGING;
        status = check_and_record(it, error);
        if (!healthy || status) break;
        status = poll(it, error);
        if (it->stopped) result->outcome = CS_STOPPED;
        if (it->stopped) break;
    }
    if (it->converged) result->outcome = CS_CONVERGED;
    return status;
}

/* Ends the history with the last sweep, which may lie between two that are recorded. */
static cs_status record_end(iteration *it, cs_error *error)
{
    const cs_history *history = &it->solver->history;
    const double *row = history->value + (history->rows - 1) * history->columns;
    return row[0] == (double)it->number ? CS_OK : record(it, 0, error);
}

/* The last row tells of the impulses returned, also where it came between two checks. */
static void complete_last_row(iteration *it)
{
    cs_history *history = &it->solver->history;
    double *row = history->value + (history->rows - 1) * history->columns;
    for (int c = 2; c < history->columns; c++) {
        const cs_measure *measure = history->measure[c - 2];
        if (!measure->of_sweep && isnan(row[c])) row[c] = measure->evaluate(&it->state);
    }
}

/* The figures and the caller's buffers, all at the impulses returned. */
static void finish(iteration *it, cs_result *result)
{
    cs_solver *solver = it->solver;
    const cs_problem *problem = solver->problem;
    evaluate_state(it);
    complete_last_row(it);
    const cs_natural_map *map = cs_natural_map_of(&it->state);
    result->iterations = it->number;
    result->best_iteration = result->outcome == CS_DIVERGING ? it->best_number : it->number;
    result->rollbacks = it->rollbacks;
    result->block_products = solver->packed.products;
    result->unfinished_blocks = it->stats.unfinished;
    result->seconds = it->seconds;
    result->natural_map = map->impulse;
    result->natural_map_scaled = map->scaled;
    result->worst_block = map->worst_block;
    result->history = solver->history.value;
    result->history_rows = solver->history.rows;
    result->columns = solver->history.columns;
    size_t rows = sizeof(double) * (size_t)problem->rows;
    if (result->impulses) memcpy(result->impulses, solver->lambda, rows);
    if (result->residual_velocities) memcpy(result->residual_velocities, solver->xi, rows);
    if (result->velocity_change)
        cs_velocity_change(problem, solver->lambda, result->velocity_change);
}

cs_status cs_fixed_point(cs_solver *solver, const cs_control *control, cs_result *result,
                         cs_error *error)
{
    double largest_b = 0;
    for (int64_t i = 0; i < solver->problem->rows; i++)
        largest_b = fmax(largest_b, fabs(solver->b[i]));
    iteration it = {
        .solver = solver,
        .control = control,
        .scale = 1,
        .best = INFINITY,
        .best_is_current = 1,
        .last_poll = cs_clock(),
        .state = {.problem = solver->problem,
                  .b = solver->b,
                  .parameters = solver->parameters,
                  .rho = solver->rho,
                  .largest_b = largest_b,
                  .rtol = solver->fixed_iterations ? 0 : solver->options.rtol,
                  .atol = solver->fixed_iterations ? 0 : solver->options.atol,
                  .quality_r = solver->options.quality_r,
                  .residual = NAN,
                  .merit = NAN,
                  .delta_element = NAN,
                  .delta_norm = NAN,
                  .no_tolerance = solver->fixed_iterations,
                  .lambda = solver->lambda,
                  .xi = solver->xi},
    };
    it.mode = cs_flush_denormals();
    solver->scheme->refresh[solver->packed.dtype](&solver->packed);
    cs_status status = iterate(&it, result, error);
    if (!status) status = record_end(&it, error);
    if (!status) finish(&it, result);
    cs_restore_denormals(it.mode);
    return status;
}
