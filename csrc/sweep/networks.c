#include "sweep/networks_internal.h"

#include "scheme/factorized.h"
#include "scheme/rows.h"
#include "scheme/wide.h"
#include "sweep/sweep.h"

#include <string.h>

/* ---- options and checks --------------------------------------------------------------------------- */

/* The value of an option by its name, or `usual` if the network does not have it. */
static double value_of(const cs_sweep_network *n, const char *name, double usual)
{
    for (int i = 0; i < n->network->options; i++)
        if (strcmp(n->network->option[i].name, name) == 0) return n->setting[i].number;
    return usual;
}

static const char *const needs[] = {
    [CS_NETWORK_OF_ONE_SIMULTANEOUS] = "Jacobi's method",
    [CS_NETWORK_OF_ONE_CONCURRENT] = "Gauss-Seidel's method in the order 'ranges'",
    [CS_NETWORK_OF_SAFE] = "an order whose stages have no conflicts, such as 'colored'",
    [CS_NETWORK_OF_ANY] = "",
};

/* Whether the network makes sweeps with these stages. */
static int takes_stages(const cs_network *network, const cs_schedule *schedule)
{
    if (!schedule->stages) return 1; /* no contacts */
    cs_stage_kind first = schedule->stage[0].kind;
    int safe = 1;
    for (int64_t s = 0; s < schedule->stages; s++)
        safe = safe && !cs_stage_hides(schedule->stage[s].kind);
    switch (network->sweeps) {
    case CS_NETWORK_OF_ONE_SIMULTANEOUS: return schedule->stages == 1 && first == CS_SIMULTANEOUS;
    case CS_NETWORK_OF_ONE_CONCURRENT: return schedule->stages == 1 && first == CS_CONCURRENT;
    case CS_NETWORK_OF_SAFE: return safe;
    case CS_NETWORK_OF_ANY: return 1;
    }
    return 0;
}

static cs_status check(const cs_sweep_network *n, cs_error *error)
{
    const cs_network *network = n->network;
    const cs_packed *packed = n->packed;
    const char *scheme = packed->scheme->name;
    if (packed->ranks)
        return cs_fail(error, CS_UNSUPPORTED, "network '%s' sweeps a problem that one rank has",
                       network->name);
    if (network->scheme && strcmp(network->scheme, scheme) != 0)
        return cs_fail(error, CS_INVALID, "network '%s' needs scheme='%s', not '%s'", network->name,
                       network->scheme, scheme);
    if (strcmp(scheme, "factorized") != 0 && strcmp(scheme, "iteration_matrix") != 0)
        return cs_fail(error, CS_INVALID,
                       "network '%s' needs scheme='factorized' or 'iteration_matrix', not '%s'",
                       network->name, scheme);
    if (packed->schedule->weight < 1 || packed->schedule->touching_parts)
        return cs_fail(error, CS_UNSUPPORTED,
                       "network '%s' adds the changes of parts as they are: weight and "
                       "split_masses of order='%s' are for sweeps without a network",
                       network->name, packed->schedule->order);
    if (!takes_stages(network, packed->schedule))
        return cs_fail(error, CS_INVALID, "network '%s' needs %s", network->name,
                       needs[network->sweeps]);
    int sums = network->sweeps == CS_NETWORK_OF_ONE_SIMULTANEOUS && !n->of_rows;
    if (sums && cs_velocities_of(packed) != CS_ACCUMULATE)
        return cs_fail(error, CS_INVALID,
                       "network '%s' needs the scheme factorized with velocities='accumulate'",
                       network->name);
    if (network->by_contact && packed->schedule->parts != packed->problem->blocks)
        return cs_fail(error, CS_INVALID,
                       "network '%s' needs a part for each contact, of which there are %lld, but "
                       "the order has %lld parts",
                       network->name, (long long)packed->problem->blocks,
                       (long long)packed->schedule->parts);
    if (n->ahead && !n->alternates)
        return cs_fail(error, CS_INVALID, "ahead is %g, which needs copies=2",
                       value_of(n, "ahead", 0));
    return CS_OK;
}

