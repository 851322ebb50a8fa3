/* Creating a solver from options, running it, and describing it. */
#include "backend/cpu.h"
#include "backend/device_flow.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/instructions.h"
#include "core/loop.h"
#include "core/parallel.h"
#include "order/components.h"
#include "solver/accelerate.h"
#include "solver/judge.h"
#include "solver/on_ranks.h"
#include "solver/options.h"
#include "solver/there.h"
#include "transport/networks/ranks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *cs_outcome_name(cs_outcome outcome)
{
    switch (outcome) {
    case CS_CONVERGED: return "converged";
    case CS_MAX_ITERATIONS: return "max_iterations";
    case CS_DIVERGING: return "diverging";
    case CS_STOPPED: return "stopped";
    case CS_STALLED: return "stalled";
    case CS_WANDERING: return "wandering";
    case CS_MAX_SECONDS: return "max_seconds";
    case CS_INACCURATE: return "inaccurate";
    case CS_INFEASIBLE: return "infeasible";
    case CS_UNBOUNDED: return "unbounded";
    }
    return "unknown";
}

/* ---- threads of the set-up --------------------------------------------------------------------- */

/* The number of threads that share the loops of a set-up. */
static int threads_of_setup(const cs_solver *solver)
{
    const cs_options *options = &solver->options;
    if (options->exact_threads) return cs_threads_exactly(options->threads, CS_MOST_PIECES);
    return cs_threads_for(options->threads, solver->problem->blocks, CS_WORTH_THREADS_SETUP,
                          CS_MOST_PIECES);
}

/* Leaves the rest of a set-up to one thread if the processors are busy. */
static void watch_threads(cs_solver *solver)
{
    if (!solver->options.exact_threads)
        solver->setup_threads = cs_threads_for_now(solver->setup_threads, &solver->preemptions);
}

/* ---- set-up ---------------------------------------------------------------------------------- */

/* What a preparation makes anew. Each also makes what is listed before it. */
typedef enum extent {
    METHOD,     /* the method's own data: only b or parameters have changed */
    VALUES,     /* R, what judges iterates, and the packed numbers: J or M^-1 has changed */
    EVERYTHING, /* islands, the schedule, and the layout of the packed problem as well */
} extent;

/* Counts the parts at each body. Owners have all contacts of their bodies, and tell the ranks that have these as ghosts. */
static cs_status count_parts(cs_solver *solver, cs_error *error)
{
    const cs_problem *problem = solver->problem;
    cs_schedule *schedule = &solver->schedule;
    cs_status status = cs_schedule_count_parts(problem, schedule, &solver->kept, error);
    if (status || !solver->ranks) return status;

    /* Each body's number travels as the first of its velocities. */
    cs_arena scratch = {0};
    double *velocity = cs_arena_take(&scratch, problem->velocities, sizeof(double));
    if (!velocity) return cs_no_memory(error, "the parts at each body");
    for (int back = 0; back < 2; back++) {
        for (int g = 0; g < problem->body_groups; g++) {
            const cs_body_group *group = &problem->body_group[g];
            for (int64_t k = 0; k < group->count; k++) {
                double *count = &schedule->touching_parts[group->first_body + k];
                double *at = &velocity[group->first_velocity + k * group->dof];
                if (back) *count = *at;
                else *at = *count;
            }
        }
        if (!back) cs_ranks_complete(solver->ranks, velocity);
    }
    cs_arena_clear(&scratch);
    return cs_ranks_status(solver->ranks, error);
}

/* For a concurrent border with a weight or split masses: whether the scheme has them, and the parts at each body. */
static cs_status prepare_border(cs_solver *solver, cs_error *error)
{
    /* The scheme: for split masses one with the factors of bodies. */
    const cs_schedule *schedule = &solver->schedule;
    const cs_scheme *scheme = solver->scheme;
    if (schedule->splits_masses && solver->problem->matrix)
        return cs_fail(error, CS_UNSUPPORTED,
                       "split_masses of order='%s' needs Jacobians and masses, and this problem "
                       "was given as a matrix",
                       schedule->order);
    if (schedule->splits_masses && !scheme) {
        scheme = solver->scheme = cs_scheme_find("factorized");
        cs_status status = cs_scheme_settle(scheme, NULL, 0, solver->scheme_setting, error);
        if (!status) status = cs_options_check_scheme(solver, error);
        if (status) return status;
    }
    if (schedule->splits_masses && !scheme->splits_masses)
        return cs_fail(error, CS_UNSUPPORTED,
                       "split_masses of order='%s' needs scheme='factorized', and the scheme is "
                       "'%s'",
                       schedule->order, scheme->name);
    if (schedule->weight < 1 && scheme && !scheme->weighs)
        return cs_fail(error, CS_UNSUPPORTED,
                       "weight of order='%s' needs scheme='factorized', 'matrix' or "
                       "'iteration_matrix', and the scheme is '%s'",
                       schedule->order, scheme->name);
    int concurrent = 0;
    for (int64_t s = 0; s < schedule->stages; s++)
        concurrent |= schedule->stage[s].kind == CS_CONCURRENT;
    return schedule->splits_masses && concurrent ? count_parts(solver, error) : CS_OK;
}

