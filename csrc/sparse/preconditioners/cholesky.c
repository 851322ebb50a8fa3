/* Sparse Cholesky factor of the whole matrix, in 3 x 3 blocks: the solution itself, up to rounding.
 *
 * The order is a nested dissection (sparse/dissection.h), the factor up-looking: row after row of L, by the elimination
 * tree of the vertices (Davis 2006, section 4.7), as in linalg/sparse.c, where entries are numbers. */
#include "core/error.h"
#include "sparse/dissection.h"
#include "sparse/factor_kernels.h"
#include "sparse/preconditioner.h"
#include "sparse/scaled_blocks.h"

#include <string.h>

/* A block of A on or below the diagonal of the new order. */
typedef struct entry {
    int32_t column; /* in that order */
    int32_t block;  /* of A_loc; -1 - block of A_ext */
    int is_turned;  /* the block is the transpose of this one */
} entry;

typedef struct cholesky {
    int64_t *order, *place; /* (vertices): position -> vertex of the system, and back */
    int64_t *parent;        /* (vertices): the elimination tree */
    int64_t *row_start;     /* (vertices + 1): entries of each row of A */
    entry *entry;
    int64_t *start,
        *end; /* (vertices + 1), (vertices): columns of L below the diagonal, and how far they are filled */
    int32_t *row;         /* (start[vertices]) */
    double *value;        /* (9 start[vertices]): blocks column by column */
    double *inverse;      /* (9 vertices): of the diagonal blocks of L, row by row */
    double *work;         /* (4 numbers, 3 columns of each vertex): zero between rows */
    int64_t *mark, *path; /* (vertices) */
    double *x;            /* (4 vertices): of a solve */
    double products;      /* of blocks, in a factorization */
    cs_phase phase;       /* one task */
} cholesky;

/* ---- the pattern ------------------------------------------------------------------------------------------- */

/* Calls `visit` for all blocks of A above the diagonal, or on it: block number `block` is that of rows i, columns j. */
typedef void (*visit)(cholesky *own, int64_t i, int64_t j, int64_t block);

static void visit_blocks(cholesky *own, const cs_block_system *s, visit call)
{
    for (int64_t p = 0; p < s->parts; p++)
        for (int64_t i = s->first[p]; i < s->first[p + 1]; i++) {
            for (int64_t e = s->local.start[i]; e < s->local.start[i + 1]; e++)
                call(own, i, s->local.column[e], e);
            for (int64_t e = s->outer.start[i]; e < s->outer.start[i + 1]; e++) {
                int64_t j = s->outer_vertex[s->outer_first[p] + s->outer.column[e]];
                if (j > i) call(own, i, j, -1 - e);
            }
        }
}

static void count_entry(cholesky *own, int64_t i, int64_t j, int64_t block)
{
    (void)block;
    int64_t a = own->place[i], b = own->place[j];
    own->row_start[(a > b ? a : b) + 1]++;
}

/* `mark` holds the ends of the rows. */
static void put_entry(cholesky *own, int64_t i, int64_t j, int64_t block)
{
    int64_t a = own->place[i], b = own->place[j];
    int is_turned = b > a;
    own->entry[own->mark[is_turned ? b : a]++] =
        (entry){(int32_t)(is_turned ? a : b), (int32_t)block, is_turned};
}

/* The elimination tree of what is below the diagonal.  Liu 1990 */
static void find_tree(cholesky *own, int64_t vertices)
{
    int64_t *ancestor = own->mark;
    for (int64_t i = 0; i < vertices; i++) {
        own->parent[i] = ancestor[i] = -1;
        for (int64_t e = own->row_start[i]; e < own->row_start[i + 1]; e++)
            for (int64_t j = own->entry[e].column, next; j >= 0 && j < i; j = next) {
                next = ancestor[j];
                ancestor[j] = i;
                if (next < 0) own->parent[j] = i;
            }
    }
}

/* path[from .. vertices) <- the columns of row i of L in topological order. Returns `from`. */
static int64_t reach(const cholesky *own, int64_t i, int64_t vertices)
{
    int64_t from = vertices;
    own->mark[i] = i;
    for (int64_t e = own->row_start[i]; e < own->row_start[i + 1]; e++) {
        int64_t length = 0;
        for (int64_t j = own->entry[e].column; j < i && own->mark[j] != i; j = own->parent[j]) {
            own->path[length++] = j;
            own->mark[j] = i;
        }
        while (length) own->path[--from] = own->path[--length];
    }
    return from;
}

