#include "backend/device_flow.h"

#include "core/error.h"
#include "scheme/wide.h"

#include <string.h>

enum { LANES = 32, MOST_DEGREE = 0xffff };

cs_device_sweeps cs_device_sweeps_of(const char *word)
{
    if (strcmp(word, "dataflow") == 0) return CS_SWEEPS_DATAFLOW;
    if (strcmp(word, "counter") == 0) return CS_SWEEPS_COUNTER;
    if (strcmp(word, "on_chip") == 0) return CS_SWEEPS_ON_CHIP;
    if (strcmp(word, "regions") == 0) return CS_SWEEPS_REGIONS;
    if (strcmp(word, "graph") == 0) return CS_SWEEPS_GRAPH;
    return strcmp(word, "launches") == 0 ? CS_SWEEPS_LAUNCHES : CS_SWEEPS_AUTO;
}

/* Whether two groups are visited by the same kernel. */
static int have_one_kernel(const cs_packed_group *a, const cs_packed_group *b)
{
    return a->factors.form == b->factors.form && a->rows == b->rows && a->dof[0] == b->dof[0];
}

const char *cs_flow_why_not(const cs_packed *packed)
{
    /* The scheme and the order. */
    if (!packed->velocity || strcmp(packed->scheme->name, "factorized") != 0)
        return "scheme='factorized' is needed";
    for (int64_t s = 0; s < packed->schedule->stages; s++)
        if (packed->schedule->stage[s].kind != CS_INDEPENDENT)
            return "contacts of a stage of the order share bodies";

    /* The groups. */
    const cs_packed_group *one = NULL;
    for (int g = 0; g < packed->problem->block_groups; g++) {
        const cs_packed_group *group = &packed->group[g];
        if (!group->count) continue;
        if (group->lanes != LANES)
            return "some blocks have a shape or a local solution without batches";
        if (group->factors.contribution) return "velocities are recomputed after a sweep";
        if (one && !have_one_kernel(one, group)) return "blocks have several shapes";
        one = group;
    }
    if (!one) return "there are no contacts";
    if (packed->first_spare != packed->moved_bodies * cs_velocity_stride(one->dof[0]))
        return "bodies have several numbers of degrees of freedom";
    return NULL;
}

int64_t cs_flow_record_of(const cs_packed *packed, const cs_device_visit *visit, int side, int lane)
{
    const cs_packed_group *group = &packed->group[visit->group];
    int32_t place = group->factors.place[((int64_t)visit->batch * 2 + side) * LANES + lane];
    return place < packed->first_spare ? place / cs_velocity_stride(group->dof[0]) : -1;
}

/* visit <- the batches of the steps. Batches of a step are consecutive; a backward sweep has the steps in the reverse
 * order, and in each of them its first warp visits the last batch. */
void cs_flow_list_visits(const cs_device_step *forwards, const cs_device_step *backwards,
                         int64_t steps, cs_device_visit *visit)
{
    int64_t end = 0;
    for (int64_t i = 0; i < steps; i++) {
        const cs_device_step *step = &forwards[i], *back = backwards;
        while (back->group != step->group || back->first != step->first) back++;
        for (int64_t j = 0; j < step->count; j++)
            visit[end++] = (cs_device_visit){
                step->group,
                (int32_t)(step->first + j),
                0,
                {CS_DEVICE_BATCHES * step->stats + j,
                 CS_DEVICE_BATCHES * back->stats + step->count - 1 - j},
            };
    }
    for (int64_t v = 0; v < end; v++) visit[v].order = v * 2 * LANES;
}

/* order <- the rank of each side among the visits of its body. Returns the largest degree; 0 if both sides of a contact
 * are one body. */