/* solver->schedule <- the schedule of a sweep. */
static cs_status build_schedule(cs_solver *solver, cs_error *error)
{
    cs_arena scratch = {0};
    const cs_problem *problem = solver->problem;
    cs_order_options options = solver->options.order_options;
    options.threads = solver->setup_threads > 1 ? solver->options.threads : 1;
    options.exact_threads = solver->options.exact_threads;
    cs_plan *plan;

    /* Ranks have a plan. */
    if (solver->ranks) {
        cs_status status =
            cs_share_plan(cs_ranks_share(solver->ranks), problem, &scratch, &plan, error);
        if (!status)
            status = cs_schedule_lay(problem, plan, &solver->kept, &solver->schedule, error);
        cs_arena_clear(&scratch);
        return status ? status : prepare_border(solver, error);
    }

    /* "auto" looks for what is fast on a processor; a device has many threads for the contacts of a colour. */
    const cs_order *order = solver->order;
    int flat = cs_is_flat(solver->method, solver->setting);
    int many = order == &cs_order_auto && solver->backend != &cs_backend_cpu && !flat;
    if (many) order = cs_order_find("colored");
    cs_status status = cs_plan_make(problem, order, flat, &options, &scratch, &plan, error);
    if (!status && many) plan->why = "the contacts of a colour are visited at once";
    if (!status) status = cs_schedule_lay(problem, plan, &solver->kept, &solver->schedule, error);
    cs_arena_clear(&scratch);
    return status ? status : prepare_border(solver, error);
}

/* Whether a measure needs the iterate before the last sweep. Without a tolerance it is not defined. */
static int needs_previous(const cs_solver *solver)
{
    int needed = solver->stop->of_change;
    if (solver->fixed_iterations) return 0;
    for (int c = 0; c < solver->history.columns - 2; c++)
        needed |= solver->history.measure[c]->of_change;
    return needed;
}

/* Numbers of all rows, which are written block by block: spare rows, which belong to no block, are zero. */
static double *take_rows_of_blocks(const cs_problem *problem, cs_arena *arena)
{
    int64_t rows = 0;
    for (int g = 0; g < problem->block_groups; g++)
        rows += problem->block_group[g].count * problem->block_group[g].rows;
    return rows == problem->rows ? cs_arena_take_unset(arena, rows, sizeof(double))
                                 : cs_arena_take(arena, problem->rows, sizeof(double));
}

/* Whether this solver itself makes sweeps: its problem is then packed. */
static int sweeps(const cs_solver *solver)
{
    return !solver->method->without_sweeps && !solver->parts;
}

/* Whether a measure adds numbers of all blocks. */
static int adds(const cs_measure *measure)
{
    return measure->of_block || measure->on_ranks || measure->of_change;
}

/* Room for the sums of measures over parts of the problem, where the order has these. A failure is found by the caller. */
static void take_sums(cs_solver *solver)
{
    const cs_schedule *schedule = &solver->schedule;
    int needed = adds(solver->stop);
    for (int c = 0; c < solver->history.columns - 2; c++)
        needed |= adds(solver->history.measure[c]);
    solver->sums = (cs_part_sums){.schedule = NULL};
    if (!needed || !sweeps(solver) || !schedule->owner) return;
    solver->sums = (cs_part_sums){
        .schedule = schedule,
        .of_block = cs_arena_take_unset(&solver->kept, solver->problem->blocks, sizeof(double)),
        .of_owner = cs_arena_take_unset(&solver->kept, schedule->owners, sizeof(double)),
    };
}

/* Allocates the arrays that every solver needs. */
static cs_status take_workspace(cs_solver *solver, cs_error *error)
{
    const cs_problem *problem = solver->problem;
    cs_arena *arena = &solver->kept;
    solver->factors.r = take_rows_of_blocks(problem, arena);
    solver->factors.rho = take_rows_of_blocks(problem, arena);
    solver->b = take_rows_of_blocks(problem, arena);
    solver->parameters = cs_arena_take_unset(arena, problem->parameters, sizeof(double));
    solver->lambda = cs_arena_take_unset(arena, problem->rows, sizeof(double));
    solver->xi = cs_loop_take(solver->setup_threads, arena, problem->rows, sizeof(double));
    solver->velocity =
        cs_loop_take(solver->setup_threads, arena, problem->velocities, sizeof(double));
    solver->stagnation = NULL;
    if (cs_tests_stagnation(solver))
        solver->stagnation = cs_arena_take(arena, 1, sizeof *solver->stagnation);
    int exact = solver->options.exact_threads;
    int threads = cs_threads_of_products(problem, solver->options.threads, exact);
    cs_status status = cs_share_products(problem, solver->within ? 1 : threads, !exact, arena,
                                         &solver->products, error);
    solver->judge.one_pass.pieces = 0;
    if (!status && threads <= 1 && cs_ranks_count(solver->ranks) > 1)
        status = cs_one_pass_make(&solver->judge.one_pass, problem, solver->ranks, arena, error);
    if (status) return status;
    take_sums(solver);
    int keeps = needs_previous(solver);
    solver->previous = keeps ? cs_arena_take(arena, problem->rows, sizeof(double)) : NULL;
    return cs_arena_status(arena, error, "the workspace");
}

/* The number of threads of the sweeps: 1 if every stage is sequential, or if the prox of a set calls the caller's
 * code. */