/* ---- making --------------------------------------------------------------------------------------- */

static void take_list(cs_sweep_network *n, cs_arena *arena)
{
    const cs_schedule *schedule = n->packed->schedule;
    n->stage = cs_arena_take(arena, schedule->stages, sizeof *n->stage);
    n->stage_of = cs_arena_take(arena, schedule->parts, sizeof(int));
    n->owner = cs_arena_take(arena, schedule->parts, sizeof(int));
    if (cs_arena_failed(arena)) return;
    for (int64_t s = 0; s < schedule->stages; s++) {
        const cs_stage *stage = &schedule->stage[s];
        n->stage[s] =
            (cs_network_stage){stage->first_part, stage->parts, cs_stage_hides(stage->kind)};
        for (int64_t p = 0; p < stage->parts; p++) n->stage_of[stage->first_part + p] = (int)s;
    }
    for (int w = 0; w < n->workers; w++) {
        int64_t end = cs_network_first(schedule->parts, n->workers, w + 1);
        for (int64_t p = cs_network_first(schedule->parts, n->workers, w); p < end; p++)
            n->owner[p] = w;
    }
}

/* Groups whose impulses lie one array before: with lambda one array later, visits change the same numbers and read the
 * second copy. */
static void take_shifted(cs_sweep_network *n, cs_arena *arena)
{
    const cs_packed *packed = n->packed;
    int groups = packed->problem->block_groups;
    n->impulses = cs_arena_take(arena, 3 * packed->impulses, n->size);
    n->shifted = cs_arena_take(arena, groups, sizeof *n->shifted);
    if (cs_arena_failed(arena)) return;
    for (int g = 0; g < groups; g++) {
        cs_packed_group *group = &n->shifted[g];
        *group = packed->group[g];
        group->row = cs_arena_take_unset(arena, group->count, sizeof(int64_t));
        for (int64_t v = 0; v < group->count && group->row; v++)
            group->row[v] = packed->group[g].row[v] - packed->impulses;
    }
}

/* Velocities, and with `impulses` also impulses, of each worker. */
static void take_workers(cs_sweep_network *n, int impulses, cs_arena *arena)
{
    n->worker = cs_arena_take(arena, n->workers, sizeof *n->worker);
    for (int w = 0; w < n->workers && n->worker; w++) {
        cs_packed *view = &n->worker[w];
        *view = *n->packed;
        view->velocity = cs_arena_take(arena, n->packed->velocities, n->size);
        if (impulses) view->lambda = cs_arena_take(arena, 2 * n->packed->impulses, n->size);
    }
}

/* Makes what a rank has for itself. */
static cs_status make_own(cs_sweep_network **made, cs_packed *packed, const char *name, int workers,
                          const cs_setting *settings, int count, cs_arena *arena, cs_error *error)
{
    /* The network and its options. */
    *made = NULL;
    if (workers < 1 || workers > CS_MOST_NETWORK_WORKERS)
        return cs_fail(error, CS_INVALID, "workers is %d: it must be 1 to %d", workers,
                       (int)CS_MOST_NETWORK_WORKERS);
    cs_sweep_network *n = cs_arena_take(arena, 1, sizeof *n);
    if (!n) return cs_no_memory(error, "a network");
    n->packed = packed;
    n->workers = workers;
    cs_status status = cs_network_settle(&n->network, name, settings, count, n->setting, error);
    if (status) return status;

    /* What its views are. */
    const cs_network *network = n->network;
    n->size = cs_real_size(packed->dtype);
    n->of_rows = strcmp(packed->scheme->name, "iteration_matrix") == 0;
    n->ahead = value_of(n, "ahead", 0) > 0;
    n->by_data = value_of(n, "messages", 1) == 0;
    n->alternates = (network->sweeps == CS_NETWORK_OF_ONE_SIMULTANEOUS && n->of_rows) ||
                    value_of(n, "copies", 1) > 1;
    status = check(n, error);
    if (status) return status;

    /* Their memory. */
    take_list(n, arena);
    if (n->alternates && n->of_rows) take_shifted(n, arena);
    else if (n->alternates) n->other = cs_arena_take(arena, packed->velocities, n->size);
    if (n->by_data || n->ahead) take_workers(n, n->by_data, arena);
    if (n->ahead)
        n->ahead_part = cs_arena_take(arena, packed->schedule->parts, sizeof *n->ahead_part);
    status = cs_arena_status(arena, error, "a network");
    if (!status) *made = n;
    return status;
}

