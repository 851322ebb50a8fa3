/* The steps of sweeps on a device, from the stages of a schedule. */
#include "backend/device_internal.h"
#include "scheme/dense.h"

/* Appends a step; with `step` NULL it only counts. */
static void append(cs_step_list *list, cs_device_step step, int64_t blocks)
{
    step.stats = list->blocks;
    if (list->step) list->step[list->count] = step;
    list->count++;
    list->blocks += blocks;
}

int cs_device_find_visits(const cs_packed *packed, const cs_stage *stage, int g, int64_t *first,
                          int64_t *count)
{
    const cs_schedule *schedule = packed->schedule;
    int64_t begin = schedule->part[stage->first_part];
    *count = 0;
    for (int64_t r = begin; r < schedule->part[stage->first_part + stage->parts]; r++) {
        const cs_range *range = &schedule->range[r];
        if (range->group != g || !range->count) continue;
        if (!*count) *first = range->first;
        *count = range->first + range->count - *first;
    }
    return *count > 0;
}

/* Appends the visits of group g in a stage, all at once. */
static void append_group(cs_step_list *list, const cs_packed *packed, const cs_stage *stage, int g,
                         cs_device_task batches)
{
    const cs_packed_group *group = &packed->group[g];
    int64_t first, count;
    if (!cs_device_find_visits(packed, stage, g, &first, &count)) return;
    int writes = stage->kind != CS_SIMULTANEOUS;
    cs_device_step step = {CS_STEP_VISITS, g, writes, first, count, 0};
    if (group->lanes > 1) {
        step.task = batches;
        step.first = group->slot[first] / group->lanes;
        step.count = group->slot[first + count - 1] / group->lanes + 1 - step.first;
        append(list, step, cs_quotient(step.count, CS_DEVICE_BATCHES));
    } else {
        append(list, step, cs_quotient(step.count, CS_DEVICE_THREADS));
    }
}

/* Appends the steps of a stage of the scheme `dense`. */
static void append_dense_stage(cs_step_list *list, const cs_packed *packed, const cs_stage *stage)
{
    if (!cs_dense_writes_behind(stage->kind)) {
        append(list,
               (cs_device_step){CS_STEP_DENSE_PARTS, 0, 1, stage->first_part, stage->parts, 0},
               stage->parts);
        return;
    }
    for (int take = 0; take < 2; take++)
        for (int g = 0; g < packed->problem->block_groups; g++) {
            cs_device_step step = {take ? CS_STEP_DENSE_TAKE : CS_STEP_DENSE, g, 0, 0, 0, 0};
            if (cs_device_find_visits(packed, stage, g, &step.first, &step.count))
                append(list, step, take ? 0 : step.count);
        }
}

/* Appends a copy of the impulses of a stage: those between the first and the last of them. */
static void append_keep(cs_step_list *list, const cs_packed *packed, const cs_stage *stage)
{
    const cs_schedule *schedule = packed->schedule;
    int64_t first = packed->impulses, end = 0;
    for (int64_t r = schedule->part[stage->first_part];
         r < schedule->part[stage->first_part + stage->parts]; r++) {
        const cs_range *range = &schedule->range[r];
        const cs_packed_group *group = &packed->group[range->group];
        for (int64_t v = range->first; v < range->first + range->count; v++) {
            if (group->row[v] < first) first = group->row[v];
            if (group->row[v] + group->rows > end) end = group->row[v] + group->rows;
        }
    }
    if (first < end) append(list, (cs_device_step){CS_STEP_KEEP, 0, 0, first, end - first, 0}, 0);
}