static int choose_threads(const cs_solver *solver)
{
    int alone = 1;
    if (cs_problem_calls_back(solver->problem)) return 1;
    for (int64_t s = 0; s < solver->schedule.stages; s++)
        alone = alone && solver->schedule.stage[s].kind == CS_SEQUENTIAL;
    if (alone) return 1;
    int64_t parts = solver->schedule.most_parts;
    const cs_options *options = &solver->options;
    if (options->exact_threads) return cs_threads_exactly(options->threads, parts);
    return cs_threads_for(options->threads, solver->problem->blocks, CS_WORTH_THREADS_SWEEP, parts);
}

/* scheme="auto": chooses the scheme. It remains when the problem's values change. */
static cs_status choose_scheme(cs_solver *solver, const cs_pack_request *request, cs_error *error)
{
    cs_status status = solver->backend->choose(request, &solver->scheme, error);
    if (!status) status = cs_scheme_settle(solver->scheme, NULL, 0, solver->scheme_setting, error);
    return status ? status : cs_options_check_scheme(solver, error);
}

/* Has the backend pack the problem. Computes the weights of averaging="adjacent" before. */
static cs_status pack_with_backend(cs_solver *solver, cs_pack_request *request,
                                   const cs_control *control, cs_error *error)
{
    cs_arena scratch = {0};
    cs_status status = CS_OK;
    double *weight = NULL;
    if (solver->options.averaging_adjacent) {
        weight = cs_arena_take(&scratch, solver->problem->blocks, sizeof(double));
        status =
            weight ? cs_adjacent_weights(solver, weight, error) : cs_no_memory(error, "averaging");
    }
    request->scheme = solver->scheme;
    request->weight = weight;
    if (!status)
        status = solver->backend->pack(request, &solver->kept, control, &solver->packing, error);
    if (!status) status = cs_connect_packing(solver, error);
    cs_arena_clear(&scratch);
    return status;
}

/* Computes R and what judges iterates. local (groups) <- how each group is updated. */
static cs_status prepare_values(cs_solver *solver, cs_local *local, cs_error *error)
{
    cs_status status = cs_balance_take(solver, error);
    if (!status) status = cs_refresh_take(solver, error);
    if (!status) status = cs_choose_steps(solver, local, error);
    if (!status) status = cs_judge_take(solver, error);
    if (!status) status = cs_bound_steps(solver, local, error);
    return status;
}

/* Packs the problem, or writes the new values into the packing if its layout still fits. */
static cs_status pack_values(cs_solver *solver, extent what, cs_pack_request *request,
                             cs_budget *budget, cs_error *error)
{
    const cs_packing *packing = &solver->packing;
    int refilled = what == VALUES && solver->backend->refill && !solver->ranks &&
                   solver->backend->refill(packing->state, request, solver->roots_changed);
    if (refilled) return CS_OK;
    cs_packing_release(&solver->packing);
    cs_arena_rewind(&solver->kept, solver->before_packing);
    return pack_with_backend(solver, request, budget->control, error);
}

/* Whether a device gives the verdicts on iterates: those of methods whose iterate is the packed one throughout. Others read
 * solver->lambda. */
static int may_be_judged_there(const cs_solver *solver)
{
    const cs_verdicts *verdicts = solver->packing.backend->verdicts;
    const cs_method *method = solver->method;
    return verdicts && !method->each && !method->reads_impulses &&
           (method->steps || !method->own) && verdicts->possible(solver->packing.state);
}

/* Prepares sweeps: R, the scheme, the backend's packing, and the method's own state. */
static cs_status pack(cs_solver *solver, extent what, cs_budget *budget, cs_error *error)
{
    /* What does not depend on the values of J and M^-1. */
    const cs_options *options = &solver->options;
    const cs_steps *steps = solver->method->steps;
    cs_status status = CS_OK;
    if (what == EVERYTHING) {
        solver->packing = (cs_packing){
            .backend = solver->backend,
            .dtype = cs_dtype_of(options),
            .threads = choose_threads(solver),
        };
        status = take_workspace(solver, error);
        solver->before_packing = cs_arena_position(&solver->kept);
    }

    /* The request to the backend; its scheme and weights follow below. */
    cs_local local[CS_MAX_GROUPS] = {0};
    cs_pack_request request = {
        .problem = solver->problem,
        .schedule = &solver->schedule,
        .dtype = solver->packing.dtype,
        .threads = solver->packing.threads,
        .setup_threads = solver->setup_threads,
        .paced = !options->exact_threads,
        .bound_previous = strcmp(options->bound, "previous") == 0,
        .setting = solver->scheme_setting,
        .averaging = isnan(options->averaging) ? 1 : options->averaging,
        .instructions = solver->instructions,
        .device_sweeps = (int)cs_device_sweeps_of(options->device_sweeps),
        .single_prox = strcmp(options->device_prox, "single") == 0,
        .general = options->general,
        .by_parts = solver->by_parts,
        .ranks = solver->ranks,
        .changes = solver->previous && !solver->sums.schedule,
        .local = local,
        .points = steps ? steps->points(solver) : 0,
    };

    /* R and what judges iterates; the scheme, and the packed problem; earlier iterates. */
    if (what >= VALUES) {
        watch_threads(solver);
        if (!status) status = prepare_values(solver, local, error);
        watch_threads(solver);
        request.setup_threads = solver->setup_threads;
        if (cs_judges_over_factors(solver)) request.rho = solver->factors.rho;
        request.islands = solver->judge.islands;
        if (!status && !solver->scheme) status = choose_scheme(solver, &request, error);
        if (!status) status = pack_values(solver, what, &request, budget, error);

        if (!status && steps)
            status = cs_points_take(solver, steps->points(solver), steps->scalars, error);
        if (!status)
            cs_packing_put_steps(&solver->packing, solver->factors.r, solver->factors.step);
        if (!status) solver->judge.possible_there = may_be_judged_there(solver);
        solver->at_once = 0;
        solver->factors.scale = 1;
        solver->before_method = cs_arena_position(&solver->arena);
        solver->points_before_method = solver->packing.points;
    }

    /* What the method needs. */
    if (!status && solver->method->prepare) status = solver->method->prepare(solver, budget, error);
    return status;
}

