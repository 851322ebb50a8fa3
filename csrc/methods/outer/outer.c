#include "methods/outer/outer.h"

#include "core/denormals.h"
#include "core/error.h"
#include "prox/prox.h"
#include "solver/judge.h"
#include "methods/pivoting/renewal.h"

#include <math.h>
#include <string.h>

/* The smallest tolerance of an inner solve, in units of rounding; an iteration count that is never reached. */
enum { FLOOR_UNITS = 64, NEVER = 2000000000 };

/* ---- options --------------------------------------------------------------------------------- */

cs_status cs_outer_check(const cs_options *options, const char *name, const cs_problem *problem,
                         cs_error *error)
{
    (void)problem;
    if (strcmp(options->bound, "current") == 0) return CS_OK;
    return cs_fail(error, CS_UNSUPPORTED,
                   "bound='%s' is for methods that sweep over Coulomb's law: method='%s' solves "
                   "convex problems, in which no impulse bounds another",
                   options->bound, name);
}

/* The options of the inner solver: those of the caller, except what the outer iteration decides. */
static cs_options options_inside(const cs_solver *solver)
{
    cs_options options = solver->options;
    options.method = cs_word_setting(solver, CS_INNER);
    options.settings = NULL;
    options.setting_count = 0;

    /* The inner solve ends by the natural map, with a tolerance that is set before each solve. */
    options.stop = "natural_map";
    options.rtol = 1;
    options.atol = 0;
    options.max_iterations = (int64_t)solver->setting[CS_INNER_ITERATIONS];

    /* Records, islands and stagnation tests belong to the outer iteration. */
    options.records = 0;
    options.measure_every = 0;
    options.quality_r = cs_options_default().quality_r;
    options.record_every = NEVER;
    options.islands = 0;
    options.patience = 0;
    return options;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

/* Makes the convex problem: a copy of the caller's with other sets, which shares all arrays except the
 * parameters. */
static void copy_problem(const cs_problem *problem, cs_outer *outer)
{
    cs_problem *convex = outer->problem;
    *convex = *problem;
    convex->arena = (cs_arena){0};
    convex->parameters = 0;

    /* Replace the sets, and number the parameters again. */
    for (int g = 0; g < convex->block_groups; g++) {
        cs_block_group *group = &convex->block_group[g];
        const char *name = outer->frozen->set(&problem->block_group[g]);
        if (name) {
            group->set = cs_set_find(name);
            group->parameters = group->set->parameters(group->rows);
            group->set->coupling(group->rows, group->coupled_set);
        }
        group->first_parameter = convex->parameters;
        convex->parameters += group->count * group->parameters;
    }
}

/* Writes b and the parameters of the convex problem for the current frozen numbers. */
static void write_problem(cs_outer *outer, const cs_problem *problem, const double *b,
                          const double *parameters)
{
    if (problem->rows) memcpy(outer->b, b, sizeof(double) * (size_t)problem->rows);

    /* Blocks with a frozen number are converted; others keep their parameters. */
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        const cs_block_group *convex = &outer->problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++) {
            int64_t row = cs_group_row(group, k);
            const double *own = parameters + group->first_parameter + k * group->parameters;
            double *inside = outer->parameters + convex->first_parameter + k * convex->parameters;
            if (convex->set != group->set)
                outer->frozen->freeze(group, own, outer->now[row], outer->b + row, inside);
            else if (group->parameters)
                memcpy(inside, own, sizeof(double) * (size_t)group->parameters);
        }
    }
}

/* The number of blocks with a frozen number. */
static int64_t count_frozen(const cs_outer *outer, const cs_problem *problem)
{
    int64_t count = 0;
    for (int g = 0; g < problem->block_groups; g++)
        if (outer->problem->block_group[g].set != problem->block_group[g].set)
            count += problem->block_group[g].count;
    return count;
}

