/* averaging="adjacent": omega of each block is 1 / the number of adjacent contacts, or 1 if there are none (S4). Two
 * contacts are adjacent if they share a movable body; in a given A, if their block of A is not zero. */
#include "core/error.h"
#include "problem/adjacency.h"
#include "solver/solver.h"

/* The number of contacts adjacent to `block`, each counted once: seen[k] == block + 1 marks those that were counted.
 * seen (blocks) must be zero before the first call. */
static int64_t count_adjacent(const cs_adjacency *adjacency, int64_t block, int64_t *seen)
{
    int64_t count = 0;
    seen[block] = block + 1;
    for (int side = 0; side < cs_adjacency_partners(adjacency); side++) {
        int64_t body = cs_adjacency_body(adjacency, block, side);
        if (body < 0) continue;
        for (int64_t e = adjacency->start[body]; e < adjacency->start[body + 1]; e++) {
            int64_t other = cs_entry_block(adjacency, adjacency->entry[e]);
            count += seen[other] != block + 1;
            seen[other] = block + 1;
        }
    }
    return count;
}

/* The number of other blocks in the block's row of a given A. */
static int64_t count_in_row(const cs_block_matrix *matrix, int64_t block)
{
    int64_t count = 0;
    for (int64_t e = matrix->start[block]; e < matrix->start[block + 1]; e++)
        count += matrix->column[e] != block;
    return count;
}

cs_status cs_adjacent_weights(const cs_problem *problem, double *weight, cs_error *error)
{
    /* Which blocks touch each body, unless A is given. */
    cs_arena scratch = {0};
    cs_adjacency adjacency;
    cs_status status = CS_OK;
    int64_t *seen = cs_arena_take(&scratch, problem->blocks, sizeof(int64_t));
    if (!seen) {
        status = cs_no_memory(error, "counting adjacent contacts");
        goto out;
    }
    if (!problem->matrix) status = cs_adjacency_build(problem, &scratch, 0, &adjacency, error);

    /* Count. */
    for (int64_t block = 0; block < problem->blocks && !status; block++) {
        int64_t count = problem->matrix ? count_in_row(problem->matrix, block)
                                        : count_adjacent(&adjacency, block, seen);
        weight[block] = count ? 1 / (double)count : 1;
    }
out:
    cs_arena_clear(&scratch);
    return status;
}