/* Prepares a solve without sweeps in this solver: what the measures need, and what the method builds. If the problem
 * is divided, the solvers of its parts do the latter. */
static cs_status prepare_without_sweeps(cs_solver *solver, extent what, cs_budget *budget,
                                        cs_error *error)
{
    cs_local local[CS_MAX_GROUPS] = {0};
    cs_status status = CS_OK;
    solver->packing = (cs_packing){.dtype = cs_dtype_of(&solver->options), .threads = 1};
    solver->factors.scale = 1;
    if (what == EVERYTHING) status = take_workspace(solver, error);
    if (what >= VALUES) {
        if (!status) status = cs_choose_steps(solver, local, error);
        if (!status) status = cs_judge_take(solver, error);
        solver->before_method = cs_arena_position(&solver->arena);
    }
    if (status || solver->parts || !solver->method->prepare) return status;
    return solver->method->prepare(solver, budget, error);
}

/* Replaces a list of the caller by a copy, because it is read again when the problem changes. */
static cs_status keep_list(cs_solver *solver, const int64_t **list, int64_t count, cs_error *error)
{
    if (!*list) return CS_OK;
    int64_t *copy = cs_arena_take(&solver->given, count, sizeof(int64_t));
    if (!copy) return cs_no_memory(error, "the order");
    memcpy(copy, *list, sizeof(int64_t) * (size_t)count);
    *list = copy;
    return CS_OK;
}

/* Copies the lists and settings of the order. */
static cs_status keep_lists(cs_solver *solver, cs_error *error)
{
    const cs_problem *problem = solver->problem;
    cs_order_options *order = &solver->options.order_options;
    cs_status status = keep_list(solver, &order->permutation, problem->blocks, error);
    if (!status) status = keep_list(solver, &order->begins, problem->blocks, error);
    if (!status) status = keep_list(solver, &order->labels, cs_problem_vertices(problem), error);
    if (status) return status;
    cs_setting *own = cs_arena_take(&solver->given, CS_MAX_OWN_OPTIONS, sizeof *own);
    if (!own) return cs_no_memory(error, "the order");
    return cs_order_settle(solver->order, order, own, error);
}

/* Finds the island of each block: the connected part of the problem that the block belongs to. */
static cs_status find_islands(cs_solver *solver, cs_error *error)
{
    int64_t blocks = solver->problem->blocks;
    solver->judge.island = cs_arena_take_unset(&solver->kept, blocks, sizeof(int64_t));
    if (!solver->judge.island) return cs_no_memory(error, "islands");
    cs_status status = cs_find_islands(solver->problem, solver->setup_threads, solver->judge.island,
                                       &solver->island_count, error);
    if (!status && solver->ranks)
        solver->island_count = cs_islands_on_ranks(solver, solver->judge.island);
    return status;
}

/* For the cancellation of a set-up: whether the caller aborts. An answer to stop is ignored, because there is no
 * iterate yet that could be returned. */
static int aborts(void *context)
{
    const cs_control *control = context;
    return control && control->poll && control->poll(control->context, NULL) < 0;
}

/* Allocates the method's state, which is kept when the problem's values change. */
static cs_status take_own(cs_solver *solver, cs_error *error)
{
    solver->own = solver->method->own ? cs_allocate(1, solver->method->own) : NULL;
    if (solver->own || !solver->method->own) return CS_OK;
    return cs_no_memory(error, "method '%s'", solver->method->name);
}

/* Frees what the method's state holds; `again`: the method may keep data for the problem's next values. */
static void release_own(cs_solver *solver, int again)
{
    if (!solver->own) return;
    if (solver->method->release) solver->method->release(solver, again);
    else memset(solver->own, 0, solver->method->own);
}

static void release_parts(cs_solver *solver)
{
    if (solver->parts) solver->composition->release(solver->parts);
    solver->parts = NULL;
}

/* What has to be made anew, by what changed in the problem. The solvers of parts have copies of J and M^-1. */
static extent extent_of(const cs_solver *solver)
{
    const cs_problem *problem = solver->problem;
    int of_matrix = problem->matrix_version > solver->version;
    int of_parts = solver->parts && (of_matrix || solver->method->prepare);
    if (solver->version < 0 || problem->coupling_version > solver->version || of_parts)
        return EVERYTHING;
    return of_matrix ? VALUES : METHOD;
}

