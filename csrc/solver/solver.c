/* Making a solver from options, running it, describing it. */
#include "core/clock.h"
#include "core/error.h"
#include "core/instructions.h"
#include "core/parallel.h"
#include "solver/method.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CS_METHOD(name) extern const cs_method cs_method_##name;
#include "solver/solvers.def"
#undef CS_METHOD

static const cs_method *const methods[] = {
#define CS_METHOD(name) &cs_method_##name,
#include "solver/solvers.def"
#undef CS_METHOD
};
enum { METHODS = sizeof methods / sizeof *methods };

const cs_method *cs_method_find(const char *name)
{
    for (int i = 0; i < METHODS; i++)
        if (strcmp(methods[i]->name, name) == 0) return methods[i];
    return NULL;
}

const char *cs_method_name(int i, const char **summary)
{
    if (i < 0 || i >= METHODS) return NULL;
    if (summary) *summary = methods[i]->summary;
    return methods[i]->name;
}

const char *cs_outcome_name(cs_outcome outcome)
{
    switch (outcome) {
    case CS_CONVERGED: return "converged";
    case CS_MAX_ITERATIONS: return "max_iterations";
    case CS_DIVERGING: return "diverging";
    case CS_STOPPED: return "stopped";
    }
    return "unknown";
}

cs_options cs_options_default(void)
{
    static const char *const record[] = {"residual", "natural_map"};
    return (cs_options){
        .method = "auto",
        .scheme = "auto",
        .order = "auto",
        .velocities = "auto",
        .local = "auto",
        .r_factor = "local",
        .bound = "current",
        .relaxation = 1,
        .averaging = 1,
        .rollback = 5,
        .rollback_growth = 3,
        .dtype = "float64",
        .instructions = "auto",
        .stop = "natural_map",
        .rtol = 1e-6,
        .check_every = 10,
        .max_iterations = 1000,
        .record_every = 1,
        .record = record,
        .records = 2,
        .quality_r = 100,
        .order_options = {.parts = 8, .unsafe_simultaneous = 1},
        .pivoting = cs_mlcp_options_default(),
    };
}

/* ---- options --------------------------------------------------------------------------------- */

/* Fails with the names that an option takes: those of a list, with "auto" in front if allowed. */
static cs_status unknown_name(const char *option, const char *given, int with_auto,
                              const char *(*list)(int, const char **), cs_error *error)
{
    char known[200] = "";
    size_t used = 0;
    for (int i = with_auto ? -1 : 0; i < 0 || list(i, NULL); i++) {
        const char *name = i < 0 ? "auto" : list(i, NULL);
        size_t length = strlen(name);
        if (used + length + 3 > sizeof known) break;
        if (used) known[used++] = ',';
        if (used) known[used++] = ' ';
        memcpy(known + used, name, length + 1);
        used += length;
    }
    return cs_fail(error, CS_UNKNOWN_NAME, "%s: '%s' is unknown; known: %s", option,
                   cs_word(given).text, known);
}

static int is_auto(const char *name) { return strcmp(name, "auto") == 0; }

static cs_status positive(const char *option, double value, cs_error *error)
{
    if (value > 0 && isfinite(value)) return CS_OK;
    return cs_fail(error, CS_INVALID, "%s is %s: a finite number above 0 is needed", option,
                   cs_number(value).text);
}

static cs_status at_least(const char *option, int64_t value, int64_t least, cs_error *error)
{
    if (value >= least) return CS_OK;
    return cs_fail(error, CS_INVALID, "%s is %lld: it must be at least %lld", option,
                   (long long)value, (long long)least);
}

cs_status cs_choose_method(const char *name, const cs_method **method, cs_error *error)
{
    if (is_auto(name)) name = "gauss_seidel";
    *method = cs_method_find(name);
    return *method ? CS_OK : unknown_name("method", name, 1, cs_method_name, error);
}

cs_status cs_choose_order(const char *name, const cs_order_options *options, const cs_order **order,
                          cs_error *error)
{
    if (is_auto(name)) name = options->permutation ? "given" : "natural";
    *order = cs_order_find(name);
    if (!*order) return unknown_name("order", name, 1, cs_order_name, error);
    cs_status status = at_least("parts", options->parts, 1, error);
    return status ? status : at_least("threads", options->threads, 0, error);
}

/* Replaces the caller's word by ours of the same letters, which lives as long as the library.
 * `besides` ends the message. */
