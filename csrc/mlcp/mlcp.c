/* Solvers of mixed linear complementarity problems: creation, solution and description. */
#include "core/clock.h"
#include "core/error.h"
#include "linalg/panel.h"
#include "mlcp/lemke.h"
#include "mlcp/options.h"
#include "mlcp/pivoting.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CS_RULE(name) extern const cs_rule cs_rule_##name;
#include "mlcp/rules.def"
#undef CS_RULE
#define CS_ENGINE(name) extern const cs_engine cs_engine_##name;
#include "mlcp/engines.def"
#undef CS_ENGINE

static const cs_rule *const rules[] = {
#define CS_RULE(name) &cs_rule_##name,
#include "mlcp/rules.def"
#undef CS_RULE
};
static const cs_engine *const engines[] = {
#define CS_ENGINE(name) &cs_engine_##name,
#include "mlcp/engines.def"
#undef CS_ENGINE
};
enum { RULES = sizeof rules / sizeof *rules, ENGINES = sizeof engines / sizeof *engines };

const cs_rule *cs_rule_find(const char *name)
{
    for (int i = 0; i < RULES; i++)
        if (strcmp(rules[i]->name, name) == 0) return rules[i];
    return NULL;
}

const cs_engine *cs_engine_find(const char *name)
{
    for (int i = 0; i < ENGINES; i++)
        if (strcmp(engines[i]->name, name) == 0) return engines[i];
    return NULL;
}

const char *cs_rule_name(int i, const char **summary)
{
    if (i < 0 || i >= RULES) return NULL;
    if (summary) *summary = rules[i]->summary;
    return rules[i]->name;
}

const char *cs_engine_name(int i, const char **summary)
{
    if (i < 0 || i >= ENGINES) return NULL;
    if (summary) *summary = engines[i]->summary;
    return engines[i]->name;
}

const char *cs_mlcp_outcome_name(cs_mlcp_outcome outcome)
{
    switch (outcome) {
    case CS_MLCP_CONVERGED: return "converged";
    case CS_MLCP_MAX_PIVOTS: return "max_pivots";
    case CS_MLCP_CYCLING: return "cycling";
    case CS_MLCP_INACCURATE: return "inaccurate";
    case CS_MLCP_RAY: return "ray";
    case CS_MLCP_STOPPED: return "stopped";
    }
    return "unknown";
}

/* ---- creation -------------------------------------------------------------------------------- */

/* Refuses a dictionary that is too large, before memory is allocated for it. */
static cs_status check_bytes(const cs_mlcp *mlcp, cs_error *error)
{
    int64_t rows = 0;
    double most = mlcp->options.dictionary_bytes;
    for (int64_t p = 0; p < mlcp->islands; p++)
        if (mlcp->island[p].rows > rows) rows = mlcp->island[p].rows;
    double bytes = cs_lemke_bytes(rows);
    if (!mlcp->rule->no_factors || !(most > 0) || bytes <= most) return CS_OK;
    return cs_fail(error, CS_UNSUPPORTED,
                   "method='%s': the dictionary of %lld rows would take %.3g bytes, and "
                   "dictionary_bytes is %.3g: increase it, or use a method that factors",
                   mlcp->rule->name, (long long)rows, bytes, most);
}

/* Loads the matrix, splits it into islands and allocates the vectors. */
static cs_status prepare(cs_mlcp *mlcp, const cs_csr *matrix, cs_error *error)
{
    double start = cs_clock();
    cs_status status = cs_mlcp_load(mlcp, matrix, error);
    if (!status) status = cs_mlcp_split(mlcp, error);
    if (!status) status = cs_mlcp_assign_islands(mlcp, error);
    if (!status) status = check_bytes(mlcp, error);
    if (status) return status;

    /* The solution, and scratch of the verdict. */
    mlcp->x = cs_arena_take(&mlcp->arena, mlcp->rows, sizeof(double));
    mlcp->w = cs_arena_take(&mlcp->arena, mlcp->rows, sizeof(double));
    mlcp->origin = cs_arena_take(&mlcp->arena, mlcp->rows, sizeof(double));
    mlcp->speed = cs_arena_take(&mlcp->arena, mlcp->islands, sizeof(double));
    mlcp->seconds = cs_clock() - start;
    return cs_arena_status(&mlcp->arena, error, "the answer");
}