/* Clears what is made anew. */
static void clear(cs_solver *solver, extent what)
{
    solver->loaded = (cs_loaded){0};
    solver->index_found = NULL;
    release_own(solver, 1);
    if (what == METHOD) {
        cs_arena_rewind(&solver->arena, solver->before_method);
        cs_packing_give_points_back(&solver->packing, solver->points_before_method);
        return;
    }
    cs_packing_give_points_back(&solver->packing, 0);
    solver->judge.immovable_blocks = solver->factors.singular_blocks = 0;
    solver->factors.bound = NAN;
    solver->factors.touching = NULL;
    solver->factors.of_border = NULL;
    if (what == EVERYTHING) {
        release_parts(solver);
        cs_packing_release(&solver->packing);
        cs_arena_clear(&solver->kept);
        solver->schedule = (cs_schedule){0}; /* problems that are divided get none */
    }
    cs_arena_clear(&solver->arena);
}

/* Finds the islands, and divides the problem into them if that is possible. */
static cs_status prepare_structure(cs_solver *solver, const cs_control *control, cs_error *error)
{
    cs_status status = find_islands(solver, error);
    if (!status) status = cs_check_diagonals(solver, error);
    if (!status && solver->composition) status = solver->composition->cut(solver, control, error);
    else solver->island_count = 0; /* not reported */
    watch_threads(solver);
    if (!status && sweeps(solver)) status = build_schedule(solver, error);
    return status;
}

/* Computes everything that depends on the problem's values. Called again when they change. */
static cs_status prepare(cs_solver *solver, const cs_control *control, cs_error *error)
{
    /* Clear what depends on the values that have changed. */
    double start = cs_clock();
    extent what = extent_of(solver);
    solver->roots_changed = solver->problem->mass_version > solver->version;
    solver->setup_threads = threads_of_setup(solver);
    solver->preemptions = -1;
    watch_threads(solver);
    solver->version = -1;
    clear(solver, what);

    /* Prepare the sweeps, or what the method needs instead. */
    cs_cancellation cancellation = {.is_cancelled = aborts, .context = (void *)(uintptr_t)control};
    cs_budget budget = {.control = control, .cancellation = &cancellation};
    cs_status status = CS_OK;
    if (what == EVERYTHING) status = prepare_structure(solver, control, error);
    if (!status)
        status = sweeps(solver) ? pack(solver, what, &budget, error)
                                : prepare_without_sweeps(solver, what, &budget, error);
    if (!status) solver->version = solver->problem->version;
    solver->setup_seconds = cs_clock() - start;
    return status;
}

/* Makes a solver; `share` NULL: the problem is on one rank. */
static cs_status make(cs_solver **result, const cs_problem *problem, const cs_options *options,
                      const cs_composition *composition, const cs_backend *backend,
                      const cs_share *share, struct cs_transport *transport, int *known,
                      const cs_control *control, cs_error *error)
{
    /* The solver, and its options. */
    *result = NULL;
    cs_solver *solver = cs_allocate(1, sizeof *solver);
    if (!solver) return cs_no_memory(error, "a solver");
    solver->problem = problem;
    solver->version = -1;
    solver->options = *options;
    solver->composition = composition;
    solver->backend = backend;
    cs_status status = CS_OK;
    if (cs_problem_is_open(problem))
        status = cs_fail(error, CS_INVALID, "the problem has neither Jacobians nor a matrix");
    if (!status) status = cs_options_check(solver, error);
    if (!status && !backend) status = cs_device_backend(options->device, &solver->backend, error);
    if (!status)
        status = cs_instructions_find(solver->options.instructions, &solver->instructions, error);
    if (share) status = cs_join_ranks(solver, share, transport, status, known, error);

    /* Copies of the caller's lists, the method's state, and the data that depend on the problem. */
    if (!status) status = keep_lists(solver, error);
    if (!status) status = take_own(solver, error);
    if (!status) status = prepare(solver, control, error);
    if (status) {
        cs_solver_destroy(solver);
        return status;
    }
    *result = solver;
    return CS_OK;
}

cs_status cs_solver_make(cs_solver **result, const cs_problem *problem, const cs_options *options,
                         const cs_composition *composition, const cs_backend *backend,
                         const cs_control *control, cs_error *error)
{
    return make(result, problem, options, composition, backend, NULL, NULL, NULL, control, error);
}

cs_status cs_solver_make_on_ranks(cs_solver **result, const cs_problem *problem,
                                  const cs_options *options, const cs_share *share,
                                  struct cs_transport *transport, int *known,
                                  const cs_control *control, cs_error *error)
{
    *known = 0;
    return make(result, problem, options, NULL, NULL, share, transport, known, control, error);
}

cs_status cs_solver_make_part(cs_solver **result, const cs_solver *whole, const cs_problem *problem,
                              const cs_control *control, cs_error *error)
{
    /* Take over the options of the whole, which are checked already. A part runs on one thread. */
    *result = NULL;
    cs_solver *solver = cs_allocate(1, sizeof *solver);
    if (!solver) return cs_no_memory(error, "a solver");
    *solver = (cs_solver){
        .problem = problem,
        .method = whole->method,
        .scheme = whole->scheme,
        .options = whole->options,
        .symmetric = whole->symmetric,
        .instructions = whole->instructions,
        .order = whole->order,
        .stop = whole->stop,
        .fixed_iterations = whole->fixed_iterations,
        .backend = whole->backend,
        .version = -1,
        .within = 1,
    };
    memcpy(solver->setting, whole->setting, sizeof solver->setting);
    memcpy(solver->scheme_setting, whole->scheme_setting, sizeof solver->scheme_setting);
    solver->options.threads = 1;
    solver->history.columns = whole->history.columns;
    memcpy(solver->history.measure, whole->history.measure, sizeof solver->history.measure);

    /* Prepare it. */
    cs_status status = take_own(solver, error);
    if (!status) status = prepare(solver, control, error);
    if (status) cs_solver_destroy(solver);
    else *result = solver;
    return status;
}

