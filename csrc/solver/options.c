/* The options of a solver: their defaults, the check of their values, and the look-up of the names in them. */
#include "solver/options.h"

#include "backend/device.h"
#include "core/error.h"
#include "solver/option_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

double cs_rollback_growth(const cs_solver *solver)
{
    const double of_sequential = 100, of_simultaneous = 3;
    if (solver->options.rollback_growth > 0) return solver->options.rollback_growth;
    int flat = cs_is_flat(solver->method, solver->setting);
    return flat ? of_simultaneous : of_sequential;
}

cs_options cs_options_default(void)
{
    static const char *const record[] = {"residual", "natural_map"};
    return (cs_options){
        .method = "auto",
        .scheme = "auto",
        .order = "auto",
        .local = "auto",
        .r_factor = "local",
        .bound = "current",
        .relaxation = 1,
        .averaging = NAN,
        .rollback = 5,
        .dtype = "float64",
        .instructions = "auto",
        .device = "cpu",
        .device_sweeps = "auto",
        .device_prox = "double",
        .stop = "natural_map",
        .rtol = 1e-6,
        .check_every = 10,
        .max_iterations = 1000,
        .max_seconds = INFINITY,
        .record_every = 1,
        .time_checks = 1,
        .islands = 1,
        .record = record,
        .records = 2,
        .quality_r = 100,
        .pivoting = cs_mlcp_options_default(),
    };
}

static int is_auto(const char *name) { return strcmp(name, "auto") == 0; }

/* Fails if the option's value is less than `least`. */
static cs_status at_least(const char *option, int64_t value, int64_t least, cs_error *error)
{
    if (value >= least) return CS_OK;
    return cs_fail(error, CS_INVALID, "%s is %lld: it must be at least %lld", option,
                   (long long)value, (long long)least);
}

cs_status cs_choose_method(const char *name, const cs_method **method, cs_error *error)
{
    *method = cs_method_find(name);
    return *method ? CS_OK : cs_unknown_name("method", name, 0, cs_method_name, error);
}

cs_status cs_choose_order(const char *name, const cs_order_options *options, const cs_order **order,
                          cs_error *error)
{
    /* The order. "auto" with a permutation means that order. */
    if (is_auto(name) && options->permutation) name = "given";
    *order = is_auto(name) ? &cs_order_auto : cs_order_find(name);
    if (!*order) return cs_unknown_name("order", name, 1, cs_order_name, error);

    /* Its options. */
    cs_setting own[CS_MAX_OWN_OPTIONS];
    cs_order_options settled = *options;
    cs_status status = cs_order_settle(*order, &settled, own, error);
    if (!status) status = at_least("parts", options->parts, 0, error);
    return status ? status : at_least("threads", options->threads, 0, error);
}

cs_status cs_order_check(const char *name, const cs_setting *settings, int count, cs_error *error)
{
    const cs_order *order;
    cs_order_options options = {.settings = settings, .setting_count = count};
    return cs_choose_order(name, &options, &order, error);
}

cs_status cs_scheme_check(const char *name, const cs_setting *settings, int count, cs_error *error)
{
    cs_setting own[CS_MAX_OWN_OPTIONS];
    const cs_scheme *scheme = cs_scheme_find(name);
    if (!scheme && !is_auto(name)) return cs_unknown_name("scheme", name, 1, cs_scheme_name, error);
    return cs_scheme_settle(scheme, settings, count, own, error);
}

cs_dtype cs_dtype_of(const cs_options *options)
{
    if (strcmp(options->dtype, "mixed") == 0) return CS_MIXED;
    return strcmp(options->dtype, "float32") == 0 ? CS_F32 : CS_F64;
}

/* Fails if local='newton' or local='quartic' cannot solve the local problems of some group. */
static cs_status check_local_method(const cs_options *options, const cs_problem *problem,
                                    cs_error *error)
{
    int newton = strcmp(options->local, "newton") == 0;
    if (!newton && strcmp(options->local, "quartic") != 0) return CS_OK;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        if (group->set->bilateral ||
            cs_local_fits(group->set, group->rows, newton ? CS_LOCAL_NEWTON : CS_LOCAL_QUARTIC))
            continue;
        return cs_fail(
            error, CS_UNSUPPORTED,
            "local='%s' solves no blocks of %d rows of set '%s': use local='block', which "
            "takes every set",
            options->local, group->rows, group->set->name);
    }
    return CS_OK;
}

/* Fails if the option `local` does not fit the sets of the problem. */
static cs_status check_local(cs_options *options, const cs_problem *problem, cs_error *error)
{
    cs_status status = check_local_method(options, problem, error);
    for (int g = 0; g < problem->block_groups && !status; g++)
        if (strcmp(options->local, "exact") == 0 && !problem->block_group[g].set->bilateral)
            status = cs_fail(error, CS_UNSUPPORTED,
                             "local='exact' solves free blocks only, and this problem has blocks "
                             "of set '%s': use local='auto', which solves the free ones exactly",
                             problem->block_group[g].set->name);
    return status;
}

