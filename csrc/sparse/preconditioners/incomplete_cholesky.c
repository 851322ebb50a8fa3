/* Incomplete Cholesky factorization within the parts, without fill.  Meijerink and van der Vorst 1977; Manteuffel 1980
 *
 *     A_loc + alpha D ~ R^T R,   R = (I + U) C^T,      C_i C_i^T: the pivot blocks,  U: the pattern of A_loc
 *
 * If a pivot block is not positive definite, alpha doubles, for all parts: what is computed depends on the system alone. The
 * factor is computed in double precision; its solves are those of block_ssor. */
#include "core/error.h"
#include "core/loop.h"
#include "core/share.h"
#include "sparse/preconditioner.h"
#include "sparse/scaled_blocks.h"

#include <stdatomic.h>
#include <string.h>

/* The first shift; it doubles until all pivots are positive definite, at most so often. */
#define FIRST_SHIFT 1e-3
enum { MOST_SHIFTS = 24 };

typedef struct incomplete {
    cs_scaled_blocks scaled;
    double *row;    /* (9 blocks of A_loc): rows of R, without the pivot; blocks row by row */
    double *factor; /* (9 vertices): C^-1, row by row */
} incomplete;

/* Multiplications of a factorization: a product of blocks for each pair in a row that is within the pattern, at most. */
static double products_of(const cs_block_system *s)
{
    double products = 0;
    for (int64_t i = 0; i < s->vertices; i++) {
        double length = (double)(s->local.start[i + 1] - s->local.start[i] - 1);
        products += length * (length + 1) / 2 + length;
    }
    return CS_BLOCK_ROWS * CS_BLOCK_SIZE * products;
}

static cs_status make(cs_preconditioner *p, cs_error *error)
{
    const cs_block_system *s = p->system;
    incomplete *own = cs_arena_take(&p->arena, 1, sizeof *own), taken = {0};
    cs_scaled_blocks_take(&taken.scaled, s, 0, &p->arena);
    taken.scaled.values = p->options.exact;
    taken.row = cs_arena_take_unset(&p->arena, CS_BLOCK_SIZE * s->local.blocks, sizeof(double));
    taken.factor = cs_arena_take(&p->arena, CS_BLOCK_SIZE * s->vertices, sizeof(double));
    cs_status status = cs_arena_status(&p->arena, error, "%lld blocks of an incomplete factor",
                                       (long long)s->local.blocks);
    if (status) return status;
    *own = taken;
    p->state = own;
    p->bytes = cs_scaled_blocks_bytes(&own->scaled);
    p->work = cs_scaled_blocks_work(&own->scaled);
    p->set_up = products_of(s);
    return cs_preconditioner_by_parts(p, error);
}

/* What threads share. */
typedef struct factoring {
    const incomplete *own;
    double shift;
    _Atomic(long long) indefinite; /* the first vertex whose pivot is, in the new numbers */
    _Atomic(int) is_cancelled;
    cs_cancellation *cancellation; /* thread 0 asks */
} factoring;

/* The rows of A of one part, with the shift. */
static void copy_rows(const factoring *c, int64_t part)
{
    const cs_block_system *s = c->own->scaled.values;
    for (int64_t i = s->first[part]; i < s->first[part + 1]; i++) {
        double *diagonal = c->own->row + CS_BLOCK_SIZE * s->local.start[i];
        for (int64_t e = s->local.start[i]; e < s->local.start[i + 1]; e++)
            cs_block_system_get(s, &s->local, e, c->own->row + CS_BLOCK_SIZE * e);
        for (int k = 0; k < CS_BLOCK_SIZE; k++) diagonal[k] *= 1 + c->shift;
    }
}

/* block <- C^-1 block */
static void divide(const double *inverse, double *block)
{
    for (int i = CS_BLOCK_ROWS; i-- > 0;)
        for (int j = 0; j < CS_BLOCK_ROWS; j++) {
            double sum = 0;
            for (int k = 0; k <= i; k++)
                sum += inverse[CS_BLOCK_ROWS * i + k] * block[CS_BLOCK_ROWS * k + j];
            block[CS_BLOCK_ROWS * i + j] = sum;
        }
}

/* to -= left^T right */
static void subtract_product(const double *left, const double *right, double *to)
{
    for (int i = 0; i < CS_BLOCK_ROWS; i++)
        for (int k = 0; k < CS_BLOCK_ROWS; k++)
            for (int j = 0; j < CS_BLOCK_ROWS; j++)
                to[CS_BLOCK_ROWS * i + j] -=
                    left[CS_BLOCK_ROWS * k + i] * right[CS_BLOCK_ROWS * k + j];
}

