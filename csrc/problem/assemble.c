/* Assembles A = J M^-1 J^T + Sigma = G G^T + Sigma, one block row after another.
 * S1 eq. 3.3, Theorem 3.1
 *
 * Block row k has a non-zero block in column l if blocks k and l share a movable body: its columns are the union of
 * ascending lists, the blocks on each of its bodies. The rows are traversed twice: the first pass counts the blocks
 * and values, the second one fills them. Threads share the rows, each of which one thread computes; S1 sections 3.7.5
 * and 6.3. */
#include "core/error.h"
#include "core/parallel.h"
#include "core/phases.h"
#include "problem/adjacency.h"
#include "problem/problem.h"

#include <string.h>

/* Blocks of A between two cancellation checks, by one thread and by several. Rows are no measure, as one may hold any
 * number of blocks. */
enum { POLL_EVERY = 4096, POLL_EVERY_SHARED = 16 * POLL_EVERY };

enum { PIECE = 256 }; /* rows of one task */

typedef struct assembly {
    const cs_problem *problem;
    const cs_control *control;
    int threads;
    cs_adjacency adjacency;
    double *scaled; /* G_k of all blocks, one after another */
    int64_t *place; /* (blocks + 1): where G_k begins in `scaled` */
    cs_block_matrix *matrix;
    void (*row)(const struct assembly *a, int64_t k); /* what a pass does with row k */
    int64_t first, end;                               /* rows that are being traversed */
} assembly;

/* ---- the columns of a row --------------------------------------------------------------------- */

/* What is left of the lists of a row, one for each of its bodies. */
typedef struct columns {
    int lists, shift;
    const int64_t *next[CS_MAX_PARTNERS], *end[CS_MAX_PARTNERS];
} columns;

static columns columns_of(const assembly *a, int64_t block)
{
    columns left = {.shift = a->adjacency.shift};
    for (int side = 0; side < cs_adjacency_partners(&a->adjacency); side++) {
        int64_t body = cs_adjacency_body(&a->adjacency, block, side);
        if (body < 0) continue;
        left.next[left.lists] = a->adjacency.entry + a->adjacency.start[body];
        left.end[left.lists++] = a->adjacency.entry + a->adjacency.start[body + 1];
    }
    return left;
}

/* The next column, or -1 after the last one. A block may be in several lists, and several times in one. */
static int64_t next_column(columns *left)
{
    int64_t least = INT64_MAX;
    for (int i = 0; i < left->lists; i++)
        if (left->next[i] < left->end[i] && *left->next[i] >> left->shift < least)
            least = *left->next[i] >> left->shift;
    if (least == INT64_MAX) return -1;
    for (int i = 0; i < left->lists; i++)
        while (left->next[i] < left->end[i] && *left->next[i] >> left->shift == least)
            left->next[i]++;
    return least;
}

/* Whether no other block acts on the bodies of the row: only the diagonal block is stored. */
static int is_alone(const columns *left) { return !left->lists; }

/* ---- one block -------------------------------------------------------------------------------- */

/* value (rows, columns) += x y^T for x (rows, dof) and y (columns, dof). */
CS_INLINE void add_product(int rows, int width, int dof, const double *x, const double *y,
                           double *value)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < width; j++) {
            double sum = 0;
            for (int c = 0; c < dof; c++) sum += x[i * dof + c] * y[j * dof + c];
            value[i * width + j] += sum;
        }
}

/* value (m_k, m_l) += sum over the shared bodies of G_k,s G_l,t^T, where partner s of block k and
 * partner t of block l are the same body.  S1 eq. 3.3 */
static void add_shared(const assembly *a, int64_t k, int64_t l, const cs_block_group *row,
                       const cs_block_group *column, double *value)
{
    const double *x = a->scaled + a->place[k];
    for (int s = 0; s < row->partners; x += row->rows * row->dof[s], s++) {
        int64_t body = cs_adjacency_body(&a->adjacency, k, s);
        const double *y = a->scaled + a->place[l];
        for (int t = 0; t < column->partners; y += column->rows * column->dof[t], t++) {
            if (body < 0 || cs_adjacency_body(&a->adjacency, l, t) != body) continue;
            int rows = row->rows, width = column->rows, dof = row->dof[s];
            if (rows == 3 && width == 3 && dof == 6) add_product(3, 3, 6, x, y, value);
            else add_product(rows, width, dof, x, y, value);
        }
    }
}

/* A_kk += Sigma_kk */
static void add_compliance(const cs_block_group *group, int64_t index, double *value)
{
    for (int i = 0; i < group->rows && group->compliance; i++)
        value[i * group->rows + i] += group->compliance[index * group->rows + i];
}

/* ---- passes over the rows --------------------------------------------------------------------- */

/* G_k = J_k L. */
static void scale_row(const assembly *a, int64_t k)
{
    const cs_block_group *group = cs_block_group_of(a->problem, k);
    cs_scaled_jacobian(a->problem, group, k - group->first_block, a->scaled + a->place[k]);
}