static cs_network_job job_of(cs_sweep_network *n);

cs_status cs_sweep_network_make(cs_sweep_network **made, cs_packed *packed, const char *name,
                                int workers, const cs_setting *settings, int count,
                                cs_network_ranks *ranks, cs_arena *arena, cs_error *error)
{
    cs_sweep_network *n;
    cs_status status = make_own(&n, packed, name, workers, settings, count, arena, error);
    if (ranks) status = cs_network_ranks_agree(ranks, status, error);
    if (!status && ranks) {
        n->ranks = ranks;
        cs_network_job job = job_of(n);
        status = cs_network_join_ranks(n, &job, arena, error);
    }
    *made = status ? NULL : n;
    return status;
}

const cs_network_counts *cs_sweep_network_counts(const cs_sweep_network *n) { return &n->counts; }

/* ---- copies of impulses ---------------------------------------------------------------------------- */

/* to <- from, the impulses of a part as they are packed. Visits in batches copy them themselves if `visits_too`. */
static void copy_part(const cs_sweep_network *n, int64_t part, char *to, const char *from,
                      int visits_too)
{
    const cs_schedule *schedule = n->packed->schedule;
    for (int64_t r = schedule->part[part]; r < schedule->part[part + 1]; r++) {
        const cs_range *range = &schedule->range[r];
        const cs_packed_group *group = &n->packed->group[range->group];
        size_t row = n->size * (size_t)group->rows;
        if (group->keeps && visits_too) continue;
        if (group->lanes > 1) {
            int64_t first = cs_first_batch(group, range), end = cs_end_batch(group, range);
            size_t at =
                n->size * (size_t)group->first_impulse + row * (size_t)(first * group->lanes);
            memcpy(to + at, from + at, row * (size_t)((end - first) * group->lanes));
            continue;
        }
        for (int64_t v = range->first; v < range->first + range->count; v++) {
            size_t at = n->size * (size_t)group->row[v];
            memcpy(to + at, from + at, row);
        }
    }
}

/* ---- workers --------------------------------------------------------------------------------------- */

/* Whether a worker runs a phase, or the accumulator before or after the stage. */
static int is_of_worker(const cs_sweep_network *n, int phase)
{
    if (n->of_rows) return phase == ROWS_VISIT;
    return phase != FACTORIZED_GATHER && phase != FACTORIZED_ADD && phase != FACTORIZED_MERGE;
}

/* Runs one phase of a part; nothing if the stage does not have it. */
static void run_phase(cs_packed *view, const cs_stage *stage, int phase, int64_t part)
{
    if (view->scheme->tasks(view, stage, phase) > 0)
        view->scheme->run[view->dtype](view, stage, phase, part - stage->first_part);
}

static const cs_stage *stage_of(const cs_sweep_network *n, int64_t part)
{
    return &n->packed->schedule->stage[n->stage_of[part]];
}

/* Runs all phases of a part that a worker runs. */
static void run_part(const cs_sweep_network *n, cs_packed *view, int64_t part)
{
    const cs_stage *stage = stage_of(n, part);
    for (int phase = 0; view->scheme->tasks(view, stage, phase) >= 0; phase++)
        if (is_of_worker(n, phase)) run_phase(view, stage, phase, part);
}

