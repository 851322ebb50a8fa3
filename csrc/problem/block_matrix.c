/* The storage of A in block rows, and the conversion of a given A from compressed rows into blocks. */
#include "problem/block_matrix.h"

#include "core/ascending.h"
#include "core/error.h"
#include "problem/problem.h"

#include <math.h>
#include <string.h>

cs_block_matrix *cs_block_matrix_new(cs_arena *arena, int64_t blocks)
{
    cs_block_matrix *matrix = cs_arena_take(arena, 1, sizeof *matrix);
    if (!matrix) return NULL;
    matrix->blocks = blocks;
    matrix->start = cs_arena_take(arena, blocks + 1, sizeof(int64_t));
    matrix->first = cs_arena_take(arena, blocks + 1, sizeof(int64_t));
    return cs_arena_failed(arena) ? NULL : matrix;
}

int cs_block_matrix_take(cs_arena *arena, cs_block_matrix *matrix)
{
    int64_t blocks = matrix->start[matrix->blocks], values = matrix->first[matrix->blocks];
    matrix->column = cs_arena_take_unset(arena, blocks, sizeof(int64_t));
    matrix->value = cs_arena_take_unset(arena, values, sizeof(double));
    return cs_arena_failed(arena);
}

/* ---- a given A ------------------------------------------------------------------------------- */

/* Checks that row starts begin at 0 and never decrease, so that entries can be read safely. */
static cs_status check_starts(const cs_csr *csr, cs_error *error)
{
    if (csr->start[0] != 0)
        return cs_fail(error, CS_INVALID, "A.indptr[0] is %lld: it must be 0",
                       (long long)csr->start[0]);
    for (int64_t i = 0; i < csr->rows; i++)
        if (csr->start[i + 1] < csr->start[i])
            return cs_fail(error, CS_INVALID, "A.indptr[%lld] is %lld, below A.indptr[%lld] = %lld",
                           (long long)i + 1, (long long)csr->start[i + 1], (long long)i,
                           (long long)csr->start[i]);
    return CS_OK;
}

/* Checks the size of a given A, its column numbers, and that its entries are finite. */
static cs_status check_csr(const cs_problem *problem, const cs_csr *csr, cs_error *error)
{
    if (csr->rows != problem->rows)
        return cs_fail(error, CS_INVALID, "A has %lld rows; the blocks have %lld",
                       (long long)csr->rows, (long long)problem->rows);
    cs_status status = check_starts(csr, error);
    if (status) return status;
    for (int64_t i = 0; i < csr->rows; i++)
        for (int64_t e = csr->start[i]; e < csr->start[i + 1]; e++) {
            if (csr->column[e] < 0 || csr->column[e] >= csr->rows)
                return cs_fail(error, CS_INVALID,
                               "A.indices[%lld] is %lld: columns run from 0 to %lld", (long long)e,
                               (long long)csr->column[e], (long long)csr->rows - 1);
            if (!isfinite(csr->value[e]))
                return cs_fail(error, CS_INVALID, "A[%lld, %lld] is %g: every entry must be finite",
                               (long long)i, (long long)csr->column[e], csr->value[e]);
        }
    return CS_OK;
}

typedef struct conversion {
    const cs_problem *problem;
    const cs_csr *csr;
    int64_t *block_of; /* (rows): the block that a row or column belongs to */
    int64_t *seen;     /* (blocks): mark of the last search that found the block */
    int64_t *place;    /* (blocks): where the values of this column's block begin */
    int64_t *found;    /* (blocks): block columns of the current block row */
} conversion;

/* found <- the block columns of block row k, ascending. Returns their number. Every call needs a `mark` of
 * its own. */
static int64_t find_columns(conversion *c, int64_t k, int64_t mark)
{
    int64_t row = cs_block_row(c->problem, k), end = cs_block_end(c->problem, k), count = 0;
    c->seen[k] = mark;
    c->found[count++] = k; /* the diagonal block is always stored */
    for (int64_t e = c->csr->start[row]; e < c->csr->start[end]; e++) {
        int64_t block = c->block_of[c->csr->column[e]];
        if (c->seen[block] == mark) continue;
        c->seen[block] = mark;
        c->found[count++] = block;
    }
    cs_sort_64(c->found, count);
    return count;
}

/* Fills the columns and values of block row k. */
static void fill_row(conversion *c, cs_block_matrix *matrix, int64_t k)
{
    const cs_problem *problem = c->problem;

    /* Find the block columns and where the values of each block begin. */
    int64_t count = find_columns(c, k, matrix->blocks + k + 1);
    int64_t row = cs_block_row(problem, k), at = matrix->first[k];
    int rows = cs_block_group_of(problem, k)->rows;
    for (int64_t e = 0; e < count; e++) {
        matrix->column[matrix->start[k] + e] = c->found[e];
        c->place[c->found[e]] = at;
        at += rows * cs_block_group_of(problem, c->found[e])->rows;
    }
    memset(matrix->value + matrix->first[k], 0,
           sizeof(double) * (size_t)(matrix->first[k + 1] - matrix->first[k]));

    /* Add every entry to its block: repeated entries of a given A are summed. */
    for (int i = 0; i < rows; i++)
        for (int64_t e = c->csr->start[row + i]; e < c->csr->start[row + i + 1]; e++) {
            int64_t column = c->csr->column[e], block = c->block_of[column];
            int columns = cs_block_group_of(problem, block)->rows;
            int64_t j = column - cs_block_row(problem, block);
            matrix->value[c->place[block] + i * columns + j] += c->csr->value[e];
        }
}

