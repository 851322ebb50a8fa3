#include "solver/budget.h"

#include <math.h>

/* The `poll` of budget->timed. */
static int poll(void *context, const cs_progress *progress)
{
    cs_budget *budget = context;
    double since = cs_seconds(budget);
    int answer = budget->given->poll(budget->given->context, progress);
    cs_leave_out(budget, since);
    return answer;
}

void cs_budget_begin(cs_budget *budget, double max_seconds)
{
    budget->start = budget->clock = cs_clock();
    budget->clock_is_old = 0;
    budget->unclocked = budget->sweeping = 0;
    if (budget->deadline == INFINITY) budget->deadline = budget->start + max_seconds;

    /* The caller's functions are not counted. */
    budget->given = budget->control;
    if (!budget->given || !budget->given->poll) return;
    budget->timed = (cs_control){poll, budget, budget->given->every_iteration};
    budget->control = &budget->timed;
}
