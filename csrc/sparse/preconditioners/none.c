/* No preconditioner: z <- r. */
#include "sparse/preconditioner.h"

#include <string.h>

static cs_status make(cs_preconditioner *p, cs_error *error)
{
    (void)error;
    return cs_preconditioner_by_parts(p, error);
}

static cs_status update(cs_preconditioner *p, int threads, cs_cancellation *cancellation,
                        cs_error *error)
{
    (void)p, (void)threads, (void)cancellation, (void)error;
    return CS_OK;
}

static void run(const cs_preconditioner *p, int64_t phase, int64_t part)
{
    (void)phase;
    const cs_block_system *s = p->system;
    size_t vector = CS_BLOCK_STRIDE * (s->single ? sizeof(float) : sizeof(double));
    size_t first = (size_t)s->first[part] * vector, end = (size_t)s->first[part + 1] * vector;
    memcpy((char *)p->z + first, (const char *)p->r + first, end - first);
}

const cs_preconditioner_kind cs_preconditioner_none = {
    .name = "none",
    .summary = "conjugate gradients alone",
    .is_local = 1,
    .make = make,
    .update = update,
    .run = run,
};
