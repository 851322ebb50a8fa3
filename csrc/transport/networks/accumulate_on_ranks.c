/* Workers and an accumulator on ranks (S1 Figs 6.3 and 7.1). Messages hold what S1's processes on threads share by
 * pointers: a page the compressed changes of w, the word after a sweep w of the worker's bodies.
 *
 *     worker ──► page: what was measured, changes of w ──► accumulator
 *     worker ◄── word: go on or stop, w of its bodies  ◄── accumulator
 *
 * There is a link for each page and one for each word. In a sweep, the workers of a rank take turns, then the
 * accumulator reads all pages, and then the workers read their words. */
#include "transport/networks/accumulate.h"

#include <math.h>
#include <string.h>

/* The beginning of a page: what was measured. Then the changes. */
typedef cs_network_stats page_head;

/* The beginning of a word. Then w. */
typedef struct word_head {
    int64_t stop, keeps; /* whether the run ends; whether visits of the next sweep copy impulses */
} word_head;

/* Made once. */
typedef struct links {
    cs_rank_link *page; /* (parts) */
    cs_rank_link *word; /* (workers) */
    page_head *held;    /* (parts): of visits ahead */
    int64_t *ahead;     /* (workers): parts that were visited ahead */
} links;

typedef struct accumulation {
    const cs_network_run *run;
    const cs_network_job *job;
    const cs_accumulation_options *options;
    links *links;
} accumulation;

enum { ACCUMULATOR };

static int process_of(int worker) { return 1 + worker; }

static int is_worker_here(const accumulation *a, int worker)
{
    return cs_network_has(a->run, process_of(worker));
}

/* ---- links --------------------------------------------------------------------------------------- */

cs_status cs_accumulation_link(cs_network_run *run, const cs_accumulation_options *options,
                               cs_error *error)
{
    /* Memory, which all ranks have or none. */
    const cs_network_job *job = run->job;
    cs_arena *arena = cs_network_ranks_memory(run->ranks);
    links *made = cs_arena_take(arena, 1, sizeof *made);
    cs_rank_link *page = cs_arena_take(arena, job->parts, sizeof *page);
    cs_rank_link *word = cs_arena_take(arena, run->workers, sizeof *word);
    page_head *held = cs_arena_take(arena, options->ahead > 0 ? job->parts : 0, sizeof *held);
    int64_t *ahead = cs_arena_take(arena, run->workers, sizeof *ahead);
    cs_status status = cs_arena_status(arena, error, "a network on ranks");
    status = cs_network_ranks_agree(run->ranks, status, error);
    if (status) return status;
    *made = (links){page, word, held, ahead};
    run->links = made;
    run->counts->processes = run->workers + 1;

    /* All links are made, whether or not one fails. */
    for (int w = 0; w < run->workers; w++) {
        int64_t end = cs_network_first(job->parts, run->workers, w + 1);
        for (int64_t p = cs_network_first(job->parts, run->workers, w); p < end; p++) {
            int64_t bytes = (int64_t)sizeof(page_head) + job->page_bytes[p];
            cs_status failed = cs_network_make_link(run, &page[p], process_of(w), ACCUMULATOR,
                                                    bytes, status ? NULL : error);
            if (!status) status = failed;
        }
        int64_t bytes = (int64_t)sizeof(word_head) + job->word_bytes[w];
        cs_status failed = cs_network_make_link(run, &word[w], ACCUMULATOR, process_of(w), bytes,
                                                status ? NULL : error);
        if (!status) status = failed;
    }
    return status;
}

/* ---- workers ------------------------------------------------------------------------------------- */

static cs_status send_page(const accumulation *a, int64_t sweep, int64_t part,
                           const page_head *stats, cs_error *error)
{
    void *place;
    cs_rank_link *link = &a->links->page[part];
    cs_status status = cs_rank_link_reserve(link, &place, error);
    if (status) return status;
    memcpy(place, stats, sizeof *stats);
    a->job->pack_page(a->job->context, sweep, part, (char *)place + sizeof *stats);
    return cs_rank_link_send(link, error);
}

/* A sweep of one worker: the parts that it has visited ahead, the others, and some parts of the next sweep. */
static cs_status work(const accumulation *a, int worker, int64_t sweep, cs_error *error)
{
    const cs_network_job *job = a->job;
    int64_t first = cs_network_first(job->parts, a->run->workers, worker);
    int64_t end = cs_network_first(job->parts, a->run->workers, worker + 1);
    int64_t next = first + a->links->ahead[worker];
    cs_status status = CS_OK;
    for (int64_t p = first; p < next && !status; p++) {
        job->settle(job->context, sweep, p);
        status = send_page(a, sweep, p, &a->links->held[p], error);
    }
    for (int64_t p = next; p < end && !status; p++) {
        page_head stats = {0};
        job->visit(job->context, sweep, p, &stats);
        status = send_page(a, sweep, p, &stats, error);
    }

    int64_t ahead = (int64_t)ceil(a->options->ahead * (double)(end - first));
    if (sweep + 1 >= job->sweeps) ahead = 0;
    for (int64_t p = first; p < first + ahead && !status; p++)
        job->look_ahead(job->context, worker, sweep + 1, p, &a->links->held[p]);
    a->links->ahead[worker] = ahead;
    return status;
}

