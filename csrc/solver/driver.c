/* The loop of every iterative solve (solver/driver.h). */
#include "solver/driver.h"

#include "core/clock.h"
#include "core/error.h"
#include "solver/checkpoint.h"
#include "solver/judge.h"
#include "solver/there.h"
#include "transport/networks/ranks.h"

#include <math.h>

#define POLL_SECONDS 0.005 /* least time between two polls */

/* ---- the floating-point mode ------------------------------------------------------------------- */

/* Whether the run flushes denormal numbers to zero. */
static int flushes(const cs_run *run)
{
    return !run->iteration || !run->iteration->keeps_denormals;
}

/* Restores the caller's mode: before a poll, whose function may compute, and at the end. */
static void leave_mode(const cs_run *run)
{
    if (flushes(run)) cs_restore_denormals(run->mode);
}

/* Returns to the mode of the run, after a poll. */
static void enter_mode(const cs_run *run)
{
    if (flushes(run)) cs_flush_denormals();
}

cs_run cs_run_begin(cs_solver *solver, cs_budget *budget, const cs_iteration *iteration,
                    cs_error *error)
{
    cs_run run = {
        .solver = solver,
        .budget = budget,
        .control = budget->control,
        .iteration = iteration,
        .number = budget->made,
        .first = budget->made,
        .last_poll = budget->start,
        .last_checkpoint = budget->start,
        .at_once = solver->at_once,
        .state = cs_state_of(solver),
        .error = error,
        .start = INFINITY,
        .best = INFINITY,
        .best_impulse = INFINITY,
        .best_number = -1,
        .scale = 1,
    };

    /* How iterates are judged, the stagnation test, and the floating-point mode. */
    run.over_factors = iteration && iteration->of_sweeps && cs_judges_over_factors(solver);
    run.there = iteration && !iteration->needs_state && !budget->is_link && solver->judge.there;
    if (!run.there) cs_there_fetch_b(solver);
    run.patience = cs_patience_of(solver, &run.stagnation);
    if (run.stagnation) cs_stagnation_begin(run.stagnation);
    if (solver->ranks) {
        int stops = run.control && run.control->every_iteration;
        int timed = solver->checkpoints && solver->checkpoints->seconds < INFINITY;
        run.asks_ranks = cs_ranks_any(solver->ranks, stops || timed) || budget->deadline < INFINITY;
    }
    if (solver->network.ranks) {
        double own[] = {run.control && run.control->every_iteration, budget->deadline < INFINITY};
        cs_network_ranks_largest(solver->network.ranks, own, 2);
        run.watched = own[0] != 0;
        run.asks_ranks = run.watched || own[1] != 0;
    }
    if (flushes(&run)) run.mode = cs_flush_denormals();
    return run;
}

/* ---- judging and recording ----------------------------------------------------------------------- */

/* Whether the present iterate is solver->lambda, on which methods without sweeps work. */
static int is_unpacked(const cs_run *run) { return run->solver->method->without_sweeps; }

/* solver->lambda <- the present iterate. */
static void fetch(const cs_run *run)
{
    cs_solver *solver = run->solver;
    if (!is_unpacked(run)) cs_packing_get(&solver->packing, solver->lambda);
}

/* Takes over the evaluation of the first iterate, if the chain has made it. */
static int take_first(cs_run *run)
{
    const cs_natural_map *first = run->budget->first;
    if (!first || run->number > 0) return 0;
    run->state.natural_map = *first;
    return run->state.have_natural_map = 1;
}

/* There is another iterate. */
static void forget(cs_run *run) { run->confirmed = run->evaluated = 0; }

void cs_run_evaluate(cs_run *run)
{
    run->known = run->confirmed = run->evaluated = 1;
    if (take_first(run)) return;
    run->budget->clock_is_old = 1;
    fetch(run);
    cs_evaluate(run->solver, &run->state);
}

/* Computes the natural map of the present iterate from J and M^-1 as given: on a device along with its rounding floor if
 * this may be the `last` iterate of a solve with a tolerance. */
static void confirm(cs_run *run, int last)
{
    if (!run->there) {
        cs_run_evaluate(run);
        return;
    }
    run->budget->clock_is_old = 1;
    run->known = run->confirmed = 1;
    cs_judge_there(run->solver, &run->state, last && !run->solver->fixed_iterations);
}

void cs_run_measure(cs_run *run)
{
    run->budget->clock_is_old = 1;
    if (run->over_factors && cs_measure_over_factors(run->solver, &run->state)) run->known = 1;
    else confirm(run, 0);
}

/* Whether the stop rule holds. What is measured over the factors is confirmed with J and M^-1 as given: if it does not
 * hold there, the sweeps' velocities have drifted away from lambda, and are computed anew. */
