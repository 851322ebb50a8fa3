#include "sweep/sweep.h"

#include "core/denormals.h"
#include "core/parallel.h"

/* One part, by whichever thread. */
static void visit_part(const cs_scheme *scheme, cs_packed *packed, const cs_stage *stage,
                       int64_t part)
{
    cs_float_mode mode = cs_flush_denormals();
    packed->part[part] = (cs_sweep_stats){0};
    scheme->visit[packed->dtype](packed, stage, part, &packed->part[part]);
    cs_restore_denormals(mode);
}

static void add_parts(const cs_packed *packed, int64_t parts, cs_sweep_stats *stats)
{
    for (int64_t p = 0; p < parts; p++) {
        if (packed->part[p].residual > stats->residual) stats->residual = packed->part[p].residual;
        stats->merit += packed->part[p].merit;
        stats->unfinished += packed->part[p].unfinished;
    }
}

void cs_sweep(const cs_scheme *scheme, cs_packed *packed, cs_sweep_stats *stats)
{
    const cs_schedule *schedule = packed->schedule;
    *stats = (cs_sweep_stats){0};
    for (int64_t s = 0; s < schedule->stages; s++) {
        const cs_stage *stage = &schedule->stage[s];
        int threads = cs_stage_threads(packed, stage);
        scheme->begin[packed->dtype](packed, stage);
        if (threads > 1) {
            CS_PARALLEL_FOR(threads)
            for (int64_t p = 0; p < stage->parts; p++) visit_part(scheme, packed, stage, p);
        } else {
            for (int64_t p = 0; p < stage->parts; p++) visit_part(scheme, packed, stage, p);
        }
        add_parts(packed, stage->parts, stats);
        scheme->end[packed->dtype](packed, stage);
    }
}