/* Without rtol and atol (both NaN) the solve makes exactly max_iterations iterations. If only one of them is given,
 * the other is 0. */
static void read_tolerances(cs_solver *solver)
{
    cs_options *options = &solver->options;
    solver->fixed_iterations = isnan(options->rtol) && isnan(options->atol);
    if (solver->fixed_iterations) return;
    if (isnan(options->rtol)) options->rtol = 0;
    if (isnan(options->atol)) options->atol = 0;
}

/* measure <- the measure of that name. Fails if it is unknown or not defined for the problem; `option` is the option
 * that names it. */
static cs_status find_measure(const char *option, const char *name, const cs_problem *problem,
                              const cs_measure **measure, cs_error *error)
{
    *measure = cs_measure_find(name);
    if (!*measure) return cs_unknown_name(option, name, 0, cs_measure_name, error);
    const char *obstacle = (*measure)->obstacle ? (*measure)->obstacle(problem) : NULL;
    if (obstacle)
        return cs_fail(error, CS_UNSUPPORTED, "%s: '%s' does not fit this problem: %s", option,
                       name, obstacle);
    return CS_OK;
}

/* Fails if the measure of `stop` has no tolerance to be compared with. Ratios contain rtol and atol, all others are
 * compared with atol. */
static cs_status check_stop(const cs_solver *solver, cs_error *error)
{
    const cs_options *options = &solver->options;
    const cs_measure *stop = solver->stop;
    if (solver->fixed_iterations || stop == &cs_measure_natural_map) return CS_OK;
    if (options->atol > 0 || (stop->is_ratio && options->rtol > 0)) return CS_OK;
    if (stop->is_ratio)
        return cs_fail(error, CS_INVALID, "stop='%s' needs rtol or atol, and both are 0",
                       stop->name);
    return cs_fail(error, CS_INVALID,
                   "stop='%s' is compared with atol, which is 0: set atol above 0", stop->name);
}

cs_status cs_options_check_scheme(const cs_solver *solver, cs_error *error)
{
    /* The precision. */
    const cs_scheme *scheme = solver->scheme;
    const cs_problem *problem = solver->problem;
    if (cs_dtype_of(&solver->options) == CS_MIXED && solver->method->steps &&
        !solver->method->without_sweeps)
        return cs_fail(error, CS_UNSUPPORTED,
                       "dtype='mixed' is for sweeps that are not accelerated, and the method is "
                       "'%s': use dtype='float64'",
                       solver->method->name);
    if (!cs_scheme_takes(scheme, cs_dtype_of(&solver->options)))
        return cs_fail(error, CS_UNSUPPORTED,
                       "dtype='%s' is for scheme='factorized' and scheme='matrix', and the scheme "
                       "is '%s'",
                       solver->options.dtype, scheme->name);

    /* The problem. */
    if (scheme->needs_jacobian && problem->matrix)
        return cs_fail(error, CS_UNSUPPORTED,
                       "scheme='%s' needs a Jacobian, and this problem was given as a matrix: use "
                       "scheme='matrix'",
                       scheme->name);

    /* The sweeps of the method. An outer method makes none itself: its inner method is checked instead. */
    if (scheme->needs_symmetric && !solver->symmetric && !solver->method->without_sweeps)
        return cs_fail(error, CS_UNSUPPORTED,
                       "scheme='%s' needs sweeps forwards and backwards in turn, and "
                       "method='%s' makes none: use method='symmetric_gauss_seidel'",
                       scheme->name, solver->method->name);

    /* Local solves. */
    for (int g = 0; g < problem->block_groups; g++)
        if (scheme->needs_steps && cs_solves_blocks(&solver->options) &&
            !problem->block_group[g].set->bilateral)
            return cs_fail(error, CS_UNSUPPORTED,
                           "scheme='%s' is built from R, and local='%s' solves blocks of set '%s' "
                           "without R: use scheme='matrix'",
                           scheme->name, solver->options.local, problem->block_group[g].set->name);
    return CS_OK;
}

/* A method with its own option `patience` reads only that one (cs_patience_of). Copies the common value there, unless
 * the caller gave both, and clears the common one. */
static void adopt_patience(cs_solver *solver)
{
    cs_options *options = &solver->options;
    cs_option_table table = cs_options_of(solver->method);
    int own = cs_option_find(&table, "patience");
    if (own < 0) return;

    int own_is_given = 0;
    for (int s = 0; s < options->setting_count; s++)
        own_is_given |= strcmp(options->settings[s].name, "patience") == 0;
    if (options->patience && !own_is_given) solver->setting[own] = (double)options->patience;
    options->patience = 0;
}

