/* The engine of S3's efficient pivoting on a full factor, in the natural order of the rows. */
#include "mlcp/pivoting.h"

#include <string.h>

#include "mlcp/engine_downdate.inc"

static int take(cs_island *s, cs_arena *arena)
{
    /* A full factor: each row begins in column 0. */
    memset(s->list, 0, sizeof(int64_t) * (size_t)s->rows);
    return take_skyline(s, s->list, 1, arena);
}

static double work(const cs_island *s, double changed, double tight)
{
    (void)changed;
    double n = (double)s->rows;
    return n * n / 4 + tight * n * n * 2 / 3;
}

const cs_engine cs_engine_downdate = {
    .name = "downdate",
    .summary = "one full factor; each tight row is removed from a copy (S3 Algorithms 2.2 to 2.4)",
    .order = CS_FILL_NATURAL,
    .take = take,
    .factor = factor,
    .solve = solve,
    .forget = forget_whole,
    .weight = CS_COST_BY_COLUMNS,
    .work = work,
};
