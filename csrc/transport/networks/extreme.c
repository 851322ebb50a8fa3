/* One contact a task (S1 section 6.1, Fig. 6.1): a dispatcher sends tasks to whichever worker is free, and an
 * accumulator takes the results:
 *
 *     dispatcher ──► one-to-any ──► workers ──► any-to-one ──► accumulator ──► dispatcher
 *                    x_k, w_i, w_j              x_k, changes of w_i, w_j        next sweep, or stop
 *
 * Messages hold these numbers themselves, or only the number of the contact. Processes on ranks: extreme_on_ranks.c. */
#include "transport/networks/extreme.h"

#include <string.h>

static const char *const contents[] = {"data", "numbers", NULL};
static const char *const ends[] = {"apart", "merged", NULL};

enum { MESSAGES, DISPATCHER, PLACES, ENDING, OPTIONS };

static const cs_option options[OPTIONS] = {
    [MESSAGES] = CS_WORD_OPTION("messages", contents,
                                "what messages hold: \"data\", all that a visit reads and writes, "
                                "or \"numbers\", those of contacts, whose data are shared"),
    [DISPATCHER] = CS_WORD_OPTION("dispatcher", ends,
                                  "whether dispatcher and accumulator are two processes, "
                                  "\"apart\", or one, \"merged\""),
    [PLACES] = {.name = "places",
                .summary = "messages that each of the two channels of the workers holds; on ranks "
                           "each worker has two",
                .kind = CS_COUNT,
                .usual = 16,
                .least = 1,
                .most = 65536},
    [ENDING] = CS_ENDING_OPTION,
};

typedef struct message {
    int64_t stop;
} message;

typedef struct extreme {
    cs_network_run *run;
    const cs_network_job *job;
    int data, merged, poison;
    cs_channel *tasks, *results, *next;
} extreme;

/* ---- workers ------------------------------------------------------------------------------------- */

/* Makes one task; returns whether another one may follow. Data are copied, because an end of a channel that several
 * threads share belongs to one of them until it has accepted or sent. */
static int make_task(const extreme *x, int worker)
{
    /* Read the task. */
    const cs_network_job *job = x->job;
    void *place;
    _Alignas(16) char given[CS_NETWORK_MOST_BYTES], data[CS_NETWORK_MOST_BYTES];
    if (cs_channel_peek(x->tasks, &place, CS_FOREVER)) return 0;
    cs_extreme_task what = *(const cs_extreme_task *)place;
    if (x->data) memcpy(given, (const char *)place + sizeof what, (size_t)job->task_bytes);
    cs_channel_accept(x->tasks);
    if (what.part < 0) return 0;

    /* Visit. */
    cs_extreme_result back = {.part = what.part};
    if (x->data) job->solve(job->context, worker, what.part, given, data, &back.stats);
    else job->visit(job->context, what.sweep, what.part, &back.stats);

    /* Send the result. */
    if (cs_channel_reserve(x->results, &place, CS_FOREVER)) return 0;
    memcpy(place, &back, sizeof back);
    if (x->data) memcpy((char *)place + sizeof back, data, (size_t)job->result_bytes);
    cs_channel_send(x->results);
    return 1;
}

static void be_worker(const extreme *x, int worker)
{
    while (make_task(x, worker)) continue;
}

/* ---- dispatcher and accumulator ------------------------------------------------------------------ */

static cs_channel_state send_task(const extreme *x, int64_t sweep, int64_t part, double until)
{
    void *place;
    cs_channel_state state = cs_channel_reserve(x->tasks, &place, until);
    if (state != CS_CHANNEL_READY) return state;
    *(cs_extreme_task *)place = (cs_extreme_task){part, sweep};
    if (x->data && part >= 0)
        x->job->pack(x->job->context, part, (char *)place + sizeof(cs_extreme_task));
    cs_channel_send(x->tasks);
    return state;
}

static cs_channel_state take_result(const extreme *x)
{
    void *place;
    cs_channel_state state = cs_channel_peek(x->results, &place, CS_FOREVER);
    if (state != CS_CHANNEL_READY) return state;
    const cs_extreme_result *back = place;
    x->job->note(x->job->context, back->part, &back->stats);
    if (x->data) x->job->take(x->job->context, back->part, (const char *)place + sizeof *back);
    cs_channel_accept(x->results);
    return state;
}

/* Ends the workers, who may all wait at one channel. */
static void end_workers(const extreme *x)
{
    if (x->poison) {
        cs_network_poison(x->run);
        return;
    }
    for (int w = 0; w < x->run->workers; w++)
        if (send_task(x, 0, -1, CS_FOREVER)) return;
}

