/* Named columns, one row per recorded iteration. */
#ifndef CS_HISTORY_H
#define CS_HISTORY_H

#include "measure/measure.h"

typedef struct cs_history {
    int columns; /* iteration, time, then the measures */
    const cs_measure *measure[CS_MAX_COLUMNS];
    int64_t rows, capacity;
    double *value; /* (rows, columns) */
} cs_history;

/* Room for `rows` more rows; grows by doubling. */
cs_status cs_history_reserve(cs_history *history, int64_t rows, cs_error *error);

/* Appends a row; measures of the state are evaluated when `state_known`, else they are NaN. */
double *cs_history_append(cs_history *history, int64_t iteration, double seconds, cs_state *state,
                          int state_known);
void cs_history_release(cs_history *history);

/* The last row. */
static inline double *cs_history_last(const cs_history *history)
{
    return history->value + (history->rows - 1) * history->columns;
}

#endif
