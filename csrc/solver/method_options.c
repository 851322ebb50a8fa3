/* A method's own options: reading and checking their values. Also checks whether a method supports a problem. */
#include "core/error.h"
#include "problem/friction.h"
#include "solver/solver.h"

#include <math.h>
#include <string.h>

/* ---- options --------------------------------------------------------------------------------- */

cs_option_table cs_options_of(const cs_method *method)
{
    return (cs_option_table){"method", method->name, method->option, method->options};
}

cs_status cs_read_settings(const cs_method *method, const cs_setting *settings, int count,
                           double *values, cs_error *error)
{
    cs_option_table table = cs_options_of(method);
    return cs_option_read(&table, settings, count, values, error);
}

cs_status cs_method_check(const char *name, const cs_setting *settings, int count, cs_error *error)
{
    const cs_method *method;
    double values[CS_MAX_METHOD_OPTIONS];
    cs_status status = cs_choose_method(name, &method, error);
    return status ? status : cs_read_settings(method, settings, count, values, error);
}

/* The place of the method's own patience among its options, or -1. */
static int own_patience(const cs_solver *solver)
{
    cs_option_table table = cs_options_of(solver->method);
    return cs_option_find(&table, "patience");
}

int cs_tests_stagnation(const cs_solver *solver)
{
    return solver->options.patience > 0 || own_patience(solver) >= 0;
}

double cs_patience_of(const cs_solver *solver, struct cs_stagnation **test)
{
    int own = own_patience(solver);
    *test = cs_tests_stagnation(solver) ? solver->stagnation : NULL;
    return own >= 0 ? solver->setting[own] : (double)solver->options.patience;
}

const char *cs_word_setting(const cs_solver *solver, int i)
{
    return solver->method->option[i].words[(int)solver->setting[i]];
}

/* ---- whether a method supports a problem ------------------------------------------------------ */

#define MOST_ASYMMETRY \
    1e-2 /* largest max |A - A^T| / max |A| for methods that need a symmetric A */

/* The first group with blocks for which `is` returns non-zero, or NULL. */
static const cs_block_group *first_group(const cs_problem *problem,
                                         int (*is)(const cs_block_group *))
{
    for (int g = 0; g < problem->block_groups; g++)
        if (problem->block_group[g].count && is(&problem->block_group[g]))
            return &problem->block_group[g];
    return NULL;
}

static int is_free(const cs_block_group *group) { return group->set->bilateral; }

/* Whether the impulses of some rows bound those of others (Coulomb friction): the set depends on the impulses. */
static int depends_on_impulses(const cs_block_group *group)
{
    return !group->set->convex && group->rows > 1;
}

/* Whether the set depends on the impulses, and its friction bound is neither a disc nor, in the plane, an interval. */
static int is_no_disc(const cs_block_group *group)
{
    int planar = group->rows == 2 && cs_has_intervals(group);
    return depends_on_impulses(group) && !planar && !cs_has_discs(group);
}

/* Whether the set depends on the impulses, and its friction bounds are not balls, one for each coupled set. */
static int is_no_ball(const cs_block_group *group)
{
    return depends_on_impulses(group) && !cs_has_balls(group);
}

/* Fails with the message that the friction of this group is not supported; `taken` lists the sets that are. */
static cs_status refuse_friction(const cs_method *method, const cs_block_group *group,
                                 const char *taken, cs_error *error)
{
    return cs_fail(error, CS_UNSUPPORTED,
                   "method='%s' takes %s among the sets whose friction is bounded by the normal "
                   "impulse, and blocks %lld to %lld of this problem are of set '%s' with %d rows: "
                   "use a method that sweeps, such as 'gauss_seidel'",
                   method->name, taken, (long long)group->first_block,
                   (long long)(group->first_block + group->count - 1), group->set->name,
                   group->rows);
}

/* Fails if the method cannot treat the friction of some group. */
static cs_status check_friction(const cs_method *method, const cs_problem *problem, cs_error *error)
{
    const cs_block_group *group = NULL;
    if (method->needs & CS_BIT(CS_NEEDS_DISCS)) group = first_group(problem, is_no_disc);
    if (group)
        return refuse_friction(method, group, "disc (and box_friction with one tangent)", error);
    if (method->needs & CS_BIT(CS_NEEDS_BALLS)) group = first_group(problem, is_no_ball);
    if (group)
        return refuse_friction(method, group, "disc, box_friction, rolling and contensou", error);
    return CS_OK;
}

