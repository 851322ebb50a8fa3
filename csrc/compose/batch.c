/* Batches (compose/batch.h). The solver's method is replaced by a copy of its own whose `solve` goes part by part, so that
 * everything before and after the iterations is that of any solve. */
#include "compose/batch.h"

#include "core/clock.h"
#include "core/denormals.h"
#include "core/error.h"
#include "core/parallel.h"
#include "solver/judge.h"
#include "solver/options.h"
#include "solver/solver.h"

#include <math.h>
#include <string.h>

typedef struct batch {
    cs_method method; /* first, so that the method is the batch */
    const cs_batch_call *call;
    cs_batch_result *result;
    cs_parts_call parts;
    cs_arena arena;
} batch;

/* ---- before the sweeps ------------------------------------------------------------------------- */

static cs_part_rule rule_of(const cs_solver *solver)
{
    const cs_options *options = &solver->options;
    int single = solver->packing.dtype == CS_F32;
    return (cs_part_rule){
        .most = options->max_iterations,
        .check_every = options->check_every,
        .rtol = isnan(options->rtol) ? 0 : options->rtol,
        .atol = isnan(options->atol) ? 0 : options->atol,
        .has_tolerance = !solver->fixed_iterations,
        .growth = options->rollback ? cs_rollback_growth(solver) : INFINITY,
        .noise = cs_rounding_noise(solver->packing.dtype),
        .rollbacks = options->rollback,
        .refreshes = single ? CS_REFRESH_EVERY : 0,
    };
}

/* speed (rows) <- V of each row's island. */
static void spread_speeds(const cs_solver *solver, double *speed)
{
    const cs_problem *problem = solver->problem;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++)
            for (int i = 0; i < group->rows; i++)
                speed[cs_group_row(group, k) + i] = solver->judge.scale[group->first_block + k];
    }
}

static cs_status describe_parts(cs_solver *solver, batch *b, cs_error *error)
{
    int64_t parts = solver->schedule.parts;
    cs_part_rule rule = rule_of(solver);
    double *speed = NULL;
    if (rule.has_tolerance) speed = cs_arena_take(&b->arena, solver->problem->rows, sizeof(double));
    b->parts = (cs_parts_call){
        .rule = rule,
        .rho = rule.has_tolerance ? solver->factors.rho : NULL,
        .speed = speed,
        .state = cs_arena_take(&b->arena, parts, sizeof(cs_part_state)),
        .recorded = b->call->recorded,
        .history = b->call->history,
        .histories = b->call->histories,
        .per = b->call->per,
        .poll = b->call->poll,
        .context = b->call->context,
    };
    cs_status status = cs_arena_status(&b->arena, error, "the workspace");
    if (status) return status;
    if (speed) spread_speeds(solver, speed);
    const cs_options *options = &solver->options;
    b->parts.threads = options->exact_threads
                           ? cs_threads_exactly(options->threads, parts)
                           : cs_threads_for(options->threads, solver->problem->blocks,
                                            CS_WORTH_THREADS_ISLANDS, parts);
    if (cs_problem_calls_back(solver->problem)) b->parts.threads = 1;
    return CS_OK;
}

/* ---- after the sweeps -------------------------------------------------------------------------- */

/* Adds the natural maps of the blocks of a part. */
static cs_natural_map map_of_part(const cs_solver *solver, const cs_state *state, int64_t p)
{
    const cs_schedule *schedule = &solver->schedule;
    cs_natural_map map = cs_no_defect();
    for (int64_t r = schedule->part[p]; r < schedule->part[p + 1]; r++) {
        const cs_range *range = &schedule->range[r];
        const cs_block_group *group = &solver->problem->block_group[range->group];
        for (int64_t v = range->first; v < range->first + range->count; v++) {
            cs_set_defect sets[CS_MAX_ROWS];
            int64_t k = schedule->visit[range->group][v];
            int64_t block = group->first_block + k;
            cs_set_bounds bounds = cs_bounds_of(state, block);
            int count = cs_block_defects(state, group, k, sets);
            for (int s = 0; s < count; s++) cs_add_set(&bounds, &sets[s], block, &map);
        }
    }
    return map;
}

typedef struct judging {
    const cs_solver *solver;
    const cs_state *state;
    batch *b;
    int64_t drifted[CS_LOOP_PIECES];
} judging;

static cs_outcome outcome_of(const cs_part_state *state)
{
    switch (state->end) {
    case CS_PART_CONVERGED: return CS_CONVERGED;
    case CS_PART_DIVERGED: return CS_DIVERGING;
    case CS_PART_OPEN:
    case CS_PART_EXHAUSTED: break;
    }
    return CS_MAX_ITERATIONS;
}

/* What is returned of some parts, judged with J and M^-1 as given. Those that do not meet the tolerance there, because u
 * has drifted away from lambda, are opened again if they have iterations left. */