static void be_dispatcher(const extreme *x)
{
    message told = {0};
    for (int64_t sweep = 0; !told.stop; sweep++) {
        for (int64_t part = 0; part < x->job->parts; part++)
            if (send_task(x, sweep, part, CS_FOREVER)) return;
        if (cs_channel_read(x->next, &told, CS_FOREVER)) return;
    }
    end_workers(x);
}

/* Adds the changes of all contacts, in their order, and judges. */
static int end_sweep(const extreme *x, int64_t sweep)
{
    x->job->leave(x->job->context, 0);
    return x->job->judge(x->job->context, sweep);
}

static void be_accumulator(const extreme *x)
{
    message told = {0};
    for (int64_t sweep = 0; !told.stop; sweep++) {
        for (int64_t received = 0; received < x->job->parts; received++)
            if (take_result(x)) return;
        told.stop = end_sweep(x, sweep);
        if (cs_channel_write(x->next, &told, CS_FOREVER)) return;
    }
}

/* Both in one process: it sends a task if there is a place, by a skip guard, and else takes a result. A full channel of
 * tasks means that results are to come. */
static void be_both(const extreme *x)
{
    for (int64_t sweep = 0, stop = 0; !stop; sweep++) {
        int64_t sent = 0, received = 0;
        while (received < x->job->parts) {
            if (sent < x->job->parts && send_task(x, sweep, sent, CS_AT_ONCE) == CS_CHANNEL_READY)
                sent++;
            else if (take_result(x) == CS_CHANNEL_READY) received++;
            else return;
        }
        stop = end_sweep(x, sweep);
    }
    end_workers(x);
}

static void be_process(void *context, int number)
{
    const extreme *x = context;
    if (number >= 2 || (number == 1 && x->merged)) be_worker(x, number - (x->merged ? 1 : 2));
    else if (x->merged) be_both(x);
    else if (number == 0) be_accumulator(x);
    else be_dispatcher(x);
}

/* ---- the network --------------------------------------------------------------------------------- */

static cs_extreme_options read_options(const cs_network_run *run)
{
    return (cs_extreme_options){
        .data = cs_network_value(run, MESSAGES) == 0,
        .merged = cs_network_value(run, DISPATCHER) != 0,
        .places = (int64_t)cs_network_value(run, PLACES),
        .poison = cs_network_value(run, ENDING) != 0,
    };
}

static cs_status link_on_ranks(cs_network_run *run, cs_error *error)
{
    cs_extreme_options own = read_options(run);
    return cs_extreme_link(run, &own, error);
}

static cs_status run_on_ranks(cs_network_run *run, cs_error *error)
{
    cs_extreme_options own = read_options(run);
    return cs_extreme_on_ranks(run, &own, error);
}

static cs_status run_extreme(cs_network_run *run, cs_error *error)
{
    cs_extreme_options own = read_options(run);
    extreme x = {
        .run = run,
        .job = run->job,
        .data = own.data,
        .merged = own.merged,
        .poison = own.poison,
    };
    cs_channel_shape tasks = {.places = own.places,
                              .bytes = (int64_t)sizeof(cs_extreme_task) +
                                       (x.data ? run->job->task_bytes : 0),
                              .any_reader = 1};
    cs_channel_shape results = {.places = tasks.places,
                                .bytes = (int64_t)sizeof(cs_extreme_result) +
                                         (x.data ? run->job->result_bytes : 0),
                                .any_writer = 1};
    cs_channel_shape next = {.places = 1, .bytes = sizeof(message)};
    cs_status status = cs_network_channel(run, &tasks, &x.tasks, error);
    if (!status) status = cs_network_channel(run, &results, &x.results, error);
    if (!status) status = cs_network_channel(run, &next, &x.next, error);
    int processes = run->workers + (x.merged ? 1 : 2);
    return status ? status : cs_network_execute(run, processes, be_process, &x, error);
}

const cs_network cs_network_extreme = {
    .name = "extreme",
    .summary =
        "Jacobi with one contact a task, between a dispatcher and an accumulator (S1 section "
        "6.1)",
    .about = "Each contact is a message to a worker and a message back, which costs more than the "
             "visit: S1 finds it an order of magnitude slower than one thread.",
    .scheme = "factorized",
    .sweeps = CS_NETWORK_OF_ONE_SIMULTANEOUS,
    .by_contact = 1,
    .option = options,
    .options = OPTIONS,
    .run = run_extreme,
    .link = link_on_ranks,
    .run_on_ranks = run_on_ranks,
};