/* Reads the word after a sweep. */
static cs_status listen_to_word(const accumulation *a, int worker, int64_t sweep, int *stop,
                                cs_error *error)
{
    const cs_network_job *job = a->job;
    const void *place;
    cs_status status = cs_rank_link_read(&a->links->word[worker], &place, error);
    if (status) return status;
    *stop = 1;
    if (!place) return CS_OK; /* poison */
    word_head told;
    memcpy(&told, place, sizeof told);
    *stop = told.stop != 0;
    job->set_keeps(job->context, told.keeps != 0);
    job->take_word(job->context, sweep + 1, worker, (const char *)place + sizeof told);
    return CS_OK;
}

/* ---- accumulator --------------------------------------------------------------------------------- */

/* Reads the pages of a sweep in the order of the parts, whichever arrives first. With two copies of w their changes are
 * added at once, with one after all have come. */
static cs_status collect(const accumulation *a, int64_t sweep, cs_error *error)
{
    const cs_network_job *job = a->job;
    cs_status status = CS_OK;
    for (int64_t p = 0; p < job->parts && !status; p++) {
        const void *place;
        status = cs_rank_link_read(&a->links->page[p], &place, error);
        if (status) break;
        page_head stats;
        memcpy(&stats, place, sizeof stats);
        job->note(job->context, p, &stats);
        job->take_page(job->context, sweep, p, (const char *)place + sizeof stats);
        if (a->options->two_copies) job->add(job->context, sweep, p);
    }
    for (int64_t p = 0; p < job->parts && !status && !a->options->two_copies; p++)
        job->add(job->context, sweep, p);
    return status;
}

static cs_status send_word(const accumulation *a, int worker, int64_t sweep, int stop,
                           cs_error *error)
{
    const cs_network_job *job = a->job;
    cs_rank_link *link = &a->links->word[worker];
    if (stop && a->options->poison) return cs_rank_link_poison(link, error);
    void *place;
    cs_status status = cs_rank_link_reserve(link, &place, error);
    if (status) return status;
    word_head told = {.stop = stop, .keeps = job->keeps(job->context)};
    memcpy(place, &told, sizeof told);
    job->pack_word(job->context, sweep + 1, worker, (char *)place + sizeof told);
    return cs_rank_link_send(link, error);
}

/* Reads what the workers have sent, judges the sweep and tells them. stop <- whether it was the last one. */
static cs_status end_sweep(const accumulation *a, int64_t sweep, int *stop, cs_error *error)
{
    cs_status status = collect(a, sweep, error);
    if (status) return status;
    *stop = a->job->judge(a->job->context, sweep);
    for (int w = 0; w < a->run->workers && !status; w++)
        status = send_word(a, w, sweep, *stop, error);
    return status;
}

/* ---- a run --------------------------------------------------------------------------------------- */

/* Makes a sweep by the processes of this rank. stop <- whether it was the last one. */
static cs_status make_sweep(const accumulation *a, int64_t sweep, int *stop, cs_error *error)
{
    /* Pages may arrive while the workers of this rank are at work. */
    const cs_network_job *job = a->job;
    int accumulates = cs_network_has(a->run, ACCUMULATOR);
    cs_status status = CS_OK;
    *stop = 1;
    if (accumulates) job->begin(job->context, sweep);
    for (int64_t p = 0; p < job->parts && accumulates && !status; p++)
        status = cs_rank_link_expect(&a->links->page[p], error);

    /* The processes take turns. A rank without any has nothing to do. */
    for (int w = 0; w < a->run->workers && !status; w++)
        if (is_worker_here(a, w)) status = work(a, w, sweep, error);
    if (accumulates && !status) status = end_sweep(a, sweep, stop, error);
    for (int w = 0; w < a->run->workers && !status; w++)
        if (is_worker_here(a, w)) status = listen_to_word(a, w, sweep, stop, error);
    return status;
}

cs_status cs_accumulate_on_ranks(cs_network_run *run, const cs_accumulation_options *options,
                                 cs_error *error)
{
    accumulation a = {run, run->job, options, run->links};
    cs_status status = CS_OK;
    for (int w = 0; w < run->workers; w++) a.links->ahead[w] = 0;
    for (int64_t sweep = 0, stop = 0; !stop && !status; sweep++) {
        int last;
        status = make_sweep(&a, sweep, &last, error);
        stop = last;
    }
    return status;
}
