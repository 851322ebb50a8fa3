#include "problem/adjacency.h"

#include "core/error.h"

/* body (blocks, 2) <- the bodies of every block; -1 for those that the graph leaves out. */
static void find_partners(const cs_problem *problem, int with_immovable, int64_t *body)
{
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t i = 0; i < 2 * group->count; i++) {
            int present = with_immovable || group->velocity[i] >= 0;
            body[2 * group->first_block + i] = present ? group->bodies[i] : -1;
        }
    }
}

cs_status cs_adjacency_build(const cs_problem *problem, cs_arena *arena, int with_immovable,
                             cs_adjacency *adjacency, cs_error *error)
{
    int64_t sides = 2 * problem->blocks;
    adjacency->body = cs_arena_take_unset(arena, sides, sizeof(int64_t));
    adjacency->start = cs_arena_take(arena, problem->bodies + 2, sizeof(int64_t));
    adjacency->entry = cs_arena_take_unset(arena, sides, sizeof(int64_t));
    if (cs_arena_failed(arena))
        return cs_no_memory(error, "the contact graph of %lld contacts",
                            (long long)problem->blocks);
    find_partners(problem, with_immovable, adjacency->body);

    /* Counting sort by body. `next` is `start` shifted by one place: filling moves each value on to the
     * start of the next body, so that `start` is correct at the end. */
    int64_t *next = adjacency->start + 1;
    for (int64_t i = 0; i < sides; i++)
        if (adjacency->body[i] >= 0) next[adjacency->body[i] + 1]++;
    for (int64_t body = 0; body < problem->bodies; body++) next[body + 1] += next[body];
    for (int64_t i = 0; i < sides; i++)
        if (adjacency->body[i] >= 0) adjacency->entry[next[adjacency->body[i]]++] = i;
    return CS_OK;
}
