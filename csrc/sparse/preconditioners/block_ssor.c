/* Symmetric successive overrelaxation within the parts, whose couplings it leaves out.  S5 section 4.3
 *
 *     M^-1 ~ (D/omega + L) D^-1 (D/omega + L^T) = C (I + U^T)(I + U) C^T,      D/omega = C C^T,  U = C^-1 L^T C^-T
 *
 * up to a factor, which conjugate gradients do not see. U is stored: the solves have no divisions, and Eisenstat's product
 * (sparse/conjugate.c) reads no diagonal blocks. */
#include "sparse/preconditioners/block_ssor.h"

#include "core/error.h"
#include "sparse/scaled_blocks.h"

static cs_status make(cs_preconditioner *p, cs_error *error)
{
    const cs_block_system *s = p->system;
    cs_scaled_blocks scaled, *own = cs_arena_take(&p->arena, 1, sizeof *own);
    cs_scaled_blocks_take(&scaled, s, 1, &p->arena);
    if (s->single) cs_scaled_blocks_keep_sums(&scaled, p->options.exact, &p->arena);
    cs_status status =
        cs_arena_status(&p->arena, error, "%lld scaled blocks", (long long)s->local.blocks);
    if (status) return status;
    *own = scaled;
    own->omega = p->options.relaxation;
    p->state = own;
    p->bytes = cs_scaled_blocks_bytes(own);
    p->work = cs_scaled_blocks_work(own);
    p->set_up = (double)(6 * CS_BLOCK_SIZE * (s->local.blocks + s->outer.blocks));
    return cs_preconditioner_by_parts(p, error);
}

static cs_status update(cs_preconditioner *p, int threads, cs_cancellation *cancellation,
                        cs_error *error)
{
    (void)cancellation;
    int64_t indefinite = cs_scaled_blocks_factor(p->state, threads);
    if (indefinite >= 0) return cs_preconditioner_indefinite(p, indefinite, error);
    cs_scaled_blocks_scale(p->state, threads);
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
