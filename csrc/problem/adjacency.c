#include "problem/adjacency.h"

#include "core/counting_sort.h"
#include "core/error.h"
#include "core/loop.h"

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

/* The blocks of one group whose bodies threads find. */
typedef struct finding {
    const cs_block_group *group;
    int64_t *body;
} finding;

static void find_some(void *context, int64_t piece, int64_t first, int64_t end)
{
    (void)piece;
    const finding *f = context;
    for (int64_t i = CS_PARTNERS * first; i < CS_PARTNERS * end; i++)
        f->body[i] = f->group->velocity[i] >= 0 ? f->group->bodies[i] : -1;
}

cs_status cs_adjacency_share(const cs_problem *problem, int threads, cs_arena *arena,
                             cs_adjacency *adjacency, cs_error *error)
{
    if (threads <= 1) return cs_adjacency_build(problem, arena, 0, adjacency, error);

    /* Find the bodies of every block. */
    int64_t sides = CS_PARTNERS * problem->blocks;
    adjacency->body = cs_arena_take_unset(arena, sides, sizeof(int64_t));
    adjacency->start = cs_arena_take_unset(arena, problem->bodies + 1, sizeof(int64_t));
    adjacency->entry = cs_arena_take_unset(arena, sides, sizeof(int64_t));
    cs_status status = cs_arena_status(arena, error, "the contact graph of %lld contacts",
                                       (long long)problem->blocks);
    for (int g = 0; g < problem->block_groups && !status; g++) {
        const cs_block_group *group = &problem->block_group[g];
        finding f = {group, adjacency->body + CS_PARTNERS * group->first_block};
        cs_loop(threads, group->count, find_some, &f);
    }

    /* Sort the sides by body. What that takes is not kept. */
    cs_arena scratch = {0};
    cs_counting_sort sort = {
        .threads = threads,
        .count = sides,
        .key = adjacency->body,
        .keys = problem->bodies,
        .sorted = adjacency->entry,
        .start = adjacency->start,
    };
    if (!status) status = cs_sort_by_key(&sort, &scratch, error);
    cs_arena_clear(&scratch);
    return status;
}
