/* The options of an MLCP solver. This table serves to check them, to set them by name and to describe them. */
#include "mlcp/options.h"

#include "core/error.h"
#include "core/member.h"
#include "mlcp/pivoting.h"

#include <stdio.h>
#include <string.h>

#define AT(member) offsetof(cs_mlcp_options, member)

/* ---- conditions under which an option has no effect ------------------------------------------ */

/* Each returns non-zero and writes the reason to `why` (size) if that is so. */
static int rule_is_not_bpp(const void *context, char *why, size_t size)
{
    const cs_mlcp_options *options = context;
    if (strcmp(options->rule, "bpp") == 0) return 0;
    snprintf(why, size, "it is for method='bpp', and the method is '%s'", options->rule);
    return 1;
}

static int rule_factors_nothing(const void *context, char *why, size_t size)
{
    const cs_mlcp_options *options = context;
    if (!cs_rule_find(options->rule)->no_factors) return 0;
    snprintf(why, size, "it is for methods that factor A_FF, which method='%s' does not",
             options->rule);
    return 1;
}

static int no_threads_are_given(const void *context, char *why, size_t size)
{
    if (((const cs_mlcp_options *)context)->threads) return 0;
    snprintf(why, size, "no number of threads is given; give threads");
    return 1;
}

static int engine_is_not_cached(const void *context, char *why, size_t size)
{
    const cs_mlcp_options *options = context;
    if (strcmp(options->engine, "cached") == 0) return 0;
    snprintf(why, size, "it is for engine='cached', and the engine is '%s'", options->engine);
    return 1;
}

static const cs_member table[] = {
    {.option = {.name = "method", .kind = CS_WORD, .summary = "pivoting rule"},
     .place = CS_PLACE_TEXT,
     .at = AT(rule),
     .list = cs_rule_name},
    {.option = {.name = "engine", .kind = CS_WORD, .summary = CS_MLCP_ENGINE_LINE},
     .place = CS_PLACE_TEXT,
     .at = AT(engine),
     .list = cs_engine_name,
     .word = "auto",
     .idle = rule_factors_nothing},
    {.option = CS_MLCP_TOLERANCE_OPTION, .place = CS_PLACE_NUMBER, .at = AT(tolerance)},
    {.option = CS_MLCP_BLOCK_STEPS_OPTION,
     .place = CS_PLACE_INT64,
     .at = AT(block_steps),
     .idle = rule_is_not_bpp},
    {.option = CS_MLCP_STALL_STEPS_OPTION,
     .place = CS_PLACE_INT64,
     .at = AT(stall_steps),
     .idle = rule_is_not_bpp},
    {.option = CS_MLCP_MAX_PIVOTS_OPTION, .place = CS_PLACE_INT64, .at = AT(max_pivots)},
    {.option = CS_MLCP_REFINEMENTS_OPTION,
     .place = CS_PLACE_INT,
     .at = AT(refinements),
     .idle = rule_factors_nothing},
    {.option =
         CS_FLAG_OPTION("condition", 0, "estimate the condition number of A_FF at the solution"),
     .place = CS_PLACE_INT,
     .at = AT(condition),
     .idle = rule_factors_nothing},
    {.option = CS_MLCP_CACHE_BYTES_OPTION,
     .place = CS_PLACE_INT64,
     .at = AT(cache_bytes),
     .idle = engine_is_not_cached},
    {.option = CS_MLCP_INTERIOR_OPTION,
     .place = CS_PLACE_INT,
     .at = AT(interior),
     .idle = rule_is_not_bpp},
    {.option = CS_MLCP_REUSE_OPTION,
     .place = CS_PLACE_INT64,
     .at = AT(reuse),
     .idle = rule_factors_nothing},
    {.option = CS_FLAG_OPTION("islands", 1, "solve the connected parts of A separately"),
     .place = CS_PLACE_INT,
     .at = AT(islands)},
    {.option = {.name = "threads",
                .kind = CS_COUNT,
                .summary = "maximum threads that solve islands; by default all",
                .least = 1,
                .most = CS_MOST_INT,
                .optional = 1},
     .place = CS_PLACE_INT,
     .at = AT(threads)},
    {.option =
         CS_FLAG_OPTION("exact_threads", 0,
                        "solve islands on as many threads as `threads` says, however few rows"),
     .place = CS_PLACE_INT,
     .at = AT(exact_threads),
     .idle = no_threads_are_given},
};
enum { OPTIONS = sizeof table / sizeof *table };

cs_mlcp_options cs_mlcp_options_default(void)
{
    cs_mlcp_options options = {.rule = "bpp", .engine = "auto"};
    for (int i = 0; i < OPTIONS; i++) cs_member_reset(&table[i], &options);
    return options;
}

const char *cs_mlcp_options_word(int i, int k)
{
    return i < 0 || i >= OPTIONS ? NULL : cs_member_word(&table[i], k);
}

int cs_mlcp_options_describe(int i, cs_option *option)
{
    if (i < 0 || i >= OPTIONS) return 0;
    cs_mlcp_options usual = cs_mlcp_options_default();
    cs_member_describe(&table[i], &usual, option);
    return 1;
}

cs_status cs_mlcp_options_set(cs_mlcp_options *options, const cs_setting *setting, cs_error *error)
{
    const cs_member *one = cs_member_find(table, OPTIONS, setting->name);
    if (one) return cs_member_set(one, options, setting, error);
    return cs_fail(error, CS_UNKNOWN_NAME, "there is no option '%s'", cs_word(setting->name).text);
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* Reports an unknown name, and lists the known ones: `first`, if not empty, and those of `list`. */
static cs_status unknown(const char *option, const char *given, const char *first,
                         const char *(*list)(int, const char **), cs_error *error)
{
    char known[160];
    size_t used = (size_t)snprintf(known, sizeof known, "%s", first);
    for (int i = 0; list(i, NULL) && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "",
                                 list(i, NULL));
    return cs_fail(error, CS_UNKNOWN_NAME, "%s: '%s' is unknown; known: %s", option,
                   cs_word(given).text, known);
}

cs_status cs_mlcp_options_check(const cs_mlcp_options *options, cs_error *error)
{
    /* Names. */
    int chosen = strcmp(options->engine, "auto") == 0;
    if (!cs_rule_find(options->rule))
        return unknown("method", options->rule, "", cs_rule_name, error);
    if (!chosen && !cs_engine_find(options->engine))
        return unknown("engine", options->engine, "auto", cs_engine_name, error);

    /* Ranges. */
    cs_mlcp_options checked = *options;
    cs_status status = CS_OK;
    for (int i = 0; i < OPTIONS && !status; i++)
        status = cs_member_check(&table[i], &checked, error);

    /* Options without effect. */
    cs_mlcp_options usual = cs_mlcp_options_default();
    for (int i = 0; i < OPTIONS && !status; i++)
        status = cs_member_check_effect(&table[i], options, &usual, options, error);
    return status;
}