static cs_status one_of(const char *option, const char **value, const char *const *known, int count,
                        const char *besides, cs_error *error)
{
    for (int i = 0; i < count; i++)
        if (strcmp(*value, known[i]) == 0) {
            *value = known[i];
            return CS_OK;
        }
    char all[120] = "";
    size_t used = 0;
    for (int i = 0; i < count; i++)
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", known[i]);
    return cs_fail(error, CS_UNKNOWN_NAME, "%s: '%s' is unknown; known: %s%s", option,
                   cs_word(*value).text, all, besides);
}

static cs_status check_numbers(const cs_options *options, cs_error *error)
{
    cs_status status = positive("relaxation", options->relaxation, error);
    if (!status) status = positive("averaging", options->averaging, error);
    if (!status && options->averaging > 1)
        status = cs_fail(error, CS_INVALID,
                         "averaging is %s: the weight of the new impulses is at most 1",
                         cs_number(options->averaging).text);
    if (!status && !options->r_factor) status = positive("r_factor", options->r_value, error);
    if (!status) status = positive("quality_r", options->quality_r, error);
    if (!status) status = at_least("rollback", options->rollback, 0, error);
    if (!status && !(options->rollback_growth >= 1))
        status = cs_fail(error, CS_INVALID, "rollback_growth is %s: it must be at least 1",
                         cs_number(options->rollback_growth).text);
    if (!status) status = at_least("max_iterations", options->max_iterations, 0, error);
    if (!status) status = at_least("check_every", options->check_every, 1, error);
    if (!status) status = at_least("record_every", options->record_every, 1, error);
    if (!status) status = at_least("threads", options->threads, 0, error);
    return status;
}

/* As cs_velocities counts them. */
static const char *const velocities[] = {"auto", "recompute", "add", "accumulate"};

static cs_velocities velocities_of(const cs_options *options)
{
    int i = 0;
    while (strcmp(velocities[i], options->velocities) != 0) i++;
    return (cs_velocities)i;
}

static cs_dtype dtype_of(const cs_options *options)
{
    return strcmp(options->dtype, "float32") == 0 ? CS_F32 : CS_F64;
}

static cs_status check_words(cs_options *options, const cs_problem *problem, cs_error *error)
{
    static const char *const locals[] = {"auto", "projected", "exact", "block"};
    static const char *const factors[] = {"local", "block", "global", "balanced"};
    static const char *const bounds[] = {"current", "previous"};
    static const char *const dtypes[] = {"float64", "float32"};
    cs_status status = one_of("velocities", &options->velocities, velocities, 4, "", error);
    if (!status) status = one_of("local", &options->local, locals, 4, "", error);
    if (!status && options->r_factor)
        status = one_of("r_factor", &options->r_factor, factors, 4, ", or a number", error);
    if (!status) status = one_of("bound", &options->bound, bounds, 2, "", error);
    if (!status) status = one_of("dtype", &options->dtype, dtypes, 2, "", error);
    if (!status && strcmp(options->local, "block") == 0 && options->relaxation != 1)
        status = cs_fail(error, CS_INVALID,
                         "relaxation is %s: it scales R, and local='block' solves blocks without "
                         "one; use averaging",
                         cs_number(options->relaxation).text);
    for (int g = 0; g < problem->block_groups && !status; g++)
        if (strcmp(options->local, "exact") == 0 && !problem->block_group[g].set->bilateral)
            status = cs_fail(error, CS_UNSUPPORTED,
                             "local='exact' solves free blocks only, and this problem has blocks "
                             "of set '%s': use local='auto', which solves the free ones exactly",
                             problem->block_group[g].set->name);
    return status;
}

static cs_status check_tolerances(cs_solver *solver, cs_error *error)
{
    cs_options *options = &solver->options;
    solver->fixed_iterations = isnan(options->rtol) && isnan(options->atol);
    if (solver->fixed_iterations) return CS_OK;
    if (isnan(options->rtol)) options->rtol = 0;
    if (isnan(options->atol)) options->atol = 0;
    if (options->rtol < 0 || options->atol < 0)
        return cs_fail(error, CS_INVALID, "%s is %s: a tolerance is 0 or more",
                       options->rtol < 0 ? "rtol" : "atol",
                       cs_number(options->rtol < 0 ? options->rtol : options->atol).text);
    return CS_OK;
}

