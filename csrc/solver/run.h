/* One solve under way: what every iteration does around its own steps.
 *
 *     begin -> check -> [ a step of the method -> check -> poll ] ... -> end
 *
 * A check judges the iterate at hand as the stop rule asks and records it; a poll shows it to the
 * caller. The iterate is what is packed, in the precision and the order of the sweeps. */
#ifndef CS_RUN_H
#define CS_RUN_H

#include "core/denormals.h"
#include "solver/method.h"

typedef struct cs_run {
    cs_solver *solver;
    cs_budget *budget;
    const cs_control *control;
    cs_state state;
    cs_sweep_stats stats; /* of the last sweep */
    int64_t number;       /* iterations so far */
    double seconds;       /* of the steps and of the checks that decide */
    int known;            /* the state is that of the iterate at hand */
    int converged, stopped;
    int aborted; /* within a step */
    int late;    /* stopped by max_seconds */
    int proven;  /* stopped by a proof that there is no solution */
    double last_poll;
    cs_float_mode mode; /* the caller's */
} cs_run;

/* From here on denormals are flushed; cs_run_end restores the caller's mode. */
cs_run cs_run_begin(cs_solver *solver, cs_budget *budget);

/* Brings xi and the state in line with the packed impulses as they are now. */
void cs_run_evaluate(cs_run *run);

/* Tests the stop rule and records, as the iteration's number asks. */
cs_status cs_run_check(cs_run *run, cs_error *error);

/* Asks the caller whether to go on: CS_INTERRUPTED, or `stopped`. */
cs_status cs_run_poll(cs_run *run, cs_error *error);

/* What a pulse asks within a step, its context being the run: `stopped` or `aborted`. */
int cs_run_leaves_off(void *run);

/* Ends the history with the iterate at hand, judges it and hands it out. `restored`: it is not the
 * last one, so that the last row is to tell of it. With `status` only the mode is restored. */
cs_status cs_run_end(cs_run *run, cs_status status, int restored, cs_result *result,
                     cs_error *error);

/* max |lambda_i| */
double cs_run_largest_impulse(const cs_run *run);

#endif