/* Appends the steps of a stage. */
static void append_stage(cs_step_list *list, const cs_packed *packed, const cs_stage *stage)
{
    int simultaneous = stage->kind == CS_SIMULTANEOUS;
    if (packed->dense_stride) {
        append_dense_stage(list, packed, stage);
        return;
    }
    if (simultaneous && !packed->velocity) append_keep(list, packed, stage);
    if (simultaneous || stage->kind == CS_INDEPENDENT) {
        for (int g = 0; g < packed->problem->block_groups; g++)
            append_group(list, packed, stage, g, CS_STEP_BATCHES);
    } else {
        append(list, (cs_device_step){CS_STEP_PARTS, 0, 1, stage->first_part, stage->parts, 0},
               cs_quotient(stage->parts, CS_DEVICE_THREADS));
    }
    if (simultaneous && packed->velocity)
        append(list, (cs_device_step){CS_STEP_GATHER, 0, 0, 0, packed->moved_bodies, 0}, 0);
}

static void list_sweep(cs_step_list *list, const cs_packed *packed, int backwards)
{
    const cs_schedule *schedule = packed->schedule;
    list->count = list->blocks = 0;
    for (int64_t i = 0; i < schedule->stages; i++) {
        append_stage(list, packed, &schedule->stage[backwards ? schedule->stages - 1 - i : i]);
        list->stage_end[i] = list->count;
    }
}

/* u = G^T lambda: contributions, the sums of bodies, and the batches without contributions, stage by stage. */
static void list_refresh(cs_step_list *list, const cs_packed *packed, int backwards)
{
    const cs_schedule *schedule = packed->schedule;
    (void)backwards;
    list->count = list->blocks = 0;
    if (!packed->velocity) return;
    for (int after = 0; after < 2; after++) {
        for (int64_t s = 0; s < schedule->stages; s++)
            for (int g = 0; g < packed->problem->block_groups; g++) {
                const cs_packed_group *group = &packed->group[g];
                if (group->lanes > 1 && after == !group->factors.contribution)
                    append_group(list, packed, &schedule->stage[s], g, CS_STEP_ADD);
            }
        if (!after)
            append(list, (cs_device_step){CS_STEP_GATHER, 0, 0, 0, packed->moved_bodies, 0}, 0);
    }
}

/* In mixed precision: b -= A lambda. */
static void list_subtract(cs_step_list *list, const cs_packed *packed, int backwards)
{
    (void)backwards;
    list->count = list->blocks = 0;
    if (packed->dtype != CS_MIXED) return;
    if (!packed->velocity)
        append(list, (cs_device_step){CS_STEP_KEEP, 0, 0, 0, packed->impulses, 0}, 0);
    for (int g = 0; g < packed->problem->block_groups; g++) {
        const cs_packed_group *group = &packed->group[g];
        int wide = group->lanes > 1;
        cs_device_task task = wide ? CS_STEP_SUBTRACT_BATCHES : CS_STEP_SUBTRACT_VISITS;
        append(list, (cs_device_step){task, g, 0, 0, group->slots / group->lanes, 0}, 0);
    }
}

/* Fills a list, which is counted first. */
static cs_status take_list(cs_step_list *list, const cs_packed *packed, cs_arena *arena,
                           void (*fill)(cs_step_list *, const cs_packed *, int), int backwards,
                           cs_error *error)
{
    fill(list, packed, backwards);
    list->step = cs_arena_take(arena, list->count, sizeof *list->step);
    if (!list->step) return cs_no_workspace(error);
    fill(list, packed, backwards);
    return CS_OK;
}

cs_status cs_device_list_steps(cs_on_device *d, cs_arena *arena, cs_error *error)
{
    const cs_packed *packed = &d->packed;
    for (int i = 0; i < 2; i++) {
        d->sweep[i].stage_end = cs_arena_take(arena, packed->schedule->stages, sizeof(int64_t));
        if (!d->sweep[i].stage_end) return cs_no_workspace(error);
    }
    cs_status status = take_list(&d->sweep[0], packed, arena, list_sweep, 0, error);
    if (!status) status = take_list(&d->sweep[1], packed, arena, list_sweep, 1, error);
    if (!status) status = take_list(&d->refresh, packed, arena, list_refresh, 0, error);
    if (!status) status = take_list(&d->subtract, packed, arena, list_subtract, 0, error);
    d->program.blocks = d->sweep[0].blocks > 0 ? d->sweep[0].blocks : 1;
    return status;
}