static int is_converged(cs_run *run)
{
    cs_solver *solver = run->solver;
    if (!cs_stop_rule(solver, &run->state, run->number)) return 0;
    if (solver->stop->of_sweep || run->confirmed) return 1;
    confirm(run, 1);
    if (cs_stop_rule(solver, &run->state, run->number)) return 1;
    cs_packing_refresh(&solver->packing);
    return 0;
}

/* Tells the backend what will be asked of the iterate to which the sweeps of a call lead, if that is known before. */
static void expect(const cs_run *run, cs_sweep_call *call, cs_measure_call *measure,
                   cs_verdict_call *verdict)
{
    const cs_solver *solver = run->solver;
    int64_t end = run->number - 1 + call->most;
    int last = end == solver->options.max_iterations;
    int checks = end % solver->options.check_every == 0;
    if (solver->fixed_iterations || solver->stop->of_sweep || !(last || checks)) return;
    cs_expect_judgement(solver, last, measure, verdict);
    call->verdict = verdict;
    if (run->over_factors && !last) call->measure = measure;
}

/* Whether the backend tests the stop rule after each sweep, if that is one of sweeps, and measures changes of impulses, but for
 * sums over parts of the problem. */
static int has_rules(const cs_run *run)
{
    const cs_packing *packing = &run->solver->packing;
    if (run->state.sums || !packing->state || !packing->backend->rules) return 0;
    return packing->backend->rules(packing->state);
}

/* What the backend tests after each sweep of a call. That of a single sweep need not end it. */
static cs_sweep_rule rule_of(const cs_run *run, const cs_sweep_call *call)
{
    const cs_solver *solver = run->solver;
    const cs_measure *stop = solver->stop;
    int tests = call->most > 1 && !solver->fixed_iterations;
    return (cs_sweep_rule){
        .measures = solver->previous != NULL,
        .rtol = run->state.rtol,
        .atol = run->state.atol,
        .ends = tests ? stop->of_sweep : CS_SWEEP_NO_NUMBER,
        .bound = cs_stop_bound(solver),
    };
}

void cs_run_sweep(cs_run *run, cs_sweep_call *call)
{
    /* The sweeps; `previous` is the iterate before them, if the processor compares it. */
    cs_solver *solver = run->solver;
    cs_packing *packing = &solver->packing;
    cs_measure_call measure;
    cs_verdict_call verdict;
    cs_sweep_rule rule = rule_of(run, call);
    int there = has_rules(run);
    if (solver->previous && !there) cs_packing_get(packing, solver->previous);
    call->measure = NULL;
    call->verdict = NULL;
    call->rule = there ? &rule : NULL;
    if (run->there) expect(run, call, &measure, &verdict);
    run->status = cs_packing_sweep(packing, call, run->error);
    if (run->status) return;
    run->was_cut = call->made < call->most;
    run->stats = call->stats;
    run->state.residual = run->stats.residual;
    run->state.merit = run->stats.merit;

    /* The other measures of the change. */
    if (!solver->previous) return;
    if (there) {
        run->state.delta_element = call->change.element;
        run->state.delta_norm = call->change.norm;
        return;
    }
    cs_packing_get(packing, solver->lambda);
    cs_measure_change(&run->state, solver->previous, solver->lambda);
}

/* Appends a row to the history, for the iterate that was reached after these seconds. */
static cs_status record(cs_run *run, double seconds, cs_error *error)
{
    cs_history *history = &run->solver->history;
    cs_status status = cs_history_reserve(history, 1, error);
    if (!status) cs_history_append(history, run->number, seconds, &run->state, run->known);
    return status;
}

/* Tests whether the growth of the impulses proves that there is no solution. Then the solve stops. */
static cs_status look_for_ray(cs_run *run, cs_error *error)
{
    cs_solver *solver = run->solver;
    double since = cs_check_begins(solver, run->budget);
    if (!run->evaluated && !run->there) fetch(run);
    run->evaluated = 0;
    cs_status status = cs_test_growth(solver, run->number, &run->proven, error);
    run->budget->clock_is_old = 1;
    run->stopped |= run->proven;
    cs_check_ends(solver, run->budget, since);
    return status;
}

/* Records the present iterate. Measures that need the state are evaluated if a check of the stop rule is `due`, or as
 * the option measure_every says. If the state was evaluated for the history alone, it is marked as unknown again:
 * otherwise the iterates, and the best of them, would depend on what is recorded. */
