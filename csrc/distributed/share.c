#include "distributed/share.h"

#include "core/error.h"

/* Fails unless first <= values[i] <= last for all i; `what` says what these are. */
static cs_status check_range(const char *name, const int64_t *values, int64_t count, int64_t first,
                             int64_t last, const char *what, cs_error *error)
{
    for (int64_t i = 0; i < count; i++)
        if (values[i] < first || values[i] > last)
            return cs_fail(error, CS_INVALID, "share: %s[%lld] is %lld: %s run from %lld to %lld",
                           name, (long long)i, (long long)values[i], what, (long long)first,
                           (long long)last);
    return CS_OK;
}

/* Fails unless the numbers ascend from `first` to `end`. */
static cs_status check_ascending(const char *name, const int64_t *values, int64_t first,
                                 int64_t end, cs_error *error)
{
    for (int64_t i = first + 1; i < end; i++)
        if (values[i] <= values[i - 1])
            return cs_fail(error, CS_INVALID,
                           "share: %s[%lld] is %lld after %lld: numbers have to ascend", name,
                           (long long)i, (long long)values[i], (long long)values[i - 1]);
    return CS_OK;
}

/* Fails unless the plan has each block once. */
static cs_status check_visits(const cs_share *share, const cs_problem *problem, cs_error *error)
{
    /* Where stages begin. */
    int64_t blocks = problem->blocks;
    if (share->start[0] != 0 || share->start[share->stages] != blocks)
        return cs_fail(error, CS_INVALID,
                       "share: start runs from %lld to %lld: it runs from 0 to %lld, the contacts",
                       (long long)share->start[0], (long long)share->start[share->stages],
                       (long long)blocks);
    for (int64_t s = 0; s < share->stages; s++)
        if (share->start[s + 1] < share->start[s])
            return cs_fail(error, CS_INVALID,
                           "share: start[%lld] is %lld after %lld: stages ascend", (long long)s + 1,
                           (long long)share->start[s + 1], (long long)share->start[s]);

    /* Each block once. */
    unsigned char *seen = cs_allocate(blocks + 1, 1);
    if (!seen) return cs_no_memory(error, "the share of a rank");
    cs_status status =
        check_range("block", share->block, blocks, 0, blocks - 1, "contacts of the rank", error);
    for (int64_t i = 0; i < blocks && !status; i++)
        if (seen[share->block[i]]++)
            status = cs_fail(error, CS_INVALID,
                             "share: block[%lld] is %lld again: every contact is visited once",
                             (long long)i, (long long)share->block[i]);
    cs_release(seen);
    return status;
}

/* Fails for stages of kinds that ranks do not share. */
static cs_status check_kinds(const cs_share *share, cs_error *error)
{
    cs_status status = check_range("kind", share->kind, share->stages, CS_SEQUENTIAL, CS_DISJOINT,
                                   "kinds of stages", error);
    for (int64_t s = 0; s < share->stages && !status; s++)
        if (share->kind[s] == CS_SEQUENTIAL && share->parts > 1)
            status = cs_fail(error, CS_UNSUPPORTED,
                             "share: stage %lld is sequential: its contacts are visited one after "
                             "another, which ranks cannot share; use an order in parts or colours",
                             (long long)s);
    return status;
}

cs_status cs_share_check(const cs_share *share, const cs_problem *problem, int ranks,
                         cs_error *error)
{
    /* Parts and ranks. */
    if (problem->matrix)
        return cs_fail(error, CS_UNSUPPORTED,
                       "ranks share problems with Jacobians: here A was given");
    if (share->parts < ranks)
        return cs_fail(error, CS_INVALID,
                       "parts is %lld, with %d ranks: a rank owns a part at least, give parts=%d",
                       (long long)share->parts, ranks, ranks);

    /* Numbers. */
    cs_status status = check_range("body", share->body, problem->bodies, 0, share->all_bodies - 1,
                                   "bodies", error);
    if (!status)
        status = check_range("contact", share->contact, problem->blocks, 0, share->all_contacts - 1,
                             "contacts", error);
    for (int g = 0; g < problem->body_groups && !status; g++) {
        const cs_body_group *group = &problem->body_group[g];
        status = check_ascending("body", share->body, group->first_body,
                                 group->first_body + group->count, error);
        for (int64_t k = 0; k < group->count && !status; k++)
            if (!group->immovable[k])
                status = check_range("label", share->label + group->first_body + k, 1, 0,
                                     share->parts - 1, "parts", error);
    }
    for (int g = 0; g < problem->block_groups && !status; g++) {
        const cs_block_group *group = &problem->block_group[g];
        status = check_ascending("contact", share->contact, group->first_block,
                                 group->first_block + group->count, error);
    }
    if (!status)
        status =
            check_range("part", share->part, problem->blocks, 0, share->parts - 1, "parts", error);
    if (!status)
        status = check_range("island", share->island, problem->blocks, -1,
                             share->shared_islands - 1, "shared islands", error);

    /* The plan. */
    if (!status && !(share->weight > 0 && share->weight <= 1))
        status =
            cs_fail(error, CS_INVALID, "share: weight is %s: it must be above 0, and at most 1",
                    cs_number(share->weight).text);
    if (!status) status = check_kinds(share, error);
    return status ? status : check_visits(share, problem, error);
}

int cs_share_is_inside(const cs_share *share, const cs_problem *problem, int64_t block)
{
    const cs_block_group *group = cs_block_group_of(problem, block);
    int64_t index = block - group->first_block;
    for (int side = 0; side < cs_block_partners(group); side++) {
        if (!cs_partner_moves(group, index, side)) continue;
        if (share->label[cs_partner_body(group, index, side)] != share->part[block]) return 0;
    }
    return 1;
}

cs_status cs_share_plan(const cs_share *share, const cs_problem *problem, cs_arena *scratch,
                        cs_plan **result, cs_error *error)
{
    /* The plan; there may be more stages than blocks. */
    int64_t blocks = problem->blocks;
    cs_plan *plan = *result = cs_arena_take(scratch, 1, sizeof *plan);
    if (!plan) return cs_no_memory(error, "the order");
    plan->block = cs_arena_take_unset(scratch, blocks, sizeof(int64_t));
    plan->start = cs_arena_take_unset(scratch, share->stages + 1, sizeof(int64_t));
    plan->kind = cs_arena_take_unset(scratch, share->stages, sizeof(cs_stage_kind));
    plan->cut = cs_arena_take(scratch, blocks, 1);
    plan->owner = cs_arena_take_unset(scratch, blocks, sizeof(int64_t));
    if (cs_arena_failed(scratch)) return cs_no_memory(error, "the order");
    plan->stages = share->stages;
    plan->owners = share->parts;
    plan->divided_into = share->parts;
    plan->colors = (int)share->colors;
    plan->weight = share->weight;
    plan->splits_masses = share->splits_masses;
    plan->order = share->order;

    /* Stages, visits and cuts: one between any two parts of the problem, and those of the whole plan. */
    for (int64_t s = 0; s < share->stages; s++) plan->kind[s] = (cs_stage_kind)share->kind[s];
    for (int64_t s = 0; s <= share->stages; s++) plan->start[s] = share->start[s];
    for (int64_t i = 0; i < blocks; i++) {
        int64_t block = share->block[i];
        plan->block[i] = block;
        plan->owner[block] = share->part[block];
        int changes = i > 0 && share->part[share->block[i - 1]] != share->part[block];
        plan->cut[i] = share->cut[i] || changes;
    }
    return cs_plan_sort_by_owner(problem, scratch, plan, error);
}
