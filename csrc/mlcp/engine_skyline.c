/* The engine of S3's efficient pivoting within a skyline. */
#include "mlcp/pivoting.h"

#include <string.h>

#include "mlcp/engine_downdate.inc"

static int take(cs_island *s, cs_arena *arena) { return take_skyline(s, s->first, 1, arena); }

static double work(const cs_island *s, double changed, double tight)
{
    (void)changed;
    return removals(s, tight);
}

const cs_engine cs_engine_skyline = {
    .name = "skyline",
    .summary = "as downdate, within the skyline of a reverse Cuthill-McKee order (S3 2.5 and 2.6)",
    .order = CS_FILL_RCM,
    .take = take,
    .factor = factor,
    .solve = solve,
    .forget = forget_whole,
    .weight = CS_COST_BY_COLUMNS,
    .work = work,
};