static void judge_parts(void *context, int64_t piece, int64_t first, int64_t end)
{
    judging *j = context;
    cs_batch_result *result = j->b->result;
    const cs_part_rule *rule = &j->b->parts.rule;
    j->drifted[piece] = 0;
    for (int64_t p = first; p < end; p++) {
        cs_part_state *state = &j->b->parts.state[p];
        cs_natural_map map = map_of_part(j->solver, j->state, p);
        if (rule->has_tolerance && map.met && state->end == CS_PART_EXHAUSTED)
            state->end = CS_PART_CONVERGED;
        if (state->end == CS_PART_CONVERGED && !map.met) {
            int last = state->iterations >= rule->most;
            state->end = last ? CS_PART_EXHAUSTED : CS_PART_OPEN;
            state->drifted = !last;
            j->drifted[piece] += !last;
        }
        result->outcome[p] = outcome_of(state);
        result->iterations[p] = state->iterations;
        result->rollbacks[p] = state->rollbacks;
        result->residual[p] = state->residual;
        result->natural_map[p] = map.impulse;
        result->natural_map_scaled[p] = map.scaled;
        result->worst_block[p] = map.worst_block;
    }
}

/* Judges all parts. Returns how many were opened again. */
static int64_t judge_all(cs_solver *solver, cs_state *state, batch *b)
{
    judging j;
    j.solver = solver;
    j.state = state;
    j.b = b;
    int64_t parts = solver->schedule.parts, drifted = 0;
    cs_packing_get(&solver->packing, solver->lambda);
    (void)cs_settle(solver);
    cs_evaluate(solver, state);
    cs_loop(cs_judge_threads(solver), parts, judge_parts, &j);
    for (int64_t i = 0; i < cs_loop_pieces(parts); i++) drifted += j.drifted[i];
    return drifted;
}

/* ---- the solve --------------------------------------------------------------------------------- */

/* Sweeps until every part has ended. */
static cs_status sweep_parts(cs_solver *solver, batch *b, cs_error *error)
{
    int halt = 0;
    cs_state state = cs_state_of(solver);
    for (int64_t open = 1; open > 0;) {
        cs_status status =
            solver->packing.backend->solve_parts(solver->packing.state, &b->parts, error);
        if (status) return status;
        halt = b->parts.halted;
        open = halt ? 0 : judge_all(solver, &state, b);
    }
    if (halt) return cs_fail(error, CS_INTERRUPTED, "interrupted");

    /* A rollback has changed R: the next solve writes it anew. */
    for (int64_t p = 0; p < solver->schedule.parts; p++)
        if (b->parts.state[p].rollbacks) solver->factors.scale = 0.5;
    return CS_OK;
}

/* The `solve` of the method (solver/method.h). */
static cs_status solve(cs_solver *solver, cs_budget *budget, cs_result *result, cs_error *error)
{
    (void)budget;
    batch *b = (batch *)(uintptr_t)solver->method;
    cs_float_mode mode = cs_flush_denormals();
    cs_status status = describe_parts(solver, b, error);
    if (!status) status = sweep_parts(solver, b, error);
    if (!status) {
        cs_state state = cs_state_of(solver);
        result->outcome = CS_MAX_ITERATIONS;
        cs_hand_out(solver, &state, 0, result);
        cs_hand_out_impulses(solver, result);
    }
    cs_arena_clear(&b->arena);
    cs_restore_denormals(mode);
    return status;
}

/* Refuses what has no meaning for parts. */
static cs_status check(const cs_options *options, cs_error *error)
{
    if (strcmp(options->dtype, "mixed") == 0)
        return cs_fail(error, CS_UNSUPPORTED,
                       "dtype='mixed' needs corrections of all problems at once: use 'float64' or "
                       "'float32'");
    if (strcmp(options->local, "auto") != 0 && strcmp(options->local, "projected") != 0 &&
        strcmp(options->local, "exact") != 0)
        return cs_fail(error, CS_UNSUPPORTED,
                       "local='%s' is not possible in a batch: use 'auto', 'projected' or 'exact'",
                       options->local);
    return CS_OK;
}

/* The `cut` of a composition: nothing is cut, because the parts are those of the schedule. */
static cs_status keep_whole(cs_solver *solver, const cs_control *control, cs_error *error)
{
    (void)control;
    (void)error;
    solver->by_parts = 1;
    solver->island_count = 0;
    return CS_OK;
}

static const cs_composition in_parts = {.cut = keep_whole};

cs_status cs_batch_solve(const cs_problem *whole, const cs_options *options,
                         const cs_batch_call *call, cs_batch_result *result, cs_error *error)
{
    /* The solver of the whole, which is not divided further. */
    cs_solver *solver = NULL;
    cs_status status = check(options, error);
    double begun = cs_clock();
    if (!status)
        status = cs_solver_make(&solver, whole, options, &in_parts, NULL, call->control, error);
    if (status) return status;
    result->setup_seconds = cs_clock() - begun;

    /* Its sweeps, part by part. */
    batch b = {.method = *solver->method, .call = call, .result = result};
    const cs_method *own = solver->method;
    b.method.solve = solve;
    solver->method = &b.method;
    cs_result solved = {
        .impulses = result->impulses,
        .residual_velocities = result->residual_velocities,
        .velocity_change = result->velocity_change,
    };
    status = cs_solver_solve(solver, call->initial, NULL, NULL, NULL, &solved, error);
    result->found = 0;
    if (!status && call->there)
        status =
            cs_solver_impulses_there(solver, result->impulses, call->there, &result->found, error);
    result->used = b.parts.used;
    result->seconds = solved.wall_seconds;
    result->sweep_seconds = b.parts.seconds;
    solver->method = own;
    cs_solver_destroy(solver);
    return status;
}