/* Sets outer->scale, and allocates the memory of Anderson's combination unless a weight is given. */
static cs_status take_renewal(cs_solver *solver, cs_outer *outer, cs_error *error)
{
    const cs_problem *problem = solver->problem;
    int64_t count = count_frozen(outer, problem);

    /* Products of two impulses are divided by rho, those of two velocities by 1 / rho; both are then
     * energies. */
    for (int64_t i = 0; i < problem->rows; i++) {
        double rho = solver->factors.rho[i];
        outer->scale[i] = outer->frozen->of_velocities && rho > 0 ? 1 / rho : rho;
    }
    if (solver->setting[CS_WEIGHT] > 0) return CS_OK;

    /* Store the normal rows of all contacts with a frozen number. */
    outer->renewal = cs_renewal_take(count, &solver->arena);
    if (!outer->renewal) return cs_no_memory(error, "a convex problem");
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        if (outer->problem->block_group[g].set == group->set) continue;
        for (int64_t k = 0; k < group->count; k++)
            outer->renewal->row[--count] = cs_group_row(group, k);
    }
    return CS_OK;
}

/* Writes the parameters of the convex problem with frozen numbers of zero: some inner solvers read them
 * when they are made. */
static void set_parameters(cs_outer *outer, const cs_problem *problem)
{
    for (int g = 0; g < problem->block_groups; g++) {
        cs_block_group *convex = &outer->problem->block_group[g];
        convex->parameter = outer->parameters + convex->first_parameter;
        const cs_block_group *group = &problem->block_group[g];

        /* Blocks with a frozen number. */
        for (int64_t k = 0; k < group->count && convex->set != group->set; k++) {
            double b[CS_MAX_ROWS] = {0};
            outer->frozen->freeze(group, group->parameter + k * group->parameters, 0, b,
                                  convex->parameter + k * convex->parameters);
        }

        /* Blocks that keep their set. */
        int64_t count = group->count * group->parameters;
        if (convex->set == group->set && count)
            memcpy(convex->parameter, group->parameter, sizeof(double) * (size_t)count);
    }
}

/* Makes the convex problem and allocates the vectors. */
static cs_status take(cs_solver *solver, const cs_frozen *frozen, cs_error *error)
{
    const cs_problem *problem = solver->problem;
    cs_arena *arena = &solver->arena;
    cs_outer *outer = solver->own;
    cs_problem *convex = cs_arena_take(arena, 1, sizeof *convex);
    if (cs_arena_failed(arena)) return cs_no_memory(error, "a convex problem");
    outer->frozen = frozen;
    outer->problem = convex;
    copy_problem(problem, outer);

    /* The arrays that are written before each inner solve, and vectors. */
    double **array[] = {&outer->b,   &outer->lambda, &outer->xi,
                        &outer->now, &outer->image,  &outer->scale};
    outer->parameters = cs_arena_take(arena, outer->problem->parameters, sizeof(double));
    for (int i = 0; i < (int)(sizeof array / sizeof *array); i++)
        *array[i] = cs_arena_take(arena, problem->rows, sizeof(double));
    if (cs_arena_failed(arena)) return cs_no_memory(error, "a convex problem");
    set_parameters(outer, problem);
    return take_renewal(solver, outer, error);
}

/* Names the inner method in an error that it reports. */
static cs_status name_inner_method(const cs_solver *solver, cs_status status, cs_error *error)
{
    if (status == CS_NO_MEMORY || status == CS_INTERRUPTED) return status;
    cs_error said = *error;
    return cs_fail(error, status, "inner='%s': %s", cs_word_setting(solver, CS_INNER),
                   said.message);
}

cs_status cs_outer_prepare(cs_solver *solver, const cs_frozen *frozen, cs_budget *budget,
                           cs_error *error)
{
    /* The outer iterate is in double precision, also if the inner sweeps are not. */
    solver->scheme = cs_scheme_find("matrix");
    solver->packing.dtype = CS_F64;
    cs_status status = cs_prepare_steps(solver, budget, error);
    if (!status) status = take(solver, frozen, error);
    if (status) return status;

    /* Make the inner solver. */
    cs_outer *outer = solver->own;
    cs_options options = options_inside(solver);
    status = cs_solver_make(&outer->inner, outer->problem, &options, NULL, solver->backend,
                            budget->control, error);
    if (status) return name_inner_method(solver, status, error);
    outer->inner->within = 1;
    return CS_OK;
}

void cs_outer_release(cs_solver *solver, int again)
{
    (void)again;
    cs_outer *outer = solver->own;
    cs_solver_destroy(outer->inner);
    *outer = (cs_outer){0};
}