static cs_status record_at(cs_run *run, int due, cs_error *error)
{
    cs_solver *solver = run->solver;
    double since = cs_recent_seconds(run->budget);
    int known = run->known, every = solver->options.measure_every > 0;
    int measured = due || (every && run->number % solver->options.measure_every == 0);
    if (!run->known && measured && cs_history_needs_state(&solver->history)) {
        if (run->number == solver->options.max_iterations) confirm(run, 1);
        else cs_run_measure(run);
    }
    cs_status status = record(run, since, error);

    /* The seconds of the history do not include the time of recording, unless the clock takes longer than the row. */
    if (run->known) cs_leave_out(run->budget, since);
    run->known &= known;
    return status;
}

/* Tests the stop rule and records the iterate, if they are due at this iteration; `checks`: one of check_every. */
static cs_status check(cs_run *run, int checks, cs_error *error)
{
    /* The stop rule. */
    cs_solver *solver = run->solver;
    const cs_options *options = &solver->options;
    int always = solver->method->each || run->iteration->needs_state;
    int last = run->number == options->max_iterations;
    int due = checks || last || always;
    int decides = !solver->fixed_iterations && (due || solver->stop->of_sweep);
    int needs_state = run->iteration->needs_state || (decides && !solver->stop->of_sweep);
    double since = needs_state ? cs_check_begins(solver, run->budget) : 0;
    run->known = 0;
    if (run->iteration->needs_state) cs_run_evaluate(run);
    else if (last && needs_state) confirm(run, 1);
    else if (needs_state) cs_run_measure(run);
    if (decides) run->converged = is_converged(run);
    if (needs_state) cs_check_ends(solver, run->budget, since);

    /* A proof that there is no solution. */
    if (!run->converged && cs_ray_is_due(solver, run->number)) {
        cs_status status = look_for_ray(run, error);
        if (status) return status;
    }

    /* The history. */
    last = last || run->converged;
    if (!last && options->record_every > 1 && run->number % options->record_every != 0)
        return CS_OK;
    return record_at(run, due || last, error);
}

/* Whether the stagnation test judges iterates. */
static int is_patient(const cs_run *run) { return run->patience > 0 || run->budget->patience > 0; }

/* Evaluates iterates that `check` did not: those for which the method set `to_judge`, and those of stagnation tests,
 * which need the natural map also if the stop rule does not. */
static void judge_if_needed(cs_run *run, int checks)
{
    /* Whether to evaluate. */
    const cs_solver *solver = run->solver;
    int tested = is_patient(run) && checks;
    if (run->known || !(run->to_judge || (tested && !solver->fixed_iterations))) return;

    /* Evaluate; the stop rule is tested only if the method asked for it. */
    cs_run_measure(run);
    if (run->to_judge && !solver->fixed_iterations)
        run->converged = run->converged || is_converged(run);
}

double cs_run_judgement(cs_run *run)
{
    const cs_natural_map *map = cs_natural_map_of(&run->state);
    return run->solver->options.rtol > 0 ? map->scaled : map->impulse;
}

/* Keeps the present iterate if it is the best one so far. */
static void keep_best(cs_run *run)
{
    double here = cs_run_judgement(run);
    if (run->best_number >= 0 && !(here < run->best)) return;
    run->iteration->keep(run);
    run->best = here;
    run->best_impulse = cs_natural_map_of(&run->state)->impulse;
    run->best_number = run->number;
}

/* Judges and records the present iterate, and keeps it if it is the best one so far. */
static cs_status judge(cs_run *run, cs_error *error)
{
    int checks = run->number % run->solver->options.check_every == 0;
    cs_status status = check(run, checks, error);
    if (status) return status;
    judge_if_needed(run, checks);
    int keeps = run->iteration->best_of_all || !run->solver->fixed_iterations;
    if (run->known && keeps && run->iteration->keep) keep_best(run);
    return CS_OK;
}

void cs_run_note_change(cs_run *run, const double *before, const double *now)
{
    cs_state *state = &run->state;
    state->residual = state->merit = 0;
    for (int64_t i = 0; i < run->solver->problem->rows; i++) {
        double change = fabs(now[i] - before[i]);
        state->residual = fmax(state->residual, change);
        state->merit += change * change;
    }
    if (run->solver->previous) cs_measure_change(state, before, now);
}

void cs_run_forget_change(cs_run *run)
{
    run->state.residual = run->state.merit = NAN;
    run->state.delta_element = run->state.delta_norm = NAN;
}

/* ---- polling the caller's control -------------------------------------------------------------- */