cs_status cs_mlcp_setup_failed(const cs_mlcp *mlcp, const char *what, cs_error *error)
{
    if (cs_was_cancelled(mlcp->cancellation))
        return cs_fail(error, CS_INTERRUPTED, "interrupted while A of %lld rows is laid out",
                       (long long)mlcp->rows);
    return cs_no_memory(error, "%s of %lld rows", what, (long long)mlcp->rows);
}

cs_status cs_mlcp_create(cs_mlcp **result, const cs_csr *matrix, const cs_mlcp_options *options,
                         cs_error *error)
{
    return cs_mlcp_make(result, matrix, options, NULL, error);
}

cs_status cs_mlcp_make(cs_mlcp **result, const cs_csr *matrix, const cs_mlcp_options *options,
                       cs_cancellation *cancellation, cs_error *error)
{
    *result = NULL;
    cs_status status = cs_mlcp_options_check(options, error);
    if (status) return status;

    /* Copy the options, with the library's own names: those of the caller may not last. */
    cs_mlcp *mlcp = cs_allocate(1, sizeof *mlcp);
    if (!mlcp) return cs_no_memory(error, "a solver");
    mlcp->options = *options;
    mlcp->rule = cs_rule_find(options->rule);
    if (strcmp(options->engine, "auto") != 0)
        mlcp->options.engine = cs_engine_find(options->engine)->name;
    else mlcp->options.engine = "auto";
    mlcp->options.rule = mlcp->rule->name;
    mlcp->cancellation = cancellation;

    /* Prepare the matrix; only this may be cancelled. */
    status = prepare(mlcp, matrix, error);
    mlcp->cancellation = NULL;
    if (status) cs_mlcp_destroy(mlcp);
    else *result = mlcp;
    return status;
}

void cs_mlcp_destroy(cs_mlcp *mlcp)
{
    if (!mlcp) return;
    for (int64_t p = 0; mlcp->island && p < mlcp->islands; p++) {
        cs_island *s = &mlcp->island[p];
        if (s->factor && s->engine->release) s->engine->release(s);
    }
    for (int t = 0; mlcp->worker && t < mlcp->threads; t++) cs_release(mlcp->worker[t].log.value);
    cs_release(mlcp->log.value);
    cs_arena_clear(&mlcp->arena);
    cs_arena_clear(&mlcp->loaded);
    cs_release(mlcp);
}

/* ---- solving --------------------------------------------------------------------------------- */

/* Fails if b, the bounds or the initial index set are invalid. */
static cs_status check_data(const cs_mlcp *mlcp, const double *b, const double *lo,
                            const double *hi, const signed char *initial, cs_error *error)
{
    for (int64_t i = 0; i < mlcp->rows; i++) {
        long long row = (long long)i;
        if (!isfinite(b[i]))
            return cs_fail(error, CS_INVALID, "b[%lld] is %g: every entry must be finite", row,
                           b[i]);
        if (isnan(lo[i]) || lo[i] == INFINITY)
            return cs_fail(error, CS_INVALID, "lo[%lld] is %g: a lower bound is a number or -inf",
                           row, lo[i]);
        if (isnan(hi[i]) || hi[i] == -INFINITY)
            return cs_fail(error, CS_INVALID, "hi[%lld] is %g: an upper bound is a number or inf",
                           row, hi[i]);
        if (lo[i] > hi[i])
            return cs_fail(error, CS_INVALID, "lo[%lld] is %s, above hi[%lld] = %s", row,
                           cs_number(lo[i]).text, row, cs_number(hi[i]).text);
        if (initial && (initial[i] < CS_INDEX_LOW || initial[i] > CS_INDEX_HIGH))
            return cs_fail(error, CS_INVALID,
                           "initial[%lld] is %d: -1 (low), 0 (free) or 1 (high) is needed", row,
                           initial[i]);
    }
    return CS_OK;
}