/* Counts the blocks of each column of L, and products: of each column's blocks with one of them. */
static void count_columns(cholesky *own, int64_t vertices)
{
    for (int64_t i = 0; i < vertices; i++) own->mark[i] = -1;
    for (int64_t i = 0; i < vertices; i++)
        for (int64_t p = reach(own, i, vertices); p < vertices; p++) own->start[own->path[p] + 1]++;
    for (int64_t j = 0; j < vertices; j++) {
        double length = (double)own->start[j + 1];
        own->products += length * (length + 1) / 2 + length;
        own->start[j + 1] += own->start[j];
    }
}

static cs_status take(cholesky *own, const cs_block_system *s, cs_arena *arena, cs_error *error)
{
    int64_t n = s->vertices, blocks = s->local.blocks + s->outer.blocks;
    int64_t **lists[] = {&own->order, &own->place, &own->parent, &own->end, &own->mark, &own->path};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        *lists[i] = cs_arena_take(arena, n, sizeof(int64_t));
    own->row_start = cs_arena_take(arena, n + 1, sizeof *own->row_start);
    own->start = cs_arena_take(arena, n + 1, sizeof *own->start);
    own->entry = cs_arena_take_unset(arena, blocks, sizeof *own->entry);
    own->inverse = cs_arena_take(arena, CS_BLOCK_SIZE * n, sizeof(double));
    own->work = cs_arena_take(arena, CS_BLOCK_ROWS * CS_BLOCK_STRIDE * n, sizeof(double));
    own->x = cs_arena_take(arena, CS_BLOCK_STRIDE * n, sizeof(double));
    return cs_arena_status(arena, error, "a factor of %lld vertices", (long long)n);
}

static void find_pattern(cholesky *own, const cs_block_system *s)
{
    int64_t n = s->vertices;
    for (int64_t i = 0; i < n; i++) own->place[own->order[i]] = i;
    visit_blocks(own, s, count_entry);
    for (int64_t i = 0; i < n; i++) {
        own->row_start[i + 1] += own->row_start[i];
        own->mark[i] = own->row_start[i];
    }
    visit_blocks(own, s, put_entry);
    find_tree(own, n);
    count_columns(own, n);
}

static cs_status make(cs_preconditioner *p, cs_error *error)
{
    /* The order and the pattern. */
    const cs_block_system *s = p->system;
    if (s->local.blocks + s->outer.blocks >= INT32_MAX)
        return cs_fail(error, CS_UNSUPPORTED,
                       "A has too many blocks for a factor in 32-bit numbers");
    cholesky taken = {0}, *own = cs_arena_take(&p->arena, 1, sizeof *own);
    cs_status status = take(&taken, s, &p->arena, error);
    if (!status) status = cs_block_dissection(s, taken.order, error);
    if (status) return status;
    find_pattern(&taken, s);

    /* The factor. */
    int64_t blocks = taken.start[s->vertices];
    taken.row = cs_arena_take_unset(&p->arena, blocks, sizeof *taken.row);
    taken.value = cs_arena_take_unset(&p->arena, CS_BLOCK_SIZE * blocks + CS_BLOCK_STRIDE,
                                      sizeof *taken.value);
    status = cs_arena_status(&p->arena, error, "a factor of %lld blocks", (long long)blocks);
    if (status) return status;
    *own = taken;
    p->state = own;
    p->bytes = 2 * blocks * (int64_t)(CS_BLOCK_SIZE * sizeof(double) + sizeof(int32_t));
    p->work = (double)(2 * CS_BLOCK_SIZE * (blocks + s->vertices));
    p->set_up = CS_BLOCK_ROWS * CS_BLOCK_SIZE * own->products;
    cs_preconditioner_tell(p, "blocks", (double)(blocks + s->vertices));
    own->phase.tasks = 1;
    p->phase = &own->phase;
    p->phases = 1;
    return CS_OK;
}

/* ---- the factor ---------------------------------------------------------------------------------------------- */

/* The columns of a vertex's block, each of four numbers, in `work`. */
static double *work_of(const cholesky *own, int64_t i)
{
    return own->work + CS_BLOCK_ROWS * CS_BLOCK_STRIDE * i;
}

/* work <- row i of A, transposed: block (i, j) at j, whose columns are rows of A_ij. */
static void scatter_row(const cholesky *own, const cs_block_system *s, int64_t i)
{
    for (int64_t e = own->row_start[i]; e < own->row_start[i + 1]; e++) {
        const entry *a = &own->entry[e];
        double block[CS_BLOCK_SIZE], *to = work_of(own, a->column);
        if (a->block >= 0) cs_block_system_get(s, &s->local, a->block, block);
        else cs_block_system_get(s, &s->outer, -1 - (int64_t)a->block, block);
        for (int row = 0; row < CS_BLOCK_ROWS; row++)
            for (int k = 0; k < CS_BLOCK_ROWS; k++)
                to[CS_BLOCK_STRIDE * row + k] =
                    block[a->is_turned ? CS_BLOCK_ROWS * k + row : CS_BLOCK_ROWS * row + k];
    }
}