/* Polls this rank's control if that is due: sets `stopped`, also at the deadline, or fails with CS_INTERRUPTED. */
static cs_status poll_own(cs_run *run, cs_error *error)
{
    /* Whether a poll is due. */
    const cs_control *control = run->control;
    double now = cs_recent_clock(run->budget);
    if (now >= run->budget->deadline) run->late = run->stopped = 1;
    if (run->late || !control || !control->poll) return CS_OK;
    if (!control->every_iteration && now - run->last_poll < POLL_SECONDS) return CS_OK;

    /* Show the iterate, and ask whether to continue. */
    run->last_poll = now;
    run->budget->clock_is_old = 1;
    cs_solver *solver = run->solver;
    if (control->every_iteration) fetch(run);
    leave_mode(run);
    cs_status status = cs_ask(solver, control, run->number, &run->stopped, error);
    enter_mode(run);
    return status;
}

/* Whether the seconds from one checkpoint to the next have passed on this rank. */
static int wants_checkpoint(const cs_run *run)
{
    const cs_checkpoints *checkpoints = run->solver->checkpoints;
    return checkpoints && checkpoints->seconds < INFINITY &&
           cs_recent_clock(run->budget) - run->last_checkpoint >= checkpoints->seconds;
}

/* The same for all ranks of a network. */
static cs_status poll_network(cs_run *run, cs_error *error)
{
    double wishes[] = {run->stopped, run->late};
    cs_network_ranks *ranks = run->solver->network.ranks;
    if (run->asks_ranks) cs_network_ranks_largest(ranks, wishes, 2);
    run->stopped = wishes[0] != 0;
    run->late = wishes[1] != 0;
    return cs_network_ranks_status(ranks, error);
}

/* The same for all ranks: what one of them wants, all do. Without a deadline or a callback nobody wants to stop. */
static cs_status poll(cs_run *run, cs_error *error)
{
    cs_status status = poll_own(run, error);
    if (!status && run->solver->network.ranks) return poll_network(run, error);
    if (status || !run->solver->ranks) return status;
    double wishes[3] = {run->stopped, run->late, wants_checkpoint(run)};
    if (run->asks_ranks) cs_ranks_largest(run->solver->ranks, wishes, 3);
    run->stopped = wishes[0] != 0;
    run->late = wishes[1] != 0;
    run->wants_checkpoint = wishes[2] != 0;
    return cs_ranks_status(run->solver->ranks, error);
}

int cs_run_is_cancelled(void *context)
{
    /* Whether the solve ends anyway, and whether a poll is due. */
    cs_run *run = context;
    const cs_control *control = run->control;
    double now = cs_clock();
    if (run->stopped || run->aborted) return 1;
    if (now >= run->budget->deadline) return run->late = run->stopped = 1;
    if (!control || !control->poll || now - run->last_poll < POLL_SECONDS) return 0;

    /* Ask, without an iterate to show. */
    run->last_poll = now;
    leave_mode(run);
    int answer = control->poll(control->context, NULL);
    enter_mode(run);
    run->aborted |= answer < 0;
    run->stopped |= answer > 0;
    return answer != 0;
}

int cs_run_is_stopping(const cs_run *run, cs_status status)
{
    if (status != CS_INTERRUPTED || run->aborted) return 0;
    *run->error = (cs_error){0};
    return 1;
}

/* ---- whether to continue ------------------------------------------------------------------------ */

/* result <- the verdict of the stagnation test (stalled or wandering), and the band of residuals. */
static void report_stagnation(cs_run *run, cs_result *result)
{
    if (run->stagnation && !run->solver->fixed_iterations)
        result->outcome = cs_stagnation_verdict(run->stagnation, result->band);
}

/* Whether the stagnation test ends the solve, or the method has no further step. Then the verdict goes to the
 * result. */
static int stagnates(cs_run *run, cs_step step, cs_result *result)
{
    /* A link of a chain, and a stage, have at least a multiple of the iterations up to their last halving as patience. */
    cs_stagnation *stagnation = run->stagnation;
    int exhausted = step == CS_EXHAUSTED;
    if (!stagnation || run->solver->fixed_iterations) return exhausted && !stagnation;
    double made = (double)(stagnation->since - run->first);
    int64_t patience = (int64_t)fmax(run->patience, run->budget->patience * made);

    /* The test; it needs the natural map of the present iterate. */
    if (exhausted && !run->known) confirm(run, 1);
    if (!run->known) return 0;
    double scaled = cs_natural_map_of(&run->state)->scaled;
    if (!cs_stagnation_test(stagnation, run->number, scaled, patience) && !exhausted) return 0;
    report_stagnation(run, result);
    return 1;
}

/* Estimates the cost of the alternative method. Returns 0 if the solve has to end, because the estimate failed or the
 * caller stopped it. */
