/* A control that also stops at a deadline, for code below the solver that takes a cs_control and no deadline. */
#ifndef CS_DEADLINE_H
#define CS_DEADLINE_H

#include "contactsolve.h"

typedef struct cs_timed {
    const cs_control *given; /* the caller's; may be NULL */
    double deadline;         /* a time of cs_clock */
    cs_control control;      /* what cs_control_until returns */
} cs_timed;

/* Fills `timed` and returns its control, which is valid as long as `timed` is. Its poll answers "stop" from the
 * deadline on; before, it gives the answer of `given`. */
const cs_control *cs_control_until(cs_timed *timed, const cs_control *given, double deadline);

#endif
