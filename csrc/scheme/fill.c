#include "scheme/fill.h"

#include "core/parallel.h"

#include <string.h>

/* How many visits ahead the Jacobians are prefetched: the order of visits jumps about in memory. */
enum { AHEAD = 128 };

/* The slots of a group that one thread fills. */
typedef struct fill_task {
    const cs_packed *packed;
    int g;
    int64_t first, end; /* slots, multiples of CS_BLOCK_LANES except for the last end */
    int fits;           /* out: whether all contacts fit the form of the group */
} fill_task;

/* The first visit in slot `slot` or after it. Slots ascend with the visits. */
static int64_t visit_at(const cs_packed_group *group, int64_t slot)
{
    if (group->lanes == 1) return slot;
    int64_t low = 0, high = group->count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (group->slot[middle] < slot) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Stores the numbers of `count` visits, from `visit` on, in their slots. `numbers` holds number 0 of all visits, then
 * number 1, and so on. */
static void put_scattered(const cs_packed *packed, const cs_packed_group *group, int64_t visit,
                          int count, const double *numbers, int64_t width)
{
    int64_t lanes = group->lanes;
    for (int l = 0; l < count; l++) {
        int64_t first = cs_packed_place(group, visit + l, width, 0);
        if (cs_stored(packed->dtype) == CS_F64)
            for (int64_t i = 0; i < width; i++)
                ((double *)group->factors.scaled)[first + i * lanes] =
                    numbers[i * CS_BLOCK_LANES + l];
        else
            for (int64_t i = 0; i < width; i++)
                ((float *)group->factors.scaled)[first + i * lanes] =
                    (float)numbers[i * CS_BLOCK_LANES + l];
    }
}

/* Stores `run` lanes, from `lane` of `numbers` on, in consecutive lanes of one batch. */
CS_INLINE void put_run(cs_dtype precision, void *scaled, int64_t first, int lanes, int run,
                       const double *numbers, int lane, int64_t width)
{
    for (int64_t i = 0; i < width; i++) {
        const double *from = numbers + i * CS_BLOCK_LANES + lane;
        if (precision == CS_F64)
            memcpy((double *)scaled + first + i * lanes, from, sizeof(double) * (size_t)run);
        else
            for (int l = 0; l < run; l++) ((float *)scaled)[first + i * lanes + l] = (float)from[l];
    }
}

/* The same as put_scattered for CS_BLOCK_LANES visits that fill the slots from `slot` on. */
static void put_contiguous(const cs_packed *packed, const cs_packed_group *group, int64_t slot,
                           const double *numbers, int64_t width)
{
    int lanes = group->lanes, run = lanes < CS_BLOCK_LANES ? lanes : CS_BLOCK_LANES;
    cs_dtype precision = cs_stored(packed->dtype);
    for (int l = 0; l < CS_BLOCK_LANES; l += run) {
        int64_t lane = cs_lane_of(group, slot + l);
        int64_t first = (slot + l - lane) * width + lane;
        if (run == CS_BLOCK_LANES)
            put_run(precision, group->factors.scaled, first, lanes, CS_BLOCK_LANES, numbers, l,
                    width);
        else put_run(precision, group->factors.scaled, first, lanes, run, numbers, l, width);
    }
}

/* Begins to load the Jacobians of visits first ... end - 1. */
static void prefetch(const fill_task *task, int64_t first, int64_t end)
{
    const cs_block_group *blocks = &task->packed->problem->block_group[task->g];
    const int64_t *index = task->packed->schedule->visit[task->g];
    int64_t size = cs_jacobian_numbers(blocks);
    if (end > blocks->count) end = blocks->count;
    for (int64_t v = first; v < end; v++) cs_prefetch(cs_stored_jacobian(blocks, index[v]), size);
}

/* Fills one visit. Returns 0 if the contact does not fit the form. */
static int fill_visit(const fill_task *task, int64_t visit)
{
    const cs_packed *packed = task->packed;
    const cs_packed_group *group = &packed->group[task->g];
    const cs_block_group *blocks = &packed->problem->block_group[task->g];
    int64_t index = packed->schedule->visit[task->g][visit];
    double numbers[CS_MAX_JACOBIAN];
    int width = cs_form_width(group->factors.form, group->rows, group->column[group->partners]);
    if (group->factors.form == CS_GENERAL)
        cs_scaled_jacobian(packed->problem, blocks, index, numbers);
    else if (!cs_compress(packed, task->g, index, numbers)) return 0;
    cs_put_visit(cs_stored(packed->dtype), group, group->factors.scaled, visit, numbers, width);
    return 1;
}

/* Fills `count` visits, at most CS_BLOCK_LANES, at once: those in the slots from `slot` on. Returns 0 if a contact does
 * not fit the form. */
static int fill_lanes(const fill_task *task, int64_t slot, int64_t visit, int count)
{
    /* The blocks in the lanes; those that remain repeat the first one. */
    const cs_packed *packed = task->packed;
    const cs_packed_group *group = &packed->group[task->g];
    const cs_block_group *blocks = &packed->problem->block_group[task->g];
    const int64_t *index = packed->schedule->visit[task->g] + visit;
    int64_t padded[CS_BLOCK_LANES];
    for (int l = 0; l < CS_BLOCK_LANES && count < CS_BLOCK_LANES; l++)
        padded[l] = index[l < count ? l : 0];
    cs_block_lanes lanes;
    cs_block_lanes_find(packed->problem, blocks, count < CS_BLOCK_LANES ? padded : index, &lanes);

    /* A block whose partners are one body: visit by visit. CS_GENERAL holds any contact. */
    if (group->factors.form == CS_GENERAL && lanes.twofold) {
        for (int l = 0; l < count; l++) fill_visit(task, visit + l);
        return 1;
    }

    /* Compute G, or compress it. */
    int width = cs_form_width(group->factors.form, group->rows, group->column[group->partners]);
    _Alignas(64) double numbers[CS_BLOCK_LANES_NUMBERS * CS_BLOCK_LANES];
    if (group->factors.form == CS_GENERAL) cs_block_lanes_widest()->scaled(&lanes, numbers);
    else if (!cs_compress_lanes(packed, task->g, &lanes, numbers)) return 0;

    /* Store the numbers. */
    if (count == CS_BLOCK_LANES && group->lanes > 1)
        put_contiguous(packed, group, slot, numbers, width);
    else put_scattered(packed, group, visit, count, numbers, width);
    return 1;
}

/* Fills the slots of one task: in vectors if possible, otherwise one by one. */
static void run_task(void *context, int thread)
{
    fill_task *task = (fill_task *)context + thread;
    const cs_problem *problem = task->packed->problem;
    const cs_packed_group *group = &task->packed->group[task->g];
    int64_t visit = visit_at(group, task->first), last = visit_at(group, task->end);

    /* The vectors compress contacts in space only. */
    int in_lanes = cs_block_lanes_fit(problem, &problem->block_group[task->g]) &&
                   group->factors.form != CS_PLANAR;
    task->fits = 1;
    for (; !in_lanes && visit < last && task->fits; visit++) task->fits = fill_visit(task, visit);

    /* The visits in each run of CS_BLOCK_LANES slots. */
    for (int64_t slot = task->first; visit < last && task->fits; slot += CS_BLOCK_LANES) {
        int64_t end = visit + CS_BLOCK_LANES < last ? visit + CS_BLOCK_LANES : last;
        while (group->lanes > 1 && end > visit && group->slot[end - 1] >= slot + CS_BLOCK_LANES)
            end--;
        prefetch(task, visit + AHEAD, end + AHEAD);
        if (visit < end) task->fits = fill_lanes(task, slot, visit, (int)(end - visit));
        visit = end;
    }
}

int cs_fill_factors(const cs_packed *packed, int g)
{
    /* Cut the slots into pieces of whole vectors; the last piece also has the rest. */
    fill_task piece[CS_MOST_PIECES];
    int64_t slots = packed->group[g].slots, vectors = slots / CS_BLOCK_LANES;
    int pieces = cs_pieces(packed->setup_threads, slots), fits = 1;
    for (int p = 0; p < pieces; p++)
        piece[p] = (fill_task){.packed = packed,
                               .g = g,
                               .first = vectors * p / pieces * CS_BLOCK_LANES,
                               .end = p + 1 < pieces ? vectors * (p + 1) / pieces * CS_BLOCK_LANES
                                                     : slots};

    /* Fill them, on several threads if there are several pieces. */
    if (pieces == 1) run_task(piece, 0);
    else cs_parallel(pieces, run_task, piece);
    for (int p = 0; p < pieces; p++) fits &= piece[p].fits;
    return fits;
}
