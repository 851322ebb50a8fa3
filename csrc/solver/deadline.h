/* A control that also stops at a deadline, for layers below a solver that know controls only. */
#ifndef CS_TIMED_H
#define CS_TIMED_H

#include "contactsolve.h"

typedef struct cs_timed {
    const cs_control *given; /* the caller's; may be NULL */
    double deadline;         /* cs_clock */
    cs_control control;
} cs_timed;

/* The control of `timed`, which must last as long: it answers "stop" from the deadline on, and until then
 * what the given one does. */
const cs_control *cs_control_until(cs_timed *timed, const cs_control *given, double deadline);

#endif
