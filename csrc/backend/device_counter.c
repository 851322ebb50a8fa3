/* Sweeps of a device by counters (cuda/counter.inc): which visits each visit waits for. */
#include "backend/device_flow.h"

#include "core/error.h"

#include <stdlib.h>
#include <string.h>

enum { NOBODY = -1 };

static int is_over_contacts(const cs_packed *packed)
{
    return strcmp(packed->scheme->name, "factorized") == 0;
}

const char *cs_counter_why_not(const cs_packed *packed)
{
    /* The scheme and the order. */
    if (packed->dense_stride) return "every contact of the scheme dense reads all others";
    for (int64_t s = 0; s < packed->schedule->stages; s++)
        if (cs_stage_hides(packed->schedule->stage[s].kind))
            return "contacts of a stage of the order do not see each other's updates";

    /* The groups. */
    if (packed->problem->blocks > INT32_MAX / 2) return "there are more than 2^30 - 1 contacts";
    int64_t visits = 0;
    for (int g = 0; g < packed->problem->block_groups; g++) {
        if (packed->group[g].lanes > 1) return "contacts are visited in batches";
        visits += packed->group[g].count;
    }
    return visits ? NULL : "there are no contacts";
}

/* ---- the order of the visits ------------------------------------------------------------------ */

/* Where the list of a part has come to: a range, and a visit in it. */
typedef struct place {
    int64_t range, visit;
} place;

/* visit <- the next visit of a part. Returns 0 after the last one. */
static int next_visit(const cs_schedule *schedule, int64_t part, place *at, cs_device_visit *visit)
{
    while (at->range < schedule->part[part + 1] && at->visit == schedule->range[at->range].count)
        *at = (place){at->range + 1, 0};
    if (at->range == schedule->part[part + 1]) return 0;
    const cs_range *range = &schedule->range[at->range];
    *visit =
        (cs_device_visit){.group = range->group, .batch = (int32_t)(range->first + at->visit++)};
    return 1;
}

/* visit <- all visits. Parts of a stage take turns, since they do not wait for each other. `at`: (parts of a stage). */
static void list_visits(const cs_schedule *schedule, place *at, cs_device_visit *visit)
{
    int64_t end = 0;
    for (int64_t s = 0; s < schedule->stages; s++) {
        const cs_stage *stage = &schedule->stage[s];
        for (int64_t p = 0; p < stage->parts; p++)
            at[p] = (place){schedule->part[stage->first_part + p], 0};
        for (int listed = 1; listed;) {
            listed = 0;
            for (int64_t p = 0; p < stage->parts; p++) {
                int more = next_visit(schedule, stage->first_part + p, &at[p], &visit[end]);
                end += more;
                listed |= more;
            }
        }
    }
}

/* ---- contacts: the visits before and after on each body --------------------------------------- */

/* Where the velocity of a side's body begins; NOBODY if it does not move, or is that of the other side. */
static int64_t velocity_of(const cs_packed *packed, const cs_device_visit *visit, int side)
{
    const int64_t *velocity = packed->group[visit->group].factors.velocity + 2 * visit->batch;
    if (velocity[side] >= packed->first_spare) return NOBODY;
    return side && velocity[1] == velocity[0] ? NOBODY : velocity[side];
}

/* near (visits, 2 sides, 2) <- the visits to the body of a side before and after it, in a ring: the first visit of a sweep
 * comes after the last one of the sweep before. `first`, `last`: (velocities), filled with NOBODY. */
static void find_neighbours(const cs_packed *packed, const cs_flow_lists *lists, int32_t *first,
                            int32_t *last, int32_t *near)
{
    for (int64_t i = 0; i < 2 * lists->visits; i++) {
        int64_t velocity = velocity_of(packed, &lists->visit[i / 2], (int)(i % 2));
        near[2 * i] = near[2 * i + 1] = NOBODY;
        if (velocity < 0) continue;
        if (last[velocity] < 0) {
            first[velocity] = (int32_t)i;
        } else {
            near[2 * i] = last[velocity] / 2;
            near[2 * (int64_t)last[velocity] + 1] = (int32_t)(i / 2);
        }
        last[velocity] = (int32_t)i;
    }
    for (int64_t v = 0; v < packed->first_spare; v++) {
        if (first[v] < 0) continue;
        near[2 * (int64_t)first[v]] = last[v] / 2;
        near[2 * (int64_t)last[v] + 1] = first[v] / 2;
    }
}

