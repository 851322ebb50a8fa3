/* The table of the options that every solver has. The code that checks them, sets them by name, documents them or
 * makes command-line flags of them reads this table. */
#include "solver/option_table.h"

#include "core/error.h"
#include "backend/device.h"
#include "core/instructions.h"
#include "core/member.h"
#include "solver/effects.h"
#include "solver/solver.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define AT(member) offsetof(cs_options, member)

static const char *const locals[] = {"auto",   "projected", "exact", "block",
                                     "newton", "quartic",   NULL};
static const char *const factors[] = {"local", "diagonal", "block", "global", "balanced", NULL};
static const char *const adjacent[] = {"adjacent", NULL};
static const char *const automatic[] = {"auto", NULL};
static const char *const bounds[] = {"current", "previous", NULL};
static const char *const device_sweeps[] = {"auto",    "dataflow", "counter",  "on_chip",
                                            "regions", "graph",    "launches", NULL};
static const char *const device_proxes[] = {"double", "single", NULL};
static const char *const dtypes[] = {"float64", "float32", "mixed", NULL};

/* The i-th word of `instructions`: "scalar", then the instruction sets that kernels exist for. */
static const char *instructions_name(int i, const char **summary)
{
    return i == 0 ? "scalar" : cs_instructions_name(i - 1, summary);
}

/* Write and read r_factor: the name of a rule, or a number. */
static void put_factor(void *options, double number, const char *word)
{
    cs_options *all = options;
    all->r_factor = word;
    if (!word) all->r_value = number;
}

static void get_factor(const void *options, cs_setting *setting)
{
    const cs_options *all = options;
    setting->word = all->r_factor;
    setting->number = all->r_value;
}

/* Write and read averaging: a number, or the word "adjacent". */
static void put_averaging(void *options, double number, const char *word)
{
    cs_options *all = options;
    all->averaging = word ? NAN : number;
    all->averaging_adjacent = word != NULL;
}

static void get_averaging(const void *options, cs_setting *setting)
{
    setting->number = ((const cs_options *)options)->averaging;
}

/* Write and read parts: a number, or the word "auto". */
static void put_parts(void *options, double number, const char *word)
{
    ((cs_options *)options)->order_options.parts = word ? 0 : (int)number;
}

static void get_parts(const void *options, cs_setting *setting)
{
    int parts = ((const cs_options *)options)->order_options.parts;
    setting->number = parts;
    setting->word = parts ? NULL : automatic[0];
}

