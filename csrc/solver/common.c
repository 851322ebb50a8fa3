/* The options that every solver has, declared once: what checks them, sets them by name, describes
 * them or makes flags of them goes by this table. */
#include "solver/common.h"

#include "core/error.h"
#include "core/instructions.h"
#include "core/option.h"
#include "solver/solver.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define MOST_INT 2147483647.0
#define MOST_INT64 9223372036854775808.0 /* one more than there is: the double next to it */

typedef enum place { TEXT, NUMBER, INT, INT64, NOT, R_FACTOR, AVERAGING } place;

typedef struct common {
    cs_option option;
    double open; /* what says that it is left open, if it may be */
    place place; /* of the member: what it is, */
    size_t at;   /* and where it is in cs_options; of R_FACTOR and AVERAGING it is several */
    const char *(*list)(int, const char **); /* of the names that a word may be, beside `word`; */
    const char *word;                        /* NULL where the list has all */
} common;

#define AT(member) offsetof(cs_options, member)

static const char *const locals[] = {"auto",   "projected", "exact", "block",
                                     "newton", "quartic",   NULL};
static const char *const factors[] = {"local", "block", "global", "balanced", NULL};
static const char *const adjacent[] = {"adjacent", NULL};
static const char *const bounds[] = {"current", "previous", NULL};
static const char *const dtypes[] = {"float64", "float32", "mixed", NULL};

/* Those that there are kernels for, and what is done without them. */
static const char *instructions_name(int i, const char **summary)
{
    return i == 0 ? "scalar" : cs_instructions_name(i - 1, summary);
}

