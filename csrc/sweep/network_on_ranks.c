/* What travels between the ranks of a network. Each rank has packed the whole problem; of impulses and velocities it
 * has those of its workers during a run, and all of them at its end:
 *
 *     in a sweep      changes of w of each part; w of each worker's bodies      (transport/networks/)
 *     after a run     impulses of the workers, w, what was decided              to all ranks, by a gather
 *
 * The solver then goes on in the same way on all ranks: it judges, rolls back and restores the same numbers. */
#include "sweep/networks_internal.h"

#include "scheme/wide.h"

/* What each rank tells at the end of a run. */
typedef struct news {
    cs_rank_link_counts counts;
    int64_t made, copied; /* of the accumulator: sweeps; whether impulses were copied */
} news;

/* The accumulator is the first process. */
enum { ACCUMULATOR };

/* ---- pages and words -------------------------------------------------------------------------------- */

static void pack_page(void *context, int64_t sweep, int64_t part, void *page)
{
    cs_sweep_network *n = context;
    cs_parcel p = {n, page, 1};
    cs_parcel_pass_velocities(&p, part, cs_network_view(n, sweep)->velocity, 1);
}

static void take_page(void *context, int64_t sweep, int64_t part, const void *page)
{
    cs_sweep_network *n = context;
    cs_parcel p = {n, (char *)(uintptr_t)page, 0};
    cs_parcel_pass_velocities(&p, part, cs_network_view(n, sweep)->velocity, 1);
}

static void pass_word(cs_sweep_network *n, int64_t sweep, int worker, cs_parcel *p)
{
    void *velocity = cs_network_view(n, sweep)->velocity;
    for (int64_t i = n->word_start[worker]; i < n->word_start[worker + 1]; i++)
        cs_parcel_pass(p, velocity, n->word[i].shared, n->word[i].dof);
}

static void pack_word(void *context, int64_t sweep, int worker, void *word)
{
    cs_parcel p = {context, word, 1};
    pass_word(context, sweep, worker, &p);
}

static void take_word(void *context, int64_t sweep, int worker, const void *word)
{
    cs_parcel p = {context, (char *)(uintptr_t)word, 0};
    pass_word(context, sweep, worker, &p);
}

static int keeps(void *context) { return ((const cs_sweep_network *)context)->keep != NULL; }

static void set_keeps(void *context, int on)
{
    cs_sweep_network *n = context;
    cs_network_set_keep(n, on ? n->call->best : NULL);
}

/* ---- all impulses and velocities --------------------------------------------------------------------- */

static int64_t state_bytes(const cs_sweep_network *n)
{
    return (int64_t)n->size * (n->packed->impulses + n->packed->first_spare);
}

static void pass_state(const cs_sweep_network *n, cs_parcel *p)
{
    cs_parcel_pass(p, n->lambda, 0, n->packed->impulses);
    cs_parcel_pass(p, n->packed->velocity, 0, n->packed->first_spare);
}

static void pack_state(void *context, void *state)
{
    cs_parcel p = {context, state, 1};
    pass_state(context, &p);
}

static void take_state(void *context, const void *state)
{
    cs_parcel p = {context, (char *)(uintptr_t)state, 0};
    pass_state(context, &p);
}

void cs_network_fill_job(const cs_sweep_network *n, cs_network_job *job)
{
    job->page_bytes = n->page_bytes;
    job->word_bytes = n->word_bytes;
    job->pack_page = pack_page;
    job->take_page = take_page;
    job->pack_word = pack_word;
    job->take_word = take_word;
    job->keeps = keeps;
    job->set_keeps = set_keeps;
    job->state_bytes = state_bytes(n);
    job->pack_state = pack_state;
    job->take_state = take_state;
}

/* ---- making ------------------------------------------------------------------------------------------ */

/* Numbers of a part's impulses as they are packed. */
static int64_t impulses_of(const cs_sweep_network *n, int64_t part)
{
    const cs_schedule *schedule = n->packed->schedule;
    int64_t numbers = 0;
    for (int64_t r = schedule->part[part]; r < schedule->part[part + 1]; r++) {
        const cs_range *range = &schedule->range[r];
        const cs_packed_group *group = &n->packed->group[range->group];
        int64_t visits = range->count;
        if (group->lanes > 1)
            visits = (cs_end_batch(group, range) - cs_first_batch(group, range)) * group->lanes;
        numbers += visits * group->rows;
    }
    return numbers;
}

