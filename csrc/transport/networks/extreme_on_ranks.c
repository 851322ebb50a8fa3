/* One contact a task on ranks (S1 section 6.1, Fig. 6.1). Tasks are dealt to the workers in turn, because a channel
 * that several ranks read does not exist; each worker has as many places for tasks and for results as the option
 * says:
 *
 *     dispatcher ──► task of each place ──► worker ──► result of each place ──► accumulator ──► dispatcher
 *                                                                              x, w; next sweep, or stop
 *
 * A round fills all places once. The processes of a rank take turns in it: tasks are sent, visits made, results
 * taken. Nobody waits for a later round, so that ranks never wait for each other in a circle. */
#include "transport/networks/extreme.h"

#include <string.h>

/* Made once. */
typedef struct links {
    cs_rank_link *task, *result; /* (active, places) */
    cs_rank_link *end;           /* (workers - active): the end of workers without a task */
    cs_rank_link next;           /* from the accumulator to the dispatcher */
    int64_t places;              /* of each worker */
    int active;                  /* workers with tasks */
} links;

typedef struct extreme {
    const cs_network_run *run;
    const cs_network_job *job;
    const cs_extreme_options *options;
    links *links;
    int accumulates, dispatches; /* whether these processes are on this rank */
    int first, end;              /* active workers on this rank */
    int stop;                    /* whether accumulator or dispatcher know of the end */
} extreme;

enum { ACCUMULATOR };

static int dispatcher_of(const cs_extreme_options *options) { return options->merged ? 0 : 1; }

static int process_of(const cs_extreme_options *options, int worker)
{
    return dispatcher_of(options) + 1 + worker;
}

/* ---- links --------------------------------------------------------------------------------------- */

/* Makes a link; after a failure of others, too, which stays. */
static void make_link(const cs_network_run *run, cs_rank_link *link, int from, int to,
                      int64_t bytes, cs_status *status, cs_error *error)
{
    cs_status failed = cs_network_make_link(run, link, from, to, bytes, *status ? NULL : error);
    if (!*status) *status = failed;
}

cs_status cs_extreme_link(cs_network_run *run, const cs_extreme_options *options, cs_error *error)
{
    /* Memory, which all ranks have or none. */
    const cs_network_job *job = run->job;
    cs_status status = CS_OK;
    int active = job->parts < run->workers ? (int)job->parts : run->workers;
    int64_t places = active ? (job->parts + active - 1) / active : 0;
    if (places > options->places) places = options->places;
    cs_arena *arena = cs_network_ranks_memory(run->ranks);
    links *made = cs_arena_take(arena, 1, sizeof *made);
    cs_rank_link *task = cs_arena_take(arena, active * places, sizeof *task);
    cs_rank_link *result = cs_arena_take(arena, active * places, sizeof *result);
    cs_rank_link *end = cs_arena_take(arena, run->workers - active, sizeof *end);
    if (!options->data)
        status = cs_fail(error, CS_UNSUPPORTED,
                         "network 'extreme' cannot run on ranks with messages='numbers', because "
                         "its workers read and write the data of contacts where all others do: "
                         "leave out comm=, or give messages='data'");
    if (!status) status = cs_arena_status(arena, error, "a network on ranks");
    status = cs_network_ranks_agree(run->ranks, status, error);
    if (status) return status;
    *made = (links){.task = task, .result = result, .end = end, .places = places, .active = active};
    run->links = made;
    int dispatcher = dispatcher_of(options);
    run->counts->processes = run->workers + 1 + dispatcher;

    /* All links are made, whether or not one fails. */
    int64_t task_bytes = (int64_t)sizeof(cs_extreme_task) + job->task_bytes;
    int64_t result_bytes = (int64_t)sizeof(cs_extreme_result) + job->result_bytes;
    for (int64_t i = 0; i < active * places; i++) {
        int worker = process_of(options, (int)(i % active));
        make_link(run, &task[i], dispatcher, worker, task_bytes, &status, error);
        make_link(run, &result[i], worker, ACCUMULATOR, result_bytes, &status, error);
    }
    for (int w = active; w < run->workers; w++)
        make_link(run, &end[w - active], dispatcher, process_of(options, w), task_bytes, &status,
                  error);
    int64_t next_bytes = (int64_t)sizeof(int64_t) + job->state_bytes;
    if (!options->merged)
        make_link(run, &made->next, ACCUMULATOR, dispatcher, next_bytes, &status, error);
    return status;
}

