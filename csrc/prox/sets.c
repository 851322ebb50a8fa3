/* The descriptions of all sets, and their list. */
#include "core/error.h"
#include "prox/prox.h"
#include "prox/slope.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

#define CS_TURN 6.283185307179586

/* The largest friction coefficient. Larger ones, with inf, are mistakes of the user. */
#define CS_LARGEST_FRICTION 1e6

/* Parameters of sets: one number for each block. */
#define CS_FRICTION(text, line)                                                      \
    {                                                                                \
        .name = text, .summary = line, .noun = "a friction coefficient", .least = 0, \
        .most = CS_LARGEST_FRICTION                                                  \
    }
#define CS_BLOCK_PARAMETER(text, what, low, high, line)                         \
    {                                                                           \
        .name = text, .summary = line, .noun = what, .least = low, .most = high \
    }

/* The parameter of sets with one coefficient of friction. */
static const cs_parameter cs_parameter_mu[] = {CS_FRICTION("mu", "friction coefficient")};

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

/* ---- local problems -------------------------------------------------------------------------- */

/* Adds a ball over so many rows. */
static void cs_add_local_ball(cs_local_set *local, int first, int rows, double radius)
{
    cs_friction_part *part = &local->part[local->parts++];
    part->axes = 0;
    part->first = first;
    part->rows = rows;
    part->radius = radius;
}

/* `describe_local` of sets with one ball of friction over all rows behind the normal. */
static void cs_local_of_one_ball(int rows, const double *parameters, cs_local_set *local)
{
    cs_add_local_ball(local, 1, rows - 1, parameters[0]);
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

cs_set_kind cs_kind_in_single(cs_set_kind kind)
{
    switch (kind) {
#define CS_SET(name)
#define CS_SET_SEARCHED(name) case CS_SET_##name:
#include "prox/sets.def"
#undef CS_SET_SEARCHED
#undef CS_SET
        return kind;
    default: return (cs_set_kind)((int)kind | CS_SINGLE_PROX);
    }
}

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

int cs_set_describe(int i, cs_set_info *info)
{
    if (i < 0 || i >= SETS) return 0;
    *info = (cs_set_info){
        .name = sets[i]->name,
        .summary = sets[i]->summary,
        .about = sets[i]->about,
        .parameter = sets[i]->parameter,
        .parameters = sets[i]->declared,
    };
    return 1;
}

const char *cs_parameter_kind_name(int i)
{
    static const char *const kinds[] = {"block", "row", "shape"};
    return i >= 0 && i < 3 ? kinds[i] : NULL;
}

/* ---- checks of parameters -------------------------------------------------------------------- */

/* `place`: name and index of the number. */
static cs_status out_of_range(const cs_parameter *parameter, double value, const char *place,
                              cs_error *error)
{
    double least = parameter->least, most = parameter->most;
    cs_text shown = cs_number(value);
    if (value > most && most < DBL_MAX)
        return cs_fail(error, CS_INVALID, "%s is %s: %s is at most %g", place, shown.text,
                       parameter->noun, most);
    if (isinf(least) || isinf(most))
        return cs_fail(error, CS_INVALID, "%s is %s: %s is a number or %sinf", place, shown.text,
                       parameter->noun, isinf(least) ? "-" : "");
    const char *finite = most < DBL_MAX ? "" : "finite ";
    if (least == -DBL_MAX)
        return cs_fail(error, CS_INVALID, "%s is %s: %s is a %snumber", place, shown.text,
                       parameter->noun, finite);
    return cs_fail(error, CS_INVALID, "%s is %s: %s is a %snumber, %g or more", place, shown.text,
                   parameter->noun, finite, least);
}

/* Numbers of one parameter: `width` of the `each` of a block, the first of which `values` points to. */
static cs_status check_range(const cs_parameter *parameter, int64_t count, int width, int each,
                             const double *values, int64_t first_block, cs_error *error)
{
    for (int64_t k = 0; k < count; k++)
        for (int i = 0; i < width; i++) {
            double value = values[k * each + i];
            if (value >= parameter->least && value <= parameter->most) continue;

            char place[80];
            long long block = (long long)(first_block + k);
            if (parameter->kind == CS_OF_ROW)
                snprintf(place, sizeof place, "%s[%lld, %d]", parameter->name, block, i);
            else snprintf(place, sizeof place, "%s[%lld]", parameter->name, block);
            return out_of_range(parameter, value, place, error);
        }
    return CS_OK;
}

cs_status cs_check_parameters(const cs_set *set, int64_t count, int rows, int each,
                              const double *parameters, int64_t first_block, cs_error *error)
{
    /* Each number by itself. */
    cs_status status = CS_OK;
    int at = 0;
    for (int i = 0; i < set->declared && at < each && !status; i++) {
        const cs_parameter *parameter = &set->parameter[i];
        int width = parameter->kind == CS_OF_ROW ? rows : 1;
        if (parameter->kind == CS_OF_SHAPE) break;
        status = check_range(parameter, count, width, each, parameters + at, first_block, error);
        at += width;
    }

    /* What they have to be together. */
    if (status || !set->check) return status;
    return set->check(count, rows, each, parameters, first_block, error);
}

/* ---- questions by name ------------------------------------------------------------------------- */

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

int cs_set_properties_of(const char *set, int rows, cs_set_properties *properties)
{
    const cs_set *found = cs_set_find(set);
    if (cs_set_parameters(set, rows) < 0) return 0;
    *properties = (cs_set_properties){
        .contact = found->contact,
        .frictional = found->frictional,
        .balls = found->balls,
        .circular = found->cone,
    };
    found->coupling(rows, properties->coupled_set);
    return 1;
}