/* l (9), column by column <- L_ij = W L_jj^-T of the row's block W. w: rows of W; cleared. */
static void divide(const double *inverse, double *w, double *l)
{
    for (int row = 0; row < CS_BLOCK_ROWS; row++)
        for (int k = 0; k < CS_BLOCK_ROWS; k++) {
            double sum = 0;
            for (int m = 0; m <= k; m++)
                sum += w[CS_BLOCK_STRIDE * row + m] * inverse[CS_BLOCK_ROWS * k + m];
            l[CS_BLOCK_ROWS * k + row] = sum;
        }
    memset(w, 0, sizeof *w * CS_BLOCK_ROWS * CS_BLOCK_STRIDE);
}

/* Row i of L. Returns -1 if its diagonal block is not positive definite. */
static int factor_row(cholesky *own, const cs_block_system *s, int64_t i)
{
    const cs_factor_kernels *kernels = cs_factor_kernels_here();
    double pivot[CS_BLOCK_SIZE], *w = work_of(own, i);
    scatter_row(own, s, i);
    for (int64_t p = reach(own, i, s->vertices); p < s->vertices; p++) {
        int64_t j = own->path[p], end = own->end[j];
        double *l = own->value + CS_BLOCK_SIZE * end;
        divide(own->inverse + CS_BLOCK_SIZE * j, work_of(own, j), l);
        own->row[end] = (int32_t)i;
        own->end[j] = end + 1;
        /* With the new block itself, whose product belongs to the diagonal. */
        kernels->subtract(own->value, own->row, own->start[j], end + 1, l, own->work);
    }
    for (int row = 0; row < CS_BLOCK_ROWS; row++)
        for (int k = 0; k < CS_BLOCK_ROWS; k++)
            pivot[CS_BLOCK_ROWS * row + k] = w[CS_BLOCK_STRIDE * row + k];
    memset(w, 0, sizeof *w * CS_BLOCK_ROWS * CS_BLOCK_STRIDE);
    return cs_block_invert_factor(pivot, 1, own->inverse + CS_BLOCK_SIZE * i);
}

static cs_status update(cs_preconditioner *p, int threads, cs_cancellation *cancellation,
                        cs_error *error)
{
    (void)threads;
    cholesky *own = p->state;
    const cs_block_system *s = p->options.exact;
    double row_work = p->set_up / (double)(s->vertices + 1);
    memset(own->work, 0,
           sizeof *own->work * (size_t)(CS_BLOCK_ROWS * CS_BLOCK_STRIDE * s->vertices));
    for (int64_t i = 0; i < s->vertices; i++) {
        own->end[i] = own->start[i];
        own->mark[i] = -1;
    }
    for (int64_t i = 0; i < s->vertices; i++) {
        if (factor_row(own, s, i) < 0) return cs_preconditioner_indefinite(p, own->order[i], error);
        if (cs_is_cancelled(cancellation, row_work))
            return cs_fail(error, CS_INTERRUPTED, "interrupted while A is factored");
    }
    return CS_OK;
}

/* ---- a solve ---------------------------------------------------------------------------------------------------- */

/* x (4 vertices, in the order) <- r, or z <- x. */
static void take_vector(const cs_preconditioner *p, const cholesky *own)
{
    for (int64_t i = 0; i < p->system->vertices; i++)
        for (int k = 0; k < CS_BLOCK_ROWS; k++) {
            int64_t at = CS_BLOCK_STRIDE * own->order[i] + k;
            own->x[CS_BLOCK_STRIDE * i + k] = cs_number_at(p->r, p->system->single, at);
        }
}

static void give_vector(const cs_preconditioner *p, const cholesky *own)
{
    for (int64_t i = 0; i < p->system->vertices; i++)
        for (int k = 0; k < CS_BLOCK_STRIDE; k++) {
            int64_t at = CS_BLOCK_STRIDE * own->order[i] + k;
            double number = k < CS_BLOCK_ROWS ? own->x[CS_BLOCK_STRIDE * i + k] : 0;
            cs_number_put(p->z, p->system->single, at, number);
        }
}

static void run(const cs_preconditioner *p, int64_t phase, int64_t task)
{
    (void)phase, (void)task;
    const cholesky *own = p->state;
    const cs_factor_kernels *kernels = cs_factor_kernels_here();
    const cs_factor_columns columns = {p->system->vertices, own->start, own->row, own->value,
                                       own->inverse};
    take_vector(p, own);
    kernels->solve(&columns, own->x);
    give_vector(p, own);
}

const cs_preconditioner_kind cs_preconditioner_cholesky = {
    .name = "cholesky",
    .summary = "a sparse Cholesky factor of the whole matrix",
    .make = make,
    .update = update,
    .run = run,
};
