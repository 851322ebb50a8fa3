/* Sweeps of a device by regions (cuda/regions.inc): which sweeps, which block of threads makes which visits, and where it
 * keeps the velocities of which bodies. */
#include "backend/device_flow.h"

#include "core/error.h"
#include "scheme/wide.h"

#include <string.h>

enum { LANES = 32 };

const char *cs_regions_why_not(const cs_packed *packed)
{
    if (!packed->schedule->region)
        return "the order is not regions, or its stages are divided into subtasks";
    return cs_flow_why_not(packed);
}

/* What is laid out. */
typedef struct layout {
    const cs_packed *packed;
    cs_flow_lists *lists;
    cs_device_visit *listed;        /* (visits): in the order of a forward sweep */
    int64_t *number[CS_MAX_GROUPS]; /* (batches of the group): the place of a batch in this list */
    int64_t *next;                  /* (inner stages): the parts that have been taken */
    int64_t outer;                  /* the first visit of the outer stages in this list */
    int32_t *region_of;             /* (moved_bodies): the region of each */
    int32_t *place;                 /* (moved_bodies): its place in the region */
    int32_t *placed;                /* (count): bodies of a region that have a place */
    int32_t *contacts;              /* (moved_bodies): its outer contacts */
    /* Those of cs_region_plan, as they are filled. */
    int64_t *begin;
    int32_t *body_start, *body, *degree, *edge;
} layout;

static cs_status allocate(layout *l, cs_arena *arena, cs_arena *scratch, cs_error *error)
{
    const cs_packed *packed = l->packed;
    cs_region_plan *plan = &l->lists->region;
    int64_t bodies = packed->moved_bodies;

    /* What the device needs. */
    plan->count = packed->schedule->divided_into;
    plan->inner = packed->schedule->inner_stages;
    l->begin = cs_arena_take(arena, plan->count * (plan->inner + 1) + 1, sizeof *l->begin);
    l->body_start = cs_arena_take(arena, plan->count + 1, sizeof *l->body_start);
    l->body = cs_arena_take(arena, bodies, sizeof *l->body);
    l->degree = cs_arena_take(arena, bodies, sizeof *l->degree);
    l->edge = cs_arena_take(arena, plan->count, sizeof *l->edge);
    cs_status status = cs_arena_status(arena, error, "the workspace");
    plan->begin = l->begin;
    plan->body_start = l->body_start;
    plan->body = l->body;
    plan->degree = l->degree;
    plan->edge = l->edge;

    /* Scratch. */
    l->listed = cs_arena_take(scratch, l->lists->visits, sizeof *l->listed);
    l->next = cs_arena_take(scratch, plan->inner, sizeof *l->next);
    l->region_of = cs_arena_take(scratch, bodies, sizeof *l->region_of);
    l->place = cs_arena_take(scratch, bodies, sizeof *l->place);
    l->placed = cs_arena_take(scratch, plan->count, sizeof *l->placed);
    l->contacts = cs_arena_take(scratch, bodies, sizeof *l->contacts);
    for (int g = 0; g < packed->problem->block_groups; g++)
        l->number[g] = cs_arena_take(scratch, packed->group[g].slots / LANES, sizeof *l->number[g]);
    return status ? status : cs_arena_status(scratch, error, "the workspace");
}

/* Numbers the batches by their places in the list, and finds where the outer ones begin. */
static void number_batches(layout *l)
{
    const cs_schedule *schedule = l->packed->schedule;
    for (int64_t v = 0; v < l->lists->visits; v++)
        l->number[l->listed[v].group][l->listed[v].batch] = v;
    for (int64_t p = 0; p < schedule->parts && schedule->region[p] >= 0; p++)
        for (int64_t r = schedule->part[p]; r < schedule->part[p + 1]; r++) {
            const cs_range *range = &schedule->range[r];
            const cs_packed_group *group = &l->packed->group[range->group];
            l->outer += cs_end_batch(group, range) - cs_first_batch(group, range);
        }
}

/* The part of a region in an inner stage; -1: it has none. The parts of a stage are sorted by region, and regions come in
 * their order. */
static int64_t take_part(layout *l, int64_t stage, int64_t region)
{
    const cs_schedule *schedule = l->packed->schedule;
    const cs_stage *s = &schedule->stage[stage];
    int64_t part = s->first_part + l->next[stage];
    if (l->next[stage] == s->parts || schedule->region[part] != region) return -1;
    l->next[stage]++;
    return part;
}

