#include "solver/deadline.h"

#include "core/clock.h"

/* Answers 1 (stop) after the deadline; until then the answer of the given control. */
static int poll(void *context, const cs_progress *progress)
{
    const cs_timed *timed = context;
    const cs_control *given = timed->given;
    if (cs_clock() >= timed->deadline) return 1;
    return given && given->poll ? given->poll(given->context, progress) : 0;
}

const cs_control *cs_control_until(cs_timed *timed, const cs_control *given, double deadline)
{
    *timed = (cs_timed){given, deadline, {poll, timed, given && given->every_iteration}};
    return &timed->control;
}