static const common table[] = {
    {{.name = "method", .kind = CS_WORD, .summary = "method of solution"},
     0,
     TEXT,
     AT(method),
     cs_method_name,
     NULL},
    {{.name = "scheme", .kind = CS_WORD, .summary = "how the residual velocity is computed"},
     0,
     TEXT,
     AT(scheme),
     cs_scheme_name,
     "auto"},
    {{.name = "order", .kind = CS_WORD, .summary = "order in which a sweep visits the contacts"},
     0,
     TEXT,
     AT(order),
     cs_order_name,
     "auto"},
    {CS_WORD_OPTION("local", locals,
                    "how the local problem of each block is solved; 'quartic' is experimental"),
     0, TEXT, AT(local), NULL, NULL},
    {{.name = "relaxation",
      .kind = CS_NUMBER,
      .summary = "relaxation factor, which scales R",
      .usual = 1,
      .above = 1,
      .most = HUGE_VAL},
     0,
     NUMBER,
     AT(relaxation),
     NULL,
     NULL},
    {{.name = "averaging",
      .kind = CS_NUMBER,
      .summary = "weight of the new impulses in their average with the old ones, at most 1; "
                 "adjacent: 1 over the number of adjacent contacts",
      .usual = NAN,
      .above = 1,
      .most = 1,
      .optional = 1,
      .words = adjacent},
     NAN,
     AVERAGING,
     0,
     NULL,
     NULL},
    {{.name = "r_factor",
      .kind = CS_NUMBER,
      .summary = "rule that computes R from A, or one number for all rows",
      .above = 1,
      .most = HUGE_VAL,
      .words = factors},
     0,
     R_FACTOR,
     0,
     NULL,
     NULL},
    {{.name = "rollback",
      .kind = CS_COUNT,
      .summary = "maximum number of times that R is halved",
      .usual = 5,
      .most = MOST_INT},
     0,
     INT,
     AT(rollback),
     NULL,
     NULL},
    {{.name = "rollback_growth",
      .kind = CS_NUMBER,
      .summary = "growth of the residual at which R is halved; the default depends on the method",
      .least = 1,
      .most = HUGE_VAL,
      .optional = 1},
     0,
     NUMBER,
     AT(rollback_growth),
     NULL,
     NULL},
    {CS_WORD_OPTION("bound", bounds, "normal impulse that bounds friction"), 0, TEXT, AT(bound),
     NULL, NULL},
    {{.name = "rtol",
      .kind = CS_NUMBER,
      .summary = "relative tolerance",
      .usual = 1e-6,
      .most = HUGE_VAL,
      .optional = 1},
     NAN,
     NUMBER,
     AT(rtol),
     NULL,
     NULL},
    {{.name = "atol",
      .kind = CS_NUMBER,
      .summary = "absolute tolerance",
      .most = HUGE_VAL,
      .optional = 1},
     NAN,
     NUMBER,
     AT(atol),
     NULL,
     NULL},
    {{.name = "stop", .kind = CS_WORD, .summary = "measure that the stopping rule tests"},
     0,
     TEXT,
     AT(stop),
     cs_measure_name,
     NULL},
    {{.name = "check_every",
      .kind = CS_COUNT,
      .summary = "sweeps between two checks of the stopping rule",
      .usual = 10,
      .least = 1,
      .most = MOST_INT64},
     0,
     INT64,
     AT(check_every),
     NULL,
     NULL},
    {{.name = "max_iterations",
      .kind = CS_COUNT,
      .summary = "maximum iterations",
      .usual = 1000,
      .most = MOST_INT64},
     0,
     INT64,
     AT(max_iterations),
     NULL,
     NULL},
    {{.name = "max_seconds",
      .kind = CS_NUMBER,
      .summary = "maximum wall-clock time of one solve [s]",
      .usual = HUGE_VAL,
      .most = HUGE_VAL,
      .optional = 1},
     HUGE_VAL,
     NUMBER,
     AT(max_seconds),
     NULL,
     NULL},
    {CS_FLAG_OPTION("time_checks", 1, "whether times include the evaluation of the stopping rule"),
     0, INT, AT(time_checks), NULL, NULL},
    {CS_WORD_OPTION("dtype", dtypes, "precision of the sweeps"), 0, TEXT, AT(dtype), NULL, NULL},
    {{.name = "threads",
      .kind = CS_COUNT,
      .summary = "maximum threads; by default chosen automatically",
      .most = MOST_INT,
      .optional = 1},
     0,
     INT,
     AT(threads),
     NULL,
     NULL},
    {{.name = "parts",
      .kind = CS_COUNT,
      .summary = "number of parts into which orders divide the problem",
      .usual = 8,
      .least = 1,
      .most = MOST_INT},
     0,
     INT,
     AT(order_options.parts),
     NULL,
     NULL},
    {{.name = "record_every",
      .kind = CS_COUNT,
      .summary = "iterations between two rows of the history",
      .usual = 1,
      .least = 1,
      .most = MOST_INT64},
     0,
     INT64,
     AT(record_every),
     NULL,
     NULL},
    {{.name = "patience",
      .kind = CS_COUNT,
      .summary = "iterations without halving the natural map after which a solve ends as stalled "
                 "or wandering; None: never, or the method's own value",
      .least = 1,
      .most = 2e9,
      .optional = 1},
     0,
     INT64,
     AT(patience),
     NULL,
     NULL},
    {{.name = "measure_every",
      .kind = CS_COUNT,
      .summary = "iterations between two evaluations of those recorded measures that cost about a "
                 "sweep; by default as check_every",
      .least = 1,
      .most = MOST_INT64,
      .optional = 1},
     0,
     INT64,
     AT(measure_every),
     NULL,
     NULL},
    {{.name = "quality_r",
      .kind = CS_NUMBER,
      .summary = "constant R of the measure quality",
      .usual = 100,
      .above = 1,
      .most = HUGE_VAL},
     0,
     NUMBER,
     AT(quality_r),
     NULL,
     NULL},
    {{.name = "instructions",
      .kind = CS_WORD,
      .summary = "instruction set of the vectorised sweeps"},
     0,
     TEXT,
     AT(instructions),
     instructions_name,
     "auto"},
    {CS_FLAG_OPTION("compressed", 1, "store contact frames and lever arms in place of J"), 0, NOT,
     AT(general), NULL, NULL},
    {CS_FLAG_OPTION("islands", 1, "let islands iterate and stop separately where that saves time"),
     0, INT, AT(islands), NULL, NULL},
};
enum { COMMON = sizeof table / sizeof *table };

const char *cs_options_word(int i, int k)
{
    if (i < 0 || i >= COMMON || k < 0) return NULL;
    const common *one = &table[i];
    if (one->list)
        return one->word && k == 0 ? one->word : one->list(k - (one->word != NULL), NULL);
    for (int w = 0; one->option.words && one->option.words[w]; w++)
        if (w == k) return one->option.words[w];
    return NULL;
}

