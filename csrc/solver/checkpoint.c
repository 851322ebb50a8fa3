/* The state of a solve, out and in (solver/checkpoint.h). */
#include "solver/checkpoint.h"

#include "core/error.h"
#include "solver/accelerate.h"
#include "solver/judge.h"
#include "solver/options.h"

#include <string.h>

void cs_solver_checkpoints(cs_solver *solver, const cs_checkpoints *checkpoints)
{
    solver->checkpoints = checkpoints;
}

/* The points that the method keeps. */
static int points_of(const cs_solver *solver)
{
    return solver->method->steps ? solver->method->steps->points(solver) : 0;
}

cs_saved_sizes cs_saved_sizes_of(const cs_solver *solver)
{
    const cs_steps *steps = solver->method->steps;
    return (cs_saved_sizes){
        .points = points_of(solver),
        .has_b = cs_dtype_of(&solver->options) == CS_MIXED,
        .has_balance = cs_is_balanced(&solver->options),
        .has_earlier = cs_next_ray(solver) < INT64_MAX,
        .rows = solver->problem->rows,
        .velocities = solver->problem->velocities,
        .scalars = steps ? (int64_t)steps->scalars : 0,
        .columns = solver->history.columns,
    };
}

/* ---- points ------------------------------------------------------------------------------------ */

/* Point i of a checkpoint, of points + 2. */
static cs_point point_at(const cs_solver *solver, int i)
{
    const cs_backend *backend = solver->packing.backend;
    int points = points_of(solver);
    if (i == 0) return cs_point_here(solver);
    if (i <= points) return cs_point_at(solver, i - 1);
    return backend->kept(solver->packing.state);
}

static void save_points(const cs_solver *solver, cs_saved *saved)
{
    const cs_problem *problem = solver->problem;
    int points = points_of(solver);
    for (int i = 0; i < points + 2; i++) {
        double *u = i <= points ? saved->u + 2 * i * problem->velocities : NULL;
        solver->packing.backend->get_point(solver->packing.state, point_at(solver, i),
                                           saved->impulses + i * problem->rows, u);
    }
}

static void load_points(cs_solver *solver, const cs_saved *saved)
{
    const cs_problem *problem = solver->problem;
    int points = points_of(solver);
    for (int i = 0; i < points + 2; i++) {
        const double *u = i <= points ? saved->u + 2 * i * problem->velocities : NULL;
        solver->packing.backend->put_point(solver->packing.state, point_at(solver, i),
                                           saved->impulses + i * problem->rows, u);
    }
}

/* ---- steps ------------------------------------------------------------------------------------- */

static size_t bytes_of_rows(const cs_solver *solver)
{
    return sizeof(double) * (size_t)solver->problem->rows;
}

static void save_balance(const cs_solver *solver, double *to)
{
    const cs_balance *balance = &solver->factors.balance;
    const double *from[CS_SAVED_BALANCE] = {balance->factor, balance->before, balance->change};
    for (int i = 0; i < CS_SAVED_BALANCE; i++)
        memcpy(to + i * solver->problem->rows, from[i], bytes_of_rows(solver));
}

/* The factors, and R from them, with the rollbacks so far. Blocks with a full R_k have no factors. */
static void load_balance(cs_solver *solver, const double *from)
{
    cs_balance *balance = &solver->factors.balance;
    const cs_problem *problem = solver->problem;
    double *to[CS_SAVED_BALANCE] = {balance->factor, balance->before, balance->change};
    for (int i = 0; i < CS_SAVED_BALANCE; i++)
        memcpy(to[i], from + i * problem->rows, bytes_of_rows(solver));
    for (int64_t i = 0; i < problem->rows; i++)
        balance->r[i] = solver->factors.r[i] * solver->factors.scale * balance->factor[i];
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++)
            balance->moved[group->first_block + k] = !solver->factors.step[g];
    }
    balance->changed = 1;
    solver->packing.backend->replace_steps(solver->packing.state, balance->r, balance->moved);
}

/* ---- the whole --------------------------------------------------------------------------------- */

/* Takes the arrays of a checkpoint. */
static cs_status take_arrays(const cs_solver *solver, cs_arena *arena, cs_saved *saved,
                             cs_error *error)
{
    cs_saved_sizes size = cs_saved_sizes_of(solver);
    saved->bytes = size.scalars;
    saved->impulses = cs_arena_take(arena, (size.points + 2) * size.rows, sizeof(double));
    saved->u = cs_arena_take(arena, 2 * (size.points + 1) * size.velocities, sizeof(double));
    if (size.has_b) saved->b = cs_arena_take(arena, size.rows, sizeof(double));
    if (size.has_balance)
        saved->balance = cs_arena_take(arena, CS_SAVED_BALANCE * size.rows, sizeof(double));
    if (size.has_earlier) saved->earlier = cs_arena_take(arena, size.rows, sizeof(double));
    saved->scalars = cs_arena_take(arena, size.scalars, 1);
    saved->figures = cs_arena_take(arena, CS_MAX_FIGURES, sizeof(double));
    saved->band = cs_arena_take(arena, CS_STAGNATION_VALUES, sizeof(double));
    return cs_arena_status(arena, error, "a checkpoint");
}

