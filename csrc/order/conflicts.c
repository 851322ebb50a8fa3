#include "order/conflicts.h"

#include "core/error.h"

int cs_conflicts_of(const cs_conflicts *c, int64_t block, cs_conflict_list list[CS_MAX_PARTNERS])
{
    /* A given A: the row of the block. */
    if (c->problem->matrix) {
        *list = (cs_conflict_list){c->column + c->start[block],
                                   c->start[block + 1] - c->start[block], 0, -1};
        return 1;
    }

    /* One list for each movable body. */
    const cs_adjacency *adjacency = &c->adjacency;
    int64_t body[CS_MAX_PARTNERS];
    int lists = cs_adjacency_ends(adjacency, block, body);
    for (int i = 0; i < lists; i++) {
        int64_t first = adjacency->start[body[i]];
        list[i] = (cs_conflict_list){adjacency->entry + first, adjacency->start[body[i] + 1] - first,
                                     adjacency->shift, body[i]};
    }
    return lists;
}

/* Whether A stores block (row, column), by bisection. */
static int has_block(const cs_block_matrix *matrix, int64_t row, int64_t column)
{
    int64_t low = matrix->start[row], high = matrix->start[row + 1];
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (matrix->column[middle] < column) low = middle + 1;
        else high = middle;
    }
    return low < matrix->start[row + 1] && matrix->column[low] == column;
}

cs_status cs_symmetric_pattern(const cs_block_matrix *matrix, cs_arena *scratch,
                               const int64_t **pattern_start, const int64_t **pattern_column,
                               cs_error *error)
{
    int64_t *start = cs_arena_take(scratch, matrix->blocks + 2, sizeof(int64_t));
    if (!start) goto no_memory;

    /* Count: each block (k, l) belongs to row k, and to row l unless A stores (l, k), too. */
    int64_t *next = start + 1;
    for (int64_t k = 0; k < matrix->blocks; k++) {
        next[k + 1] += matrix->start[k + 1] - matrix->start[k];
        for (int64_t e = matrix->start[k]; e < matrix->start[k + 1]; e++)
            next[matrix->column[e] + 1] += !has_block(matrix, matrix->column[e], k);
    }
    for (int64_t k = 0; k < matrix->blocks; k++) next[k + 1] += next[k];
    int64_t *column = cs_arena_take(scratch, next[matrix->blocks], sizeof(int64_t));
    if (!column) goto no_memory;

    /* Fill. */
    for (int64_t k = 0; k < matrix->blocks; k++)
        for (int64_t e = matrix->start[k]; e < matrix->start[k + 1]; e++) {
            int64_t other = matrix->column[e];
            column[next[k]++] = other;
            if (!has_block(matrix, other, k)) column[next[other]++] = k;
        }
    *pattern_start = start;
    *pattern_column = column;
    return CS_OK;
no_memory:
    return cs_no_memory(error, "the conflicts of %lld contacts", (long long)matrix->blocks);
}

cs_status cs_conflicts_build(const cs_problem *problem, int fixed_as_body, cs_arena *scratch,
                             cs_conflicts *c, cs_error *error)
{
    *c = (cs_conflicts){.problem = problem};
    if (problem->matrix)
        return cs_symmetric_pattern(problem->matrix, scratch, &c->start, &c->column, error);
    return cs_adjacency_build(problem, scratch, fixed_as_body, &c->adjacency, error);
}

int64_t cs_highest_degree(const cs_conflicts *c)
{
    int64_t highest = 0;
    for (int64_t block = 0; block < c->problem->blocks; block++) {
        cs_conflict_list list[CS_MAX_PARTNERS];
        int64_t degree = 0;
        int lists = cs_conflicts_of(c, block, list);
        for (int i = 0; i < lists; i++) degree += list[i].count - 1;
        if (degree > highest) highest = degree;
    }
    return highest;
}
