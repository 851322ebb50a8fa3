/* Block Jacobi: the inverses of the diagonal blocks. */
#include "core/error.h"
#include "core/loop.h"
#include "linalg/small.h"
#include "sparse/preconditioner.h"

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
    atomic_llong singular; /* the first vertex whose block is, in the new numbers */
} inverting;

static void invert(void *context, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    inverting *c = context;
    for (int64_t i = begin; i < end; i++) {
        double block[CS_BLOCK_SIZE];
        cs_block_system_get(c->system, &c->system->local, c->system->local.start[i], block);
        if (!cs_invert(CS_BLOCK_ROWS, block, c->inverse + CS_BLOCK_SIZE * i)) continue;
        long long least = atomic_load(&c->singular);
        while (i < least && !atomic_compare_exchange_weak(&c->singular, &least, i)) continue;
    }
}

static cs_status update(cs_preconditioner *p, int threads, cs_cancellation *cancellation,
                        cs_error *error)
{
    (void)cancellation;
    const jacobi *own = p->state;
    inverting c = {.system = p->system, .inverse = own->inverse};
    atomic_init(&c.singular, p->system->vertices);
    cs_loop(threads, p->system->vertices, invert, &c);
    long long singular = atomic_load(&c.singular);
    if (singular < p->system->vertices) return cs_preconditioner_indefinite(p, singular, error);
    return CS_OK;
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
                double r =
                    s->single ? (double)((const float *)p->r)[at] : ((const double *)p->r)[at];
                sum += block[CS_BLOCK_ROWS * row + k] * r;
            }
            int64_t at = CS_BLOCK_STRIDE * i + row;
            if (s->single) ((float *)p->z)[at] = (float)sum;
            else ((double *)p->z)[at] = sum;
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