void cs_solver_destroy(cs_solver *solver)
{
    if (!solver) return;
    cs_history_release(&solver->history);
    release_own(solver, 0);
    cs_release(solver->own);
    release_parts(solver);
    cs_packing_release(&solver->packing);
    cs_arena_clear(&solver->arena);
    cs_arena_clear(&solver->kept);
    cs_arena_clear(&solver->given);
    cs_network_ranks_free(solver->network.ranks);
    cs_ranks_free(solver->ranks);
    cs_release(solver);
}

/* ---- solving --------------------------------------------------------------------------------- */

cs_status cs_check_rows(const cs_problem *problem, const char *name, const double *values,
                        cs_error *error)
{
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++)
            for (int i = 0; i < group->rows; i++) {
                double value = values[cs_group_row(group, k) + i];
                if (isfinite(value)) continue;
                return cs_fail(error, CS_INVALID, "%s[%lld, %d] is %g: every entry must be finite",
                               name, (long long)(group->first_block + k), i, value);
            }
    }
    return CS_OK;
}

/* A copy of numbers that shall be finite. Pieces are those of a loop. */
typedef struct checked_copy {
    double *to;
    const double *from;
    int finite[CS_LOOP_PIECES];
} checked_copy;

static void copy_checked(void *context, int64_t piece, int64_t begin, int64_t end)
{
    /* x - x is 0, or NaN if x is not finite. */
    checked_copy *c = context;
    double zero = 0;
    for (int64_t i = begin; i < end; i++) {
        double x = c->from[i];
        c->to[i] = x;
        zero += x - x;
    }
    c->finite[piece] = zero == 0;
}

/* to (rows) <- values, which the message calls `name`. Fails if one of them is not finite. */
static cs_status take_rows(const cs_solver *solver, const char *name, const double *values,
                           double *to, cs_error *error)
{
    int64_t rows = solver->problem->rows;
    checked_copy copy;
    int finite = 1;
    copy.to = to;
    copy.from = values;
    cs_loop(cs_judge_threads(solver), rows, copy_checked, &copy);
    for (int64_t p = 0; p < cs_loop_pieces(rows); p++) finite &= copy.finite[p];
    return finite ? CS_OK : cs_check_rows(solver->problem, name, values, error);
}

void cs_take_own_b(const cs_solver *solver, double *b)
{
    for (int g = 0; g < solver->problem->block_groups; g++) {
        const cs_block_group *group = &solver->problem->block_group[g];
        cs_loop_copy(cs_judge_threads(solver), b + group->first_row, group->b,
                     group->count * group->rows, sizeof(double));
    }
}

/* solver->parameters <- those given, or (NULL) those of the problem. */
static cs_status take_parameters(cs_solver *solver, const double *parameters, cs_error *error)
{
    const cs_problem *problem = solver->problem;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        const double *given = parameters ? parameters + group->first_parameter : group->parameter;
        cs_status status = CS_OK;
        if (parameters)
            status = cs_check_parameters(group->set, group->count, group->rows, group->parameters,
                                         given, group->first_block, error);
        if (status) return status;
        cs_loop_copy(cs_judge_threads(solver), solver->parameters + group->first_parameter, given,
                     group->count * group->parameters, sizeof(double));
    }
    return CS_OK;
}

/* Loads b and the parameters of this solve: those given, or (NULL) those of the problem, which may be there already.
 * Hands to the backend what is new. Mixed precision changes the backend's b. */
static cs_status load_data(cs_solver *solver, const double *b, const double *parameters,
                           cs_error *error)
{
    cs_loaded *loaded = &solver->loaded;
    int there = solver->there && solver->there->b;
    int new_b = !there && (b || !loaded->own_b);
    int new_parameters = parameters || !loaded->own_parameters;
    cs_status status = CS_OK;

    /* What is loaded is the problem's own only once all of it is there. V depends on it. */
    if (new_b || new_parameters) solver->judge.begun = 0;
    if (new_b || there) loaded->own_b = loaded->b_is_there = 0;
    if (b) status = take_rows(solver, "b", b, solver->b, error);
    else if (new_b) cs_take_own_b(solver, solver->b);
    if (!status && new_parameters) {
        loaded->own_parameters = 0;
        status = take_parameters(solver, parameters, error);
    }
    if (status) return status;

    if (sweeps(solver) && (new_b || new_parameters))
        solver->backend->put_data(solver->packing.state, new_b ? solver->b : NULL,
                                  new_parameters ? solver->parameters : NULL);
    loaded->own_parameters = !parameters;
    if (there) return cs_there_load_b(solver, error);
    loaded->own_b = !b && solver->packing.dtype != CS_MIXED;
    return CS_OK;
}

