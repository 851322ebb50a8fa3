#include "solver/history.h"

#include "core/error.h"

#include <math.h>
#include <string.h>

cs_status cs_history_reserve(cs_history *history, int64_t rows, cs_error *error)
{
    if (history->rows + rows <= history->capacity) return CS_OK;

    /* A new array of twice the rows needed. */
    int64_t capacity = 2 * (history->rows + rows);
    double *value = cs_allocate(capacity * history->columns, sizeof(double));
    if (!value) return cs_no_memory(error, "a history of %lld rows", (long long)capacity);

    /* Move the rows there. */
    if (history->rows)
        memcpy(value, history->value, sizeof(double) * (size_t)(history->rows * history->columns));
    cs_release(history->value);
    history->value = value;
    history->capacity = capacity;
    return CS_OK;
}

double *cs_history_append(cs_history *history, int64_t iteration, double seconds, cs_state *state,
                          int state_known)
{
    double *row = history->value + history->rows++ * history->columns;
    row[0] = (double)iteration;
    row[1] = seconds;
    for (int c = 2; c < history->columns; c++) {
        const cs_measure *measure = history->measure[c - 2];
        row[c] = measure->of_sweep || state_known ? cs_measure_value(measure, state) : (double)NAN;
    }
    return row;
}

int cs_history_needs_state(const cs_history *history)
{
    for (int c = 0; c < history->columns - 2; c++)
        if (!history->measure[c]->of_sweep) return 1;
    return 0;
}

void cs_history_release(cs_history *history)
{
    cs_release(history->value);
    history->value = NULL;
    history->rows = history->capacity = 0;
}