void cs_outer_describe(const cs_solver *solver, cs_solver_info *info)
{
    const cs_outer *outer = solver->own;
    cs_solver_info inner;
    cs_solver_describe(outer->inner, &inner);
    cs_take_sweeps(info, &inner);
    info->threads = inner.threads;
    info->matrix_blocks = inner.matrix_blocks;
    info->step_bound = inner.step_bound;
    info->bytes += inner.bytes;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* What the iteration remembers from one step to the next. */
typedef struct memory {
    int begun; /* a convex problem has been solved */
} memory;

/* image <- the new numbers to freeze at the current iterate, whose velocities must be known. */
static void find_image(const cs_solver *solver)
{
    const cs_outer *outer = solver->own;
    const cs_problem *problem = solver->problem;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        if (outer->problem->block_group[g].set == group->set) continue;
        const double *parameters = solver->parameters + group->first_parameter;
        for (int64_t k = 0; k < group->count; k++) {
            int64_t row = cs_group_row(group, k);
            outer->image[row] = outer->frozen->renew(group, parameters + k * group->parameters,
                                                     solver->lambda + row, solver->xi + row);
        }
    }
}

/* The measure by which iterates are compared: the natural map, scaled if the tolerance is relative. */
static double judgement(const cs_solver *solver, cs_state *state)
{
    const cs_natural_map *map = cs_natural_map_of(state);
    return solver->options.rtol > 0 || solver->fixed_iterations ? map->scaled : map->impulse;
}

/* now <- the frozen numbers of the next convex problem: by Anderson's combination (renewal.h), or max(0,
 * now + weight (image - now)). The first problem takes the image itself. */
static void renew(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    cs_outer *outer = solver->own;
    memory *own = steps->scalars;
    double weight = own->begun ? solver->setting[CS_WEIGHT] : 1;
    find_image(solver);

    /* Combine, or move by the weight. */
    if (own->begun && outer->renewal) {
        cs_renewal_next(outer->renewal, outer->scale, outer->image,
                        judgement(solver, &steps->run.state), outer->now);
    } else {
        for (int64_t i = 0; i < solver->problem->rows; i++)
            outer->now[i] = fmax(outer->now[i] + weight * (outer->image[i] - outer->now[i]), 0);
    }
    own->begun = 1;
}

/* The natural map of the convex problem at the current iterate. */
static double misfit(const cs_solver *solver)
{
    const cs_outer *outer = solver->own;

    /* The state of the caller's problem, with the sets, parameters and velocities of the convex one. */
    cs_state state = cs_state_of(solver);
    state.problem = outer->problem;
    state.b = outer->b;
    state.parameters = outer->parameters;
    state.rho = outer->inner->factors.rho;
    state.xi = outer->xi;
    for (int64_t i = 0; i < solver->problem->rows; i++)
        outer->xi[i] = solver->xi[i] + (outer->b[i] - solver->b[i]);
    return judgement(solver, &state);
}

/* The scaled natural map that rounding may leave, in the precision of the inner method; `unit` is its
 * rounding unit. */
static double floor_of_rounding(cs_steps_run *steps, double unit)
{
    cs_solver *solver = steps->run.solver;
    cs_floor floor = cs_find_floor(&steps->run.state, &solver->products, unit,
                                   solver->judge.magnitude, solver->velocity);
    return fmax(unit / DBL_EPSILON * floor.scaled, FLOOR_UNITS * unit);
}

/* Sets the tolerance of the next inner solve: a fraction of the natural map of the current iterate, either
 * in the caller's problem or in the convex one, whichever is smaller, but not below rounding. */
static void set_tolerance(cs_steps_run *steps)
{
    cs_solver *solver = steps->run.solver;
    cs_outer *outer = solver->own;
    cs_options *options = &outer->inner->options;
    int scaled = solver->options.rtol > 0 || solver->fixed_iterations;

    /* The floor is given by the caller, or by rounding in the precision of the inner method. */
    double unit = strcmp(options->dtype, "float32") == 0 ? (double)FLT_EPSILON : DBL_EPSILON;
    double floor = solver->setting[CS_FLOOR];
    if (!(floor > 0)) floor = scaled ? floor_of_rounding(steps, unit) : FLOOR_UNITS * unit;

    /* The tolerance is relative if that of the caller is; otherwise absolute, and the floor is relative to
     * the largest impulse. */
    double distance = fmin(judgement(solver, &steps->run.state), misfit(solver));
    double wanted = solver->setting[CS_TOLERANCE] * distance;
    options->rtol = scaled ? fmax(wanted, floor) : 0;
    options->atol = scaled ? 0 : fmax(wanted, floor * cs_run_largest_impulse(&steps->run));
    outer->inner->judge.outer_scale = solver->judge.scale;
}

