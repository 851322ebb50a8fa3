/* Symmetric successive overrelaxation within the parts, whose couplings it leaves out.  S5 section 4.3
 *
 *     M^-1 ~ (D/omega + L) D^-1 (D/omega + L^T) = C (I + U^T)(I + U) C^T,      D/omega = C C^T,  U = C^-1 L^T C^-T
 *
 * up to a factor, which conjugate gradients do not see. U is stored: the solves have no divisions, and Eisenstat's product
 * (sparse/conjugate.c) reads no diagonal blocks. */
#include "sparse/preconditioners/block_ssor.h"

#include "core/error.h"
#include "core/loop.h"
#include "core/share.h"

#include <math.h>
#include <stdatomic.h>

static cs_status make(cs_preconditioner *p, cs_error *error)
{
    const cs_block_system *s = p->system;
    size_t number = s->single ? sizeof(float) : sizeof(double);
    int64_t upper = s->local.blocks - s->vertices;
    cs_scaled_blocks *own = cs_arena_take(&p->arena, 1, sizeof *own);
    cs_scaled_blocks scaled = {.system = s, .omega = p->options.relaxation};
    scaled.upper = cs_arena_take(&p->arena, CS_BLOCK_SIZE * upper + CS_BLOCK_STRIDE, number);
    scaled.beside =
        cs_arena_take(&p->arena, CS_BLOCK_SIZE * s->outer.blocks + CS_BLOCK_STRIDE, number);
    scaled.factor = cs_arena_take(&p->arena, CS_BLOCK_SIZE * s->vertices, number);
    cs_status status = cs_arena_status(&p->arena, error, "%lld scaled blocks", (long long)upper);
    if (status) return status;
    *own = scaled;
    p->state = own;
    p->bytes = 2 * upper * (int64_t)(CS_BLOCK_SIZE * number + sizeof(int32_t)) +
               2 * CS_BLOCK_SIZE * s->vertices * (int64_t)number;
    p->work = (double)(2 * CS_BLOCK_SIZE * (upper + s->vertices));
    p->set_up = (double)(6 * CS_BLOCK_SIZE * (upper + s->outer.blocks));
    return cs_preconditioner_by_parts(p, error);
}

/* inverse (9), lower triangular, row by row <- C^-1 with C C^T = D / omega. Returns -1 if D is not positive definite. */
static int invert_factor(const double *d, double omega, double *inverse)
{
    double c[CS_BLOCK_SIZE] = {0};
    for (int j = 0; j < CS_BLOCK_ROWS; j++)
        for (int i = j; i < CS_BLOCK_ROWS; i++) {
            double sum = d[CS_BLOCK_ROWS * i + j] / omega;
            for (int k = 0; k < j; k++) sum -= c[CS_BLOCK_ROWS * i + k] * c[CS_BLOCK_ROWS * j + k];
            if (i == j && !(sum > 0 && isfinite(sum))) return -1;
            c[CS_BLOCK_ROWS * i + j] = i == j ? sqrt(sum) : sum / c[CS_BLOCK_ROWS * j + j];
        }
    for (int j = 0; j < CS_BLOCK_ROWS; j++)
        for (int i = 0; i < CS_BLOCK_ROWS; i++) {
            double sum = i == j;
            for (int k = j; k < i; k++)
                sum -= c[CS_BLOCK_ROWS * i + k] * inverse[CS_BLOCK_ROWS * k + j];
            inverse[CS_BLOCK_ROWS * i + j] = i < j ? 0 : sum / c[CS_BLOCK_ROWS * i + i];
        }
    return 0;
}

/* What threads share. */
typedef struct scaling {
    const cs_scaled_blocks *a;
    atomic_llong indefinite; /* the first vertex whose diagonal block is, in the new numbers */
} scaling;

/* Stores a block, given row by row, column by column. */
static void store(void *to, int single, int64_t block, const double *from)
{
    for (int row = 0; row < CS_BLOCK_ROWS; row++)
        for (int k = 0; k < CS_BLOCK_ROWS; k++) {
            int64_t at = CS_BLOCK_SIZE * block + CS_BLOCK_ROWS * k + row;
            if (single) ((float *)to)[at] = (float)from[CS_BLOCK_ROWS * row + k];
            else ((double *)to)[at] = from[CS_BLOCK_ROWS * row + k];
        }
}