static int estimate_alternative(cs_run *run)
{
    const cs_budget *budget = run->budget;
    cs_cancellation cancellation = {.is_cancelled = cs_run_is_cancelled, .context = run};
    forget(run);
    run->budget->clock_is_old = 1;
    run->status = budget->alternative(budget->alternative_context, &cancellation, &run->alternative,
                                      run->error);

    /* A solve that is stopped ends without an error. */
    if (run->status != CS_INTERRUPTED || !run->stopped) return !run->status;
    run->status = CS_OK;
    *run->error = (cs_error){0};
    return 0;
}

/* Whether the solve ends here because the alternative method is expected to be faster. */
static int is_overtaken(cs_run *run, cs_result *result)
{
    /* The cost of the alternative, estimated at the first call that needs it. */
    cs_budget *budget = run->budget;
    int64_t number = run->number - budget->made;
    const cs_takeover *takeover = &budget->takeover;
    if (!budget->alternative || !run->known || number < takeover->least_sweeps) return 0;
    if (!(run->alternative > 0) && !estimate_alternative(run)) return 0;

    /* Compare the costs. */
    int is_small = cs_natural_map_of(&run->state)->scaled <= takeover->small;
    double share = is_small ? takeover->early_share : takeover->late_share;
    if ((double)number < share * run->alternative) return 0;
    result->outcome = CS_MAX_ITERATIONS;
    budget->overtaken = 1;
    return 1;
}

/* ---- the loop ------------------------------------------------------------------------------------ */

/* Whether a device makes the sweeps: a call then takes as long as many sweeps of a small problem. */
static int sweeps_on_device(const cs_solver *solver)
{
    return solver->packing.state && solver->packing.backend->get_there != NULL;
}

/* The number of sweeps that the next call may make, if the last one made `made` sweeps in so many seconds: as many as
 * fit into half of the time between two polls, but at most twice as many as before, because their speed may
 * change. The processes of a network begin and end with each call, so that its calls become longer, and sooner; those of a
 * device become longer sooner, and begin with more than one sweep, unless the problem is so large that a sweep takes long. They
 * are powers of two, so that few graphs of sweeps have to be captured. */
#define NETWORK_SECONDS 0.1
enum { GROWTH = 2, FAR_GROWTH = 16, DEVICE_FIRST = 16, DEVICE_FIRST_ROWS = 1 << 20 };
static int64_t next_at_once(const cs_solver *solver, int64_t made, double seconds)
{
    int by_network = solver->network.name != NULL;
    int far = by_network || sweeps_on_device(solver);
    double most = (far ? FAR_GROWTH : GROWTH) * (double)made, fit = most;
    double time = by_network ? NETWORK_SECONDS : POLL_SECONDS / 2;
    if (seconds > 0) fit = time * (double)made / seconds;
    int64_t sweeps = fit < 1 ? 1 : (int64_t)fmin(fit, most);
    if (!far || by_network) return sweeps;
    while (sweeps & (sweeps - 1)) sweeps &= sweeps - 1; /* the largest power of two in it */
    return sweeps;
}

/* The number of sweeps from sweep k to the next multiple of `every`, both included. */
static int64_t sweeps_up_to(int64_t k, int64_t every) { return (every - k % every) % every + 1; }

static int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }

int64_t cs_run_sweeps_at_once(const cs_run *run)
{
    /* One sweep, if something looks at every iterate. */
    const cs_solver *solver = run->solver;
    const cs_options *options = &solver->options;
    const cs_control *control = run->control;
    int64_t k = run->number;
    if (solver->ranks) return 1;
    if ((control && control->every_iteration) || run->watched) return 1;
    if (solver->method->each || run->iteration->needs_state) return 1;
    int by_sweeps = !solver->fixed_iterations && solver->stop->of_sweep;
    if ((solver->previous || by_sweeps) && !has_rules(run)) return 1;

    /* Up to the last sweep, and the next one that is recorded, checked or tested for a ray. A stop rule of sweeps is tested after
     * each of them. */
    int checks = !solver->fixed_iterations && (!by_sweeps || is_patient(run));
    int64_t most = lesser(options->max_iterations - k + 1, sweeps_up_to(k, options->record_every));
    if (checks) most = lesser(most, sweeps_up_to(k, options->check_every));
    if (most == 1) return 1;
    int64_t ray = cs_next_ray(solver);
    if (ray - k < most) most = ray > k ? ray - k + 1 : 1;

    /* Sweeps after the one with which a rule ends the call are made for nothing: at most as many as those before. */
    if (by_sweeps) most = lesser(most, k > DEVICE_FIRST ? k - 1 : DEVICE_FIRST);

    /* A network that looks ahead begins its runs at fixed sweeps, so that its bits can be repeated. */
    enum { RUN_AHEAD = 16 };
    if (solver->network.looks_ahead) return lesser(most, RUN_AHEAD - (k - 1) % RUN_AHEAD);

    /* As many as fit between two polls. */
    int polls = (control && control->poll) || run->budget->deadline < INFINITY;
    int64_t fit = run->at_once;
    int large = solver->problem->rows > DEVICE_FIRST_ROWS;
    if (!fit) fit = sweeps_on_device(solver) && !large ? DEVICE_FIRST : 1;
    return polls ? lesser(most, fit) : most;
}

