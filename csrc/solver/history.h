/* The history of a solve: a table with one row per recorded iteration. Its columns are the iteration, the time and
 * the recorded measures. */
#ifndef CS_HISTORY_H
#define CS_HISTORY_H

#include "measure/measure.h"

typedef struct cs_history {
    int columns;                               /* 2 + number of measures */
    const cs_measure *measure[CS_MAX_COLUMNS]; /* measure[c] is that of column c + 2 */
    int64_t rows, capacity;                    /* rows in use; rows allocated */
    double *value;                             /* (rows, columns) */
} cs_history;

/* Makes room for `rows` more rows. The capacity grows to twice the rows needed. */
cs_status cs_history_reserve(cs_history *history, int64_t rows, cs_error *error);

/* Appends a row, for which there must be room, and returns it. Measures that need xi at lambda are NaN unless
 * `state_known`; those of the last sweep are always evaluated. */
double *cs_history_append(cs_history *history, int64_t iteration, double seconds, cs_state *state,
                          int state_known);
/* Whether a recorded measure needs the state, in contrast to measures of the last sweep. */
int cs_history_needs_state(const cs_history *history);
void cs_history_release(cs_history *history);

/* The last row. */
static inline double *cs_history_last(const cs_history *history)
{
    return history->value + (history->rows - 1) * history->columns;
}

#endif