static cs_status find_measure(const char *option, const char *name, const cs_problem *problem,
                              const cs_measure **measure, cs_error *error)
{
    *measure = cs_measure_find(name);
    if (!*measure) return unknown_name(option, name, 0, cs_measure_name, error);
    const char *obstacle = (*measure)->obstacle ? (*measure)->obstacle(problem) : NULL;
    if (obstacle)
        return cs_fail(error, CS_UNSUPPORTED, "%s: '%s' does not fit this problem: %s", option,
                       name, obstacle);
    return CS_OK;
}

/* A measure that stops is compared with atol, unless it holds both tolerances. */
static cs_status check_stop(const cs_solver *solver, cs_error *error)
{
    const cs_options *options = &solver->options;
    const cs_measure *stop = solver->stop;
    if (solver->fixed_iterations || stop == cs_measure_find("natural_map")) return CS_OK;
    if (options->atol > 0 || (stop->is_ratio && options->rtol > 0)) return CS_OK;
    if (stop->is_ratio)
        return cs_fail(error, CS_INVALID, "stop='%s' needs rtol or atol, and both are 0",
                       stop->name);
    return cs_fail(error, CS_INVALID, "stop='%s' is compared with atol, which is 0: give one",
                   stop->name);
}

/* What a scheme asks of the problem, of the method and of local solves. */
static cs_status check_scheme(const cs_solver *solver, cs_error *error)
{
    const cs_scheme *scheme = solver->scheme;
    const cs_problem *problem = solver->problem;
    const char *way = solver->options.velocities;
    if (!is_auto(way) && strcmp(scheme->name, "factorized") != 0)
        return cs_fail(error, CS_UNSUPPORTED,
                       "velocities='%s' is for scheme='factorized', and the scheme is '%s'", way,
                       scheme->name);
    if (scheme->needs_jacobian && problem->matrix)
        return cs_fail(error, CS_UNSUPPORTED,
                       "scheme='%s' needs a Jacobian, and this problem was given as a matrix: use "
                       "scheme='matrix'",
                       scheme->name);
    if (scheme->needs_symmetric && !solver->method->symmetric)
        return cs_fail(error, CS_UNSUPPORTED,
                       "scheme='%s' needs sweeps forwards and backwards in turn, and "
                       "method='%s' makes none: use method='symmetric_gauss_seidel'",
                       scheme->name, solver->method->name);
    for (int g = 0; g < problem->block_groups; g++)
        if (scheme->needs_steps && strcmp(solver->options.local, "block") == 0 &&
            !problem->block_group[g].set->bilateral)
            return cs_fail(error, CS_UNSUPPORTED,
                           "scheme='%s' is made of R, and local='block' solves blocks of set '%s' "
                           "without one: use scheme='matrix'",
                           scheme->name, problem->block_group[g].set->name);
    return CS_OK;
}