/* S_jk -= R_ij^T R_ik for the blocks k >= j that rows i and j have both: both ascend. */
static void eliminate_from(const factoring *c, int64_t i, int64_t e)
{
    const cs_block_rows *local = &c->own->scaled.system->local;
    int64_t j = local->column[e], f = local->start[j];
    double *row = c->own->row;
    const double *left = row + CS_BLOCK_SIZE * e;
    for (int64_t g = e; g < local->start[i + 1]; g++) {
        while (f < local->start[j + 1] && local->column[f] < local->column[g]) f++;
        if (f == local->start[j + 1]) return;
        if (local->column[f] == local->column[g])
            subtract_product(left, row + CS_BLOCK_SIZE * g, row + CS_BLOCK_SIZE * f);
    }
}

/* Returns -1 if the pivot of row i is not positive definite. */
static int factor_row(const factoring *c, int64_t i)
{
    const cs_block_rows *local = &c->own->scaled.system->local;
    double *inverse = c->own->factor + CS_BLOCK_SIZE * i, *row = c->own->row;
    if (cs_block_invert_factor(row + CS_BLOCK_SIZE * local->start[i], 1, inverse) < 0) return -1;
    for (int64_t e = local->start[i] + 1; e < local->start[i + 1]; e++)
        divide(inverse, row + CS_BLOCK_SIZE * e);
    for (int64_t e = local->start[i] + 1; e < local->start[i + 1]; e++) eliminate_from(c, i, e);
    return 0;
}

/* Multiplications of a row and of a wait, roughly, to ask for signals now and then. */
enum { ROW_WORK = 1000, WAIT_WORK = 10000 };

static void factor_part(void *context, int64_t part, int thread)
{
    factoring *c = context;
    const cs_block_system *s = c->own->scaled.system;
    copy_rows(c, part);
    for (int64_t i = s->first[part]; i < s->first[part + 1]; i++) {
        if (thread == 0 && cs_is_cancelled(c->cancellation, ROW_WORK))
            atomic_store(&c->is_cancelled, 1);
        if (atomic_load_explicit(&c->is_cancelled, memory_order_relaxed)) return;
        if (factor_row(c, i) == 0) continue;
        cs_note_least(&c->indefinite, i);
        return;
    }
}

/* U <- the blocks of R, with unit diagonal ones: U_ij = R_ij C_j^-T. */
static void store_part(void *context, int64_t part, int thread)
{
    (void)thread;
    static const double unit[CS_BLOCK_SIZE] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const factoring *c = context;
    const cs_scaled_blocks *a = &c->own->scaled;
    const cs_block_system *s = a->system;
    for (int64_t i = s->first[part]; i < s->first[part + 1]; i++) {
        double block[CS_BLOCK_SIZE];
        cs_block_store(a->factor, s->single, i, c->own->factor + CS_BLOCK_SIZE * i);
        for (int64_t e = s->local.start[i] + 1; e < s->local.start[i + 1]; e++) {
            const double *other = c->own->factor + CS_BLOCK_SIZE * s->local.column[e];
            cs_block_scale(unit, c->own->row + CS_BLOCK_SIZE * e, other, block);
            cs_block_store(a->upper, s->single, e - i - 1, block);
        }
    }
}

static void wait_for_others(void *context)
{
    factoring *c = context;
    if (cs_is_cancelled(c->cancellation, WAIT_WORK)) atomic_store(&c->is_cancelled, 1);
}

static cs_status update(cs_preconditioner *p, int threads, cs_cancellation *cancellation,
                        cs_error *error)
{
    const cs_block_system *s = p->system;
    factoring c = {.own = p->state, .cancellation = cancellation};
    cs_tasks tasks = {s->parts, s->task, factor_part, wait_for_others, &c};
    atomic_init(&c.is_cancelled, 0);
    for (int tries = 0;; tries++) {
        atomic_init(&c.indefinite, s->vertices);
        cs_share_out(&tasks, threads);
        if (atomic_load(&c.is_cancelled))
            return cs_fail(error, CS_INTERRUPTED, "the factorization was interrupted");
        if (atomic_load(&c.indefinite) == s->vertices) break;
        if (tries == MOST_SHIFTS)
            return cs_preconditioner_indefinite(p, atomic_load(&c.indefinite), error);
        c.shift = c.shift > 0 ? 2 * c.shift : FIRST_SHIFT;
    }
    tasks.work = store_part;
    cs_share_out(&tasks, threads);
    cs_preconditioner_tell(p, "shift", c.shift);
    return CS_OK;
}

static void run(const cs_preconditioner *p, int64_t phase, int64_t part)
{
    (void)phase;
    const cs_block_system *s = p->system;
    const incomplete *own = p->state;
    cs_block_kernels_here()->ssor[cs_block_form(s, s->single)](&own->scaled, part, p->r, p->z);
}

const cs_preconditioner_kind cs_preconditioner_incomplete_cholesky = {
    .name = "incomplete_cholesky",
    .summary = "incomplete Cholesky factors of the parts, without fill",
    .is_local = 1,
    .make = make,
    .update = update,
    .run = run,
};
