/* Workers and an accumulator (S1 Figs 6.3, 6.6 and 7.1). A worker owns a contiguous run of parts, S1's pages. After
 * each of them it sends a page to the accumulator; after all of them it waits to be told to go on:
 *
 *     worker 0 ──► pages ──►             ──► go on, or stop ──► worker 0
 *     worker 1 ──► pages ──► accumulator ──► go on, or stop ──► worker 1
 *
 * A page has the number of the part, which tells where its compressed changes of w are, and what was measured. Pages
 * go through one channel, or through one of each worker, of which the accumulator reads whichever is ready. There is
 * one channel for each worker in the other direction in any case: with one for all, a fast worker could take the
 * message of a slow one, and visit its contacts twice in one sweep (S1 section 6.2). Processes on ranks: see
 * accumulate_on_ranks.c. */
#include "transport/networks/accumulate.h"

#include <math.h>

enum { PAGES_IN_A_CHANNEL = 64 };

typedef struct page {
    int64_t part;
    cs_network_stats stats;
} page;

typedef struct message {
    int64_t stop;
} message;

typedef struct accumulation {
    cs_network_run *run;
    const cs_network_job *job;
    cs_accumulation_options options;
    cs_channel **go;             /* (workers): to each worker */
    cs_channel **pages;          /* (workers), or one of all workers */
    int64_t page_channels, last; /* last: the channel that was read last */
    page *held;                  /* (parts): pages of visits ahead */
    unsigned char *arrived;      /* (parts): whether the page of this sweep has come */
} accumulation;

/* ---- workers ------------------------------------------------------------------------------------- */

/* Waits for the word to begin a sweep; returns whether it came. */
static int may_go_on(const accumulation *a, int worker)
{
    message told;
    cs_channel_state state = cs_channel_read(a->go[worker], &told, CS_FOREVER);
    return state == CS_CHANNEL_READY && !told.stop;
}

static int send_page(const accumulation *a, int worker, const page *sent)
{
    cs_channel *channel = a->pages[a->page_channels > 1 ? worker : 0];
    return cs_channel_write(channel, sent, CS_FOREVER) == CS_CHANNEL_READY;
}

/* Visits the first parts of a sweep before the sweep before has ended, then waits for that end and sends the pages.
 * Returns the first part that is left, or -1 if the network ends. */
static int64_t look_ahead(const accumulation *a, int worker, int64_t sweep, int64_t first,
                          int64_t end)
{
    const cs_network_job *job = a->job;
    int64_t next = first;
    for (; next < end; next++) {
        page *held = &a->held[next];
        held->part = next;
        job->look_ahead(job->context, worker, sweep, next, &held->stats);
    }
    if (!may_go_on(a, worker)) return -1;
    for (int64_t part = first; part < next; part++) {
        job->settle(job->context, sweep, part);
        if (!send_page(a, worker, &a->held[part])) return -1;
    }
    return next;
}

static void be_worker(const accumulation *a, int worker)
{
    const cs_network_job *job = a->job;
    int64_t first = cs_network_first(job->parts, a->run->workers, worker);
    int64_t end = cs_network_first(job->parts, a->run->workers, worker + 1);
    int64_t ahead = (int64_t)ceil(a->options.ahead * (double)(end - first));

    /* The first sweep begins without a word of the accumulator. */
    for (int64_t sweep = 0;; sweep++) {
        int64_t next = first;
        if (sweep > 0) {
            int64_t most = sweep < job->sweeps ? first + ahead : first;
            next = look_ahead(a, worker, sweep, first, most);
        }
        for (; next >= 0 && next < end; next++) {
            page own = {.part = next};
            job->visit(job->context, sweep, next, &own.stats);
            if (!send_page(a, worker, &own)) next = -2;
        }
        if (next < 0) return;
    }
}

/* ---- accumulator --------------------------------------------------------------------------------- */

static int read_page(accumulation *a, page *read)
{
    int64_t chosen = 0;
    if (a->page_channels > 1) {
        int64_t first = (a->last + 1) % a->page_channels;
        if (cs_channel_select(a->pages, a->page_channels, first, CS_FOREVER, &chosen)) return 0;
        a->last = chosen;
    }
    return cs_channel_read(a->pages[chosen], read, CS_FOREVER) == CS_CHANNEL_READY;
}

/* Reads the pages of a sweep. With two copies of w, their changes are added as they come, but in the order of the
 * parts; with one copy after all have come, because workers read it. */