static cs_status find_names(cs_solver *solver, cs_error *error)
{
    const cs_options *options = &solver->options;
    const cs_problem *problem = solver->problem;
    cs_status status = cs_choose_method(options->method, &solver->method, error);
    if (!status && solver->method->check)
        status = solver->method->check(options, solver->method->name, problem, error);
    if (status) return status;
    if (is_auto(options->scheme) && solver->method->prepare)
        solver->scheme = cs_scheme_find("matrix");
    else if (is_auto(options->scheme))
        status = cs_scheme_choose(problem, cs_is_flat(solver->method), dtype_of(options),
                                  &solver->scheme, error);
    else solver->scheme = cs_scheme_find(options->scheme);
    if (status) return status;
    if (!solver->scheme) return unknown_name("scheme", options->scheme, 1, cs_scheme_name, error);
    status = check_scheme(solver, error);
    if (!status)
        status = cs_choose_order(options->order, &options->order_options, &solver->order, error);
    if (status) return status;
    status = find_measure("stop", options->stop, problem, &solver->stop, error);
    if (!status) status = check_stop(solver, error);
    if (status) return status;
    if (options->records < 0 || options->records > CS_MAX_COLUMNS)
        return cs_fail(error, CS_INVALID, "record names %d measures; at most %d are taken",
                       options->records, CS_MAX_COLUMNS);
    solver->history.columns = options->records + 2;
    for (int i = 0; i < options->records && !status; i++)
        status =
            find_measure("record", options->record[i], problem, &solver->history.measure[i], error);
    return status;
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static cs_status build_schedule(cs_solver *solver, cs_error *error)
{
    cs_arena scratch = {0};
    const cs_problem *problem = solver->problem;
    cs_order_options options = solver->options.order_options;
    options.threads = solver->options.threads;
    cs_plan *plan;
    cs_status status = cs_plan_make(problem, solver->order, cs_is_flat(solver->method), &options,
                                    &scratch, &plan, error);
    if (!status) status = cs_schedule_lay(problem, plan, &solver->arena, &solver->schedule, error);
    cs_arena_clear(&scratch);
    return status;
}

/* Whether a measure asks for the iterate before the last sweep. */
static int needs_previous(const cs_solver *solver)
{
    int needed = solver->stop->of_change;
    for (int c = 0; c < solver->history.columns - 2; c++)
        needed |= solver->history.measure[c]->of_change;
    return needed;
}

static cs_status take_workspace(cs_solver *solver, cs_error *error)
{
    const cs_problem *problem = solver->problem;
    cs_arena *arena = &solver->arena;
    solver->r = cs_arena_take(arena, problem->rows, sizeof(double));
    solver->rho = cs_arena_take(arena, problem->rows, sizeof(double));
    solver->b = cs_arena_take(arena, problem->rows, sizeof(double));
    solver->parameters = cs_arena_take(arena, problem->parameters, sizeof(double));
    solver->lambda = cs_arena_take(arena, problem->rows, sizeof(double));
    solver->xi = cs_arena_take(arena, problem->rows, sizeof(double));
    solver->velocity = cs_arena_take(arena, problem->velocities, sizeof(double));
    int keeps = needs_previous(solver);
    solver->previous = keeps ? cs_arena_take(arena, problem->rows, sizeof(double)) : NULL;
    int complete = (solver->previous || !keeps) && solver->r && solver->rho && solver->b &&
                   solver->parameters && solver->lambda && solver->xi && solver->velocity;
    return complete ? CS_OK : cs_fail(error, CS_NO_MEMORY, "out of memory for the workspace");
}

enum {
    WORTH_THREADS = 4096, /* contacts below which a parallel loop costs more than it gains */
    CROWDED = 4,          /* threads to a processor, at most */
};

static int choose_threads(const cs_solver *solver)
{
    int alone = 1;
    for (int g = 0; g < solver->problem->block_groups; g++)
        if (solver->problem->block_group[g].set->alone) return 1;
    for (int64_t s = 0; s < solver->schedule.stages; s++)
        alone = alone && solver->schedule.stage[s].kind == CS_SEQUENTIAL;
    if (alone) return 1;
    int64_t asked = solver->options.threads, most = solver->schedule.most_parts;
    if (!asked) asked = solver->problem->blocks < WORTH_THREADS ? 1 : cs_threads_available();
    /* More threads than parts, or than processors can take turns with, only cost. */
    if (most > (int64_t)CROWDED * cs_processors()) most = (int64_t)CROWDED * cs_processors();
    return (int)(asked < most ? asked : most > 0 ? most : 1);
}

static cs_status pack_weights(cs_solver *solver, cs_error *error)
{
    cs_arena scratch = {0};
    double *weight = cs_arena_take(&scratch, solver->problem->blocks, sizeof(double));
    cs_status status = weight ? cs_adjacent_weights(solver->problem, weight, error)
                              : cs_fail(error, CS_NO_MEMORY, "out of memory for averaging");
    if (!status) cs_pack_weights(&solver->packed, weight);
    cs_arena_clear(&scratch);
    return status;
}

/* Room for the best iterate, in the layout of the packed one. */
static cs_status take_best(cs_solver *solver, cs_error *error)
{
    const cs_packed *packed = &solver->packed;
    solver->best = cs_arena_take(&solver->arena, packed->impulses, cs_real_size(packed->dtype));
    return solver->best ? CS_OK : cs_fail(error, CS_NO_MEMORY, "out of memory for the workspace");
}

static cs_status pack(cs_solver *solver, const cs_control *control, cs_error *error)
{
    const cs_options *options = &solver->options;
    cs_local local[CS_MAX_GROUPS] = {0};
    solver->packed = (cs_packed){
        .problem = solver->problem,
        .schedule = &solver->schedule,
        .scheme = solver->scheme,
        .dtype = dtype_of(options),
        .threads = choose_threads(solver),
        .bound_previous = strcmp(options->bound, "previous") == 0,
        .way = velocities_of(options),
        .averaging = options->averaging,
        .instructions = solver->instructions,
        .general = options->general,
    };
    cs_status status = take_workspace(solver, error);
    if (!status) status = cs_balance_take(solver, error);
    if (!status) status = cs_choose_steps(solver, local, error);
    if (!status)
        status = cs_pack_common(&solver->packed, solver->scheme, local, options->averaging_adjacent,
                                &solver->arena, error);
    if (!status) status = take_best(solver, error);
    if (!status && options->averaging_adjacent) status = pack_weights(solver, error);
    if (!status) status = solver->scheme->pack(&solver->packed, &solver->arena, control, error);
    if (!status) status = cs_pack_phases(&solver->packed, solver->scheme, &solver->arena, error);
    if (!status) cs_pack_steps(&solver->packed, solver->r, solver->step);
    solver->steps_scale = 1;
    return status;
}

/* For methods without sweeps: what the measures need, and what the method builds. */
static cs_status prepare_without_sweeps(cs_solver *solver, const cs_control *control,
                                        cs_error *error)
{
    cs_local local[CS_MAX_GROUPS] = {0};
    solver->packed = (cs_packed){.problem = solver->problem,
                                 .scheme = solver->scheme,
                                 .dtype = dtype_of(&solver->options),
                                 .threads = 1};
    solver->steps_scale = 1;
    cs_status status = take_workspace(solver, error);
    if (!status) status = cs_choose_steps(solver, local, error);
    if (!status) status = solver->method->prepare(solver, control, error);
    return status;
}

/* A list of the caller's, copied: it is read again when the problem changes. */
static cs_status keep_list(cs_solver *solver, const int64_t **list, int64_t count, cs_error *error)
{
    if (!*list) return CS_OK;
    int64_t *copy = cs_arena_take(&solver->given, count, sizeof(int64_t));
    if (!copy) return cs_fail(error, CS_NO_MEMORY, "out of memory for the order");
    memcpy(copy, *list, sizeof(int64_t) * (size_t)count);
    *list = copy;
    return CS_OK;
}

static cs_status keep_lists(cs_solver *solver, cs_error *error)
{
    const cs_problem *problem = solver->problem;
    cs_order_options *order = &solver->options.order_options;
    cs_status status = keep_list(solver, &order->permutation, problem->blocks, error);
    if (status) return status;
    return keep_list(solver, &order->labels, cs_problem_vertices(problem), error);
}

/* Everything that depends on the problem's values; done again when they change. */
static cs_status prepare(cs_solver *solver, const cs_control *control, cs_error *error)
{
    double start = cs_clock();
    solver->version = -1;
    solver->immovable_blocks = solver->singular_blocks = 0;
    cs_pivoting_destroy(solver->pivoting);
    solver->pivoting = NULL;
    cs_arena_clear(&solver->arena);
    cs_status status = CS_OK;
    if (solver->method->prepare) status = prepare_without_sweeps(solver, control, error);
    else status = build_schedule(solver, error);
    if (!status && !solver->method->prepare) status = pack(solver, control, error);
    if (!status) solver->version = solver->problem->version;
    solver->setup_seconds = cs_clock() - start;
    return status;
}

cs_status cs_solver_create(cs_solver **result, const cs_problem *problem, const cs_options *options,
                           const cs_control *control, cs_error *error)
{
    *result = NULL;
    cs_solver *solver = cs_allocate(1, sizeof *solver);
    if (!solver) return cs_fail(error, CS_NO_MEMORY, "out of memory for a solver");
    solver->problem = problem;
    solver->options = *options;
    cs_status status = CS_OK;
    if (cs_problem_is_open(problem))
        status = cs_fail(error, CS_INVALID, "the problem has neither Jacobians nor a matrix");
    if (!status) status = check_numbers(&solver->options, error);
    if (!status) status = check_words(&solver->options, problem, error);
    if (!status) status = check_tolerances(solver, error);
    if (!status) status = find_names(solver, error);
    if (!status)
        status = cs_instructions_find(solver->options.instructions, &solver->instructions, error);
    if (!status) status = keep_lists(solver, error);
    if (!status) status = prepare(solver, control, error);
    if (status) {
        cs_solver_destroy(solver);
        return status;
    }
    *result = solver;
    return CS_OK;
}

void cs_solver_destroy(cs_solver *solver)
{
    if (!solver) return;
    cs_history_release(&solver->history);
    cs_pivoting_destroy(solver->pivoting);
    cs_arena_clear(&solver->arena);
    cs_arena_clear(&solver->given);
    cs_release(solver);
}

/* ---- solving --------------------------------------------------------------------------------- */

/* Values of all rows, `name`[block, row] in messages. */
static cs_status check_finite(const cs_problem *problem, const char *name, const double *values,
                              cs_error *error)
{
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t i = 0; i < group->count * group->rows; i++)
            if (!isfinite(values[group->first_row + i]))
                return cs_fail(error, CS_INVALID, "%s[%lld, %d] is %g: every entry must be finite",
                               name, (long long)(group->first_block + i / group->rows),
                               (int)(i % group->rows), values[group->first_row + i]);
    }
    return CS_OK;
}