static cs_network_stats stats_of(const cs_sweep_stats *part)
{
    return (cs_network_stats){part->residual, part->merit, part->unfinished};
}

/* The velocities of a part's bodies: to[shared] <- from[shared], or += from[own]. */
#define CS_TEMPLATE "sweep/networks.inc"
#include "core/each_precision.h"

static void set_shared(const cs_sweep_network *n, void *to, const void *from, int64_t part)
{
    if (n->size == sizeof(float)) set_shared_f32(n->packed, to, from, part);
    else set_shared_f64(n->packed, to, from, part);
}

static void add_own(const cs_sweep_network *n, void *to, const void *from, int64_t part)
{
    if (n->size == sizeof(float)) add_own_f32(n->packed, to, from, part);
    else add_own_f64(n->packed, to, from, part);
}

/* Brings the velocities of a worker that looks ahead up to date: those from before the sweep at its first part, then
 * with the changes of each part. The worker does so before the accumulator learns of the part. */
static void follow(cs_sweep_network *n, int64_t sweep, int64_t part)
{
    int64_t parts = n->packed->schedule->parts;
    int worker = n->owner[part];
    int64_t first = cs_network_first(parts, n->workers, worker);
    int64_t end = cs_network_first(parts, n->workers, worker + 1);
    const void *from = cs_network_view(n, sweep)->velocity;
    void *own = n->worker[worker].velocity;
    for (int64_t p = first; p < end && part == first; p++) set_shared(n, own, from, p);
    add_own(n, own, from, part);
}

static void visit(void *context, int64_t sweep, int64_t part, cs_network_stats *stats)
{
    cs_sweep_network *n = context;
    cs_packed *view = cs_network_view(n, sweep);
    if (n->keep) copy_part(n, part, n->keep, n->lambda, 1);
    run_part(n, view, part);

    /* The impulses go where the next sweep reads them. */
    if (n->alternates && n->of_rows) {
        size_t copy = n->size * (size_t)n->packed->impulses;
        copy_part(n, part, n->impulses + copy * (size_t)(1 + (sweep + 1) % 2), n->impulses, 0);
    }
    if (n->ahead) follow(n, sweep, part);
    *stats = stats_of(&view->part[part]);
}

/* lambda from before the visit is in the copy that the phase KEEP makes. */
static void look_ahead(void *context, int worker, int64_t sweep, int64_t part,
                       cs_network_stats *stats)
{
    cs_sweep_network *n = context;
    const cs_stage *stage = stage_of(n, part);
    cs_packed *own = &n->worker[worker];
    run_phase(own, stage, FACTORIZED_KEEP, part);
    run_phase(own, stage, FACTORIZED_VISIT, part);
    run_phase(cs_network_view(n, sweep), stage, FACTORIZED_ACCUMULATE, part);
    *stats = stats_of(&own->part[part]);
}

static void settle(void *context, int64_t sweep, int64_t part)
{
    cs_sweep_network *n = context;
    size_t before = n->size * (size_t)n->packed->impulses;
    if (n->keep) copy_part(n, part, n->keep, n->lambda + before, 1);
    follow(n, sweep, part);
}

/* ---- the accumulator ------------------------------------------------------------------------------- */

/* w_out <- w_in, while workers read w_in. */
static void begin(void *context, int64_t sweep)
{
    cs_sweep_network *n = context;
    if (!n->other) return;
    memcpy(cs_network_view(n, sweep + 1)->velocity, cs_network_view(n, sweep)->velocity,
           n->size * (size_t)n->packed->first_spare);
}

static void add(void *context, int64_t sweep, int64_t part)
{
    cs_sweep_network *n = context;
    add_own(n, cs_network_view(n, sweep + 1)->velocity, cs_network_view(n, sweep)->velocity, part);
}