static const cs_member table[] = {
    {.option = {.name = "method", .kind = CS_WORD, .summary = "method of solution"},
     .place = CS_PLACE_TEXT,
     .at = AT(method),
     .list = cs_method_name},
    {.option = {.name = "scheme",
                .kind = CS_WORD,
                .summary = "how the residual velocity is computed"},
     .place = CS_PLACE_TEXT,
     .at = AT(scheme),
     .list = cs_scheme_name,
     .word = "auto"},
    {.option = {.name = "order",
                .kind = CS_WORD,
                .summary = "order in which a sweep visits the contacts"},
     .place = CS_PLACE_TEXT,
     .at = AT(order),
     .list = cs_order_name,
     .word = "auto"},
    {.option =
         CS_WORD_OPTION("local", locals,
                        "how the local problem of each block is solved; 'quartic' is experimental"),
     .place = CS_PLACE_TEXT,
     .at = AT(local)},
    {.option = {.name = "relaxation",
                .kind = CS_NUMBER,
                .summary = "relaxation factor, which scales R",
                .usual = 1,
                .above = 1,
                .most = HUGE_VAL},
     .place = CS_PLACE_NUMBER,
     .at = AT(relaxation),
     .idle = cs_relaxation_is_idle},
    {.option = {.name = "averaging",
                .kind = CS_NUMBER,
                .summary =
                    "weight of the new impulses in their average with the old ones, at most 1; "
                    "adjacent: 1 over the number of adjacent contacts",
                .usual = NAN,
                .above = 1,
                .most = 1,
                .optional = 1,
                .words = adjacent},
     .open = NAN,
     .place = CS_PLACE_SEVERAL,
     .put = put_averaging,
     .get = get_averaging},
    {.option = {.name = "r_factor",
                .kind = CS_NUMBER,
                .summary = "rule that computes R from A, or one number for all rows",
                .above = 1,
                .most = HUGE_VAL,
                .words = factors},
     .place = CS_PLACE_SEVERAL,
     .put = put_factor,
     .get = get_factor,
     .idle = cs_factor_is_idle},
    {.option = {.name = "rollback",
                .kind = CS_COUNT,
                .summary = "maximum number of times that R is halved",
                .usual = 5,
                .most = CS_MOST_INT},
     .place = CS_PLACE_INT,
     .at = AT(rollback)},
    {.option =
         {.name = "rollback_growth",
          .kind = CS_NUMBER,
          .summary =
              "growth of the residual at which R is halved; the default depends on the method",
          .least = 1,
          .most = HUGE_VAL,
          .optional = 1},
     .place = CS_PLACE_NUMBER,
     .at = AT(rollback_growth)},
    {.option = CS_WORD_OPTION("bound", bounds, "normal impulse that bounds friction"),
     .place = CS_PLACE_TEXT,
     .at = AT(bound)},
    {.option = {.name = "rtol",
                .kind = CS_NUMBER,
                .summary = "relative tolerance",
                .usual = 1e-6,
                .most = HUGE_VAL,
                .optional = 1},
     .open = NAN,
     .place = CS_PLACE_NUMBER,
     .at = AT(rtol)},
    {.option = {.name = "atol",
                .kind = CS_NUMBER,
                .summary = "absolute tolerance",
                .most = HUGE_VAL,
                .optional = 1},
     .open = NAN,
     .place = CS_PLACE_NUMBER,
     .at = AT(atol)},
    {.option = {.name = "stop", .kind = CS_WORD, .summary = "measure that the stopping rule tests"},
     .place = CS_PLACE_TEXT,
     .at = AT(stop),
     .list = cs_measure_name,
     .idle = cs_stop_is_idle},
    {.option = {.name = "check_every",
                .kind = CS_COUNT,
                .summary = "sweeps between two checks of the stopping rule",
                .usual = 10,
                .least = 1,
                .most = CS_MOST_INT64},
     .place = CS_PLACE_INT64,
     .at = AT(check_every)},
    {.option = {.name = "max_iterations",
                .kind = CS_COUNT,
                .summary = "maximum iterations",
                .usual = 1000,
                .most = CS_MOST_INT64},
     .place = CS_PLACE_INT64,
     .at = AT(max_iterations)},
    {.option = {.name = "max_seconds",
                .kind = CS_NUMBER,
                .summary = "maximum wall-clock time of one solve [s]",
                .usual = HUGE_VAL,
                .most = HUGE_VAL,
                .optional = 1},
     .open = HUGE_VAL,
     .place = CS_PLACE_NUMBER,
     .at = AT(max_seconds)},
    {.option = CS_FLAG_OPTION("time_checks", 1,
                              "whether times include the evaluation of the stopping rule"),
     .place = CS_PLACE_INT,
     .at = AT(time_checks)},
    {.option = CS_WORD_OPTION("dtype", dtypes, "precision of the sweeps"),
     .place = CS_PLACE_TEXT,
     .at = AT(dtype)},
    {.option = {.name = "threads",
                .kind = CS_COUNT,
                .summary = "maximum threads; by default all, and one where others save no time",
                .most = CS_MOST_INT,
                .optional = 1},
     .place = CS_PLACE_INT,
     .at = AT(threads)},
    {.option =
         CS_FLAG_OPTION("exact_threads", 0,
                        "run on as many threads as `threads` says, even where fewer are faster"),
     .place = CS_PLACE_INT,
     .at = AT(exact_threads),
     .idle = cs_exact_threads_is_idle},
    {.option = {.name = "parts",
                .kind = CS_COUNT,
                .summary = "number of parts into which orders divide the problem",
                .least = 1,
                .most = CS_MOST_INT,
                .words = automatic},
     .place = CS_PLACE_SEVERAL,
     .put = put_parts,
     .get = get_parts},
    {.option = {.name = "record_every",
                .kind = CS_COUNT,
                .summary = "iterations between two rows of the history",
                .usual = 1,
                .least = 1,
                .most = CS_MOST_INT64},
     .place = CS_PLACE_INT64,
     .at = AT(record_every)},
    {.option =
         {.name = "patience",
          .kind = CS_COUNT,
          .summary =
              "iterations without halving the natural map after which a solve ends as stalled "
              "or wandering; None: never, or the method's own value",
          .least = 1,
          .most = 2e9,
          .optional = 1},
     .place = CS_PLACE_INT64,
     .at = AT(patience)},
    {.option =
         {.name = "measure_every",
          .kind = CS_COUNT,
          .summary =
              "iterations between two evaluations of those recorded measures that cost about a "
              "sweep; by default as check_every",
          .least = 1,
          .most = CS_MOST_INT64,
          .optional = 1},
     .place = CS_PLACE_INT64,
     .at = AT(measure_every)},
    {.option = {.name = "quality_r",
                .kind = CS_NUMBER,
                .summary = "constant R of the measure quality",
                .usual = 100,
                .above = 1,
                .most = HUGE_VAL},
     .place = CS_PLACE_NUMBER,
     .at = AT(quality_r)},
    {.option = {.name = "instructions",
                .kind = CS_WORD,
                .summary = "instruction set of the vectorised sweeps"},
     .place = CS_PLACE_TEXT,
     .at = AT(instructions),
     .list = instructions_name,
     .word = "auto"},
    {.option = {.name = "device",
                .kind = CS_WORD,
                .summary = "what runs the sweeps: the processor, a GPU, or a GPU that the "
                           "processor emulates for tests"},
     .place = CS_PLACE_TEXT,
     .at = AT(device),
     .list = cs_device_name},
    {.option = CS_WORD_OPTION("device_sweeps", device_sweeps,
                              "how a device makes sweeps: several in one launch, or a launch for "
                              "each stage, in a graph or one after another"),
     .place = CS_PLACE_TEXT,
     .at = AT(device_sweeps),
     .idle = cs_device_sweeps_is_idle},
    {.option = CS_WORD_OPTION("device_prox", device_proxes,
                              "precision in which a device computes the prox of sets in float32"),
     .place = CS_PLACE_TEXT,
     .at = AT(device_prox),
     .idle = cs_device_prox_is_idle},
    {.option = CS_FLAG_OPTION("compressed", 1, "store contact frames and lever arms in place of J"),
     .place = CS_PLACE_NOT,
     .at = AT(general)},
    {.option = CS_FLAG_OPTION("islands", 1,
                              "let islands iterate and stop separately where that saves time"),
     .place = CS_PLACE_INT,
     .at = AT(islands)},
};
enum { COMMON = sizeof table / sizeof *table };

const char *cs_options_word(int i, int k)
{
    return i < 0 || i >= COMMON ? NULL : cs_member_word(&table[i], k);
}

int cs_options_describe(int i, cs_option *option)
{
    if (i < 0 || i >= COMMON) return 0;
    cs_options usual = cs_options_default();
    cs_member_describe(&table[i], &usual, option);
    return 1;
}

cs_status cs_options_set(cs_options *options, const cs_setting *setting, cs_error *error)
{
    const cs_member *one = cs_member_find(table, COMMON, setting->name);
    if (one) return cs_member_set(one, options, setting, error);
    return cs_fail(error, CS_UNKNOWN_NAME, "there is no option '%s'", cs_word(setting->name).text);
}

cs_status cs_options_check_each(cs_options *options, cs_error *error)
{
    cs_status status = CS_OK;
    for (int i = 0; i < COMMON && !status; i++) status = cs_member_check(&table[i], options, error);
    return status;
}

cs_status cs_options_check_effects(const cs_solver *solver, cs_error *error)
{
    cs_options usual = cs_options_default();
    cs_status status = CS_OK;
    for (int i = 0; i < COMMON && !status; i++)
        status = cs_member_check_effect(&table[i], &solver->options, &usual, solver, error);
    return status;
}