/* Resets the state at the start of a solve. */
static void begin(cs_steps_run *steps)
{
    cs_outer *outer = steps->run.solver->own;
    memset(outer->now, 0, sizeof(double) * (size_t)steps->run.solver->problem->rows);
    if (outer->renewal) cs_renewal_begin(outer->renewal);
}

/* The control of inner solves: polls the caller for signals, but shows no progress, because progress and
 * callbacks belong to outer iterations. */
static int poll_only(void *context, const cs_progress *progress)
{
    (void)progress;
    const cs_control *control = context;
    return control->poll(control->context, NULL);
}

/* Solves the convex problem from the current impulses. */
static cs_status solve_inside(cs_steps_run *steps, cs_result *result)
{
    cs_solver *solver = steps->run.solver;
    cs_outer *outer = solver->own;
    const cs_control *control = steps->run.control;
    cs_control polls = {poll_only, (void *)(uintptr_t)control, 0};

    /* The inner solver flushes denormals by itself, and functions of the caller must run in the caller's
     * mode. */
    cs_restore_denormals(steps->run.mode);
    cs_budget inside = {.control = control && control->poll ? &polls : NULL,
                        .deadline = steps->run.budget->deadline};
    cs_status status = cs_solver_run(outer->inner, solver->lambda, outer->b, outer->parameters,
                                     &inside, result, steps->run.error);
    cs_flush_denormals();
    return status;
}

/* lambda <- the impulses of the inner solve; counts their changes and its work. */
static void take_impulses(cs_steps_run *steps, const cs_result *result)
{
    cs_solver *solver = steps->run.solver;
    cs_outer *outer = solver->own;
    cs_sweep_stats *stats = &steps->run.stats;
    *stats = (cs_sweep_stats){.unfinished = result->unfinished_blocks};
    for (int64_t i = 0; i < solver->problem->rows; i++) {
        cs_count_change(stats, outer->lambda[i] - solver->lambda[i]);
        solver->lambda[i] = outer->lambda[i];
    }
    solver->figure_value[CS_INNER_ITERATIONS_MADE] += (double)result->iterations;
    solver->packing.products += result->block_products;
}

/* One outer iteration. */
static cs_step step(cs_steps_run *steps)
{
    cs_run *run = &steps->run;
    cs_solver *solver = run->solver;
    cs_outer *outer = solver->own;
    cs_result result = {.impulses = outer->lambda};

    /* Update the frozen numbers, and write the next convex problem. */
    if (!run->known) cs_run_evaluate(run);
    renew(steps);
    write_problem(outer, solver->problem, solver->b, solver->parameters);
    set_tolerance(steps);

    /* Solve it. */
    run->status = solve_inside(steps, &result);
    if (run->status) return CS_STEPPED;
    take_impulses(steps, &result);
    run->stopped |= result.outcome == CS_STOPPED;
    if (result.outcome != CS_INFEASIBLE) return CS_STEPPED;

    /* A proof that the convex problem has no solution may also hold for the caller's problem. */
    run->status = cs_try_ray(solver, result.certificate, &run->proven, run->error);
    run->stopped |= run->proven;
    return CS_STEPPED;
}

/* Outer methods keep no points of sweeps. */
static int no_points(const cs_solver *solver) { return (void)solver, 0; }

const cs_figure cs_outer_figure[CS_OUTER_FIGURES] = {
    [CS_INNER_ITERATIONS_MADE] = CS_COUNT_FIGURE(
        "inner_iterations", "iterations of the inner method, over all inner solves"),
};

const cs_steps cs_outer_steps = {
    .points = no_points,
    .scalars = sizeof(memory),
    .begin = begin,
    .step = step,
};
