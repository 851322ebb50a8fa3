/* Parts that iterate by themselves on a device (backend/parts.h): the host lays out what its kernels need, launches some
 * sweeps at a time, and looks which parts are still open. */
#include "backend/device_internal.h"
#include "core/clock.h"
#include "core/loop.h"
#include "core/share.h"

/* Sweeps of a launch, between which the caller is asked. */
enum { SWEEPS_AT_ONCE = 512 };

/* The first velocity of the bodies of part p, and how many follow it up to the last one: 0 without movable bodies. */
static int64_t velocities_of(const cs_packed *packed, int64_t p, int64_t *first)
{
    const cs_schedule *schedule = packed->schedule;
    int64_t least = packed->first_spare, end = 0;
    for (int64_t r = schedule->part[p]; r < schedule->part[p + 1]; r++) {
        const cs_range *range = &schedule->range[r];
        const cs_packed_group *group = &packed->group[range->group];
        for (int64_t i = 2 * range->first; i < 2 * (range->first + range->count); i++) {
            int64_t at = group->factors.velocity[i];
            if (at >= packed->first_spare) continue;
            if (at < least) least = at;
            if (at + group->dof[i % 2] > end) end = at + group->dof[i % 2];
        }
    }
    *first = least;
    return end > least ? end - least : 0;
}

/* What is known of each part on the host. */
typedef struct part_lists {
    const cs_packed *packed;
    int64_t *first; /* where its velocities begin, */
    int32_t *count; /* and how many numbers they are */
    int64_t *visits;
    int32_t *order; /* the largest first */
    int64_t most_visits[CS_LOOP_PIECES], most_velocities[CS_LOOP_PIECES];
} part_lists;

/* Measures some parts. */
static void measure_parts(void *context, int64_t piece, int64_t begin, int64_t end)
{
    part_lists *lists = context;
    const cs_schedule *schedule = lists->packed->schedule;
    int64_t most_visits = 0, most_velocities = 0;
    for (int64_t p = begin; p < end; p++) {
        int64_t visits = 0, velocities = velocities_of(lists->packed, p, &lists->first[p]);
        for (int64_t r = schedule->part[p]; r < schedule->part[p + 1]; r++)
            visits += schedule->range[r].count;
        lists->count[p] = (int32_t)velocities;
        lists->visits[p] = visits;
        if (visits > most_visits) most_visits = visits;
        if (velocities > most_velocities) most_velocities = velocities;
    }
    lists->most_visits[piece] = most_visits;
    lists->most_velocities[piece] = most_velocities;
}

/* Measures and orders all parts. */
static cs_status describe_parts(cs_on_device *d, cs_arena *scratch, part_lists *lists,
                                cs_error *error)
{
    int64_t parts = d->packed.schedule->parts;
    lists->packed = &d->packed;
    lists->first = cs_arena_take_unset(scratch, parts, sizeof *lists->first);
    lists->count = cs_arena_take_unset(scratch, parts, sizeof *lists->count);
    lists->visits = cs_arena_take_unset(scratch, parts, sizeof *lists->visits);
    lists->order = cs_arena_take_unset(scratch, parts, sizeof *lists->order);
    cs_status status = cs_arena_status(scratch, error, "the workspace");
    if (status) return status;
    cs_loop(d->packed.setup_threads, parts, measure_parts, lists);
    for (int64_t i = 0; i < cs_loop_pieces(parts); i++) {
        if (lists->most_visits[i] > d->parts.most_visits)
            d->parts.most_visits = lists->most_visits[i];
        if (lists->most_velocities[i] > d->parts.most_velocities)
            d->parts.most_velocities = lists->most_velocities[i];
    }
    int64_t *place = cs_arena_take(scratch, d->parts.most_visits + 2, sizeof *place);
    int64_t *order = cs_arena_take_unset(scratch, parts, sizeof *order);
    if (!place || !order) return cs_no_workspace(error);
    cs_sort_largest_first(parts, lists->visits, d->parts.most_visits, place, order);
    for (int64_t i = 0; i < parts; i++) lists->order[i] = (int32_t)order[i];
    return CS_OK;
}

/* Whether all contacts have one shape, and a projected step with a diagonal R and nothing else. Bodies of one group keep
 * the velocities of a part together. */
static int are_alike(const cs_packed *packed)
{
    const cs_packed_group *group = &packed->group[0];
    return packed->problem->block_groups == 1 && packed->problem->body_groups == 1 &&
           !group->step && !group->diagonal && !group->weight && !group->factors.compliance &&
           packed->averaging == 1 && group->dof[0] == group->dof[1];
}

/* What does not change from call to call, on the device. */
typedef struct fixed_data {
    double *rho, *speed;
    int32_t *recorded, *order;
    int64_t *velocity_first;
    int32_t *velocity_count;
} fixed_data;

/* The bytes of best iterates where a thread solves a part: whole pieces of 16 bytes for each visit, as many visits as the
 * largest part has, and whole warps. */
static size_t kept_bytes(const cs_on_device *d, const cs_parts_call *call)
{
    int64_t lanes = cs_quotient(d->packed.schedule->parts, 32) * 32;
    size_t lambda = (size_t)d->packed.group[0].rows * cs_real_size(d->packed.dtype);
    int by_threads = call->per == CS_PER_THREAD || call->per == CS_PER_AUTO;
    if (!d->parts.alike || !by_threads) return 0;
    return (size_t)(lanes * d->parts.most_visits) * ((lambda + 15) / 16 * 16);
}

