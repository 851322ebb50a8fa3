/* Sweeps of a device over whole rows of T, from one iterate to the next (cuda/dense.inc, cuda/panels.inc): their stages. */
#include "backend/device_flow.h"
#include "core/error.h"
#include "scheme/dense.h"

enum {
    STATIC_BYTES = 1024,       /* what a block of a panel shares besides */
    EARLY_BYTES = 6000000,     /* of T: to which kernels start early, */
    STREAMED_BYTES = 100000000 /* and from which they do in single precision */
};

/* The only group that has contacts; -1: there are several. */
static int only_group(const cs_packed *packed)
{
    int only = -1;
    for (int g = 0; g < packed->problem->block_groups; g++) {
        if (!packed->group[g].count) continue;
        if (only >= 0) return -1;
        only = g;
    }
    return only;
}

/* Whether the visits of a group have their impulses one after another: 1, from the last to the first: -1, or not: 0. */
static int direction_of(const cs_packed_group *group)
{
    int64_t rows = group->rows, step = rows;
    if (group->count > 1 && group->row[1] < group->row[0]) step = -rows;
    for (int64_t v = 1; v < group->count; v++)
        if (group->row[v] != group->row[v - 1] + step) return 0;
    return step > 0 ? 1 : -1;
}

/* How many contacts of a group a panel has. */
static int64_t contacts_of_panel(const cs_packed *packed, const cs_packed_group *group,
                                 int64_t shared)
{
    int64_t contacts = CS_PANEL_ROWS / group->rows, size = (int64_t)cs_real_size(packed->dtype);
    if (contacts > CS_PANEL_CONTACTS) contacts = CS_PANEL_CONTACTS;
    while (contacts > 1 && cs_panel_bytes(contacts * group->rows, size) + STATIC_BYTES > shared)
        contacts--;
    return contacts;
}

/* Appends visits of a group. With `stage` NULL they are only counted. */
static void append(cs_flow_lists *lists, cs_dense_stage *stage, const cs_packed *packed, int g,
                   int64_t first, int64_t count)
{
    const cs_packed_group *group = &packed->group[g];
    cs_dense_stage own = {.group = g, .first = first, .count = count, .stats = lists->places};
    if (lists->dense.ordered) {
        own.begin = group->row[lists->dense.descends ? first + count - 1 : first];
        own.end = own.begin + count * group->rows;
    }
    if (stage) stage[lists->dense.stages] = own;
    lists->dense.stages++;
    lists->places += lists->dense.panels ? 1 : count;
}

/* The stages of a forward sweep; `most`: contacts of a panel. */
static void list_stages(const cs_packed *packed, int64_t most, cs_dense_stage *stage,
                        cs_flow_lists *lists)
{
    const cs_schedule *schedule = packed->schedule;
    lists->dense.stages = lists->places = 0;
    for (int64_t s = 0; s < schedule->stages; s++)
        for (int g = 0; g < packed->problem->block_groups; g++) {
            int64_t first, count;
            if (!cs_device_find_visits(packed, &schedule->stage[s], g, &first, &count)) continue;
            if (!lists->dense.panels) {
                append(lists, stage, packed, g, first, count);
                continue;
            }
            for (int64_t v = 0; v < count; v += most)
                append(lists, stage, packed, g, first + v, count - v < most ? count - v : most);
        }
}

cs_status cs_dense_lay(const cs_packed *packed, int64_t shared, cs_arena *arena,
                       cs_flow_lists *lists, const char **why, cs_error *error)
{
    /* Stages that see others have to be one after another in lambda, too. */
    const cs_schedule *schedule = packed->schedule;
    *lists = (cs_flow_lists){.way = CS_FLOW_DENSE, .set = -1};
    int sequential = 0, g = only_group(packed);
    for (int64_t s = 0; s < schedule->stages; s++)
        sequential |= !cs_dense_writes_behind(schedule->stage[s].kind);
    lists->dense.ordered = sequential || schedule->stages > 1;
    lists->dense.panels = sequential;
    int direction = g >= 0 ? direction_of(&packed->group[g]) : 0;
    *why = NULL;
    if (lists->dense.ordered && !direction)
        *why = "the impulses of the visits do not follow one another";
    else if (sequential && schedule->stages > 1) *why = "some contacts of a stage see each other";
    else if (!packed->impulses) *why = "there are no contacts";
    if (*why) return CS_OK;

    /* The stages. */
    lists->dense.descends = direction < 0;
    lists->group = g >= 0 ? g : 0;
    int64_t most = sequential ? contacts_of_panel(packed, &packed->group[g], shared) : 0;
    list_stages(packed, most, NULL, lists);
    cs_dense_stage *stage = cs_arena_take(arena, lists->dense.stages, sizeof *stage);
    if (!stage) return cs_no_memory(error, "the stages of a sweep");
    list_stages(packed, most, stage, lists);
    lists->dense.stage = stage;

    /* Small matrices wait for the launch; those that come from memory gain by the loads that are on their way. What is as large
     * as the second-level cache loses, because blocks that wait take their place in it. */
    double bytes = (double)packed->impulses * (double)packed->dense_stride *
                   (double)cs_real_size(packed->dtype);
    lists->dense.early =
        bytes <= EARLY_BYTES || (packed->dtype == CS_F32 && bytes >= STREAMED_BYTES);
    return CS_OK;
}

int64_t cs_dense_sweeps(const cs_dense_plan *plan)
{
    int64_t sweeps = CS_GRAPH_KERNELS / plan->stages;
    return sweeps < 1 ? 1 : sweeps > CS_GRAPH_SWEEPS ? CS_GRAPH_SWEEPS : sweeps;
}
