/* One link of a chain: the solver becomes one of another method, and what it hands out is noted. */
#include "methods/chain/chain.h"
#include "solver/judge.h"

#include <math.h>
#include <string.h>

static const char *why_of(cs_outcome outcome)
{
    switch (outcome) {
    case CS_CONVERGED: return "converged: the tolerance is met";
    case CS_STALLED: return "stagnated: the natural map no longer decreases";
    case CS_WANDERING: return "stagnated: the natural map oscillates without decreasing";
    case CS_DIVERGING: return "diverged: the residual grows even with the smallest R";
    case CS_STOPPED: return "stopped by the callback";
    case CS_MAX_SECONDS: return "stopped: max_seconds is reached";
    case CS_INACCURATE: return "stopped: rounding errors may exceed the tolerance";
    case CS_INFEASIBLE: return "stopped: the problem has no solution";
    case CS_UNBOUNDED: return "stopped: the impulses grow without bound";
    default: return "stopped: its iterations are used up";
    }
}

double cs_chain_judgement(const cs_chain_solve *s)
{
    return s->solver->options.rtol > 0 ? s->result->natural_map_scaled : s->result->natural_map;
}

static void note(cs_chain_solve *s, const cs_method *method, const char *why)
{
    cs_result *result = s->result;
    cs_link *link = s->links ? &s->chain->link[s->links - 1] : NULL;

    /* Sweeps that follow on sweeps of the same method are reported with them; so is what finds no room. */
    int same = link && method->steps && link->method == method->name;
    int joins = same || s->links == CS_MAX_LINKS;
    if (!joins) {
        link = &s->chain->link[s->links];
        *link = (cs_link){.method = method->name, .first = s->budget->made, .islands = 1};
    }
    link->iterations += result->iterations - s->budget->made;
    link->seconds += result->seconds - s->told;
    link->reached = fmin(s->best, cs_chain_judgement(s));
    link->outcome = result->outcome;
    link->why = why;
    s->told = result->seconds;
    s->links += !joins;
}

/* Keeps the iterate that a link has handed out, if it is better than the start and all others. */
static void keep_best(cs_chain_solve *s)
{
    cs_solver *solver = s->solver;
    double here = cs_chain_judgement(s);
    if (isfinite(s->best) && !(here < s->best)) return;
    s->best = here;
    s->best_number = s->result->best_iteration;
    memcpy(s->chain->best, solver->lambda, sizeof(double) * (size_t)solver->problem->rows);
}

/* The next link begins with these impulses, or knows where to (NULL). Its first row, if its iteration has one, takes
 * the place of the last, which is kept aside; returns whether it does. */
static int begin_with(cs_chain_solve *s, const double *impulses)
{
    cs_solver *solver = s->solver;
    cs_history *history = &solver->history;
    if (!s->links) return 0;
    int rewrites = s->budget->made % solver->options.record_every == 0;
    if (rewrites) {
        size_t bytes = sizeof(double) * (size_t)history->columns;
        memcpy(s->chain->row, cs_history_last(history), bytes);
        history->rows--;
    }
    memcpy(solver->lambda, impulses, sizeof(double) * (size_t)solver->problem->rows);
    cs_packing_put(&solver->packing, solver->lambda);
    return rewrites;
}

/* The state of a link of that method; sweeps have none but points and scalars. */
static void *state_of(cs_chain *chain, const cs_method *method)
{
    if (method == &cs_method_newton) return &chain->newton;
    return method == &cs_method_bpp ? &chain->direct : NULL;
}

/* Makes the solver one of that method, with these own options, for as many iterations. */
cs_status cs_chain_become(cs_chain_solve *s, const cs_method *method, const cs_setting *own,
                          int count, int64_t iterations)
{
    cs_solver *solver = s->solver;
    int64_t left = s->most - s->budget->made;
    solver->method = method;
    solver->own = state_of(s->chain, method);
    solver->options.max_iterations = s->budget->made + (iterations < left ? iterations : left);
    return cs_read_settings(method, own, count, solver->setting, s->error);
}

/* After a link that began in that row: there the history tells again of what was handed over, not of where
 * the link set out, which may be far worse. */
static void restore_row(cs_chain_solve *s, int64_t row)
{
    cs_history *history = &s->solver->history;
    memcpy(history->value + row * history->columns, s->chain->row,
           sizeof(double) * (size_t)history->columns);
}

/* After a link that is not for this problem: as if it had not been. What is at hand was judged by none. */
static void forget_link(cs_chain_solve *s, int64_t row, int rewrites)
{
    s->result->natural_map = s->result->natural_map_scaled = INFINITY;
    if (rewrites) restore_row(s, row);
    s->solver->history.rows = row + rewrites;
}

/* Why a link ended, where it is not told by its outcome; NULL. */
static const char *why_overtaken(const cs_chain_solve *s, int direct)
{
    if (!s->budget->overtaken || s->result->outcome != CS_MAX_ITERATIONS) return NULL;
    if (s->result->iterations >= s->most) return NULL;
    if (direct) return "yielded: its index set needs too many pivots";
    return s->follows == CS_DIRECT_FOLLOWS
               ? "yielded: the direct method is expected to converge sooner"
               : "yielded: Newton's method is expected to converge sooner";
}

/* After a link: its figures into the chain's. */
static void finish(cs_chain_solve *s, const cs_method *method, const char *why)
{
    cs_result *result = s->result;
    note(s, method, why ? why : why_of(result->outcome));
    keep_best(s);
    s->restarts += result->restarts;
    s->rollbacks += result->rollbacks;
    s->budget->made = result->iterations;
    s->budget->spent = result->seconds;
    s->ended = cs_is_final(result->outcome) || s->budget->made >= s->most;
}

cs_status cs_chain_run_link(cs_chain_solve *s, const cs_method *method, const double *from,
                            const cs_setting *own, int count, int64_t iterations)
{
    cs_solver *solver = s->solver;
    int rewrites = begin_with(s, from);
    int64_t row = solver->history.rows;
    cs_status status = cs_chain_become(s, method, own, count, iterations);
    s->result->restarts = s->result->rollbacks = 0;
    if (!status) status = method->solve(solver, s->budget, s->result, s->error);
    int direct = method == &cs_method_bpp;
    const char *why = why_overtaken(s, direct);
    s->sooner = s->budget->overtaken && !direct && s->follows == CS_NEWTON_FOLLOWS;
    s->too_long = s->budget->overtaken && direct;
    s->budget->overtaken = 0;
    if (status == CS_UNSUPPORTED) forget_link(s, row, rewrites);
    if (status) return status;
    if (rewrites && solver->history.rows > row + 1) restore_row(s, row);
    finish(s, method, why);
    return CS_OK;
}
