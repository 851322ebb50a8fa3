/* How many non-zero blocks A has, without building it. */
#include "problem/adjacency.h"
#include "problem/problem.h"

int64_t cs_count_blocks(const cs_problem *problem, int fixed_as_body)
{
    if (problem->matrix) return problem->matrix->start[problem->blocks];
    cs_arena arena = {0};
    cs_adjacency adjacency;
    int64_t count = -1;
    int64_t *seen = cs_arena_take(&arena, problem->blocks, sizeof(int64_t));
    if (!seen || cs_adjacency_build(problem, &arena, fixed_as_body, &adjacency, NULL)) goto out;
    count = 0;
    for (int64_t block = 0; block < problem->blocks; block++)
        for (int side = 0; side < 2; side++) {
            int64_t body = adjacency.body[2 * block + side];
            if (body < 0) continue;
            for (int64_t e = adjacency.start[body]; e < adjacency.start[body + 1]; e++) {
                int64_t other = adjacency.entry[e] / 2;
                count += seen[other] != block + 1; /* a pair of bodies shares it twice: n_ab */
                seen[other] = block + 1;
            }
        }
out:
    cs_arena_clear(&arena);
    return count;
}
