/* Updates one factor from index set to index set: rows that become tight are removed, rows that become free
 * are added, as long as this is less work than a new factor. Adding a row subtracts numbers and loses
 * digits: if the residual shows it, or a pivot vanishes, the factor is computed anew. */
#include "mlcp/pivoting.h"

#include <string.h>

#include "mlcp/engine_skyline.inc"

/* The smallest fraction of a pivot that the addition of a row may leave. */
#define LEAST_PIVOT 1e-7

/* The multiplications of the removal or addition of one row. */
static double change_work(const cs_island *s)
{
    double entries = 0;
    for (int64_t i = 0; i < s->rows; i++) entries += (double)(i - s->first[i]);
    double width = 1 + entries / (double)s->rows, part = width * width;
    return 2 * (part < entries ? part : entries) + width;
}

/* The multiplications of a new factor. */
static double new_factor_work(const cs_island *s)
{
    double sum = 0;
    for (int64_t i = 0; i < s->rows; i++) {
        double width = (double)(i - s->first[i]);
        sum += width * width / 2;
    }
    return sum;
}

static int take(cs_island *s, cs_arena *arena) { return take_skyline(s, s->first, 0, arena); }

/* column <- column i of the matrix, on the rows with out[row] == 0. */
static void load_column(cs_island *s, int64_t i, const signed char *out, double *column)
{
    for (int64_t e = s->start[i]; e < s->start[i + 1]; e++)
        if (!out[s->column[e]]) column[s->column[e]] = s->value[e];
}

/* Reports a cancellation at a row; returns -1. */
static int cancel_at(int64_t row, cs_breakdown *breakdown)
{
    *breakdown = (cs_breakdown){.row = row, .cancelled = 1};
    return -1;
}

/* Updates the factor to the next index set. Returns -1 if a pivot vanished, or if cancelled. */
static int update_factor(cs_island *s, cs_breakdown *breakdown)
{
    /* Remove rows first, so that additions cost less. */
    skyline_data *data = s->factor;
    for (int64_t i = 0; i < s->rows; i++) {
        if (s->state[i] == CS_INDEX_FREE || s->factored[i]) continue;
        if (remove_row(s, i)) return cancel_at(i, breakdown);
        s->factored[i] = 1;
    }

    /* Add the rows that are free again. */
    for (int64_t i = 0; i < s->rows; i++) {
        if (s->state[i] != CS_INDEX_FREE || !s->factored[i]) continue;
        if (cs_is_cancelled(s->cancellation, change_work(s))) return cancel_at(i, breakdown);
        s->factored[i] = 0;
        load_column(s, i, s->factored, data->scratch);
        if (cs_skyline_add(&data->skyline, i, data->scratch, LEAST_PIVOT)) return -1;
    }
    return 0;
}

/* Updates the factor if this is less work than a new one and succeeds; otherwise factors anew. */
static void factor(cs_island *s, cs_breakdown *breakdown)
{
    skyline_data *data = s->factor;
    int64_t changes = 0;
    for (int64_t i = 0; i < s->rows; i++)
        changes += (s->state[i] != CS_INDEX_FREE) != s->factored[i];
    *breakdown = (cs_breakdown){.row = -1};
    int updates = s->is_factored && (double)changes * change_work(s) < new_factor_work(s);
    if (updates && update_factor(s, breakdown) == 0) return;
    if (!breakdown->cancelled) factor_skyline(s, s->state, &data->skyline, breakdown);
}

static double work(const cs_island *s, double changed, double tight)
{
    (void)tight;
    double updating = changed * change_work(s), whole = new_factor_work(s);
    return updating < whole ? updating : whole;
}

const cs_engine cs_engine_incremental = {
    .name = "incremental",
    .summary = "one skyline factor, from which rows are removed and to which they are added back",
    .order = CS_FILL_RCM,
    .take = take,
    .factor = factor,
    .solve = solve,
    .accumulates_errors = 1,
    .weight = CS_COST_BY_COLUMNS,
    .work = work,
};