/* ---- rounds -------------------------------------------------------------------------------------- */

/* Tasks of a round, of which task t is in link t, and its worker t modulo the active ones. */
static int64_t tasks_of_a_round(const extreme *x) { return x->links->active * x->links->places; }

static int64_t end_of_round(const extreme *x, int64_t first)
{
    int64_t left = x->job->parts - first, most = tasks_of_a_round(x);
    return left < most ? left : most;
}

static int is_mine(const extreme *x, int64_t t)
{
    int worker = (int)(t % x->links->active);
    return worker >= x->first && worker < x->end;
}

static cs_status send_task(const extreme *x, cs_rank_link *link, int64_t sweep, int64_t part,
                           cs_error *error)
{
    void *place;
    cs_status status = cs_rank_link_reserve(link, &place, error);
    if (status) return status;
    cs_extreme_task what = {part, sweep};
    memcpy(place, &what, sizeof what);
    if (part >= 0) x->job->pack(x->job->context, part, (char *)place + sizeof what);
    return cs_rank_link_send(link, error);
}

/* Makes the task in a link. Returns whether there was one, or the end. */
static cs_status make_task(const extreme *x, int64_t t, int *ended, cs_error *error)
{
    const cs_network_job *job = x->job;
    const void *given;
    void *place;
    cs_extreme_task what = {.part = -1};
    cs_status status = cs_rank_link_read(&x->links->task[t], &given, error);
    if (status) return status;
    if (given) memcpy(&what, given, sizeof what);
    *ended = what.part < 0;
    if (*ended) return CS_OK;

    cs_extreme_result back = {.part = what.part};
    cs_rank_link *link = &x->links->result[t];
    status = cs_rank_link_reserve(link, &place, error);
    if (status) return status;
    int worker = (int)(t % x->links->active);
    job->solve(job->context, worker, what.part, (const char *)given + sizeof what,
               (char *)place + sizeof back, &back.stats);
    memcpy(place, &back, sizeof back);
    return cs_rank_link_send(link, error);
}

static cs_status take_result(const extreme *x, int64_t t, cs_error *error)
{
    const void *place;
    cs_status status = cs_rank_link_read(&x->links->result[t], &place, error);
    if (status) return status;
    cs_extreme_result back;
    memcpy(&back, place, sizeof back);
    x->job->note(x->job->context, back.part, &back.stats);
    x->job->take(x->job->context, back.part, (const char *)place + sizeof back);
    return CS_OK;
}

/* A round of tasks from the part `first` on. ended <- whether the workers of this rank have read their end. */
static cs_status make_round(const extreme *x, int64_t sweep, int64_t first, int *ended,
                            cs_error *error)
{
    int64_t tasks = end_of_round(x, first);
    cs_status status = CS_OK;
    *ended = 0;
    for (int64_t t = 0; t < tasks && x->dispatches && !x->stop && !status; t++)
        status = send_task(x, &x->links->task[t], sweep, first + t, error);
    for (int64_t t = 0; t < tasks && x->accumulates && !x->stop && !status; t++)
        status = cs_rank_link_expect(&x->links->result[t], error);

    /* The end comes to the first place of each worker. */
    for (int64_t t = 0; t < tasks && !status; t++) {
        if (*ended && t >= x->links->active) break;
        if (is_mine(x, t)) status = make_task(x, t, ended, error);
    }
    for (int64_t t = 0; t < tasks && x->accumulates && !x->stop && !status; t++)
        status = take_result(x, t, error);
    return status;
}