/* solver->lambda, and the backend's impulses, <- the initial ones, or (NULL) zero. */
static cs_status load_impulses(cs_solver *solver, const double *initial, cs_error *error)
{
    int64_t rows = solver->problem->rows;
    cs_status status = CS_OK;
    if (solver->there && solver->there->initial) return cs_there_load_impulses(solver, error);
    if (initial) status = take_rows(solver, "initial", initial, solver->lambda, error);
    else if (!solver->judge.there) /* nobody reads it otherwise */
        cs_loop_copy(cs_judge_threads(solver), solver->lambda, NULL, rows, sizeof(double));
    if (status) return status;
    int settled = cs_settle(solver);
    if (sweeps(solver))
        cs_packing_put(&solver->packing, initial || settled ? solver->lambda : NULL);
    return CS_OK;
}

cs_status cs_solver_load(cs_solver *solver, const double *b, const double *parameters,
                         cs_error *error)
{
    cs_loaded *loaded = &solver->loaded;
    cs_status status = CS_OK;
    if (solver->version != solver->problem->version) status = prepare(solver, NULL, error);

    /* What the backend has is no longer what solver->b and solver->parameters hold. */
    int own_b = !b && loaded->own_b, own_parameters = !parameters && loaded->own_parameters;
    loaded->own_b = own_b;
    loaded->b_is_there = 0;
    loaded->own_parameters = own_parameters;
    if (!status && b) status = take_rows(solver, "b", b, solver->b, error);
    else if (!status && !own_b) cs_take_own_b(solver, solver->b);
    if (!status && !own_parameters) status = take_parameters(solver, parameters, error);
    return status;
}

cs_status cs_solver_solve(cs_solver *solver, const double *initial, const double *b,
                          const double *parameters, const cs_control *control, cs_result *result,
                          cs_error *error)
{
    cs_budget budget = {.control = control, .index_set = solver->index_set, .deadline = INFINITY};
    cs_status status = cs_solver_run(solver, initial, b, parameters, &budget, result, error);

    /* After a failure, too, nothing reads or writes the caller's arrays on a device any more. */
    cs_error late = {0};
    if (status && solver->there) (void)cs_packing_wait(&solver->packing, &late);
    return status;
}

/* Prepares again if the problem has new values, or if the control looks at every iterate: then the problem must not be
 * divided. */
static cs_status prepare_again(cs_solver *solver, const cs_control *control, cs_error *error)
{
    int watched = control && control->every_iteration;
    if ((solver->parts && watched) || (solver->together && !watched)) solver->version = -1;
    if (solver->version == solver->problem->version) return CS_OK;

    /* Ranks do not divide problems, and prepare together, whoever of them watches. */
    solver->together = watched && !solver->ranks && !solver->network.ranks;
    return prepare(solver, control, error);
}

cs_status cs_solver_solves_there(cs_solver *solver, const cs_there *there,
                                 const cs_control *control, int *possible, cs_error *error)
{
    *possible = 0;
    if (solver->ranks || solver->network.ranks) return CS_OK;
    cs_status status = prepare_again(solver, control, error);
    if (!status) *possible = cs_there_is_possible(solver, there);
    return status;
}

/* Solves as one or in parts. The figures of the result are those of the method, or of the parts together. */
static cs_status solve(cs_solver *solver, cs_budget *budget, cs_result *result, cs_error *error)
{
    result->figure = solver->method->figure;
    result->figures = solver->method->figures;
    if (solver->parts) return solver->composition->solve(solver, budget, result, error);

    memset(solver->figure_value, 0, sizeof solver->figure_value);
    cs_status status = solver->method->solve(solver, budget, result, error);
    memcpy(result->figure_value, solver->figure_value, sizeof result->figure_value);
    return status;
}

/* Whether all ranks, of the problem or of a network, come with CS_OK. */
static cs_status agree(const cs_solver *solver, cs_status status, cs_error *error)
{
    cs_network_ranks *of_network = solver->network.ranks;
    return of_network ? cs_network_ranks_agree(of_network, status, error)
                      : cs_ranks_agree(solver->ranks, status, error);
}

cs_status cs_solver_run(cs_solver *solver, const double *initial, const double *b,
                        const double *parameters, cs_budget *budget, cs_result *result,
                        cs_error *error)
{
    /* New values, if there are some. */
    double called = cs_clock();
    cs_ranks_begin(solver->ranks);
    if (solver->network.ranks) cs_network_ranks_begin(solver->network.ranks);
    cs_status status = prepare_again(solver, budget->control, error);
    if (status) return status;

    /* The data and the first iterate. */
    cs_budget_begin(budget, solver->options.max_seconds);
    status = agree(solver, load_data(solver, b, parameters, error), error);
    if (status) return status;
    double since = cs_check_begins(solver, budget);
    cs_judge_begin(solver);
    cs_check_ends(solver, budget, since);
    status = agree(solver, load_impulses(solver, initial, error), error);
    if (status) return status;

    /* Undo what the last solve changed: R, and its results. */
    if (solver->factors.scale != 1 || solver->factors.balance.changed)
        cs_packing_put_steps(&solver->packing, solver->factors.r, solver->factors.step);
    solver->factors.scale = 1;
    cs_balance_begin(solver);
    solver->packing.products = 0;
    solver->history.rows = 0;
    solver->failure.row = -1;
    solver->unbounded = NULL;
    result->links = 0;
    for (int i = 0; i < 3; i++) result->band[i] = NAN;

    /* Room for the history. Solvers of parts reserve little, because there may be thousands of them. */
    int64_t expected = solver->options.max_iterations / solver->options.record_every;
    int64_t most = solver->within ? 62 : 4094;
    status = cs_history_reserve(&solver->history, 2 + (expected < most ? expected : most), error);
    if (status) return status;

    /* The solve, and what it took. After a failure of the device the next solve packs anew. After one that all ranks know of,
     * messages between them may still be under way. */
    status = solve(solver, budget, result, error);
    if (!status || cs_ranks_have_agreed(solver->ranks)) cs_ranks_settle(solver->ranks);
    if (!status) status = cs_packing_wait(&solver->packing, error);
    if (status == CS_DEVICE_FAILED) solver->version = -1;
    double ended = cs_clock();
    result->seconds = cs_seconds_at(budget, ended);
    result->sweep_seconds = budget->sweeping;
    result->wall_seconds = ended - called;
    return status;
}