/* start[k + 1], first[k + 1] <- the numbers of blocks and of values in row k. */
static void count_row(const assembly *a, int64_t k)
{
    columns left = columns_of(a, k);
    int64_t blocks = 0, width = 0, rows = cs_block_group_of(a->problem, k)->rows;
    if (is_alone(&left)) blocks = 1, width = rows;
    for (int64_t l; (l = next_column(&left)) >= 0; blocks++)
        width += cs_block_group_of(a->problem, l)->rows;
    a->matrix->start[k + 1] = blocks;
    a->matrix->first[k + 1] = width * rows;
}

/* The columns and values of row k. */
static void fill_row(const assembly *a, int64_t k)
{
    const cs_block_group *row = cs_block_group_of(a->problem, k);
    columns left = columns_of(a, k);
    int64_t *column = a->matrix->column + a->matrix->start[k];
    double *value = a->matrix->value + a->matrix->first[k];
    for (int64_t l = is_alone(&left) ? k : next_column(&left); l >= 0; l = next_column(&left)) {
        const cs_block_group *other = cs_block_group_of(a->problem, l);
        int64_t size = (int64_t)row->rows * other->rows;
        memset(value, 0, sizeof(double) * (size_t)size);
        add_shared(a, k, l, row, other, value);
        if (l == k) add_compliance(row, k - row->first_block, value);
        *column++ = l;
        value += size;
    }
}

/* Visits the rows of a piece. */
static void run_piece(void *context, int64_t phase, int64_t task)
{
    (void)phase;
    const assembly *a = context;
    int64_t first = a->first + task * PIECE;
    int64_t end = a->end - first < PIECE ? a->end : first + PIECE;
    for (int64_t k = first; k < end; k++) a->row(a, k);
}

/* The entries of the lists of a row, which bound its work. */
static int64_t work_of(const assembly *a, int64_t k)
{
    columns left = columns_of(a, k);
    int64_t work = 1;
    for (int i = 0; i < left.lists; i++) work += left.end[i] - left.next[i];
    return work;
}

/* Visits all rows, and asks the caller from time to time whether to cancel. */
static cs_status each_row(assembly *a, void (*row)(const assembly *a, int64_t k), cs_error *error)
{
    const cs_control *control = a->control;
    int64_t every = a->threads > 1 ? POLL_EVERY_SHARED : POLL_EVERY, rows = a->problem->blocks;
    int asks = control && control->poll;
    a->row = row;
    for (a->first = 0; a->first < rows; a->first = a->end) {
        /* Take as many rows as go without a question, and visit them. */
        int64_t work = 0;
        a->end = asks ? a->first : rows;
        while (a->end < rows && work < every) work += work_of(a, a->end++);
        cs_phase pieces = {.tasks = (a->end - a->first + PIECE - 1) / PIECE};
        cs_phases phases = {1, &pieces, run_piece, a};
        cs_phases_run(&phases, a->threads);
        if (work >= every && control->poll(control->context, NULL) < 0)
            return cs_fail(error, CS_INTERRUPTED, "interrupted while assembling A");
    }
    return CS_OK;
}

/* ---- the whole -------------------------------------------------------------------------------- */

/* Builds the contact graph, and allocates G_k of every block. */
static cs_status prepare(assembly *a, cs_arena *arena, cs_error *error)
{
    const cs_problem *problem = a->problem;
    cs_status status = cs_adjacency_build(problem, arena, 0, &a->adjacency, error);
    if (status) return status;
    a->place = cs_arena_take_unset(arena, problem->blocks + 1, sizeof(int64_t));
    if (!a->place) return cs_no_memory(error, "assembling A");

    /* Where each G_k begins. */
    int64_t place = 0;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        int64_t size = cs_jacobian_size(group);
        for (int64_t k = 0; k < group->count; k++, place += size)
            a->place[group->first_block + k] = place;
    }
    a->place[problem->blocks] = place;
    a->scaled = cs_arena_take_unset(arena, place, sizeof(double));
    return cs_arena_status(arena, error, "assembling A");
}

cs_status cs_assemble(const cs_problem *problem, int threads, cs_arena *arena,
                      const cs_control *control, cs_block_matrix **result, cs_error *error)
{
    cs_arena scratch = {0};
    int64_t blocks = problem->blocks;
    assembly a = {.problem = problem, .control = control};
    a.threads =
        cs_problem_threads(problem, threads, blocks, CS_WORTH_THREADS_ASSEMBLY, blocks / PIECE);
    cs_block_matrix *matrix = a.matrix = cs_block_matrix_new(arena, blocks);
    cs_status status = CS_OK;
    if (!matrix) goto no_memory;
    status = prepare(&a, &scratch, error);
    if (status) goto out;

    /* Count, allocate, fill. */
    status = each_row(&a, scale_row, error);
    if (!status) status = each_row(&a, count_row, error);
    if (status) goto out;
    for (int64_t k = 0; k < blocks; k++) {
        matrix->start[k + 1] += matrix->start[k];
        matrix->first[k + 1] += matrix->first[k];
    }
    if (cs_block_matrix_take(arena, matrix)) goto no_memory;
    status = each_row(&a, fill_row, error);
    if (!status) *result = matrix;
    goto out;
no_memory:
    status = cs_no_memory(error, "A of %lld contacts", (long long)blocks);
out:
    cs_arena_clear(&scratch);
    return status;
}