/* Undoes a step that diverged, and halves R. Returns CS_DIVERGED if R was halved as often as the option `rollback`
 * allows.  S1 section 3.5 */
static cs_step roll_back(cs_run *run)
{
    /* Undo the step. */
    cs_solver *solver = run->solver;
    run->iteration->undo(run);
    cs_run_forget_change(run);
    if (run->rollbacks == solver->options.rollback || !run->iteration->shorten) return CS_DIVERGED;

    /* Halve R. */
    run->rollbacks++;
    run->scale *= CS_ROLLBACK_FACTOR;
    solver->factors.scale = run->scale;
    cs_packing_scale_steps(&solver->packing, CS_ROLLBACK_FACTOR);
    run->iteration->shorten(run);
    return CS_TAKEN_BACK;
}

/* Adds the time since the step began to that of all steps, and returns it. */
static double end_step(cs_run *run)
{
    run->budget->clock_is_old = 1;
    double seconds = cs_recent_seconds(run->budget) - run->step_began;
    run->budget->sweeping += seconds;
    return seconds;
}

/* Makes one step and judges its iterate. */
static cs_step advance(cs_run *run, cs_status *status)
{
    /* The step, or a rollback. */
    int64_t before = run->number++;
    run->to_judge = run->was_cut = 0;
    cs_step step = run->iteration->step(run);
    if (step == CS_DIVERGED) step = roll_back(run);
    forget(run); /* a step may evaluate where it begins */

    /* Its time, from which the number of sweeps in the next call follows. */
    double seconds = end_step(run);
    if (run->solver->options.record_every > 1 && !run->was_cut)
        run->at_once = next_at_once(run->solver, run->number - before, seconds);

    /* Its judgement. */
    *status = run->status;
    if (*status || step == CS_DISCARDED) return step;
    *status = judge(run, run->error);
    return step;
}

/* Moves from an iterate that was judged to the point where the next step begins, as a part of that step. */
static void prepare_next(cs_run *run, cs_step step)
{
    int undone = step != CS_STEPPED;
    run->step_began = cs_recent_seconds(run->budget);
    if (!run->iteration->next || (undone && !run->iteration->next_after_loss)) return;
    run->iteration->next(run);
    forget(run);
    if (run->finished || run->status) (void)end_step(run);
}

/* Hands a checkpoint to the caller if one is due, which may end the solve. */
static cs_status make_checkpoint(cs_run *run, cs_arena *arena, cs_saved *saved)
{
    /* Whether it is due; where the solve began there is one already. */
    const cs_checkpoints *checkpoints = run->solver->checkpoints;
    if (!checkpoints || run->number == 0) return CS_OK;
    int begins = checkpoints->resumed && checkpoints->resumed->number.iteration == run->number;
    int counted = checkpoints->every > 0 && run->number % checkpoints->every == 0;
    if (begins || !(counted || run->wants_checkpoint)) return CS_OK;

    /* The caller's function, whose time is not counted. */
    double since = cs_seconds(run->budget);
    cs_status status = cs_save_run(run, arena, saved, run->error);
    if (status) return status;
    leave_mode(run);
    int answer = checkpoints->write(checkpoints->context, saved);
    enter_mode(run);
    cs_leave_out(run->budget, since);
    run->last_checkpoint = cs_clock();
    run->stopped |= answer > 0;
    if (answer >= 0) return CS_OK;
    return cs_fail(run->error, CS_INTERRUPTED, "the checkpoint of iteration %lld failed",
                   (long long)run->number);
}

/* The first iterate, before any step; or that of a checkpoint, which has been judged. */
static cs_status begin_iterations(cs_run *run, cs_result *result)
{
    const cs_checkpoints *checkpoints = run->solver->checkpoints;
    cs_status status = CS_OK;
    run->budget->clock_is_old = 1;
    if (checkpoints && checkpoints->resumed) {
        status = cs_load_run(run, checkpoints->resumed, run->error);
    } else {
        status = judge(run, run->error);
        run->start = run->best;
        if (!status && run->iteration->tests_first) (void)stagnates(run, CS_STEPPED, result);
    }
    result->outcome = CS_MAX_ITERATIONS;
    run->step_began = cs_recent_seconds(run->budget);
    return status;
}

