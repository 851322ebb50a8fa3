/* How many non-zero blocks A has, without building it. */
#include "problem/adjacency.h"
#include "problem/problem.h"

/* Adds the blocks of A in the row of `block` on one of its bodies that no other has counted. */
static int64_t count_on_body(const cs_adjacency *adjacency, int64_t body, int64_t block,
                             int64_t *seen)
{
    int64_t count = 0;
    for (int64_t e = adjacency->start[body]; e < adjacency->start[body + 1]; e++) {
        int64_t other = adjacency->entry[e] / 2;
        count += seen[other] != block + 1; /* a pair of bodies shares it twice: n_ab */
        seen[other] = block + 1;
    }
    return count;
}

int64_t cs_count_blocks_up_to(const cs_problem *problem, int fixed_as_body, int64_t limit)
{
    if (problem->matrix) return problem->matrix->start[problem->blocks];
    cs_arena arena = {0};
    cs_adjacency adjacency;
    int64_t count = -1;
    int64_t *seen = cs_arena_take(&arena, problem->blocks, sizeof(int64_t));
    if (!seen || cs_adjacency_build(problem, &arena, fixed_as_body, &adjacency, NULL)) goto out;
    count = 0;
    for (int64_t block = 0; block < problem->blocks && count <= limit; block++)
        for (int side = 0; side < 2; side++) {
            int64_t body = adjacency.body[2 * block + side];
            if (body >= 0) count += count_on_body(&adjacency, body, block, seen);
        }
out:
    cs_arena_clear(&arena);
    return count;
}

int64_t cs_count_blocks(const cs_problem *problem, int fixed_as_body)
{
    return cs_count_blocks_up_to(problem, fixed_as_body, INT64_MAX);
}
