/* One link of a chain: the solver switches to another method and solves, and the chain notes the result. */
#include "methods/chain/chain.h"
#include "solver/judge.h"

#include <math.h>
#include <string.h>

double cs_chain_judgement(const cs_chain_solve *s)
{
    return s->solver->options.rtol > 0 ? s->result->natural_map_scaled : s->result->natural_map;
}

/* Adds the iterations and seconds of a link to the reports, with the reason why it ended. */
static void report(cs_chain_solve *s, const cs_method *method, const char *why)
{
    const cs_result *result = s->result;
    cs_link *link = s->links ? &s->chain->link[s->links - 1] : NULL;
    double seconds = cs_seconds(s->budget);

    /* The link shares the last report if that one is of the same sweeps, or if there is no room for
     * another. */
    int same = link && method->steps && link->method == method->name;
    int joins = same || s->links == CS_MAX_LINKS;
    if (!joins) {
        link = &s->chain->link[s->links];
        *link = (cs_link){.method = method->name, .first = s->budget->made, .islands = 1};
    }

    /* The figures of the result are those of all links: subtract what was reported before. */
    link->iterations += result->iterations - s->budget->made;
    link->seconds += seconds - s->reported_seconds;
    link->reached = fmin(s->best, cs_chain_judgement(s));
    link->outcome = result->outcome;
    link->why = why;
    s->reported_seconds = seconds;
    s->links += !joins;
}

/* Keeps the iterate that a link has returned, if it is better than the start and all other iterates. */
static void keep_best(cs_chain_solve *s)
{
    cs_solver *solver = s->solver;
    double here = cs_chain_judgement(s);
    if (isfinite(s->best) && !(here < s->best)) return;
    s->best = here;
    s->best_number = s->result->best_iteration;
    memcpy(s->chain->best, solver->lambda, sizeof(double) * (size_t)solver->problem->rows);
}

/* Sets the impulses (rows) from which the next link starts. Does nothing before the first link, whose start is
 * in place. If the link is going to record its start, in the same iteration as the last row of the history,
 * that row is removed and kept in chain->row. Returns whether it was removed. */
static int begin_with(cs_chain_solve *s, const double *impulses)
{
    cs_solver *solver = s->solver;
    cs_history *history = &solver->history;
    if (!s->links) return 0;

    /* Move the last row of the history to chain->row if the link is going to record that iteration again. */
    int rewrites = s->budget->made % solver->options.record_every == 0;
    if (rewrites) {
        size_t bytes = sizeof(double) * (size_t)history->columns;
        memcpy(s->chain->row, cs_history_last(history), bytes);
        history->rows--;
    }

    /* Put the impulses in place. */
    memcpy(solver->lambda, impulses, sizeof(double) * (size_t)solver->problem->rows);
    cs_packing_put(&solver->packing, solver->lambda);
    return rewrites;
}

/* The state (solver->own) of a method's links. Sweeps have none: their points and scalars are the solver's. */
static void *state_of(cs_chain *chain, const cs_method *method)
{
    if (method == &cs_method_newton) return &chain->newton;
    if (method == &cs_method_interior_point) return chain->interior.state;
    return method == &cs_method_bpp ? &chain->direct : NULL;
}

/* Switches the solver to a method. Iterations are counted over all links, and limited by those of the
 * chain. */
cs_status cs_chain_switch_to(cs_chain_solve *s, const cs_method *method, const cs_setting *own,
                             int count, int64_t iterations)
{
    cs_solver *solver = s->solver;
    int64_t left = s->max_iterations - s->budget->made;
    solver->method = method;
    solver->own = state_of(s->chain, method);
    solver->options.max_iterations = s->budget->made + (iterations < left ? iterations : left);
    return cs_read_settings(method, own, count, solver->setting, s->error);
}