/* wait <- those neighbours. */
static cs_status wait_for_contacts(const cs_packed *packed, cs_arena *arena, cs_arena *scratch,
                                   cs_flow_lists *lists, cs_error *error)
{
    /* The neighbours of each visit. */
    int32_t *first = cs_arena_take(scratch, packed->first_spare, sizeof *first);
    int32_t *last = cs_arena_take(scratch, packed->first_spare, sizeof *last);
    int32_t *near = cs_arena_take(scratch, 4 * lists->visits, sizeof *near);
    lists->wait = cs_arena_take(arena, 4 * lists->visits, sizeof *lists->wait);
    cs_status status = cs_arena_status(scratch, error, "the workspace");
    if (!status) status = cs_arena_status(arena, error, "the workspace");
    if (status) return status;
    for (int64_t v = 0; v < packed->first_spare; v++) first[v] = last[v] = NOBODY;
    find_neighbours(packed, lists, first, last, near);

    /* All but itself. */
    for (int64_t v = 0; v < lists->visits; v++) {
        int64_t *end = &lists->wait_start[v + 1];
        *end = lists->wait_start[v];
        for (int i = 0; i < 4; i++)
            if (near[4 * v + i] >= 0 && near[4 * v + i] != v)
                lists->wait[(*end)++] = near[4 * v + i];
    }
    return CS_OK;
}

/* ---- rows: the visits to their columns -------------------------------------------------------- */

static int compare_columns(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Whether the row of a visit has a column. Columns are ascending. */
static int has_column(const cs_packed *packed, const cs_device_visit *visit, int64_t column)
{
    const cs_packed_rows *rows = &packed->group[visit->group].matrix;
    int64_t begin = rows->start[visit->batch], end = rows->start[visit->batch + 1];
    return bsearch(&column, rows->column + begin, (size_t)(end - begin), sizeof column,
                   compare_columns) != NULL;
}

/* wait <- the visits to the blocks of a row, which read its impulses as well: `why` <- that some do not. */
static cs_status wait_for_rows(const cs_packed *packed, cs_arena *arena, cs_arena *scratch,
                               cs_flow_lists *lists, const char **why, cs_error *error)
{
    /* The visit of each impulse. */
    int64_t columns = 0;
    for (int g = 0; g < packed->problem->block_groups; g++)
        columns += packed->group[g].matrix.start[packed->group[g].count];
    int32_t *visit_of = cs_arena_take(scratch, packed->impulses, sizeof *visit_of);
    lists->wait = cs_arena_take(arena, columns, sizeof *lists->wait);
    cs_status status = cs_arena_status(scratch, error, "the workspace");
    if (!status) status = cs_arena_status(arena, error, "the workspace");
    if (status) return status;
    for (int64_t v = 0; v < lists->visits; v++)
        visit_of[packed->group[lists->visit[v].group].row[lists->visit[v].batch]] = (int32_t)v;

    /* Those of its columns but itself. */
    for (int64_t v = 0; v < lists->visits; v++) {
        const cs_device_visit *own = &lists->visit[v];
        const cs_packed_group *group = &packed->group[own->group];
        int64_t *end = &lists->wait_start[v + 1];
        *end = lists->wait_start[v];
        for (int64_t e = group->matrix.start[own->batch]; e < group->matrix.start[own->batch + 1];
             e++) {
            int32_t other = visit_of[group->matrix.column[e]];
            if (other != v) lists->wait[(*end)++] = other;
            if (packed->problem->matrix &&
                !has_column(packed, &lists->visit[other], group->row[own->batch]))
                *why = "the given A has a block whose mirror image is not stored";
        }
    }
    return CS_OK;
}

cs_status cs_counter_lay(const cs_packed *packed, cs_arena *arena, cs_flow_lists *lists,
                         const char **why, cs_error *error)
{
    cs_arena scratch = {0};
    *why = NULL;
    *lists = (cs_flow_lists){.way = CS_FLOW_COUNTER, .set = -1, .most_degree = 1};
    for (int g = 0; g < packed->problem->block_groups; g++) lists->visits += packed->group[g].count;
    lists->places = (lists->visits + CS_DEVICE_BATCHES - 1) / CS_DEVICE_BATCHES * CS_DEVICE_BATCHES;
    lists->visit = cs_arena_take(arena, lists->visits, sizeof *lists->visit);
    lists->wait_start = cs_arena_take(arena, lists->visits + 1, sizeof *lists->wait_start);
    place *at = cs_arena_take(&scratch, packed->schedule->most_parts, sizeof *at);
    cs_status status = cs_arena_status(arena, error, "the workspace");
    if (!status) status = cs_arena_status(&scratch, error, "the workspace");
    if (!status) {
        list_visits(packed->schedule, at, lists->visit);
        status = is_over_contacts(packed)
                     ? wait_for_contacts(packed, arena, &scratch, lists, error)
                     : wait_for_rows(packed, arena, &scratch, lists, why, error);
    }
    cs_arena_clear(&scratch);
    return status;
}
