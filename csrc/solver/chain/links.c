/* One link of a chain: the solver becomes one of another method, and what it hands out is noted. */
#include "solver/chain/chain.h"

#include <math.h>
#include <string.h>

static const char *why_of(cs_outcome outcome)
{
    switch (outcome) {
    case CS_CONVERGED: return "the tolerance is met";
    case CS_STALLED: return "the natural map stands still";
    case CS_WANDERING: return "the natural map goes up and down";
    case CS_DIVERGING: return "the residual grows, whatever R is";
    case CS_STOPPED: return "stopped by the callback";
    case CS_MAX_SECONDS: return "max_seconds have passed";
    default: return "the iterations that it was given are made";
    }
}

double cs_chain_judgement(const cs_chain_solve *s)
{
    return s->solver->options.rtol > 0 ? s->result->natural_map_scaled : s->result->natural_map;
}

static void note(cs_chain_solve *s, const char *method, const char *why)
{
    cs_result *result = s->result;
    int last = s->links == CS_MAX_LINKS;
    cs_link *link = &s->chain->link[s->links - last];
    if (!last) *link = (cs_link){.method = method, .first = s->solver->made, .islands = 1};
    link->iterations += result->iterations - s->solver->made;
    link->seconds += result->seconds - s->told;
    link->reached = fmin(s->best, cs_chain_judgement(s));
    link->outcome = result->outcome;
    link->why = why;
    s->told = result->seconds;
    s->links += !last;
}

/* Keeps the iterate that a link has handed out, if it is better than the start and all others. */
static void keep_best(cs_chain_solve *s)
{
    cs_solver *solver = s->solver;
    double here = s->reached = cs_chain_judgement(s);
    if (isfinite(s->best) && !(here < s->best)) return;
    s->best = here;
    s->best_number = s->result->best_iteration;
    memcpy(s->chain->best, solver->lambda, sizeof(double) * (size_t)solver->problem->rows);
}

/* The next link begins with these impulses, or knows where to (NULL). The row of the handed over iterate is written
 * anew. */
static void begin_with(cs_chain_solve *s, const double *impulses)
{
    cs_solver *solver = s->solver;
    if (!s->links) return;
    solver->history.rows--;
    if (!impulses) return;
    memcpy(solver->lambda, impulses, sizeof(double) * (size_t)solver->problem->rows);
    cs_put_impulses(&solver->packed, solver->lambda);
}

/* The best iterate; where that is hardly better than what the solve began with, this again: what has led
 * nowhere may be far from every solution. */
const double *cs_chain_best_or_start(const cs_chain_solve *s)
{
    return s->best > CS_HARDLY * s->start ? s->chain->start : s->chain->best;
}

/* Makes the solver one of that method, with these own options, for as many iterations. */
cs_status cs_chain_become(cs_chain_solve *s, const cs_method *method, const cs_setting *own,
                          int count, int64_t iterations)
{
    cs_solver *solver = s->solver;
    int64_t left = s->most - solver->made;
    solver->method = method;
    solver->options.max_iterations = solver->made + (iterations < left ? iterations : left);
    return cs_read_settings(method, own, count, solver->setting, s->error);
}

/* After a link: its figures into the chain's. */
static void finish(cs_chain_solve *s, const cs_method *method, const char *why)
{
    cs_solver *solver = s->solver;
    cs_result *result = s->result;
    note(s, method->name, why ? why : why_of(result->outcome));
    keep_best(s);
    s->restarts += result->restarts;
    s->rollbacks += result->rollbacks;
    solver->made = result->iterations;
    solver->spent = result->seconds;
    s->ended = result->outcome == CS_CONVERGED || result->outcome == CS_STOPPED ||
               result->outcome == CS_MAX_SECONDS || solver->made >= s->most;
}

cs_status cs_chain_run_link(cs_chain_solve *s, const cs_method *method, const double *from,
                            const cs_setting *own, int count, int64_t iterations)
{
    cs_solver *solver = s->solver;
    begin_with(s, from);
    cs_status status = cs_chain_become(s, method, own, count, iterations);
    s->result->restarts = s->result->rollbacks = 0;
    if (!status) status = method->solve(solver, s->control, s->result, s->error);
    int direct = method == &cs_method_bpp;
    const char *why = !solver->outrun ? NULL
                      : direct        ? "its index set takes many steps"
                                      : "Newton's method is expected sooner";
    s->sooner = solver->outrun && !direct;
    s->too_long = solver->outrun && direct;
    solver->outrun = 0;
    if (!status) finish(s, method, why);
    return status;
}
