/* averaging="adjacent": omega of each block is 1 / the number of adjacent contacts, or 1 if there are none (S4). Two
 * contacts are adjacent if they share a movable body; in a given A, if their block of A is not zero.
 *
 * A rank has all contacts of its own bodies, but not those of ghosts. Each adjacent contact is counted once, at the first body
 * of the contact that it touches, and by the owner of that body; the counts of all ranks that have a contact are added. */
#include "core/error.h"
#include "problem/adjacency.h"
#include "solver/solver.h"

/* The number of contacts adjacent to `block` that this rank counts, each once: seen[k] == block + 1 marks those that touch
 * an earlier body of the block. seen (blocks) must be zero before the first call. */
static int64_t count_adjacent(const cs_adjacency *adjacency, const cs_ranks *ranks, int64_t block,
                              int64_t *seen)
{
    int64_t count = 0;
    seen[block] = block + 1;
    for (int side = 0; side < cs_adjacency_partners(adjacency); side++) {
        int64_t body = cs_adjacency_body(adjacency, block, side);
        if (body < 0) continue;
        int own = cs_ranks_own_body(ranks, body);
        for (int64_t e = adjacency->start[body]; e < adjacency->start[body + 1]; e++) {
            int64_t other = cs_entry_block(adjacency, adjacency->entry[e]);
            count += own && seen[other] != block + 1;
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

cs_status cs_adjacent_weights(const cs_solver *solver, double *weight, cs_error *error)
{
    /* Which blocks touch each body, unless A is given. */
    const cs_problem *problem = solver->problem;
    cs_arena scratch = {0};
    cs_adjacency adjacency;
    int64_t *seen = cs_arena_take(&scratch, problem->blocks, sizeof(int64_t));
    int64_t *count = cs_arena_take_unset(&scratch, problem->blocks, sizeof(int64_t));
    cs_status status = cs_arena_status(&scratch, error, "counting adjacent contacts");
    if (!status && !problem->matrix)
        status = cs_adjacency_build(problem, &scratch, 0, &adjacency, error);

    /* Count, on all ranks. */
    for (int64_t block = 0; block < problem->blocks && !status; block++)
        count[block] = problem->matrix ? count_in_row(problem->matrix, block)
                                       : count_adjacent(&adjacency, solver->ranks, block, seen);
    if (!status) status = cs_ranks_add_counts(solver->ranks, count, error);

    for (int64_t block = 0; block < problem->blocks && !status; block++)
        weight[block] = count[block] ? 1 / (double)count[block] : 1;
    cs_arena_clear(&scratch);
    return status;
}