/* Judges mlcp->x, and fills the caller's result. */
static void finish(cs_mlcp *mlcp, const double *b, const double *lo, const double *hi,
                   cs_mlcp_result *result)
{
    size_t bytes = sizeof(double) * (size_t)mlcp->rows;
    cs_mlcp_verdict verdict = cs_mlcp_judge(mlcp, b, lo, hi, mlcp->x, mlcp->w);
    result->residual = verdict.residual;
    result->residual_scaled = verdict.scaled;
    result->complementarity = verdict.complementarity;
    result->worst_row = verdict.worst;

    /* The outcome follows from the residual, not from the rule; a solve that was stopped remains so. */
    int met = verdict.scaled <= mlcp->options.tolerance;
    if (!met && result->outcome == CS_MLCP_CONVERGED) result->outcome = CS_MLCP_INACCURATE;
    if (met && result->outcome != CS_MLCP_STOPPED) result->outcome = CS_MLCP_CONVERGED;

    /* Hand out the solution and the log. */
    if (result->x && bytes) memcpy(result->x, mlcp->x, bytes);
    if (result->w && bytes) memcpy(result->w, mlcp->w, bytes);
    result->history = mlcp->log.value;
    result->history_rows = mlcp->log.rows;
    result->history_columns = CS_LOG_COLUMNS;
}

cs_status cs_mlcp_solve(cs_mlcp *mlcp, const double *b, const double *lo, const double *hi,
                        const signed char *initial, const cs_control *control,
                        cs_mlcp_result *result, cs_error *error)
{
    double start = cs_clock();

    /* Clear the result, except for the arrays of the caller. */
    double *x = result->x, *w = result->w;
    signed char *index_set = result->index_set;
    *result = (cs_mlcp_result){.x = x, .w = w, .index_set = index_set, .condition = NAN};

    /* Solve. */
    cs_status status = check_data(mlcp, b, lo, hi, initial, error);
    if (!status && initial && mlcp->rule->no_factors)
        status = cs_fail(error, CS_UNSUPPORTED,
                         "initial: method='%s' cannot begin with an index set", mlcp->rule->name);
    if (!status) status = cs_mlcp_solve_islands(mlcp, b, lo, hi, initial, control, result, error);

    /* Report what the caches did, also after a failure; then judge the solution. */
    for (int64_t p = 0; p < mlcp->islands && !mlcp->rule->no_factors; p++)
        if (mlcp->island[p].engine->report_cache)
            mlcp->island[p].engine->report_cache(&mlcp->island[p], &result->cache);
    if (status) return status;
    finish(mlcp, b, lo, hi, result);
    if (mlcp->options.condition) result->condition = cs_mlcp_condition(mlcp);
    result->seconds = cs_clock() - start;
    return CS_OK;
}

void cs_mlcp_describe(const cs_mlcp *mlcp, cs_mlcp_info *info)
{
    *info = (cs_mlcp_info){
        .rule = mlcp->rule->name,
        .engine = "none",
        .kernel = cs_panels_kernels()->name,
        .islands = mlcp->islands,
        .threads = mlcp->threads,
        .asymmetry = mlcp->asymmetry,
        .bytes = (int64_t)(mlcp->arena.bytes + mlcp->loaded.bytes),
        .seconds = mlcp->seconds,
    };

    /* The engine is that of the largest island. */
    for (int64_t p = 0; p < mlcp->islands; p++) {
        if (mlcp->island[p].rows <= info->largest_island) continue;
        info->largest_island = mlcp->island[p].rows;
        if (!mlcp->rule->no_factors) info->engine = mlcp->island[p].engine->name;
    }
}
