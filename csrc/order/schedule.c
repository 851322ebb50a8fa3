#include "order/schedule.h"

#include "core/error.h"

#include <string.h>

#define CS_ORDER(name) extern const cs_order cs_order_##name;
#include "order/orders.def"
#undef CS_ORDER

static const cs_order *const orders[] = {
#define CS_ORDER(name) &cs_order_##name,
#include "order/orders.def"
#undef CS_ORDER
};
enum { ORDERS = sizeof orders / sizeof *orders };

const cs_order *cs_order_find(const char *name)
{
    for (int i = 0; i < ORDERS; i++)
        if (strcmp(orders[i]->name, name) == 0) return orders[i];
    return NULL;
}

const char *cs_order_name(int i, const char **summary)
{
    if (i < 0 || i >= ORDERS) return NULL;
    if (summary) *summary = orders[i]->summary;
    return orders[i]->name;
}

static int group_of(const cs_problem *problem, int64_t block)
{
    return (int)(cs_block_group_of(problem, block) - problem->block_group);
}

/* Number of runs of blocks of one group. */
static int64_t count_ranges(const cs_problem *problem, const int64_t *sequence)
{
    int64_t ranges = 0;
    int last = -1;
    for (int64_t i = 0; i < problem->blocks; i++) {
        int group = group_of(problem, sequence[i]);
        ranges += group != last;
        last = group;
    }
    return ranges;
}

static void fill(const cs_problem *problem, const int64_t *sequence, cs_schedule *schedule)
{
    int64_t visited[CS_MAX_GROUPS] = {0};
    cs_range *range = schedule->range - 1;
    int last = -1;
    schedule->natural = 1;
    for (int64_t i = 0; i < problem->blocks; i++) {
        int group = group_of(problem, sequence[i]);
        if (group != last) *++range = (cs_range){group, visited[group], 0};
        last = group;
        int64_t index = sequence[i] - problem->block_group[group].first_block;
        schedule->natural &= index == visited[group];
        schedule->visit[group][visited[group]++] = index;
        range->count++;
    }
}

cs_status cs_schedule_single(const cs_problem *problem, cs_stage_kind kind, const int64_t *sequence,
                             cs_arena *arena, cs_schedule *schedule, cs_error *error)
{
    *schedule = (cs_schedule){.stages = 1, .ranges = count_ranges(problem, sequence)};
    schedule->stage = cs_arena_take(arena, 1, sizeof(cs_stage));
    schedule->range = cs_arena_take(arena, schedule->ranges, sizeof(cs_range));
    int complete = schedule->stage && schedule->range;
    for (int g = 0; g < problem->block_groups; g++) {
        schedule->visit[g] = cs_arena_take(arena, problem->block_group[g].count, sizeof(int64_t));
        complete = complete && schedule->visit[g];
    }
    if (!complete) return cs_fail(error, CS_NO_MEMORY, "out of memory for the schedule");
    *schedule->stage = (cs_stage){kind, 0, schedule->ranges};
    fill(problem, sequence, schedule);
    return CS_OK;
}