/* Passes the impulses of a part, as they are packed in `lambda`. */
static void pass_part(cs_parcel *p, int64_t part, char *lambda)
{
    const cs_sweep_network *n = p->n;
    const cs_schedule *schedule = n->packed->schedule;
    for (int64_t r = schedule->part[part]; r < schedule->part[part + 1]; r++) {
        const cs_range *range = &schedule->range[r];
        const cs_packed_group *group = &n->packed->group[range->group];
        if (group->lanes > 1) {
            int64_t first = cs_first_batch(group, range), end = cs_end_batch(group, range);
            int64_t width = group->lanes * group->rows;
            cs_parcel_pass(p, lambda, group->first_impulse + first * width, (end - first) * width);
            continue;
        }
        for (int64_t v = range->first; v < range->first + range->count; v++)
            cs_parcel_pass(p, lambda, group->row[v], group->rows);
    }
}

/* The bodies of each worker, each of them once, and the sizes of pages and words. seen (first_spare): scratch. */
static void list_bodies(cs_sweep_network *n, int *seen)
{
    const cs_packed *packed = n->packed;
    int64_t parts = packed->schedule->parts, listed = 0;
    for (int w = 0; w < n->workers; w++) {
        int64_t end = cs_network_first(parts, n->workers, w + 1), numbers = 0;
        n->word_start[w] = listed;
        for (int64_t p = cs_network_first(parts, n->workers, w); p < end; p++) {
            int64_t changes = 0;
            for (int64_t i = packed->copy_start[p]; i < packed->copy_start[p + 1]; i++) {
                const cs_velocity_copy *copy = &packed->copy[i];
                changes += copy->dof;
                if (seen[copy->shared] == w + 1) continue;
                seen[copy->shared] = w + 1;
                n->word[listed++] = *copy;
                numbers += copy->dof;
            }
            n->page_bytes[p] = (int64_t)n->size * changes;
        }
        n->word_bytes[w] = (int64_t)n->size * numbers;
    }
    n->word_start[n->workers] = listed;
}

static cs_status take_lists(cs_sweep_network *n, cs_arena *arena, cs_error *error)
{
    const cs_packed *packed = n->packed;
    int64_t parts = packed->schedule->parts;
    int64_t copies = packed->copy_start ? packed->copy_start[parts] : 0;
    cs_arena scratch = {0};
    int *seen = cs_arena_take(&scratch, packed->first_spare, sizeof *seen);
    n->word_start = cs_arena_take(arena, n->workers + 1, sizeof *n->word_start);
    n->word = cs_arena_take(arena, copies, sizeof *n->word);
    n->page_bytes = cs_arena_take(arena, parts, sizeof *n->page_bytes);
    n->word_bytes = cs_arena_take(arena, n->workers, sizeof *n->word_bytes);
    n->visitor = cs_arena_take(arena, parts, sizeof *n->visitor);
    cs_status status = cs_arena_status(arena, error, "a network on ranks");
    if (!status) status = cs_arena_status(&scratch, error, "a network on ranks");
    if (!status && copies) list_bodies(n, seen);
    cs_arena_clear(&scratch);
    return status;
}

/* The rank that has the impulses of each part: that of its worker, or of the accumulator if messages hold them. */
static void find_visitors(cs_sweep_network *n)
{
    int processes = (int)n->counts.processes;
    for (int64_t p = 0; p < n->packed->schedule->parts; p++) {
        int process = n->by_data ? ACCUMULATOR : 1 + n->owner[p];
        n->visitor[p] = cs_network_rank_of(n->ranks, process, processes);
    }
}

static int has_accumulator(const cs_sweep_network *n)
{
    return cs_network_is_here(n->ranks, ACCUMULATOR, (int)n->counts.processes);
}

/* Bytes that only the accumulator gives: what it has decided, statistics of parts, velocities. */
static int64_t decision_bytes(const cs_sweep_network *n)
{
    return CS_NETWORK_STATE_BYTES + n->packed->schedule->parts * (int64_t)sizeof(cs_sweep_stats) +
           n->packed->first_spare * (int64_t)n->size;
}

/* The gathers at the end of a run: of news and impulses, and of impulses that were copied. bytes (2, ranks). */
static cs_status make_gathers(cs_sweep_network *n, int64_t *bytes, cs_error *error)
{
    int ranks = cs_network_ranks_count(n->ranks);
    int64_t *impulses = bytes + ranks;
    for (int r = 0; r < ranks; r++) impulses[r] = 0;
    for (int64_t p = 0; p < n->packed->schedule->parts; p++)
        impulses[n->visitor[p]] += (int64_t)n->size * impulses_of(n, p);
    for (int r = 0; r < ranks; r++) bytes[r] = (int64_t)sizeof(news) + impulses[r];
    int accumulator = cs_network_rank_of(n->ranks, ACCUMULATOR, (int)n->counts.processes);
    bytes[accumulator] += decision_bytes(n);

    /* Both are made, whether or not the first fails. */
    cs_status status =
        cs_network_ranks_gather(n->ranks, "impulses of a run", bytes, &n->results, error);
    cs_status second = cs_network_ranks_gather(n->ranks, "impulses before a sweep", impulses,
                                               &n->kept, status ? NULL : error);
    return status ? status : second;
}