static int64_t rank_visits(const cs_packed *packed, const cs_flow_lists *lists, int64_t begin,
                           int32_t *degree)
{
    int64_t most = 1;
    for (int64_t v = begin; v < lists->visits; v++)
        for (int lane = 0; lane < LANES; lane++) {
            const cs_device_visit *visit = &lists->visit[v];
            int64_t record[2];
            for (int side = 0; side < 2; side++)
                record[side] = cs_flow_record_of(packed, visit, side, lane);
            if (record[0] >= 0 && record[0] == record[1]) return 0;
            for (int side = 0; side < 2; side++) {
                if (record[side] < 0) continue;
                uint32_t *own = &lists->order[visit->order + side * LANES + lane];
                *own = (uint32_t)degree[record[side]]++;
                if (degree[record[side]] > most) most = degree[record[side]];
            }
        }
    return most;
}

/* order <- degree << 16 | rank */
static void add_degrees(const cs_packed *packed, const cs_flow_lists *lists, int64_t begin,
                        const int32_t *degree)
{
    for (int64_t v = begin; v < lists->visits; v++)
        for (int i = 0; i < 2 * LANES; i++) {
            const cs_device_visit *visit = &lists->visit[v];
            int64_t record = cs_flow_record_of(packed, visit, i / LANES, i % LANES);
            if (record >= 0) lists->order[visit->order + i] |= (uint32_t)degree[record] << 16;
        }
}

void cs_flow_rank(const cs_packed *packed, cs_flow_lists *lists, int64_t first, int32_t *degree,
                  const char **why)
{
    lists->most_degree = rank_visits(packed, lists, first, degree);
    *why = !lists->most_degree                ? "both sides of a contact are one body"
           : lists->most_degree > MOST_DEGREE ? "a body has more than 65,535 contacts"
                                              : NULL;
    if (!*why) add_degrees(packed, lists, first, degree);
}

/* plan <- what the visits of the steps read. */
static void describe_visits(const cs_packed *packed, const cs_device_step *forwards, int64_t steps,
                            cs_flow_plan *plan)
{
    plan->steps = steps;
    for (int64_t i = 0; i < steps; i++) {
        const cs_packed_group *group = &packed->group[forwards[i].group];
        plan->visits += forwards[i].count;
        if (group->parameters > plan->parameters) plan->parameters = group->parameters;
        plan->step |= group->step != NULL;
        plan->compliance |= group->factors.compliance != NULL;
        plan->weight |= group->weight != NULL;
    }
}

cs_status cs_flow_take(const cs_packed *packed, const cs_device_step *forwards, int64_t steps,
                       cs_arena *arena, cs_flow_lists *lists, cs_error *error)
{
    lists->set = -1;
    for (int64_t i = 0; i < steps; i++) {
        int64_t blocks = (forwards[i].count + CS_DEVICE_BATCHES - 1) / CS_DEVICE_BATCHES;
        lists->visits += forwards[i].count;
        lists->places += CS_DEVICE_BATCHES * blocks;
        lists->several |= i > 0 && lists->group != forwards[i].group;
        lists->group = forwards[i].group;
        int set = (int)packed->group[lists->group].set;
        lists->set = i == 0 || lists->set == set ? set : -1;
    }
    describe_visits(packed, forwards, steps, &lists->plan);
    lists->visit = cs_arena_take(arena, lists->visits, sizeof *lists->visit);
    lists->order = cs_arena_take(arena, lists->visits * 2 * LANES, sizeof *lists->order);
    return cs_arena_status(arena, error, "the workspace");
}

cs_status cs_flow_lay(const cs_packed *packed, const cs_device_step *forwards,
                      const cs_device_step *backwards, int64_t steps, cs_arena *arena,
                      cs_flow_lists *lists, const char **why, cs_error *error)
{
    /* Allocate. */
    cs_arena scratch = {0};
    *lists = (cs_flow_lists){.way = CS_FLOW_DATAFLOW};
    cs_status status = cs_flow_take(packed, forwards, steps, arena, lists, error);
    int32_t *degree = cs_arena_take(&scratch, packed->moved_bodies, sizeof *degree);
    if (!status) status = cs_arena_status(&scratch, error, "the workspace");

    /* Rank the visits of each body. */
    if (!status) {
        cs_flow_list_visits(forwards, backwards, steps, lists->visit);
        cs_flow_rank(packed, lists, 0, degree, why);
    }
    cs_arena_clear(&scratch);
    return status;
}