/* Whether the method goes on with its next stage, although the solve diverged or stagnates. The stagnation test begins
 * again then. */
static int changes_stage(cs_run *run, cs_result *result)
{
    const cs_iteration *iteration = run->iteration;
    run->step_began = cs_recent_seconds(run->budget);
    if (!iteration->next_stage || !iteration->next_stage(run, result)) return 0;
    if (run->stagnation) cs_stagnation_begin(run->stagnation);
    for (int i = 0; i < 3; i++) result->band[i] = NAN;
    result->outcome = CS_MAX_ITERATIONS;
    forget(run);
    return 1;
}

/* The iterations, with room for checkpoints. */
static cs_status iterate(cs_run *run, cs_result *result, cs_arena *arena)
{
    int64_t most = run->solver->options.max_iterations;
    cs_saved saved = {.bytes = 0};
    cs_status status = begin_iterations(run, result);

    while (!status && !run->converged && run->number < most) {
        /* A checkpoint, where a step begins. */
        status = make_checkpoint(run, arena, &saved);
        if (run->stopped) result->outcome = CS_STOPPED;
        if (status || run->stopped) break;
        cs_step step = advance(run, &status);

        /* The caller sees the iterate, and may end the solve. */
        if (!status) status = poll(run, run->error);
        if (run->stopped) result->outcome = CS_STOPPED;
        if (status || run->stopped || run->converged) break;

        /* Divergence and stagnation end it, too, unless there is another stage. */
        if (step == CS_DIVERGED) result->outcome = CS_DIVERGING;
        int judged = step != CS_DISCARDED && step != CS_DIVERGED;
        int ends = step == CS_DIVERGED || (judged && stagnates(run, step, result));
        if (ends && run->number < most && changes_stage(run, result)) continue;

        /* So does an alternative method that is expected to be faster. */
        if (ends || (judged && is_overtaken(run, result))) break;
        status = run->status;
        if (run->stopped) result->outcome = CS_STOPPED;
        if (status || run->stopped || run->number == most) break;

        /* The next step; `next` may find that there is none. */
        prepare_next(run, step);
        status = run->status;
        if (run->finished) report_stagnation(run, result);
        if (run->finished) break;
    }
    if (run->converged) result->outcome = CS_CONVERGED;
    return status;
}

cs_status cs_run_iterate(cs_run *run, cs_result *result)
{
    cs_arena arena = {0};
    cs_status status = iterate(run, result, &arena);
    cs_arena_clear(&arena);
    return status;
}

double cs_run_largest_impulse(const cs_run *run)
{
    double largest = 0;
    fetch(run);
    for (int64_t i = 0; i < run->solver->problem->rows; i++)
        largest = fmax(largest, fabs(run->solver->lambda[i]));
    cs_ranks_largest(run->solver->ranks, &largest, 1);
    return largest;
}

/* Adds a row for the last iteration if it was not recorded. */
static cs_status record_end(cs_run *run, cs_error *error)
{
    const cs_history *history = &run->solver->history;
    const double *row = cs_history_last(history);
    run->known = 0;
    if (row[0] == (double)run->number) return CS_OK;
    double since = cs_seconds(run->budget);
    cs_status status = record(run, since, error);
    cs_leave_out(run->budget, since);
    return status;
}

/* Evaluates the measures in the last row of the history for the impulses that are returned: those that were not
 * evaluated yet, or all of them if the impulses were `restored`. Measures of the last sweep remain. */
static void complete_last_row(cs_run *run, int restored)
{
    cs_history *history = &run->solver->history;
    double *row = cs_history_last(history), since = cs_seconds(run->budget);
    for (int c = 2; c < history->columns; c++) {
        const cs_measure *measure = history->measure[c - 2];
        if (!measure->of_sweep && (restored || isnan(row[c])))
            row[c] = cs_measure_value(measure, &run->state);
    }
    cs_leave_out(run->budget, since);
}

/* Whether the last row of the history lacks measures that need the state. */
static int is_incomplete(const cs_history *history)
{
    const double *row = cs_history_last(history);
    for (int c = 2; c < history->columns; c++)
        if (!history->measure[c - 2]->of_sweep && isnan(row[c])) return 1;
    return 0;
}

/* Evaluates the present iterate, unless that has been done since it was reached. What the caller asks for of xi is
 * evaluated here. */
