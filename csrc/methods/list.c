/* The list of methods, and the names of what they need (core/needs.def) and of the classes of problems that
 * they solve (core/classes.def). */
#include "core/error.h"
#include "solver/method.h"

#include <stdio.h>
#include <string.h>

#define CS_METHOD(name) extern const cs_method cs_method_##name;
#include "methods/methods.def"
#undef CS_METHOD

static const cs_method *const methods[] = {
#define CS_METHOD(name) &cs_method_##name,
#include "methods/methods.def"
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

int cs_method_describe(int i, cs_method_info *info)
{
    if (i < 0 || i >= METHODS) return 0;
    const cs_method *method = methods[i];
    *info = (cs_method_info){
        .name = method->name,
        .summary = method->summary,
        .about = method->about,
        .paper = method->paper,
        .needs = method->needs,
        .solves = method->solves,
        .direct = method->without_sweeps,
        .experimental = method->experimental,
        .option = method->option,
        .options = method->options,
    };
    return 1;
}

/* The words of the option `over`, and their places in the list. */
const char *const cs_over_words[] = {"gauss_seidel", "symmetric_gauss_seidel", "jacobi", NULL};
enum { GAUSS_SEIDEL, SYMMETRIC, JACOBI };

/* The place in cs_over_words of the sweeps that a method with this option works over. `settings` NULL: the
 * default. */
static int works_over(const cs_method *method, const double *settings)
{
    int i = method->over - 1;
    return (int)(settings ? settings[i] : method->option[i].usual);
}

int cs_is_flat(const cs_method *method, const double *settings)
{
    if (method->over) return works_over(method, settings) == JACOBI;
    return method->stage == CS_SIMULTANEOUS;
}

int cs_is_symmetric(const cs_method *method, const double *settings)
{
    return method->over ? works_over(method, settings) == SYMMETRIC : method->symmetric;
}

/* A need or a class: its name and its description. */
typedef struct listed {
    const char *name, *text;
} listed;

static const listed needs[] = {
#define CS_LISTED(identifier, name, text) {name, text},
#include "core/needs.def"
#undef CS_LISTED
};
static const listed classes[] = {
#define CS_LISTED(identifier, name, text) {name, text},
#include "core/classes.def"
#undef CS_LISTED
};
enum { NEEDS = sizeof needs / sizeof *needs, CLASSES = sizeof classes / sizeof *classes };

/* The name of entry i, and its description in `summary` (may be NULL); NULL past the end of the list. */
static const char *name_in(const listed *list, int count, int i, const char **summary)
{
    if (i < 0 || i >= count) return NULL;
    if (summary) *summary = list[i].text;
    return list[i].name;
}

const char *cs_need_name(int i, const char **summary) { return name_in(needs, NEEDS, i, summary); }

const char *cs_class_name(int i, const char **summary)
{
    return name_in(classes, CLASSES, i, summary);
}

cs_status cs_unknown_name(const char *option, const char *given, int with_auto,
                          const char *(*list)(int, const char **), cs_error *error)
{
    /* Join the names by commas, as many as fit. */
    char known[480] = "";
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