/* The problem's own b and parameters, or those given for this solve. */
static cs_status load_data(cs_solver *solver, const double *b, const double *parameters,
                           cs_error *error)
{
    const cs_problem *problem = solver->problem;
    cs_status status = b ? check_finite(problem, "b", b, error) : CS_OK;
    for (int g = 0; g < problem->block_groups && !status; g++) {
        const cs_block_group *group = &problem->block_group[g];
        const double *given = parameters ? parameters + group->first_parameter : group->parameter;
        if (parameters)
            status = group->set->check(group->count, group->rows, group->parameters, given,
                                       group->first_block, NULL, error);
        if (status) break;
        memcpy(solver->parameters + group->first_parameter, given,
               sizeof(double) * (size_t)(group->count * group->parameters));
        memcpy(solver->b + group->first_row, b ? b + group->first_row : group->b,
               sizeof(double) * (size_t)(group->count * group->rows));
    }
    if (!status && !solver->method->prepare)
        cs_pack_data(&solver->packed, solver->b, solver->parameters);
    return status;
}

cs_status cs_solver_solve(cs_solver *solver, const double *initial, const double *b,
                          const double *parameters, const cs_control *control, cs_result *result,
                          cs_error *error)
{
    const cs_problem *problem = solver->problem;
    cs_status status = CS_OK;
    if (solver->version != problem->version) status = prepare(solver, control, error);
    if (status) return status;
    status = load_data(solver, b, parameters, error);
    if (!status && initial) status = check_finite(problem, "initial", initial, error);
    if (status) return status;
    if (initial) memcpy(solver->lambda, initial, sizeof(double) * (size_t)problem->rows);
    else memset(solver->lambda, 0, sizeof(double) * (size_t)problem->rows);
    if (!solver->method->prepare) cs_put_impulses(&solver->packed, solver->lambda);
    if (solver->steps_scale != 1 || solver->balance.changed)
        cs_pack_steps(&solver->packed, solver->r, solver->step);
    solver->steps_scale = 1;
    cs_balance_begin(solver);
    solver->packed.products = 0;
    solver->history.rows = 0;

    int64_t expected = solver->options.max_iterations / solver->options.record_every;
    status = cs_history_reserve(&solver->history, 2 + (expected < 4094 ? expected : 4094), error);
    if (!status) status = solver->method->solve(solver, control, result, error);
    return status;
}