/* Fails if the method cannot treat the set of some group. */
static cs_status check_sets(const cs_method *method, const cs_problem *problem, cs_error *error)
{
    /* Free rows. */
    const cs_block_group *group = NULL;
    if (method->needs & CS_BIT(CS_NEEDS_NO_FREE_ROWS)) group = first_group(problem, is_free);
    if (group)
        return cs_fail(error, CS_UNSUPPORTED,
                       "method='%s' is not for free rows, and blocks %lld to %lld of this problem "
                       "are of set '%s': use a method that sweeps, such as 'gauss_seidel'",
                       method->name, (long long)group->first_block,
                       (long long)(group->first_block + group->count - 1), group->set->name);

    /* Sets that depend on the impulses. */
    if (method->needs & CS_BIT(CS_NEEDS_FIXED_SETS))
        group = first_group(problem, depends_on_impulses);
    if (group)
        return cs_fail(error, CS_UNSUPPORTED,
                       "method='%s' is for sets that do not depend on the impulses, and blocks "
                       "%lld to %lld of this problem are of set '%s', whose friction is bounded by "
                       "the normal impulse: use sets=second_order_cone(mu), which is another "
                       "problem (associated friction), or a method for Coulomb friction",
                       method->name, (long long)group->first_block,
                       (long long)(group->first_block + group->count - 1), group->set->name);
    return check_friction(method, problem, error);
}

cs_status cs_check_needs(const cs_method *method, const cs_options *options,
                         const cs_problem *problem, cs_error *error)
{
    /* The matrix A. */
    unsigned needs = method->needs;
    if (needs & CS_BIT(CS_NEEDS_JACOBIAN) && problem->matrix)
        return cs_fail(error, CS_UNSUPPORTED,
                       "method='%s' needs Jacobians, and this problem was given as a matrix",
                       method->name);
    if (needs & CS_BIT(CS_NEEDS_SYMMETRIC) && problem->matrix &&
        problem->matrix->asymmetry > MOST_ASYMMETRY)
        return cs_fail(error, CS_UNSUPPORTED,
                       "method='%s' needs a symmetric A, and this one is unsymmetric by %s of its "
                       "largest entry; at most %s is taken",
                       method->name, cs_number(problem->matrix->asymmetry).text,
                       cs_number(MOST_ASYMMETRY).text);

    /* The options dtype and r_factor, and the sets. */
    if (needs & CS_BIT(CS_NEEDS_FLOAT64) && strcmp(options->dtype, "float64") != 0)
        return cs_fail(error, CS_UNSUPPORTED, "dtype='%s': method='%s' computes in float64 only",
                       options->dtype, method->name);
    if (method->steps && cs_is_balanced(options))
        return cs_fail(error, CS_UNSUPPORTED,
                       "r_factor='balanced' follows the residuals of plain sweeps, and "
                       "method='%s' accelerates them: use r_factor='local'",
                       method->name);
    return check_sets(method, problem, error);
}

/* ---- methods without sweeps ------------------------------------------------------------------ */

/* Fails with the message that only methods with sweeps have the option. */
static cs_status refuse(const char *method, const char *option, const char *value, cs_error *error)
{
    return cs_fail(error, CS_UNSUPPORTED,
                   "%s='%s' is for methods that sweep over contacts, which method='%s' does not",
                   option, value, method);
}

cs_status cs_refuse_sweeps(const cs_options *options, const char *name, const cs_problem *problem,
                           cs_error *error)
{
    /* Names, which must be "auto". */
    (void)problem;
    static const char *const no_words[] = {"order", "local"};
    const char *given[] = {options->order, options->local};
    for (int i = 0; i < 2; i++)
        if (strcmp(given[i], "auto") != 0) return refuse(name, no_words[i], given[i], error);
    if (options->order_options.permutation) return refuse(name, "order", "given", error);
    if (strcmp(options->scheme, "auto") != 0 && strcmp(options->scheme, "matrix") != 0)
        return refuse(name, "scheme", options->scheme, error);

    /* R, rollbacks and averaging, which must have their defaults. */
    if (!options->r_factor) return refuse(name, "r_factor", "a number", error);
    if (strcmp(options->r_factor, "local") != 0)
        return refuse(name, "r_factor", options->r_factor, error);
    if (strcmp(options->bound, "current") != 0) return refuse(name, "bound", options->bound, error);
    if (options->relaxation != 1)
        return refuse(name, "relaxation", cs_number(options->relaxation).text, error);
    if (options->rollback != cs_options_default().rollback)
        return refuse(name, "rollback", cs_number(options->rollback).text, error);
    if (options->rollback_growth != cs_options_default().rollback_growth)
        return refuse(name, "rollback_growth", cs_number(options->rollback_growth).text, error);
    if (options->averaging_adjacent) return refuse(name, "averaging", "adjacent", error);
    if (!isnan(options->averaging))
        return refuse(name, "averaging", cs_number(options->averaging).text, error);
    return CS_OK;
}