int cs_options_describe(int i, cs_option *option)
{
    if (i < 0 || i >= COMMON) return 0;
    cs_options usual = cs_options_default();
    const char *word = NULL;
    *option = table[i].option;
    if (table[i].place != TEXT) return 1;
    memcpy(&word, (char *)&usual + table[i].at, sizeof word);
    for (int k = 0; cs_options_word(i, k); k++)
        if (strcmp(cs_options_word(i, k), word) == 0) option->usual = k;
    return 1;
}

static const common *find(const char *name)
{
    for (int i = 0; i < COMMON; i++)
        if (strcmp(table[i].option.name, name) == 0) return &table[i];
    return NULL;
}

static cs_status set_number(const common *one, cs_options *options, double value)
{
    char *member = (char *)options + one->at;
    switch (one->place) {
    case NUMBER: memcpy(member, &value, sizeof value); break;
    case INT: *(int *)(void *)member = (int)value; break;
    case NOT: *(int *)(void *)member = value == 0; break;
    case INT64: *(int64_t *)(void *)member = value < MOST_INT64 ? (int64_t)value : INT64_MAX; break;
    case R_FACTOR: options->r_factor = NULL, options->r_value = value; break;
    case AVERAGING: options->averaging = value, options->averaging_adjacent = 0; break;
    case TEXT: break;
    }
    return CS_OK;
}

static double number_of(const common *one, const cs_options *options)
{
    const char *member = (const char *)options + one->at;
    switch (one->place) {
    case NUMBER: return *(const double *)(const void *)member;
    case INT: return *(const int *)(const void *)member;
    case NOT: return !*(const int *)(const void *)member;
    case INT64: return (double)*(const int64_t *)(const void *)member;
    case R_FACTOR: return options->r_value;
    case AVERAGING: return options->averaging;
    case TEXT: break;
    }
    return 0;
}

/* Whether a number says that the option is left open. */
static int is_open(const common *one, double value)
{
    if (!one->option.optional) return 0;
    return value == one->open || (isnan(one->open) && isnan(value));
}

cs_status cs_options_set(cs_options *options, const cs_setting *setting, cs_error *error)
{
    const common *one = find(setting->name);
    double value;
    if (!one)
        return cs_fail(error, CS_UNKNOWN_NAME, "there is no option '%s'",
                       cs_word(setting->name).text);
    const cs_option *option = &one->option;
    if (one->place == TEXT && !setting->word)
        return cs_fail(error, CS_INVALID, "%s is %s: a name is needed", option->name,
                       cs_number(setting->number).text);
    if (one->place == TEXT && !option->words) { /* of a list: looked up when a solver is made */
        memcpy((char *)options + one->at, &setting->word, sizeof setting->word);
        return CS_OK;
    }
    if (!setting->word && is_open(one, setting->number))
        return set_number(one, options, setting->number);
    cs_status status = cs_option_value(option, setting, &value, error);
    if (status) return status;
    const char *word = option->words && setting->word
                           ? option->words[option->kind == CS_WORD ? (int)value : -(int)value]
                           : NULL;
    if (one->place == TEXT) memcpy((char *)options + one->at, &word, sizeof word);
    else if (!word) return set_number(one, options, value);
    else if (one->place == R_FACTOR) options->r_factor = word;
    else options->averaging = NAN, options->averaging_adjacent = 1;
    return CS_OK;
}

cs_status cs_options_check_each(cs_options *options, cs_error *error)
{
    for (int i = 0; i < COMMON; i++) {
        const common *one = &table[i];
        const cs_option *option = &one->option;
        cs_setting setting = {.name = option->name};
        double value;
        if (one->place == TEXT) {
            if (!option->words) continue; /* looked up by whom it concerns */
            memcpy(&setting.word, (char *)options + one->at, sizeof setting.word);
        } else if (one->place == R_FACTOR && options->r_factor) {
            setting.word = options->r_factor;
        } else {
            setting.number = number_of(one, options);
            if (is_open(one, setting.number)) continue;
        }
        cs_status status = cs_option_value(option, &setting, &value, error);
        if (status) return status;
        if (setting.word) status = cs_options_set(options, &setting, error); /* becomes our word */
        if (status) return status;
    }
    return CS_OK;
}
