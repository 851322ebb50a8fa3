/* The descriptions of all sets, and their list. */
#include "core/error.h"
#include "prox/prox.h"
#include "prox/slope.h"

#include <string.h>

#define CS_TURN 6.283185307179586

/* The largest friction coefficient. Larger ones, with inf, are mistakes of the user. */
#define CS_LARGEST_FRICTION 1e6

/* Each row is a coupled set of its own. */
static void cs_coupling_none(int rows, int *coupled_set)
{
    for (int i = 0; i < rows; i++) coupled_set[i] = i;
}

/* The normal is one coupled set, and all other rows are another one, so that t1 and t2 share one r. */
static void cs_coupling_tangents(int rows, int *coupled_set)
{
    for (int i = 0; i < rows; i++) coupled_set[i] = i > 0;
}

/* `check` of sets without parameters. */
static cs_status cs_check_nothing(int64_t count, int rows, int each, const double *parameters,
                                  int64_t first_block, const char *parameter_name, cs_error *error)
{
    (void)count, (void)rows, (void)each, (void)parameters, (void)first_block, (void)parameter_name,
        (void)error;
    return CS_OK;
}

/* Checks one friction coefficient. */
static cs_status cs_check_one_friction(double coefficient, const char *name, int64_t block,
                                       cs_error *error)
{
    if (coefficient >= 0 && coefficient <= CS_LARGEST_FRICTION) return CS_OK;
    cs_text value = cs_number(coefficient);
    if (!(coefficient >= 0))
        return cs_fail(error, CS_INVALID,
                       "%s[%lld] is %s: a friction coefficient is a number, 0 or more", name,
                       (long long)block, value.text);
    return cs_fail(error, CS_INVALID, "%s[%lld] is %s: a friction coefficient is at most %g", name,
                   (long long)block, value.text, CS_LARGEST_FRICTION);
}

/* Checks friction coefficients, `each` per block. names (each): their names in messages. */
static cs_status cs_check_friction(int64_t count, int each, const double *parameters,
                                   int64_t first_block, const char *const *names, cs_error *error)
{
    cs_status status = CS_OK;
    for (int64_t i = 0; i < count * each && !status; i++)
        status =
            cs_check_one_friction(parameters[i], names[i % each], first_block + i / each, error);
    return status;
}

/* ---- polygons of friction -------------------------------------------------------------------- */

/* `corners` of round sets: any number, except for one tangent, which has its two ends. */
static int64_t cs_corners_of_round(int rows, const double *parameters)
{
    (void)parameters;
    return rows == 2 ? 2 : 0;
}

/* `corner` of a unit circle. */
static void cs_corner_of_circle(int rows, const double *parameters, int64_t i, int64_t count,
                                double *d)
{
    (void)rows, (void)parameters;
    double angle = CS_TURN * (double)i / (double)count;
    d[0] = cos(angle);
    d[1] = sin(angle);
}

/* `multiplier` of sets whose first parameter is mu. */
static double cs_multiplier_mu(const double *parameters) { return parameters[0]; }

#define CS_SET_PROX(set) .prox_f32 = cs_call_##set##_f32, .prox_f64 = cs_call_##set##_f64

/* The inline prox of each set, compiled once more as a function for cs_set.prox_f32 and prox_f64. */
#define CS_SET(name)                                                                       \
    static void cs_call_##name##_f32(int m, float *z, const float *p, const float *old)    \
    {                                                                                      \
        cs_prox_##name##_f32(m, z, p, old);                                                \
    }                                                                                      \
    static void cs_call_##name##_f64(int m, double *z, const double *p, const double *old) \
    {                                                                                      \
        cs_prox_##name##_f64(m, z, p, old);                                                \
    }
#include "prox/sets.def"
#undef CS_SET

#define CS_SET_DESCRIPTION
#include "prox/sets.def"
#undef CS_SET_DESCRIPTION

static const cs_set *const sets[] = {
#define CS_SET(name) &cs_set_##name,
#include "prox/sets.def"
#undef CS_SET
};
enum { SETS = sizeof sets / sizeof *sets };

const cs_set *cs_set_find(const char *name)
{
    for (int i = 0; i < SETS; i++)
        if (strcmp(sets[i]->name, name) == 0) return sets[i];
    return NULL;
}

const char *cs_set_name(int i, const char **summary)
{
    if (i < 0 || i >= SETS) return NULL;
    if (summary) *summary = sets[i]->summary;
    return sets[i]->name;
}

int cs_set_parameters(const char *set, int rows)
{
    const cs_set *found = cs_set_find(set);
    return found && rows >= 1 ? found->parameters(rows) : -1;
}

int cs_set_is_variable(const char *set)
{
    const cs_set *found = cs_set_find(set);
    return found && found->variable;
}

int cs_set_describe(const char *set, int rows, cs_set_info *info)
{
    const cs_set *found = cs_set_find(set);
    if (cs_set_parameters(set, rows) < 0) return 0;
    *info = (cs_set_info){
        .contact = found->contact,
        .frictional = found->frictional,
        .balls = found->balls,
        .circular = found->cone,
    };
    found->coupling(rows, info->coupled_set);
    return 1;
}
