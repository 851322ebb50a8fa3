/* Assembles A = J M^-1 J^T + Sigma = G G^T + Sigma, one block row after another.
 * S1 eq. 3.3, Theorem 3.1
 *
 * Block row k has a non-zero block in column l if blocks k and l share a movable body. The rows are
 * traversed twice: the first pass counts the blocks and values, the second one fills them. */
#include "core/error.h"
#include "problem/adjacency.h"
#include "problem/problem.h"

/* Blocks of A between two cancellation checks. Rows are no measure, as one may hold any number of blocks. */
enum { POLL_EVERY = 4096 };

typedef struct assembly {
    const cs_problem *problem;
    const cs_control *control;
    int64_t work; /* blocks of A visited since the last cancellation check */
    cs_adjacency adjacency;
    int64_t *seen;      /* (blocks): mark of the last search that found the block */
    int64_t *neighbour; /* (blocks): columns of the current row */
    double *scaled;     /* G_k of all blocks, one after another */
    int64_t *place;     /* (blocks + 1): where G_k begins in `scaled` */
} assembly;

/* neighbour <- the blocks that share a movable body with `block`, ascending. Returns their number.
 * Every call needs a `mark` of its own, which saves clearing `seen`. */
static int64_t neighbours(assembly *a, int64_t block, int64_t mark)
{
    int64_t count = 0;
    a->seen[block] = mark;
    a->neighbour[count++] = block; /* the diagonal block is always stored */
    for (int side = 0; side < 2; side++) {
        int64_t body = cs_adjacency_body(&a->adjacency, block, side);
        if (body < 0) continue;
        for (int64_t e = a->adjacency.start[body]; e < a->adjacency.start[body + 1]; e++) {
            int64_t other = cs_entry_block(a->adjacency.entry[e]);
            if (a->seen[other] == mark) continue;
            a->seen[other] = mark;
            a->neighbour[count++] = other;
        }
    }
    cs_sort_ascending(a->neighbour, count);
    return count;
}

/* value (m_k, m_l) += sum over the shared bodies of G_k,s G_l,t^T, where partner s of block k and
 * partner t of block l are the same body.  S1 eq. 3.3 */
static void add_shared(const assembly *a, int64_t k, int64_t l, const cs_block_group *row,
                       const cs_block_group *column, double *value)
{
    const double *x = a->scaled + a->place[k];
    for (int s = 0; s < 2; x += row->rows * row->dof[s], s++) {
        int64_t body = cs_adjacency_body(&a->adjacency, k, s);
        const double *y = a->scaled + a->place[l];
        for (int t = 0; t < 2; y += column->rows * column->dof[t], t++) {
            if (body < 0 || cs_adjacency_body(&a->adjacency, l, t) != body) continue;
            int dof = row->dof[s];
            for (int i = 0; i < row->rows; i++)
                for (int j = 0; j < column->rows; j++) {
                    double sum = 0;
                    for (int c = 0; c < dof; c++) sum += x[i * dof + c] * y[j * dof + c];
                    value[i * column->rows + j] += sum;
                }
        }
    }
}

/* Asks the caller whether to cancel, once every POLL_EVERY blocks. `count` blocks have been visited
 * since the last call. */
static cs_status poll(assembly *a, int64_t count, cs_error *error)
{
    a->work += count;
    if (a->work < POLL_EVERY || !a->control || !a->control->poll) return CS_OK;
    a->work = 0;
    if (a->control->poll(a->control->context, NULL) >= 0) return CS_OK;
    return cs_fail(error, CS_INTERRUPTED, "interrupted while assembling A");
}

/* Builds the contact graph and G_k of every block. */
static cs_status prepare(assembly *a, cs_arena *arena, cs_error *error)
{
    const cs_problem *problem = a->problem;

    /* Allocate. */
    int64_t doubles = 0;
    for (int g = 0; g < problem->block_groups; g++)
        doubles += problem->block_group[g].count * cs_jacobian_size(&problem->block_group[g]);
    cs_status status = cs_adjacency_build(problem, arena, 0, &a->adjacency, error);
    if (status) return status;
    a->seen = cs_arena_take(arena, problem->blocks, sizeof(int64_t));
    a->neighbour = cs_arena_take(arena, problem->blocks, sizeof(int64_t));
    a->place = cs_arena_take(arena, problem->blocks + 1, sizeof(int64_t));
    a->scaled = cs_arena_take(arena, doubles, sizeof(double));
    if (cs_arena_failed(arena)) return cs_no_memory(error, "assembling A");

    /* Compute G_k = J_k L of every block. */
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++) {
            int64_t block = group->first_block + k, place = a->place[block];
            cs_scaled_jacobian(problem, group, k, a->scaled + place);
            a->place[block + 1] = place + cs_jacobian_size(group);
        }
    }
    return CS_OK;
}

/* First pass: where each block row begins, in `column` and in `value`. */
static cs_status count_rows(assembly *a, cs_block_matrix *matrix, cs_error *error)
{
    cs_status status = CS_OK;
    for (int64_t k = 0; k < matrix->blocks && !status; k++) {
        int64_t count = neighbours(a, k, k + 1), columns = 0;
        for (int64_t e = 0; e < count; e++)
            columns += cs_block_group_of(a->problem, a->neighbour[e])->rows;
        matrix->start[k + 1] = matrix->start[k] + count;
        matrix->first[k + 1] = matrix->first[k] + columns * cs_block_group_of(a->problem, k)->rows;
        status = poll(a, count, error);
    }
    return status;
}

/* A_kk += Sigma_kk */
static void add_compliance(const cs_block_group *group, int64_t index, double *value)
{
    for (int i = 0; i < group->rows && group->compliance; i++)
        value[i * group->rows + i] += group->compliance[index * group->rows + i];
}

/* Second pass: the columns and values of block row k. */
static void fill_row(assembly *a, cs_block_matrix *matrix, int64_t k)
{
    int64_t count = neighbours(a, k, matrix->blocks + k + 1);
    const cs_block_group *row = cs_block_group_of(a->problem, k);
    double *value = matrix->value + matrix->first[k];
    for (int64_t e = 0; e < count; e++) {
        int64_t l = a->neighbour[e];
        const cs_block_group *column = cs_block_group_of(a->problem, l);
        matrix->column[matrix->start[k] + e] = l;
        add_shared(a, k, l, row, column, value);
        if (l == k) add_compliance(row, k - row->first_block, value);
        value += row->rows * column->rows;
    }
}

cs_status cs_assemble(const cs_problem *problem, cs_arena *arena, const cs_control *control,
                      cs_block_matrix **result, cs_error *error)
{
    cs_arena scratch = {0};
    assembly a = {.problem = problem, .control = control};
    cs_block_matrix *matrix = cs_block_matrix_new(arena, problem->blocks);
    cs_status status = CS_OK;
    if (!matrix) goto no_memory;
    status = prepare(&a, &scratch, error);
    if (status) goto out;

    /* Count, allocate, fill. */
    status = count_rows(&a, matrix, error);
    if (status) goto out;
    if (cs_block_matrix_take(arena, matrix)) goto no_memory;
    for (int64_t k = 0; k < problem->blocks && !status; k++) {
        fill_row(&a, matrix, k);
        status = poll(&a, matrix->start[k + 1] - matrix->start[k], error);
    }
    if (!status) *result = matrix;
    goto out;
no_memory:
    status = cs_no_memory(error, "A of %lld contacts", (long long)problem->blocks);
out:
    cs_arena_clear(&scratch);
    return status;
}