cs_status cs_save_run(cs_run *run, cs_arena *arena, cs_saved *saved, cs_error *error)
{
    cs_solver *solver = run->solver;
    cs_status status = saved->figures ? CS_OK : take_arrays(solver, arena, saved, error);
    if (status) return status;

    /* The numbers of the run, of its stagnation test and of its iteration. */
    const cs_stagnation *test = run->stagnation;
    saved->number = (cs_saved_numbers){
        .iteration = run->number,
        .seconds = cs_seconds(run->budget),
        .sweep_seconds = run->budget->sweeping,
        .products = solver->packing.products,
        .best = run->best,
        .best_impulse = run->best_impulse,
        .start = run->start,
        .patience = run->patience,
        .first = run->first,
        .best_number = run->best_number,
        .rollbacks = run->rollbacks,
        .scale = run->scale,
        .ray_next = solver->judge.ray.next,
        .ray_kept = solver->judge.ray.kept,
    };
    if (test) {
        saved->number.reference = test->reference;
        saved->number.since = test->since;
        saved->number.seen = test->seen;
        saved->number.stride = test->stride;
        memcpy(saved->band, test->value, sizeof(double) * (size_t)test->count);
    }
    saved->bands = test ? test->count : 0;
    run->iteration->save(run, &saved->number);

    /* The method's variables, and the figures. */
    if (saved->bytes) memcpy(saved->scalars, solver->points->scalars, (size_t)saved->bytes);
    memcpy(saved->figures, solver->figure_value, sizeof solver->figure_value);

    /* Impulses and velocities; what mixed precision and balanced factors have changed. */
    save_points(solver, saved);
    if (saved->b) solver->packing.backend->get_data(solver->packing.state, saved->b);
    if (saved->balance) save_balance(solver, saved->balance);
    if (saved->earlier && solver->judge.ray.kept && solver->problem->rows)
        memcpy(saved->earlier, solver->judge.ray.earlier, bytes_of_rows(solver));
    saved->history = solver->history.value;
    saved->history_rows = solver->history.rows;
    return CS_OK;
}

cs_status cs_load_run(cs_run *run, const cs_saved *saved, cs_error *error)
{
    /* The history so far. */
    cs_solver *solver = run->solver;
    const cs_saved_numbers *number = &saved->number;
    cs_history *history = &solver->history;
    cs_status status = cs_history_reserve(history, saved->history_rows + 1, error);
    if (status) return status;
    memcpy(history->value, saved->history,
           sizeof(double) * (size_t)saved->history_rows * (size_t)history->columns);
    history->rows = saved->history_rows;

    /* The numbers. */
    run->number = number->iteration;
    run->budget->unclocked -= number->seconds;
    run->budget->sweeping = number->sweep_seconds;
    run->best = number->best;
    run->best_impulse = number->best_impulse;
    run->start = number->start;
    run->patience = number->patience;
    run->first = number->first;
    run->best_number = number->best_number;
    if (run->stagnation) {
        cs_stagnation *test = run->stagnation;
        test->reference = number->reference;
        test->since = number->since;
        test->seen = number->seen;
        test->stride = number->stride;
        test->count = (int)saved->bands;
        memcpy(test->value, saved->band, sizeof(double) * (size_t)saved->bands);
    }
    if (saved->bytes) memcpy(solver->points->scalars, saved->scalars, (size_t)saved->bytes);
    memcpy(solver->figure_value, saved->figures, sizeof solver->figure_value);

    /* What the next test for a proof compares with. */
    solver->judge.ray.next = number->ray_next;
    solver->judge.ray.kept = number->ray_kept;
    if (saved->earlier && number->ray_kept && solver->problem->rows)
        memcpy(solver->judge.ray.earlier, saved->earlier, bytes_of_rows(solver));

    /* R after the rollbacks, each of which was a halving. */
    for (int i = 0; i < number->rollbacks; i++)
        cs_packing_scale_steps(&solver->packing, CS_ROLLBACK_FACTOR);
    run->rollbacks = number->rollbacks;
    run->scale = solver->factors.scale = number->scale;
    if (saved->balance) load_balance(solver, saved->balance);

    /* b, impulses and velocities. */
    if (saved->b) solver->packing.backend->correct_b(solver->packing.state, saved->b);
    load_points(solver, saved);
    solver->packing.products = number->products;
    run->iteration->load(run, number);
    return CS_OK;
}