void cs_solver_describe(const cs_solver *solver, cs_solver_info *info)
{
    *info = (cs_solver_info){
        .method = solver->method->name,
        .scheme = solver->scheme->name,
        .order = solver->order->name,
        .stages = solver->schedule.stages,
        .colors = solver->schedule.colors,
        .rounds = solver->schedule.rounds,
        .local = solver->options.local,
        .dtype = solver->packed.dtype == CS_F32 ? "float32" : "float64",
        .threads = solver->packed.threads,
        .columns = solver->history.columns,
        .column = {"iteration", "time"},
        .matrix_blocks = solver->packed.matrix_blocks,
        .immovable_blocks = solver->immovable_blocks,
        .singular_blocks = solver->singular_blocks,
        .r_value = NAN,
        .eigenvalues = {NAN, NAN},
        .stop_is_ratio = solver->stop->is_ratio,
        .bytes = (int64_t)solver->arena.bytes,
        .seconds = solver->setup_seconds,
    };
    if (!solver->options.r_factor) info->r_value = solver->options.r_value;
    if (cs_is_global(&solver->options)) {
        info->r_value = cs_global_value(&solver->spectrum);
        info->eigenvalues[0] = solver->spectrum.smallest;
        info->eigenvalues[1] = solver->spectrum.largest;
    }
    cs_packed_kernel(&solver->packed, info->kernel, sizeof info->kernel);
    if (solver->pivoting) cs_pivoting_describe(solver->pivoting, info);
    for (int c = 2; c < info->columns; c++) info->column[c] = solver->history.measure[c - 2]->name;
}

void cs_release_threads(void) { cs_threads_release(); }