cs_status cs_network_join_ranks(cs_sweep_network *n, cs_network_job *job, cs_arena *arena,
                                cs_error *error)
{
    int ranks = cs_network_ranks_count(n->ranks);
    cs_network_run run = {.network = n->network,
                          .setting = n->setting,
                          .workers = n->workers,
                          .job = job,
                          .counts = &n->counts,
                          .ranks = n->ranks};
    cs_status status = take_lists(n, arena, error);
    int64_t *bytes = cs_arena_take(arena, 2 * ranks, sizeof *bytes);
    if (!status) status = cs_arena_status(arena, error, "%d ranks", ranks);
    status = cs_network_ranks_agree(n->ranks, status, error);
    if (status) return status;

    cs_network_fill_job(n, job);
    status = cs_network_link(&run, error);
    if (status) return status;
    n->links = run.links;
    find_visitors(n);
    status = make_gathers(n, bytes, error);
    return cs_network_ranks_agree(n->ranks, status, error);
}

/* ---- the end of a run -------------------------------------------------------------------------------- */

/* What the accumulator has decided. */
static void pass_decisions(cs_sweep_network *n, const cs_network_call *call, cs_parcel *p)
{
    cs_packed *packed = n->packed;
    char *state = p->at;
    if (p->outward && call->state_bytes) memcpy(state, call->state, (size_t)call->state_bytes);
    if (!p->outward && call->state_bytes) memcpy(call->state, state, (size_t)call->state_bytes);
    p->at += CS_NETWORK_STATE_BYTES;
    size_t stats = sizeof(cs_sweep_stats) * (size_t)packed->schedule->parts;
    if (stats && p->outward) memcpy(p->at, packed->part, stats);
    else if (stats) memcpy(packed->part, p->at, stats);
    p->at += stats;
    cs_parcel_pass(p, packed->velocity, 0, packed->first_spare);
}

/* Passes the impulses of all parts that a rank has. */
static void pass_impulses(cs_parcel *p, int rank, char *lambda)
{
    for (int64_t part = 0; part < p->n->packed->schedule->parts; part++)
        if (p->n->visitor[part] == rank) pass_part(p, part, lambda);
}

/* Takes the piece of a rank. */
static void take_piece(cs_sweep_network *n, const cs_network_call *call, int rank, int own,
                       const char *piece)
{
    news told;
    memcpy(&told, piece, sizeof told);
    n->counts.messages += told.counts.messages;
    n->counts.bytes += told.counts.bytes;
    n->counts.messages_away += told.counts.messages_away;
    n->counts.bytes_away += told.counts.bytes_away;
    if (own) return;
    cs_parcel p = {n, (char *)(uintptr_t)piece + sizeof told, 0};
    int accumulator = cs_network_rank_of(n->ranks, ACCUMULATOR, (int)n->counts.processes);
    if (rank == accumulator) {
        n->made = told.made;
        n->copied = told.copied != 0;
        n->counts.sweeps += told.made;
        n->packed->products += told.made * n->packed->matrix_blocks;
        pass_decisions(n, call, &p);
    }
    pass_impulses(&p, rank, n->packed->lambda);
}

/* The copies of impulses from before the last best sweep. */
static cs_status share_copies(cs_sweep_network *n, const cs_network_call *call, int own,
                              cs_error *error)
{
    cs_parcel p = {n, n->kept->own, 1};
    pass_impulses(&p, own, call->best);
    cs_status status = cs_gather_run(n->kept, error);
    for (int r = 0; r < cs_network_ranks_count(n->ranks) && !status; r++) {
        cs_parcel in = {n, (char *)(uintptr_t)n->kept->all + n->kept->start[r], 0};
        if (r != own) pass_impulses(&in, r, call->best);
    }
    return status;
}

cs_status cs_network_share_results(cs_sweep_network *n, const cs_network_call *call,
                                   cs_error *error)
{
    /* The own piece. */
    int ranks = cs_network_ranks_count(n->ranks), own = cs_network_ranks_own(n->ranks);
    news told = {cs_network_ranks_counted(n->ranks), n->made, n->copied};
    cs_parcel p = {n, n->results->own, 1};
    memcpy(p.at, &told, sizeof told);
    p.at += sizeof told;
    if (has_accumulator(n)) pass_decisions(n, call, &p);
    pass_impulses(&p, own, n->packed->lambda);

    /* Those of the others. */
    cs_status status = cs_gather_run(n->results, error);
    for (int r = 0; r < ranks && !status; r++)
        take_piece(n, call, r, r == own, (const char *)n->results->all + n->results->start[r]);
    return status || !n->copied ? status : share_copies(n, call, own, error);
}