static int collect(accumulation *a, int64_t sweep)
{
    const cs_network_job *job = a->job;
    int64_t added = 0;
    for (int64_t p = 0; p < job->parts; p++) a->arrived[p] = 0;
    for (int64_t received = 0; received < job->parts; received++) {
        page read;
        if (!read_page(a, &read)) return 0;
        job->note(job->context, read.part, &read.stats);
        a->arrived[read.part] = 1;
        while (a->options.two_copies && job->add && added < job->parts && a->arrived[added])
            job->add(job->context, sweep, added++);
    }
    while (job->add && added < job->parts) job->add(job->context, sweep, added++);
    return 1;
}

static void be_accumulator(accumulation *a)
{
    const cs_network_job *job = a->job;
    for (int64_t sweep = 0, stop = 0; !stop; sweep++) {
        job->begin(job->context, sweep);
        if (!collect(a, sweep)) return;
        stop = job->judge(job->context, sweep);
        if (stop && a->options.poison) {
            cs_network_poison(a->run);
            return;
        }
        for (int w = 0; w < a->run->workers; w++) {
            message told = {.stop = stop};
            if (cs_channel_write(a->go[w], &told, CS_FOREVER)) return;
        }
    }
}

static void be_process(void *context, int number)
{
    accumulation *a = context;
    if (number == 0) be_accumulator(a);
    else be_worker(a, number - 1);
}

/* ---- the network --------------------------------------------------------------------------------- */

static cs_status make_channels(accumulation *a, cs_error *error)
{
    cs_network_run *run = a->run;
    cs_channel_shape go = {.places = 1, .bytes = sizeof(message)};
    cs_channel_shape pages = {.places = PAGES_IN_A_CHANNEL, .bytes = sizeof(page)};
    pages.any_writer = a->page_channels == 1;
    cs_status status = CS_OK;
    if (a->page_channels > 1) status = cs_network_event(run, &pages.readable, error);
    for (int w = 0; w < run->workers && !status; w++)
        status = cs_network_channel(run, &go, &a->go[w], error);
    for (int64_t c = 0; c < a->page_channels && !status; c++)
        status = cs_network_channel(run, &pages, &a->pages[c], error);
    return status;
}

static cs_status accumulate(cs_network_run *run, const cs_accumulation_options *options,
                            cs_error *error)
{
    accumulation a = {.run = run, .job = run->job, .options = *options, .last = -1};
    a.page_channels = options->pages_apart ? run->workers : 1;
    a.go = cs_arena_take(&run->arena, run->workers, sizeof(cs_channel *));
    a.pages = cs_arena_take(&run->arena, a.page_channels, sizeof(cs_channel *));
    a.held = cs_arena_take(&run->arena, options->ahead > 0 ? run->job->parts : 0, sizeof(page));
    a.arrived = cs_arena_take(&run->arena, run->job->parts, 1);
    cs_status status = cs_arena_status(&run->arena, error, "a network");
    if (!status) status = make_channels(&a, error);
    return status ? status : cs_network_execute(run, run->workers + 1, be_process, &a, error);
}

/* ---- networks of this kind ----------------------------------------------------------------------- */

static const char *const channels[] = {"shared", "apart", NULL};

enum { CHANNELS, COPIES, AHEAD, ENDING, OPTIONS };

#define CHANNELS_OPTION                                                                            \
    CS_WORD_OPTION("channels", channels,                                                           \
                   "channels of pages: \"shared\", one to which all workers write, or \"apart\", " \
                   "one for each worker, of which the accumulator reads whichever is ready (S1 "   \
                   "section 6.2.1)")
#define COPIES_OPTION                                                                         \
    {                                                                                         \
        .name = "copies",                                                                     \
        .summary = "copies of w: with 2, w_in and w_out, the accumulator adds changes while " \
                   "workers still read; with 1 it waits for all of them (S1 section 6.2.1)",  \
        .kind = CS_COUNT, .usual = 2, .least = 1, .most = 2                                   \
    }

static const cs_option options_of_factorized[OPTIONS] = {
    [CHANNELS] = CHANNELS_OPTION,
    [COPIES] = COPIES_OPTION,
    [AHEAD] = CS_NUMBER_OPTION(
        "ahead", 0, 0, 1,
        "share of its pages, rounded up, that a worker visits before the accumulator has ended the "
        "sweep "
        "before, with its own changes alone. S1 names 0.15 to 0.2 and finds that it often diverges "
        "(section 6.2.1)"),
    [ENDING] = CS_ENDING_OPTION,
};

static cs_accumulation_options read_factorized(const cs_network_run *run)
{
    return (cs_accumulation_options){
        .pages_apart = cs_network_value(run, CHANNELS) != 0,
        .two_copies = cs_network_value(run, COPIES) > 1,
        .ahead = cs_network_value(run, AHEAD),
        .poison = cs_network_value(run, ENDING) != 0,
    };
}