/* Takes the memory of all parts on the device, or counts it. */
static fixed_data take_parts(cs_on_device *d, const cs_parts_call *call)
{
    size_t count = (size_t)d->packed.schedule->parts;
    size_t rows = call->rho ? (size_t)d->packed.problem->rows : 0;
    size_t history = (size_t)(call->histories * (call->rule.most + 1)) * CS_PART_COLUMNS;
    fixed_data to = {
        .rho = cs_device_take(d, rows * sizeof(double)),
        .speed = cs_device_take(d, rows * sizeof(double)),
        .velocity_first = cs_device_take(d, count * sizeof(int64_t)),
        .velocity_count = cs_device_take(d, count * sizeof(int32_t)),
        .order = cs_device_take(d, count * sizeof(int32_t)),
    };
    d->parts.kept = cs_device_take(d, kept_bytes(d, call));
    d->parts.state = cs_device_take(d, count * sizeof *d->parts.state);
    if (!call->histories) return to;
    to.recorded = cs_device_take(d, count * sizeof(int32_t));
    d->parts.history = cs_device_take(d, history * sizeof(double));
    return to;
}

/* The same, after a check that there is so much. */
static cs_status take_parts_if_they_fit(cs_on_device *d, const cs_parts_call *call, fixed_data *to,
                                        cs_error *error)
{
    int64_t before = d->bytes;
    d->counts = 1;
    take_parts(d, call);
    cs_status status = cs_device_end_count(d, before, "the state of the batch", error);
    if (status) return status;
    *to = take_parts(d, call);
    status = d->failed;
    if (status && error) *error = d->failure;
    d->failed = CS_OK;
    return status;
}

/* Memory on the device, and what does not change from call to call. */
static cs_status lay_parts(cs_on_device *d, const cs_parts_call *call, cs_error *error)
{
    /* On the host. */
    int64_t count = d->packed.schedule->parts;
    size_t parts = (size_t)count, rows = (size_t)d->packed.problem->rows * sizeof(double);
    cs_arena scratch = {0};
    part_lists lists;
    fixed_data to = {0};
    cs_status status = describe_parts(d, &scratch, &lists, error);
    d->parts.alike = are_alike(&d->packed);
    if (!status) status = take_parts_if_they_fit(d, call, &to, error);

    /* To the device. */
    if (!status) {
        cs_device_upload(d, to.rho, call->rho, rows);
        cs_device_upload(d, to.speed, call->speed, rows);
        cs_device_upload(d, to.recorded, call->recorded, parts * sizeof *to.recorded);
        cs_device_upload(d, to.velocity_first, lists.first, parts * sizeof *lists.first);
        cs_device_upload(d, to.velocity_count, lists.count, parts * sizeof *lists.count);
        cs_device_upload(d, to.order, lists.order, parts * sizeof *lists.order);
        d->parts.rho = to.rho;
        d->parts.speed = to.speed;
        d->parts.recorded = to.recorded;
        d->parts.velocity_first = to.velocity_first;
        d->parts.velocity_count = to.velocity_count;
        d->parts.order = to.order;
        status = d->device->wait(d->queue, error);
    }
    if (!status) d->parts.count = count;
    cs_arena_clear(&scratch);
    return status;
}

static int64_t count_open(const cs_parts_call *call, int64_t count)
{
    int64_t open = 0;
    for (int64_t p = 0; p < count; p++) open += call->state[p].end == CS_PART_OPEN;
    return open;
}

/* Launches sweeps until no part is open. */
static cs_status sweep_parts(cs_on_device *d, cs_parts_call *call, cs_error *error)
{
    cs_device_parts *parts = &d->parts;
    size_t bytes = (size_t)parts->count * sizeof *parts->state;
    cs_device_upload(d, parts->state, call->state, bytes);
    for (int64_t open = parts->count; open > 0 && !call->halted;) {
        parts->rule = call->rule;
        parts->sweeps = SWEEPS_AT_ONCE;
        parts->per = call->per;
        cs_status status = d->device->wait(d->queue, error);
        double begun = cs_clock();
        if (!status) status = d->device->solve_parts(d->queue, &d->program, parts, error);
        if (!status) status = d->device->wait(d->queue, error);
        call->seconds += cs_clock() - begun;
        if (!status) d->device->download(d->queue, call->state, parts->state, bytes);
        if (!status) status = d->device->wait(d->queue, error);
        if (status) return status;
        open = count_open(call, parts->count);
        if (call->poll && call->poll(call->context, parts->count - open)) call->halted = 1;
    }
    return CS_OK;
}

cs_status cs_device_solve_parts(void *state, cs_parts_call *call, cs_error *error)
{
    static const char *const names[] = {"auto", "thread", "half_warp", "warp"};
    cs_on_device *d = state;
    cs_status status = d->parts.count ? CS_OK : lay_parts(d, call, error);
    call->halted = 0;
    cs_device_changed(d);
    if (!status) status = sweep_parts(d, call, error);
    if (!status && d->parts.history)
        d->device->download(d->queue, call->history, d->parts.history,
                            (size_t)(call->histories * (call->rule.most + 1)) * CS_PART_COLUMNS *
                                sizeof(double));
    if (!status) status = d->device->wait(d->queue, error);
    call->used = names[d->parts.per];
    return status;
}
