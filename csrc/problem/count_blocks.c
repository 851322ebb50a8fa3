/* Counts the non-zero blocks of A without assembling it: all of them, or those of each block row.
 * S1 Corollary 3.2 */
#include "problem/adjacency.h"
#include "problem/problem.h"

/* The number of blocks on one body of `block` that its row has not counted yet. `seen` (blocks): the row
 * (+ 1) that counted a block last. */
static int64_t count_on_body(const cs_adjacency *adjacency, int64_t body, int64_t block,
                             int64_t *seen)
{
    int64_t count = 0;
    for (int64_t e = adjacency->start[body]; e < adjacency->start[body + 1]; e++) {
        int64_t other = cs_entry_block(adjacency, adjacency->entry[e]);
        count +=
            seen[other] != block + 1; /* n_ab: a block between the same two bodies is on both */
        seen[other] = block + 1;
    }
    return count;
}

int64_t cs_count_blocks_up_to(const cs_problem *problem, int fixed_as_body, int64_t limit)
{
    if (problem->matrix) return problem->matrix->start[problem->blocks];

    /* Build the contact graph. */
    cs_arena arena = {0};
    cs_adjacency adjacency;
    int64_t count = -1;
    int64_t *seen = cs_arena_take(&arena, problem->blocks, sizeof(int64_t));
    if (!seen || cs_adjacency_build(problem, &arena, fixed_as_body, &adjacency, NULL)) goto out;

    /* Count the blocks on the bodies of each block, each of them once. */
    count = 0;
    for (int64_t block = 0; block < problem->blocks && count <= limit; block++)
        for (int side = 0; side < cs_adjacency_partners(&adjacency); side++) {
            int64_t body = cs_adjacency_body(&adjacency, block, side);
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

/* Adds to the row count of each block on a body, if all blocks are pairs, the number of blocks that the body couples it with.
 *
 * A block between bodies a and b has n_a + n_b - n_ab blocks in its row: n_a and n_b blocks are on these
 * bodies, and the n_ab between both of them would count twice. The call for the block's partner 0 subtracts
 * n_ab. `shared` (bodies) is zero before and after. */
static void count_rows_of_body(const cs_adjacency *adjacency, int64_t body, int64_t *shared,
                               int64_t *count)
{
    int64_t first = adjacency->start[body], end = adjacency->start[body + 1], blocks = 0;

    /* blocks <- n_a, shared[b] <- n_ab. A block with this body on both sides has two entries; count one. */
    for (int64_t e = first; e < end; e++) {
        int64_t partner = cs_adjacency_other(adjacency, adjacency->entry[e], 1);
        blocks += partner != body || !(cs_entry_partner(adjacency, adjacency->entry[e]));
        if (partner >= 0 && partner != body) shared[partner]++;
    }

    /* Add n_a, or n_a - n_ab, to each block's row. */
    for (int64_t e = first; e < end; e++) {
        int64_t partner = cs_adjacency_other(adjacency, adjacency->entry[e], 1);
        int64_t *row = &count[cs_entry_block(adjacency, adjacency->entry[e])],
                second = cs_entry_partner(adjacency, adjacency->entry[e]);
        if (partner != body) *row += blocks;
        else if (!second) *row = blocks;
        if (partner >= 0 && partner != body && !second) *row -= shared[partner];
    }

    /* Leave `shared` zero for the next body. */
    for (int64_t e = first; e < end; e++) {
        int64_t partner = cs_adjacency_other(adjacency, adjacency->entry[e], 1);
        if (partner >= 0) shared[partner] = 0;
    }
}

/* count <- the blocks of each row, body by body. */
static void count_rows_of_pairs(const cs_problem *problem, const cs_adjacency *adjacency,
                                int64_t *shared, int64_t *count)
{
    for (int64_t body = 0; body < problem->bodies; body++)
        count_rows_of_body(adjacency, body, shared, count);
}

/* The same where blocks have more than two partners: row by row. `seen` (blocks) is zero. */
static void count_rows(const cs_problem *problem, const cs_adjacency *adjacency, int64_t *seen,
                       int64_t *count)
{
    for (int64_t block = 0; block < problem->blocks; block++) {
        int64_t end[CS_MAX_PARTNERS];
        int ends = cs_adjacency_ends(adjacency, block, end);
        for (int i = 0; i < ends; i++) count[block] += count_on_body(adjacency, end[i], block, seen);
    }
}

int cs_row_blocks(const cs_problem *problem, int64_t *count)
{
    const cs_block_matrix *matrix = problem->matrix;
    for (int64_t k = 0; k < problem->blocks; k++)
        count[k] = matrix ? matrix->start[k + 1] - matrix->start[k] : 0;
    if (matrix) return 0;

    /* Count over the bodies. */
    cs_arena arena = {0};
    cs_adjacency adjacency;
    int status = -1;
    if (cs_adjacency_build(problem, &arena, 0, &adjacency, NULL)) goto out;
    int pairs = cs_adjacency_partners(&adjacency) == CS_PAIR;
    int64_t *scratch =
        cs_arena_take(&arena, pairs ? problem->bodies : problem->blocks, sizeof(int64_t));
    if (!scratch) goto out;
    if (pairs) count_rows_of_pairs(problem, &adjacency, scratch, count);
    else count_rows(problem, &adjacency, scratch, count);
    status = 0;
out:
    cs_arena_clear(&arena);
    return status;
}
