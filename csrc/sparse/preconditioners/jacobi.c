/* Block Jacobi: the inverses of the diagonal blocks. */
#include "core/error.h"
#include "core/loop.h"
#include "sparse/preconditioner.h"
#include "sparse/scaled_blocks.h"

#include <stdatomic.h>

typedef struct jacobi {
    double *inverse; /* (9 vertices), row by row */
} jacobi;

static cs_status make(cs_preconditioner *p, cs_error *error)
{
    const cs_block_system *s = p->system;
    jacobi *own = cs_arena_take(&p->arena, 1, sizeof *own);
    double *inverse = cs_arena_take(&p->arena, CS_BLOCK_SIZE * s->vertices, sizeof *inverse);
    cs_status status =
        cs_arena_status(&p->arena, error, "%lld diagonal blocks", (long long)s->vertices);
    if (status) return status;
    *own = (jacobi){inverse};
    p->state = own;
    p->bytes = CS_BLOCK_SIZE * s->vertices * (int64_t)sizeof *inverse;
    p->work = (double)(CS_BLOCK_SIZE * s->vertices);
    p->set_up = 10 * p->work;
    return cs_preconditioner_by_parts(p, error);
}

/* What threads share while blocks are inverted. */
typedef struct inverting {
    const cs_block_system *system;
    double *inverse;
    _Atomic(long long) indefinite; /* the first vertex whose block is, in the new numbers */
} inverting;

/* inverse <- C^-T C^-1, where the factor C^-1 is lower triangular: symmetric to the last bit. */
static void multiply_factors(const double *factor, double *inverse)
{
    for (int i = 0; i < CS_BLOCK_ROWS; i++)
        for (int j = 0; j < CS_BLOCK_ROWS; j++) {
            double sum = 0;
            for (int k = i > j ? i : j; k < CS_BLOCK_ROWS; k++)
                sum += factor[CS_BLOCK_ROWS * k + i] * factor[CS_BLOCK_ROWS * k + j];
            inverse[CS_BLOCK_ROWS * i + j] = sum;
        }
}

static void invert(void *context, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    inverting *c = context;
    for (int64_t i = begin; i < end; i++) {
        double block[CS_BLOCK_SIZE], factor[CS_BLOCK_SIZE];
        cs_block_system_get(c->system, &c->system->local, c->system->local.start[i], block);
        if (cs_block_invert_factor(block, 1, factor) < 0) cs_note_least(&c->indefinite, i);
        else multiply_factors(factor, c->inverse + CS_BLOCK_SIZE * i);
    }
}

static cs_status update(cs_preconditioner *p, int threads, cs_cancellation *cancellation,
                        cs_error *error)
{
    (void)cancellation;
    const jacobi *own = p->state;
    inverting c = {.system = p->system, .inverse = own->inverse};
    atomic_init(&c.indefinite, p->system->vertices);
    cs_loop(threads, p->system->vertices, invert, &c);
    long long indefinite = atomic_load(&c.indefinite);
    if (indefinite == p->system->vertices) return CS_OK;
    return cs_preconditioner_indefinite(p, indefinite, error);
}

static void run(const cs_preconditioner *p, int64_t phase, int64_t part)
{
    (void)phase;
    const cs_block_system *s = p->system;
    const jacobi *own = p->state;
    for (int64_t i = s->first[part]; i < s->first[part + 1]; i++) {
        const double *block = own->inverse + CS_BLOCK_SIZE * i;
        for (int row = 0; row < CS_BLOCK_ROWS; row++) {
            double sum = 0;
            for (int k = 0; k < CS_BLOCK_ROWS; k++) {
                int64_t at = CS_BLOCK_STRIDE * i + k;
                sum += block[CS_BLOCK_ROWS * row + k] * cs_number_at(p->r, s->single, at);
            }
            cs_number_put(p->z, s->single, CS_BLOCK_STRIDE * i + row, sum);
        }
    }
}

const cs_preconditioner_kind cs_preconditioner_jacobi = {
    .name = "jacobi",
    .summary = "inverses of the diagonal blocks",
    .is_local = 1,
    .make = make,
    .update = update,
    .run = run,
};