/* ---- the end of a sweep -------------------------------------------------------------------------- */

/* The accumulator tells the dispatcher. */
static cs_status judge(extreme *x, int64_t sweep, cs_error *error)
{
    const cs_network_job *job = x->job;
    job->leave(job->context, 0);
    x->stop = job->judge(job->context, sweep);
    if (x->options->merged) return CS_OK;
    void *place;
    int64_t stop = x->stop;
    cs_status status = cs_rank_link_reserve(&x->links->next, &place, error);
    if (status) return status;
    memcpy(place, &stop, sizeof stop);
    job->pack_state(job->context, (char *)place + sizeof stop);
    return cs_rank_link_send(&x->links->next, error);
}

static cs_status listen_to_next(extreme *x, cs_error *error)
{
    const void *place;
    int64_t stop;
    cs_status status = cs_rank_link_read(&x->links->next, &place, error);
    if (status) return status;
    memcpy(&stop, place, sizeof stop);
    x->job->take_state(x->job->context, (const char *)place + sizeof stop);
    x->stop = stop != 0;
    return CS_OK;
}

/* Ends the workers: those with tasks at their first place. */
static cs_status end_workers(const extreme *x, cs_error *error)
{
    cs_status status = CS_OK;
    int active = x->links->active;
    for (int w = 0; w < x->run->workers && !status; w++) {
        cs_rank_link *link = w < active ? &x->links->task[w] : &x->links->end[w - active];
        status = x->options->poison ? cs_rank_link_poison(link, error)
                                    : send_task(x, link, 0, -1, error);
    }
    return status;
}

static cs_status finish_sweep(extreme *x, int64_t sweep, cs_error *error)
{
    cs_status status = CS_OK;
    if (x->accumulates) status = judge(x, sweep, error);
    if (x->dispatches && !x->options->merged && !status) status = listen_to_next(x, error);
    if (x->dispatches && x->stop && !status) status = end_workers(x, error);
    return status;
}

/* ---- a run --------------------------------------------------------------------------------------- */

/* Workers without a task have nothing to do but to end. */
static cs_status end_idle_workers(const extreme *x, cs_error *error)
{
    cs_status status = CS_OK;
    for (int w = x->links->active; w < x->run->workers && !status; w++) {
        const void *place;
        if (cs_network_has(x->run, process_of(x->options, w)))
            status = cs_rank_link_read(&x->links->end[w - x->links->active], &place, error);
    }
    return status;
}

cs_status cs_extreme_on_ranks(cs_network_run *run, const cs_extreme_options *options,
                              cs_error *error)
{
    /* The processes of this rank. */
    extreme x = {.run = run, .job = run->job, .options = options, .links = run->links};
    x.accumulates = cs_network_has(run, ACCUMULATOR);
    x.dispatches = cs_network_has(run, dispatcher_of(options));
    for (int w = x.links->active - 1; w >= 0; w--) {
        if (!cs_network_has(run, process_of(options, w))) continue;
        x.first = w;
        if (!x.end) x.end = w + 1;
    }

    /* Sweeps, until all of them have ended: workers once they read so. */
    cs_status status = CS_OK;
    int works = x.end > x.first, leads = x.accumulates || x.dispatches, ended = 0;
    for (int64_t sweep = 0; (works || (leads && !x.stop)) && !ended && !status; sweep++) {
        for (int64_t first = 0; first < x.job->parts && !ended && !status;
             first += tasks_of_a_round(&x))
            status = make_round(&x, sweep, first, &ended, error);
        /* What has no place yet because the message before was not read must not wait for who waits for it. */
        if (!status) status = cs_network_ranks_settle(run->ranks, error);
        if (!ended && !x.stop && !status) status = finish_sweep(&x, sweep, error);
    }
    return status ? status : end_idle_workers(&x, error);
}