/* A copy of the impulses of an unsafe stage over rows. */
static void enter(void *context, int64_t number)
{
    cs_sweep_network *n = context;
    const cs_stage *stage = &n->packed->schedule->stage[number];
    for (int64_t p = 0; p < stage->parts && n->of_rows; p++)
        run_phase(&n->view[0], stage, ROWS_KEEP, stage->first_part + p);
}

/* What follows the visits of a stage. */
static void leave(void *context, int64_t number)
{
    cs_sweep_network *n = context;
    cs_packed *view = &n->view[0];
    if (number >= n->packed->schedule->stages) return; /* no contacts */
    const cs_stage *stage = &n->packed->schedule->stage[number];
    static const int phases[] = {FACTORIZED_GATHER, FACTORIZED_ADD, FACTORIZED_MERGE};
    for (int i = 0; i < 3 && !n->of_rows; i++) {
        int64_t tasks = view->scheme->tasks(view, stage, phases[i]);
        for (int64_t t = 0; t < tasks; t++)
            view->scheme->run[view->dtype](view, stage, phases[i], t);
    }
}

static void note(void *context, int64_t part, const cs_network_stats *stats)
{
    cs_sweep_network *n = context;
    n->packed->part[part] = (cs_sweep_stats){stats->residual, stats->merit, stats->unfinished};
}

static int judge(void *context, int64_t sweep)
{
    (void)sweep;
    cs_sweep_network *n = context;
    cs_packed *packed = n->packed;
    cs_sweep_stats stats;
    void *keep = NULL;
    cs_sweep_combine(packed, &stats);
    packed->products += packed->matrix_blocks;
    n->made++;
    n->counts.sweeps++;
    int last = n->call->judge(n->call->context, &stats, &keep) || n->made == n->call->most;
    cs_network_set_keep(n, keep);
    return last;
}

/* ---- messages that hold data ------------------------------------------------------------------------ */

static void pass_impulses(cs_parcel *p, int64_t part, char *lambda)
{
    const cs_schedule *schedule = p->n->packed->schedule;
    const cs_range *range = &schedule->range[schedule->part[part]];
    const cs_packed_group *group = &p->n->packed->group[range->group];
    cs_parcel_pass(p, lambda, group->row[range->first], group->rows);
}

static void pack(void *context, int64_t part, void *task)
{
    const cs_sweep_network *n = context;
    cs_parcel p = {n, task, 1};
    pass_impulses(&p, part, n->lambda);
    cs_parcel_pass_velocities(&p, part, n->packed->velocity, 0);
}

static void solve(void *context, int worker, int64_t part, const void *task, void *result,
                  cs_network_stats *stats)
{
    const cs_sweep_network *n = context;
    cs_packed *own = &n->worker[worker];
    cs_parcel in = {n, (char *)(uintptr_t)task, 0}, out = {n, result, 1};
    pass_impulses(&in, part, own->lambda);
    cs_parcel_pass_velocities(&in, part, own->velocity, 0);
    run_part(n, own, part);
    pass_impulses(&out, part, own->lambda);
    cs_parcel_pass_velocities(&out, part, own->velocity, 1);
    *stats = stats_of(&own->part[part]);
}

static void take(void *context, int64_t part, const void *result)
{
    const cs_sweep_network *n = context;
    cs_parcel p = {n, (char *)(uintptr_t)result, 0};
    if (n->keep) copy_part(n, part, n->keep, n->lambda, 1);
    pass_impulses(&p, part, n->lambda);
    cs_parcel_pass_velocities(&p, part, n->packed->velocity, 1);
}

/* Bytes of the longest message. */
static int64_t message_bytes(const cs_sweep_network *n)
{
    int64_t most = 0;
    for (int g = 0; g < n->packed->problem->block_groups; g++) {
        const cs_packed_group *group = &n->packed->group[g];
        int64_t numbers = group->rows + group->column[group->partners];
        if (numbers > most) most = numbers;
    }
    return most * (int64_t)n->size;
}