/* Looks up the scheme and reads its options. "auto" is chosen later; methods without sweeps take "matrix". */
static cs_status find_scheme(cs_solver *solver, cs_error *error)
{
    cs_options *options = &solver->options;
    int chosen = is_auto(options->scheme), later = chosen && !solver->method->without_sweeps;
    const cs_scheme *scheme = chosen ? NULL : cs_scheme_find(options->scheme);
    if (!chosen && !scheme)
        return cs_unknown_name("scheme", options->scheme, 1, cs_scheme_name, error);

    /* Replace the caller's settings, which may be freed after this call, by the solver's own. */
    cs_status status =
        cs_scheme_settle(scheme, options->scheme_settings, options->scheme_setting_count,
                         solver->scheme_setting, error);
    options->scheme_settings = solver->scheme_setting;
    options->scheme_setting_count = scheme ? scheme->options : 0;
    if (status || later) return status;
    solver->scheme = chosen ? cs_scheme_find("matrix") : scheme;
    return cs_options_check_scheme(solver, error);
}

/* Whether a device has this name. */
static cs_status check_device(const char *name, cs_error *error)
{
    const char *known;
    for (int i = 0; (known = cs_device_name(i, NULL)); i++)
        if (strcmp(known, name) == 0) return CS_OK;
    return cs_unknown_name("device", name, 0, cs_device_name, error);
}

/* Looks up all names in the options, and checks what they name against the problem. */
static cs_status find_names(cs_solver *solver, cs_error *error)
{
    /* The method, its own options, and whether it supports the problem. */
    const cs_options *options = &solver->options;
    const cs_problem *problem = solver->problem;
    cs_status status = cs_choose_method(options->method, &solver->method, error);
    if (!status)
        status = cs_read_settings(solver->method, options->settings, options->setting_count,
                                  solver->setting, error);
    if (!status) adopt_patience(solver);
    if (!status) status = cs_check_needs(solver->method, options, problem, error);
    solver->options.settings = NULL; /* the caller may free them after this call */
    if (status) return status;
    if (solver->method->adopt)
        solver->method->adopt(solver->method, solver->setting, &solver->options);
    solver->symmetric = cs_is_symmetric(solver->method, solver->setting);
    if (solver->method->check)
        status = solver->method->check(options, solver->method->name, problem, error);
    if (status) return status;

    /* The device, the scheme and the order. */
    status = check_device(options->device, error);
    if (!status) status = find_scheme(solver, error);
    if (!status)
        status = cs_choose_order(options->order, &options->order_options, &solver->order, error);
    if (status) return status;

    /* The measures. */
    status = find_measure("stop", options->stop, problem, &solver->stop, error);
    if (!status) status = check_stop(solver, error);
    if (status) return status;
    if (options->records < 0 || options->records > CS_MAX_COLUMNS)
        return cs_fail(error, CS_INVALID, "record names %d measures; at most %d are allowed",
                       options->records, CS_MAX_COLUMNS);
    solver->history.columns = options->records + 2;
    for (int i = 0; i < options->records && !status; i++)
        status =
            find_measure("record", options->record[i], problem, &solver->history.measure[i], error);
    return status;
}

/* Returns the library's own string that equals `name`: `word`, or one of the list. An unknown name is returned as it
 * is: other checks report it. */
static const char *own_string(const char *name, const char *word,
                              const char *(*list)(int, const char **))
{
    if (strcmp(name, word) == 0) return word;
    for (int i = 0; list(i, NULL); i++)
        if (strcmp(list(i, NULL), name) == 0) return list(i, NULL);
    return name;
}

/* Replaces pointers to the caller's memory, which may be freed after this call: names become the library's own
 * strings, and the list of recorded measures, which were looked up, is dropped. */
static void drop_caller_pointers(cs_options *options)
{
    options->method = own_string(options->method, "auto", cs_method_name);
    options->scheme = own_string(options->scheme, "auto", cs_scheme_name);
    options->order = own_string(options->order, "auto", cs_order_name);
    options->stop = own_string(options->stop, "natural_map", cs_measure_name);
    if (strcmp(options->instructions, "scalar") == 0) options->instructions = "scalar";
    options->instructions = own_string(options->instructions, "auto", cs_instructions_name);
    options->device = own_string(options->device, "cpu", cs_device_name);
    options->record = NULL;
    options->records = 0;
}

cs_status cs_options_check(cs_solver *solver, cs_error *error)
{
    cs_status status = cs_options_check_each(&solver->options, error);
    if (!status) status = check_local(&solver->options, solver->problem, error);
    read_tolerances(solver);
    if (!status) status = find_names(solver, error);
    if (!status) status = cs_options_check_effects(solver, error);
    if (!status) drop_caller_pointers(&solver->options);
    return status;
}