/* Appends the visits of a part, whose bodies belong to the region. Returns the new number of visits. */
static int64_t append_part(layout *l, int64_t part, int64_t region, int64_t end)
{
    const cs_schedule *schedule = l->packed->schedule;
    for (int64_t r = schedule->part[part]; r < schedule->part[part + 1]; r++) {
        const cs_range *range = &schedule->range[r];
        const cs_packed_group *group = &l->packed->group[range->group];
        for (int64_t b = cs_first_batch(group, range); b < cs_end_batch(group, range); b++) {
            const cs_device_visit *visit = &l->listed[l->number[range->group][b]];
            for (int i = 0; i < 2 * LANES; i++) {
                int64_t record = cs_flow_record_of(l->packed, visit, i / LANES, i % LANES);
                if (record >= 0) l->region_of[record] = (int32_t)region;
            }
            l->lists->visit[end++] = *visit;
        }
    }
    return end;
}

/* visit <- those of each region: its inner stages, then every count-th batch of the outer ones. */
static void sort_visits(layout *l)
{
    const cs_region_plan *plan = &l->lists->region;
    int64_t end = 0, *begin = l->begin;
    for (int64_t region = 0; region < plan->count; region++) {
        for (int64_t stage = 0; stage < plan->inner; stage++) {
            *begin++ = end;
            int64_t part = take_part(l, stage, region);
            if (part >= 0) end = append_part(l, part, region, end);
        }
        *begin++ = end;
        for (int64_t v = l->outer + region; v < l->lists->visits; v += plan->count)
            l->lists->visit[end++] = l->listed[v];
    }
    *begin = end;
}

/* Lists the bodies of each region, those with outer contacts first. */
static void list_bodies(layout *l)
{
    cs_region_plan *plan = &l->lists->region;
    int64_t bodies = l->packed->moved_bodies;

    /* Where the bodies of each region begin, and how many have outer contacts. */
    for (int64_t i = 0; i < bodies; i++) {
        l->body_start[l->region_of[i] + 1]++;
        l->edge[l->region_of[i]] += l->contacts[i] > 0;
    }
    for (int64_t r = 0; r < plan->count; r++) {
        if (l->body_start[r + 1] > plan->most_bodies) plan->most_bodies = l->body_start[r + 1];
        l->body_start[r + 1] += l->body_start[r];
    }

    /* Place them. */
    for (int inside = 0; inside < 2; inside++)
        for (int64_t i = 0; i < bodies; i++) {
            if ((l->contacts[i] == 0) != inside) continue;
            int32_t r = l->region_of[i];
            l->place[i] = l->placed[r]++;
            int64_t at = l->body_start[r] + l->place[i];
            l->body[at] = (int32_t)i;
            l->degree[at] = l->contacts[i];
        }
}

/* order <- the places of the bodies of inner visits in their regions. Returns 0 if both sides of a contact are one body. */
static int place_sides(const layout *l)
{
    for (int64_t v = 0; v < l->outer; v++)
        for (int lane = 0; lane < LANES; lane++) {
            const cs_device_visit *visit = &l->listed[v];
            int64_t record[2];
            for (int side = 0; side < 2; side++) {
                record[side] = cs_flow_record_of(l->packed, visit, side, lane);
                l->lists->order[visit->order + side * LANES + lane] =
                    record[side] < 0 ? UINT32_MAX : (uint32_t)l->place[record[side]];
            }
            if (record[0] >= 0 && record[0] == record[1]) return 0;
        }
    return 1;
}

/* Sorts the visits by region, once they have been listed in the order of a sweep. */
static void lay(layout *l, const char **why)
{
    /* Outer visits are ranked in the order of the sweep. A sweep has one version more than these. */
    cs_flow_lists *lists = l->lists;
    memcpy(l->listed, lists->visit, sizeof *l->listed * (size_t)lists->visits);
    number_batches(l);
    cs_flow_rank(l->packed, lists, l->outer, l->contacts, why);
    lists->most_degree++;
    if (*why) return;

    /* Bodies without inner contacts belong to any region. */
    for (int64_t i = 0; i < l->packed->moved_bodies; i++)
        l->region_of[i] = (int32_t)(i % lists->region.count);
    sort_visits(l);
    list_bodies(l);
    if (!place_sides(l)) *why = "both sides of a contact are one body";
}

cs_status cs_regions_lay(const cs_packed *packed, const cs_device_step *forwards,
                         const cs_device_step *backwards, int64_t steps, cs_arena *arena,
                         cs_flow_lists *lists, const char **why, cs_error *error)
{
    cs_arena scratch = {0};
    layout l = {.packed = packed, .lists = lists};
    *lists = (cs_flow_lists){.way = CS_FLOW_REGIONS};
    cs_status status = cs_flow_take(packed, forwards, steps, arena, lists, error);
    if (!status) status = allocate(&l, arena, &scratch, error);
    if (!status) {
        cs_flow_list_visits(forwards, backwards, steps, lists->visit);
        lay(&l, why);
    }
    cs_arena_clear(&scratch);
    return status;
}

int64_t cs_regions_shared(const cs_packed *packed, const cs_flow_lists *lists)
{
    int64_t velocity = packed->group[lists->group].dof[0] * (int64_t)cs_real_size(packed->dtype);
    return lists->region.most_bodies * velocity;
}
