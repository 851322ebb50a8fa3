#include "problem/adjacency.h"

#include "core/counting_sort.h"
#include "core/error.h"
#include "core/loop.h"

/* The shift of the entries of a problem. */
static int shift_of(const cs_problem *problem)
{
    int most = CS_PAIR;
    for (int g = 0; g < problem->block_groups; g++)
        if (problem->block_group[g].partners > most) most = problem->block_group[g].partners;
    return most > CS_PAIR ? 2 : 1;
}

/* body <- the bodies of the blocks first ... end - 1 of a group; -1 for those that the graph leaves out. */
static void find_partners(const cs_adjacency *adjacency, const cs_block_group *group,
                          int with_immovable, int64_t first, int64_t end)
{
    int places = cs_adjacency_partners(adjacency), partners = group->partners;
    int64_t *body = adjacency->body + ((group->first_block + first) << adjacency->shift);
    for (int64_t i = partners * first; i < partners * end; body += places - partners)
        for (int s = 0; s < partners; s++, i++)
            *body++ = with_immovable || group->velocity[i] >= 0 ? group->bodies[i] : -1;
    if (places == partners) return;

    /* The places that the blocks do not use. */
    body = adjacency->body + ((group->first_block + first) << adjacency->shift);
    for (int64_t k = first; k < end; k++, body += places)
        for (int s = partners; s < places; s++) body[s] = -1;
}

cs_status cs_adjacency_build(const cs_problem *problem, cs_arena *arena, int with_immovable,
                             cs_adjacency *adjacency, cs_error *error)
{
    adjacency->shift = shift_of(problem);
    int64_t sides = problem->blocks << adjacency->shift;
    adjacency->body = cs_arena_take_unset(arena, sides, sizeof(int64_t));
    adjacency->start = cs_arena_take(arena, problem->bodies + 2, sizeof(int64_t));
    adjacency->entry = cs_arena_take_unset(arena, sides, sizeof(int64_t));
    if (cs_arena_failed(arena))
        return cs_no_memory(error, "the contact graph of %lld contacts",
                            (long long)problem->blocks);
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        find_partners(adjacency, group, with_immovable, 0, group->count);
    }

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
    const cs_adjacency *adjacency;
    const cs_block_group *group;
} finding;

static void find_some(void *context, int64_t piece, int64_t first, int64_t end)
{
    (void)piece;
    const finding *f = context;
    find_partners(f->adjacency, f->group, 0, first, end);
}

cs_status cs_adjacency_share(const cs_problem *problem, int threads, cs_arena *arena,
                             cs_adjacency *adjacency, cs_error *error)
{
    if (threads <= 1) return cs_adjacency_build(problem, arena, 0, adjacency, error);

    /* Find the bodies of every block. */
    adjacency->shift = shift_of(problem);
    int64_t sides = problem->blocks << adjacency->shift;
    adjacency->body = cs_arena_take_unset(arena, sides, sizeof(int64_t));
    adjacency->start = cs_arena_take_unset(arena, problem->bodies + 1, sizeof(int64_t));
    adjacency->entry = cs_arena_take_unset(arena, sides, sizeof(int64_t));
    cs_status status = cs_arena_status(arena, error, "the contact graph of %lld contacts",
                                       (long long)problem->blocks);
    for (int g = 0; g < problem->block_groups && !status; g++) {
        const cs_block_group *group = &problem->block_group[g];
        finding f = {adjacency, group};
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
