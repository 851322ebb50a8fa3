/* The reference engine of S3: computes a full factor of A_FF, including all zeros, for each index set. */
#include "mlcp/pivoting.h"

#include <string.h>

#define CS_ENGINE_FIRST(s, a, i) 0
#include "mlcp/engine_panels.inc"

static int take(cs_island *s, cs_arena *arena)
{
    /* A full factor: each row begins in column 0. */
    memset(s->list, 0, sizeof(int64_t) * (size_t)s->rows);
    return take_envelope(s, s->list, arena);
}

static double work(const cs_island *s, double changed, double tight)
{
    (void)changed;
    double n = (double)s->rows - tight;
    return n * n * n / 6;
}

const cs_engine cs_engine_refactor = {
    .name = "refactor",
    .summary = "a full Cholesky factor of A_FF at every pivot (S3 Algorithm 2.1)",
    .order = CS_FILL_NATURAL,
    .take = take,
    .factor = factor,
    .solve = solve,
    .anew = 1,
    .weight = CS_COST_IN_PANELS,
    .work = work,
};
