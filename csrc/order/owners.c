/* Which part of the problem each visit belongs to, and sums over these parts (cs_plan_own). */
#include "core/ascending.h"
#include "core/error.h"
#include "order/schedule.h"

#include <string.h>

/* The part of one block. */
static int64_t owner_of(const cs_block_group *group, int64_t index, const int64_t *labels,
                        int64_t parts)
{
    int64_t lowest = INT64_MAX;
    for (int s = 0; s < cs_block_partners(group); s++) {
        if (!cs_partner_moves(group, index, s)) continue;
        int64_t label = labels[cs_partner_body(group, index, s)];
        if (label < lowest) lowest = label;
    }
    return lowest < INT64_MAX ? lowest : (group->first_block + index) % parts;
}

/* The number of parts, by the labels of bodies that blocks move. Fails for a label that is no part. */
static cs_status count_parts(const cs_problem *problem, const int64_t *labels, int64_t *parts,
                             cs_error *error)
{
    int64_t most = problem->bodies > problem->blocks ? problem->bodies : problem->blocks;
    *parts = 1;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t i = 0; i < group->count * cs_block_partners(group); i++) {
            int64_t k = i / cs_block_partners(group);
            int s = (int)(i % cs_block_partners(group));
            int64_t body = cs_partner_body(group, k, s);
            if (!cs_partner_moves(group, k, s)) continue;
            if (labels[body] < 0 || labels[body] >= most)
                return cs_fail(error, CS_INVALID,
                               "labels[%lld] is %lld: parts are numbered from 0 to %lld at most",
                               (long long)body, (long long)labels[body], (long long)most - 1);
            if (labels[body] >= *parts) *parts = labels[body] + 1;
        }
    }
    return CS_OK;
}

/* Sorts the visits of one stage by part and number, and cuts it where a part begins, and after CS_CHUNK visits of one part.
 * next (owners + 1) and sorted (blocks) are scratch. */
static void sort_stage(cs_plan *plan, int64_t stage, int64_t *next, int64_t *sorted)
{
    /* By number, then by part. */
    int64_t first = plan->start[stage], count = plan->start[stage + 1] - first;
    int64_t *block = plan->block + first;
    cs_sort_64(block, count);
    memset(next, 0, sizeof *next * (size_t)(plan->owners + 1));
    for (int64_t i = 0; i < count; i++) next[plan->owner[block[i]] + 1]++;
    for (int64_t p = 0; p < plan->owners; p++) next[p + 1] += next[p];
    for (int64_t i = 0; i < count; i++) sorted[next[plan->owner[block[i]]]++] = block[i];
    memcpy(block, sorted, sizeof *block * (size_t)count);

    /* The cuts. */
    for (int64_t i = 0, run = 0; i < count; i++, run++) {
        int begins = i == 0 || plan->owner[block[i]] != plan->owner[block[i - 1]];
        if (begins || run == CS_CHUNK) run = 0;
        plan->cut[first + i] = run == 0;
    }
}

cs_status cs_plan_sort_by_owner(const cs_problem *problem, cs_arena *scratch, cs_plan *plan,
                                cs_error *error)
{
    int64_t *sorted = cs_arena_take_unset(scratch, problem->blocks, sizeof(int64_t));
    int64_t *next = cs_arena_take_unset(scratch, plan->owners + 1, sizeof(int64_t));
    if (cs_arena_failed(scratch)) return cs_no_memory(error, "the parts of a sweep");

    /* The stages that may be cut anywhere. */
    plan->divided = 1;
    for (int64_t s = 0; s < plan->stages; s++)
        if (plan->kind[s] == CS_SIMULTANEOUS || plan->kind[s] == CS_INDEPENDENT)
            sort_stage(plan, s, next, sorted);
    return CS_OK;
}

cs_status cs_plan_own(const cs_problem *problem, const int64_t *labels, cs_arena *scratch,
                      cs_plan *plan, cs_error *error)
{
    /* The part of each block. */
    int64_t blocks = problem->blocks;
    if (problem->matrix) return CS_OK;
    cs_status status = count_parts(problem, labels, &plan->owners, error);
    if (status) return status;
    plan->owner = cs_arena_take_unset(scratch, blocks, sizeof(int64_t));
    if (!plan->owner) return cs_no_memory(error, "the parts of a sweep");
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++)
            plan->owner[group->first_block + k] = owner_of(group, k, labels, plan->owners);
    }
    for (int64_t k = 0; k < blocks && plan->visitor; k++)
        if (plan->visitor[k] >= 0) plan->owner[k] = plan->visitor[k];
    return cs_plan_sort_by_owner(problem, scratch, plan, error);
}