cs_status cs_solver_begin_with(cs_solver *solver, const signed char *index_set, cs_error *error)
{
    /* Whether the method takes index sets, and whether every entry is one of -1, 0 and 1. */
    int64_t rows = solver->problem->rows;
    if (index_set && !solver->method->takes_index_sets)
        return cs_fail(
            error, CS_UNSUPPORTED,
            "initial: method='%s' starts from impulses (a Result, or one number for each row); the "
            "states of contacts (result.active) are for bpp, murty, keller and dantzig",
            solver->method->name);
    for (int64_t i = 0; i < rows && index_set; i++)
        if (index_set[i] < CS_INDEX_LOW || index_set[i] > CS_INDEX_UNKNOWN)
            return cs_fail(
                error, CS_INVALID,
                "initial: row %lld is %d: -1 (low), 0 (free), 1 (high) or 2 (unknown) is needed",
                (long long)i, index_set[i]);
    solver->index_set = index_set;
    return CS_OK;
}

int cs_solver_evaluates(const cs_solver *solver)
{
    if (solver->judge.possible_there) return 0;
    return !solver->fixed_iterations || cs_history_needs_state(&solver->history);
}

cs_status cs_solver_impulses_there(cs_solver *solver, const double *impulses, double *to,
                                   int *found, cs_error *error)
{
    *found = 0;
    if (!solver->packing.state || !solver->packing.backend->get_there) return CS_OK;
    cs_status status =
        solver->packing.backend->get_there(solver->packing.state, impulses, to, found, error);
    if (status == CS_DEVICE_FAILED) solver->version = -1; /* the next solve packs anew */
    return status;
}

const signed char *cs_solver_index_set(const cs_solver *solver) { return solver->index_found; }

const double *cs_solver_ray(const cs_solver *solver) { return solver->unbounded; }

void cs_take_sweeps(cs_solver_info *info, const cs_solver_info *part)
{
    memcpy(info->kernel, part->kernel, sizeof info->kernel);
    info->engine = part->engine;
    info->scheme = part->scheme;
    info->order = part->order;
    info->why_order = part->why_order;
    info->stages = part->stages;
    info->colors = part->colors;
    info->rounds = part->rounds;
    info->parts = part->parts;
}

void cs_solver_describe(const cs_solver *solver, cs_solver_info *info)
{
    *info = (cs_solver_info){
        .method = solver->method->name,
        .scheme = solver->scheme ? solver->scheme->name : NULL, /* NULL: the islands have one */
        .order = solver->schedule.order ? solver->schedule.order : "natural",
        .why_order = solver->schedule.why,
        .stages = solver->schedule.stages,
        .colors = solver->schedule.colors,
        .rounds = solver->schedule.rounds,
        .parts = solver->schedule.divided_into,
        .local = solver->options.local,
        .dtype = solver->options.dtype,
        .threads = solver->packing.threads,
        .columns = solver->history.columns,
        .column = {"iteration", "time"},
        .matrix_blocks = solver->packing.matrix_blocks,
        .islands = solver->island_count,
        .immovable_blocks = solver->judge.immovable_blocks,
        .singular_blocks = solver->factors.singular_blocks,
        .r_value = NAN,
        .step_bound = solver->factors.bound,
        .eigenvalues = {NAN, NAN},
        .stop_is_ratio = solver->stop->is_ratio,
        .bytes =
            (int64_t)(solver->arena.bytes + solver->kept.bytes) + cs_ranks_bytes(solver->ranks),
        .seconds = solver->setup_seconds,
    };

    /* R. */
    if (!solver->options.r_factor) info->r_value = solver->options.r_value;
    if (cs_is_global(&solver->options)) {
        info->r_value = cs_global_value(&solver->factors.spectrum);
        info->eigenvalues[0] = solver->factors.spectrum.smallest;
        info->eigenvalues[1] = solver->factors.spectrum.largest;
    }

    /* The kernels of the backend, and figures of the parts or of the method. */
    snprintf(info->kernel, sizeof info->kernel, "scalar");
    if (solver->packing.state)
        info->bytes += solver->packing.backend->describe(solver->packing.state, info->kernel,
                                                         sizeof info->kernel);
    if (solver->parts) solver->composition->describe(solver->parts, info);
    else if (solver->method->describe) solver->method->describe(solver, info);

    /* The columns of the history. */
    for (int c = 2; c < info->columns; c++) info->column[c] = solver->history.measure[c - 2]->name;
}

void cs_release_threads(void) { cs_threads_release(); }