_Static_assert((CS_MAX_ROWS + CS_MAX_PARTNERS * CS_MAX_DOF) * sizeof(double) <=
                   CS_NETWORK_MOST_BYTES,
               "a message holds all data of a visit");

/* ---- a run ------------------------------------------------------------------------------------------ */

/* to <- all velocities. Behind those of bodies and of their copies are the roots of masses that compressed contacts
 * read, which sweeps never write. */
static void copy_velocities(const cs_sweep_network *n, void *to)
{
    if (n->packed->velocity)
        memcpy(to, n->packed->velocity, n->size * (size_t)n->packed->velocities);
}

/* Views of the packed problem as it is now. */
static void renew_views(cs_sweep_network *n)
{
    cs_packed *packed = n->packed;
    size_t bytes = n->size * (size_t)packed->impulses;
    n->view[0] = n->view[1] = *packed;
    n->lambda = packed->lambda;
    if (n->other) {
        n->view[1].velocity = n->other;
        copy_velocities(n, n->other);
    }
    if (n->impulses) {
        memcpy(n->impulses, packed->lambda, bytes);
        memcpy(n->impulses + bytes, packed->lambda, bytes);
        n->view[0].lambda = n->lambda = n->impulses;
        n->view[1].lambda = n->impulses + bytes;
        n->view[1].group = n->shifted;
    }
    for (int w = 0; w < n->workers && n->worker; w++) {
        cs_packed *own = &n->worker[w];
        void *velocity = own->velocity, *lambda = own->lambda;
        *own = *packed;
        own->velocity = velocity;
        copy_velocities(n, velocity);
        own->kept = NULL;
        if (n->by_data) own->lambda = lambda;
        if (n->ahead) own->part = n->ahead_part;
    }
}

/* The packed problem gets the impulses and velocities of the last sweep. */
static void hand_back(cs_sweep_network *n)
{
    cs_packed *packed = n->packed;
    if (n->impulses) memcpy(packed->lambda, n->impulses, n->size * (size_t)packed->impulses);
    if (n->other && n->made % 2)
        memcpy(packed->velocity, n->other, n->size * (size_t)packed->first_spare);
    packed->kept = NULL;
}

/* What the processes compute. */
static cs_network_job job_of(cs_sweep_network *n)
{
    const cs_schedule *schedule = n->packed->schedule;
    int64_t bytes = n->by_data ? message_bytes(n) : 0;
    cs_network_job job = {
        .context = n,
        .stages = schedule->stages,
        .parts = schedule->parts,
        .stage = n->stage,
        .visit = visit,
        .look_ahead = look_ahead,
        .settle = settle,
        .begin = begin,
        .enter = enter,
        .leave = leave,
        .add = n->of_rows ? NULL : add,
        .note = note,
        .judge = judge,
        .task_bytes = bytes,
        .result_bytes = bytes,
        .pack = pack,
        .solve = solve,
        .take = take,
    };
    if (n->ranks) cs_network_fill_job(n, &job);
    return job;
}

cs_status cs_sweep_network_run(cs_sweep_network *n, const cs_network_call *call, cs_error *error)
{
    cs_network_job job = job_of(n);
    cs_network_run run = {.network = n->network,
                          .setting = n->setting,
                          .workers = n->workers,
                          .job = &job,
                          .counts = &n->counts,
                          .ranks = n->ranks,
                          .links = n->links};
    job.sweeps = call->most;
    n->call = call;
    n->made = 0;
    n->copied = 0;
    renew_views(n);
    cs_network_set_keep(n, call->keep);
    cs_status status =
        n->ranks ? cs_network_run_on_ranks(&run, error) : cs_network_run_job(&run, error);
    hand_back(n);
    if (!status && n->ranks) status = cs_network_share_results(n, call, error);
    return status;
}