cs_status cs_chain_prepare_link(cs_chain_solve *s, cs_chain_preparation prepare,
                                const cs_setting *own, int count)
{
    cs_run run = cs_run_begin(s->solver, s->budget, NULL, s->error);
    cs_cancellation cancellation = {.is_cancelled = cs_run_is_cancelled, .context = &run};
    cs_status status = prepare(s, own, count, &cancellation);
    cs_restore_denormals(run.mode);

    /* If the caller or the deadline asked for the end, the chain ends with what it has, without an error. */
    if (status != CS_INTERRUPTED || !run.stopped) return status;
    *s->error = (cs_error){0};
    s->result->outcome = run.late ? CS_MAX_SECONDS : CS_STOPPED;
    s->ended = 1;
    return CS_OK;
}

/* Overwrites row `row` of the history, in which a link has recorded its start, with chain->row: the iterate
 * that the previous link returned. The start of the link may be far worse. */
static void restore_row(cs_chain_solve *s, int64_t row)
{
    cs_history *history = &s->solver->history;
    memcpy(history->value + row * history->columns, s->chain->row,
           sizeof(double) * (size_t)history->columns);
}

/* Restores the history as it was before a link that does not accept the problem. The iterate at hand then
 * counts as the worst possible one, because nothing has judged it. */
static void forget_link(cs_chain_solve *s, int64_t row, int rewrites)
{
    s->result->natural_map = s->result->natural_map_scaled = INFINITY;
    if (rewrites) restore_row(s, row);
    s->solver->history.rows = row + rewrites;
}

/* The reason why a link yielded to another one, which its outcome does not contain; NULL if it did not
 * yield. */
static const char *why_overtaken(const cs_chain_solve *s, int direct)
{
    if (!s->budget->overtaken || s->result->outcome != CS_MAX_ITERATIONS) return NULL;
    if (s->result->iterations >= s->max_iterations) return NULL;
    if (direct) return "yielded: its index set needs too many pivots";
    return s->alternative == CS_DIRECT_FOLLOWS
               ? "yielded: the direct method is expected to converge sooner"
               : "yielded: Newton's method is expected to converge sooner";
}

/* The restarts of a link; 0 if its method has none. */
static double restarts_of(const cs_solver *solver, const cs_method *method)
{
    for (int i = 0; i < method->figures; i++)
        if (strcmp(method->figure[i].name, cs_restarts_figure[CS_RESTARTS].name) == 0)
            return solver->figure_value[i];
    return 0;
}

/* After a link: reports it, keeps its iterate if it is the best one, and adds its figures to those of the
 * chain. */
static void finish(cs_chain_solve *s, const cs_method *method, const char *why)
{
    cs_result *result = s->result;
    report(s, method, why ? why : cs_outcome_reason(result->outcome));
    keep_best(s);
    s->restarts += restarts_of(s->solver, method);
    s->rollbacks += result->rollbacks;
    s->budget->made = result->iterations;
    s->ended = cs_is_final(result->outcome) || s->budget->made >= s->max_iterations;
}

cs_status cs_chain_run_link(cs_chain_solve *s, const cs_method *method, const double *from,
                            const cs_setting *own, int count, int64_t iterations)
{
    cs_solver *solver = s->solver;

    /* Switch to the method, and solve. */
    int rewrites = begin_with(s, from);
    int64_t row = solver->history.rows;
    cs_status status = cs_chain_switch_to(s, method, own, count, iterations);
    s->result->rollbacks = 0;
    memset(solver->figure_value, 0, sizeof solver->figure_value);
    int unpacked = method == &cs_method_interior_point;
    if (!status && unpacked) status = cs_chain_solve_unpacked(s);
    else if (!status) status = method->solve(solver, s->budget, s->result, s->error);

    /* Whether the link yielded, and to what. */
    int direct = method == &cs_method_bpp;
    const char *why = why_overtaken(s, direct);
    s->newton_takes_over = s->budget->overtaken && !direct && s->alternative == CS_NEWTON_FOLLOWS;
    s->direct_is_cut = s->budget->overtaken && direct;
    s->budget->overtaken = 0;
    s->budget->first = NULL;

    /* Its row of the history, its report, and its iterate. */
    if (status == CS_UNSUPPORTED) forget_link(s, row, rewrites);
    if (status) return status;
    if (rewrites && solver->history.rows > row + 1) restore_row(s, row);
    finish(s, method, why);
    return CS_OK;
}