static void factor_vertices(void *context, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    scaling *c = context;
    const cs_block_system *s = c->a->system;
    for (int64_t i = begin; i < end; i++) {
        double block[CS_BLOCK_SIZE], inverse[CS_BLOCK_SIZE] = {0};
        cs_block_system_get(s, &s->local, s->local.start[i], block);
        if (invert_factor(block, c->a->omega, inverse) < 0) {
            long long least = atomic_load(&c->indefinite);
            while (i < least && !atomic_compare_exchange_weak(&c->indefinite, &least, i)) continue;
        }
        store(c->a->factor, s->single, i, inverse);
    }
}

/* C^-1 of a vertex, row by row. */
static void get_factor(const cs_scaled_blocks *a, int64_t i, double *factor)
{
    for (int row = 0; row < CS_BLOCK_ROWS; row++)
        for (int k = 0; k < CS_BLOCK_ROWS; k++) {
            int64_t at = CS_BLOCK_SIZE * i + CS_BLOCK_ROWS * k + row;
            factor[CS_BLOCK_ROWS * row + k] = a->system->single
                                                  ? (double)((const float *)a->factor)[at]
                                                  : ((const double *)a->factor)[at];
        }
}

/* to <- left block right^T */
static void scale_block(const double *left, const double *block, const double *right, double *to)
{
    double half[CS_BLOCK_SIZE];
    for (int i = 0; i < CS_BLOCK_ROWS; i++)
        for (int j = 0; j < CS_BLOCK_ROWS; j++) {
            half[CS_BLOCK_ROWS * i + j] = 0;
            for (int k = 0; k <= i; k++)
                half[CS_BLOCK_ROWS * i + j] +=
                    left[CS_BLOCK_ROWS * i + k] * block[CS_BLOCK_ROWS * k + j];
        }
    for (int i = 0; i < CS_BLOCK_ROWS; i++)
        for (int j = 0; j < CS_BLOCK_ROWS; j++) {
            to[CS_BLOCK_ROWS * i + j] = 0;
            for (int k = 0; k <= j; k++)
                to[CS_BLOCK_ROWS * i + j] +=
                    half[CS_BLOCK_ROWS * i + k] * right[CS_BLOCK_ROWS * j + k];
        }
}

/* The rows of one part. */
static void scale_part(void *context, int64_t part, int thread)
{
    (void)thread;
    const scaling *c = context;
    const cs_scaled_blocks *a = c->a;
    const cs_block_system *s = a->system;
    const int64_t *neighbour = s->outer_vertex + s->outer_first[part];
    for (int64_t i = s->first[part]; i < s->first[part + 1]; i++) {
        double own[CS_BLOCK_SIZE], other[CS_BLOCK_SIZE], block[CS_BLOCK_SIZE], to[CS_BLOCK_SIZE];
        get_factor(a, i, own);
        for (int64_t e = s->local.start[i] + 1; e < s->local.start[i + 1]; e++) {
            cs_block_system_get(s, &s->local, e, block);
            get_factor(a, s->local.column[e], other);
            scale_block(own, block, other, to);
            store(a->upper, s->single, e - i - 1, to);
        }
        for (int64_t e = s->outer.start[i]; e < s->outer.start[i + 1]; e++) {
            cs_block_system_get(s, &s->outer, e, block);
            get_factor(a, neighbour[s->outer.column[e]], other);
            scale_block(own, block, other, to);
            store(a->beside, s->single, e, to);
        }
    }
}

static void wait_for_others(void *context) { (void)context; }

static cs_status update(cs_preconditioner *p, int threads, cs_cancellation *cancellation,
                        cs_error *error)
{
    (void)cancellation;
    const cs_block_system *s = p->system;
    scaling c = {.a = p->state};
    atomic_init(&c.indefinite, s->vertices);
    cs_loop(threads, s->vertices, factor_vertices, &c);
    long long indefinite = atomic_load(&c.indefinite);
    if (indefinite < s->vertices) return cs_preconditioner_indefinite(p, indefinite, error);
    const cs_tasks tasks = {s->parts, s->task, scale_part, wait_for_others, &c};
    cs_share_out(&tasks, threads);
    return CS_OK;
}

static void run(const cs_preconditioner *p, int64_t phase, int64_t part)
{
    (void)phase;
    const cs_block_system *s = p->system;
    cs_block_kernels_here()->ssor[cs_block_form(s, s->single)](p->state, part, p->r, p->z);
}

const cs_scaled_blocks *cs_preconditioner_scaled(const cs_preconditioner *p)
{
    return p->kind == &cs_preconditioner_block_ssor ? p->state : NULL;
}

const cs_preconditioner_kind cs_preconditioner_block_ssor = {
    .name = "block_ssor",
    .summary = "symmetric successive overrelaxation within the parts",
    .is_local = 1,
    .make = make,
    .update = update,
    .run = run,
};