static cs_status run_factorized(cs_network_run *run, cs_error *error)
{
    cs_accumulation_options options = read_factorized(run);
    return accumulate(run, &options, error);
}

static cs_status link_factorized(cs_network_run *run, cs_error *error)
{
    cs_accumulation_options options = read_factorized(run);
    return cs_accumulation_link(run, &options, error);
}

static cs_status run_factorized_on_ranks(cs_network_run *run, cs_error *error)
{
    cs_accumulation_options options = read_factorized(run);
    return cs_accumulate_on_ranks(run, &options, error);
}

const cs_network cs_network_factorized = {
    .name = "factorized",
    .summary = "Jacobi: workers send pages of changes of w to an accumulator (S1 section 6.2)",
    .about = "Each worker owns a contiguous range of contacts, whose impulses it updates itself. "
             "After each page it sends the page's compressed changes of w, which name the bodies "
             "of the page alone, to the accumulator, who adds them in the order of the pages.",
    .scheme = "factorized",
    .sweeps = CS_NETWORK_OF_ONE_SIMULTANEOUS,
    .option = options_of_factorized,
    .options = OPTIONS,
    .run = run_factorized,
    .link = link_factorized,
    .run_on_ranks = run_factorized_on_ranks,
};

enum { NAIVE_CHANNELS, NAIVE_COPIES, NAIVE_ENDING, NAIVE_OPTIONS };

static const cs_option options_of_naive[NAIVE_OPTIONS] = {
    [NAIVE_CHANNELS] = CHANNELS_OPTION,
    [NAIVE_COPIES] = COPIES_OPTION,
    [NAIVE_ENDING] = CS_ENDING_OPTION,
};

static cs_accumulation_options read_naive(const cs_network_run *run)
{
    return (cs_accumulation_options){
        .pages_apart = cs_network_value(run, NAIVE_CHANNELS) != 0,
        .two_copies = cs_network_value(run, NAIVE_COPIES) > 1,
        .poison = cs_network_value(run, NAIVE_ENDING) != 0,
    };
}

static cs_status run_naive(cs_network_run *run, cs_error *error)
{
    cs_accumulation_options options = read_naive(run);
    return accumulate(run, &options, error);
}

static cs_status link_naive(cs_network_run *run, cs_error *error)
{
    cs_accumulation_options options = read_naive(run);
    return cs_accumulation_link(run, &options, error);
}

static cs_status run_naive_on_ranks(cs_network_run *run, cs_error *error)
{
    cs_accumulation_options options = read_naive(run);
    return cs_accumulate_on_ranks(run, &options, error);
}

const cs_network cs_network_naive = {
    .name = "naive",
    .summary =
        "Gauss-Seidel in each worker's range, which does not see the others (S1 section 7.1)",
    .about = "Each worker sweeps its range of contacts with its own copy of the velocities of its "
             "bodies, and sends their changes to the accumulator, who adds them in the order of "
             "the workers. The more workers, the closer it is to Jacobi's method.",
    .scheme = "factorized",
    .sweeps = CS_NETWORK_OF_ONE_CONCURRENT,
    .option = options_of_naive,
    .options = NAIVE_OPTIONS,
    .run = run_naive,
    .link = link_naive,
    .run_on_ranks = run_naive_on_ranks,
};

enum { T_CHANNELS, T_ENDING, T_OPTIONS };

static const cs_option options_of_iteration_matrix[T_OPTIONS] = {
    [T_CHANNELS] = CHANNELS_OPTION,
    [T_ENDING] = CS_ENDING_OPTION,
};

static cs_status run_iteration_matrix(cs_network_run *run, cs_error *error)
{
    cs_accumulation_options options = {
        .pages_apart = cs_network_value(run, T_CHANNELS) != 0,
        .two_copies = 1,
        .poison = cs_network_value(run, T_ENDING) != 0,
    };
    return accumulate(run, &options, error);
}

const cs_network cs_network_iteration_matrix = {
    .name = "iteration_matrix",
    .summary = "Jacobi over rows of T: workers send residuals alone (S1 section 6.3)",
    .about = "Workers read the impulses of the sweep before, and write their own ones where the "
             "next sweep reads them: only what was measured goes to the accumulator. A worker "
             "has about as many blocks of T as any other.",
    .scheme = "iteration_matrix",
    .sweeps = CS_NETWORK_OF_ONE_SIMULTANEOUS,
    .option = options_of_iteration_matrix,
    .options = T_OPTIONS,
    .run = run_iteration_matrix,
    .pointers = "workers read the impulses of all others where these have written them",
};