static void evaluate_end(cs_run *run, cs_result *result)
{
    cs_solver *solver = run->solver;
    if (run->there) confirm(run, 1);
    if (run->there && !result->residual_velocities) return;

    /* On several ranks without a tolerance only measures read the impulses from here on: they go where they are handed out. */
    int direct = solver->fixed_iterations && !run->evaluated && cs_ranks_count(solver->ranks) > 1;
    if (direct && result->impulses) {
        cs_packing_get(&solver->packing, result->impulses);
        run->state.lambda = result->impulses;
    } else if (!run->evaluated) fetch(run);
    if (cs_settle(solver) || !run->evaluated) cs_evaluate_result(solver, &run->state);
    run->known = run->confirmed = run->evaluated = 1;
}

/* Fills the figures of the result, with the state of the returned impulses if that is asked for, or if the last row of
 * the history needs it, which is recording. Returns whether they were evaluated. */
static int hand_out_figures(cs_run *run, int restored, cs_result *result)
{
    cs_solver *solver = run->solver;
    int asked = restored || cs_is_asked_for(solver, run->budget, result);
    int known = run->there && run->confirmed;
    int evaluates = asked || known || is_incomplete(&solver->history);
    double since = asked ? cs_check_begins(solver, run->budget) : cs_seconds(run->budget);
    if (evaluates) evaluate_end(run, result);
    cs_hand_out(solver, evaluates ? &run->state : NULL, run->number, result);
    if (run->there && run->evaluated) cs_hand_out_arrays(solver, result);
    if (restored || is_incomplete(&solver->history)) complete_last_row(run, restored);
    if (asked) cs_check_ends(solver, run->budget, since);
    else cs_leave_out(run->budget, since);
    return evaluates;
}

/* result->impulses <- those of an iterate that is not packed, or has been fetched: there, perhaps. */
static void hand_out_impulses(const cs_run *run, cs_result *result)
{
    if (run->state.lambda != result->impulses) cs_hand_out_impulses(run->solver, result);
}

/* The caller's impulses, and velocities that no evaluation has handed out: from the backend, unless they have been fetched. */
static void hand_out_iterate(cs_run *run, int evaluated, cs_result *result)
{
    cs_solver *solver = run->solver;
    const cs_packing *packing = &solver->packing;
    int here = run->there ? run->evaluated : evaluated;
    if (here || is_unpacked(run)) hand_out_impulses(run, result);
    else if (run->there && solver->there) {
        packing->backend->arrays->get(packing->state, solver->there->impulses);
        solver->there->written = 1;
    } else if (result->impulses) cs_packing_get(packing, result->impulses);
    if (run->there) {
        if (result->velocity_change && !here)
            packing->backend->verdicts->velocity(packing->state, result->velocity_change);
        return;
    }
    if (!result->impulses && result->velocity_change) fetch(run);
    cs_hand_out_velocity(solver, result->impulses ? result->impulses : solver->lambda, result);
}

/* Fills the result with the present iterate. */
static cs_status hand_out(cs_run *run, int restored, cs_result *result)
{
    /* The last row of the history, and the figures. */
    cs_solver *solver = run->solver;
    cs_status status = record_end(run, run->error);
    if (status) return status;
    int evaluated = hand_out_figures(run, restored, result);

    hand_out_iterate(run, evaluated, result);

    /* The final outcome. */
    double since = cs_check_begins(solver, run->budget);
    if (run->late && result->outcome == CS_STOPPED) result->outcome = CS_MAX_SECONDS;
    if (run->proven && result->outcome == CS_STOPPED) result->outcome = CS_INFEASIBLE;
    status = cs_find_verdict(solver, run->budget, &run->state, result, run->error);
    cs_check_ends(solver, run->budget, since);
    result->block_products = solver->packing.products;
    result->unfinished_blocks = run->stats.unfinished;
    return status;
}

cs_status cs_run_end(cs_run *run, cs_status status, cs_result *result)
{
    /* Restore the best iterate. The last one is kept as a candidate for a proof that there is no solution. */
    cs_solver *solver = run->solver;
    int restores = !status && run->best_number >= 0 && !run->converged;
    solver->at_once = run->there ? run->at_once : 0;
    if (restores) {
        if (!run->there) fetch(run);
        cs_keep_for_rays(solver);
        run->iteration->restore(run);
        forget(run);
    }

    /* Fill the result. */
    if (!status) status = hand_out(run, restores, result);
    if (!status) status = cs_ranks_status(solver->ranks, run->error);
    if (restores) result->best_iteration = run->best_number;
    result->rollbacks = run->rollbacks;
    leave_mode(run);
    return status;
}

cs_status cs_run_end_with(cs_run *run, cs_result *result)
{
    cs_status status = hand_out(run, 1, result);
    leave_mode(run);
    return status;
}