/* Converts the given A into blocks. */
static cs_status convert(conversion *c, cs_arena *arena, cs_block_matrix *matrix, cs_error *error)
{
    const cs_problem *problem = c->problem;

    /* Note the block of every row and column. */
    for (int64_t k = 0; k < problem->blocks; k++)
        for (int64_t i = cs_block_row(problem, k); i < cs_block_end(problem, k); i++)
            c->block_of[i] = k;

    /* Count the blocks and values of each block row. */
    for (int64_t k = 0; k < problem->blocks; k++) {
        int64_t count = find_columns(c, k, k + 1), columns = 0;
        for (int64_t e = 0; e < count; e++)
            columns += cs_block_group_of(problem, c->found[e])->rows;
        matrix->start[k + 1] = matrix->start[k] + count;
        matrix->first[k + 1] = matrix->first[k] + columns * cs_block_group_of(problem, k)->rows;
    }

    /* Allocate and fill. */
    if (cs_block_matrix_take(arena, matrix))
        return cs_no_memory(error, "A of %lld blocks", (long long)problem->blocks);
    for (int64_t k = 0; k < problem->blocks; k++) fill_row(c, matrix, k);
    return CS_OK;
}

/* Entry (i, j) of the given matrix; repeated entries are summed. */
static double entry(const cs_csr *csr, int64_t i, int64_t j)
{
    double sum = 0;
    for (int64_t e = csr->start[i]; e < csr->start[i + 1]; e++)
        if (csr->column[e] == j) sum += csr->value[e];
    return sum;
}

/* Checks that no diagonal entry is negative. */
static cs_status check_diagonal(const cs_csr *csr, cs_error *error)
{
    for (int64_t i = 0; i < csr->rows; i++) {
        double diagonal = entry(csr, i, i);
        if (diagonal < 0)
            return cs_fail(error, CS_INVALID,
                           "A[%lld, %lld] is %s: a Delassus matrix has no negative diagonal",
                           (long long)i, (long long)i, cs_number(diagonal).text);
    }
    return CS_OK;
}

/* Block (l, k) of the matrix, or NULL if it is not stored. For every l the caller asks for ascending k, so
 * that each row l keeps a cursor that only moves forward: `seen` into column, `place` into value. */
static const double *mirror_block(conversion *c, const cs_block_matrix *matrix, int64_t l,
                                  int64_t k)
{
    int rows = cs_block_group_of(c->problem, l)->rows;
    while (c->seen[l] < matrix->start[l + 1] && matrix->column[c->seen[l]] < k)
        c->place[l] += rows * cs_block_group_of(c->problem, matrix->column[c->seen[l]++])->rows;
    int there = c->seen[l] < matrix->start[l + 1] && matrix->column[c->seen[l]] == k;
    return there ? matrix->value + c->place[l] : NULL;
}

/* max |A - A^T| / max |A|. The library uses a given A as it is, symmetric or not, and reports this. */
static double asymmetry(conversion *c, const cs_block_matrix *matrix)
{
    double defect = 0, largest = 0;

    /* Put the cursors of mirror_block at the beginning of their rows. */
    for (int64_t k = 0; k < matrix->blocks; k++) {
        c->seen[k] = matrix->start[k];
        c->place[k] = matrix->first[k];
    }

    /* Compare each block (k, l) with the transpose of block (l, k). */
    for (int64_t k = 0; k < matrix->blocks; k++) {
        int rows = cs_block_group_of(c->problem, k)->rows;
        const double *value = matrix->value + matrix->first[k];
        for (int64_t e = matrix->start[k]; e < matrix->start[k + 1]; e++) {
            int columns = cs_block_group_of(c->problem, matrix->column[e])->rows;
            const double *mirror = mirror_block(c, matrix, matrix->column[e], k);
            for (int i = 0; i < rows; i++)
                for (int j = 0; j < columns; j++) {
                    double other = mirror ? mirror[j * rows + i] : 0;
                    largest = fmax(largest, fabs(value[i * columns + j]));
                    defect = fmax(defect, fabs(value[i * columns + j] - other));
                }
            value += rows * columns;
        }
    }
    return largest > 0 ? defect / largest : 0;
}

cs_status cs_problem_set_matrix(cs_problem *problem, const cs_csr *csr, cs_error *error)
{
    cs_arena scratch = {0};
    conversion c = {.problem = problem, .csr = csr};
    cs_block_matrix *matrix = NULL;
    cs_arena_mark before = cs_arena_position(&problem->arena);

    /* Check the input. */
    cs_status status = check_csr(problem, csr, error);
    if (!status) status = check_diagonal(csr, error);
    if (status) goto out;
    if (problem->block_groups && cs_has_jacobians(&problem->block_group[0])) {
        status = cs_fail(error, CS_INVALID, "A is given for blocks that have Jacobians");
        goto out;
    }

    /* Convert it. */
    matrix = cs_block_matrix_new(&problem->arena, problem->blocks);
    c.block_of = cs_arena_take(&scratch, problem->rows, sizeof(int64_t));
    c.seen = cs_arena_take(&scratch, problem->blocks, sizeof(int64_t));
    c.place = cs_arena_take(&scratch, problem->blocks, sizeof(int64_t));
    c.found = cs_arena_take(&scratch, problem->blocks, sizeof(int64_t));
    if (!matrix || cs_arena_failed(&scratch)) status = cs_no_memory(error, "A");
    if (!status) status = convert(&c, &problem->arena, matrix, error);
    if (status) goto out;
    matrix->asymmetry = asymmetry(&c, matrix);
    problem->matrix = matrix;
out:
    if (status) cs_arena_rewind(&problem->arena, before);
    cs_arena_clear(&scratch);
    return status;
}
