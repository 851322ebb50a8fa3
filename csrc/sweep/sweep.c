#include "sweep/sweep.h"

void cs_sweep(const cs_scheme *scheme, cs_packed *packed, cs_sweep_stats *stats)
{
    const cs_schedule *schedule = packed->schedule;
    *stats = (cs_sweep_stats){0};
    for (int64_t s = 0; s < schedule->stages; s++) {
        const cs_stage *stage = &schedule->stage[s];
        if (stage->kind == CS_SIMULTANEOUS) {
            scheme->simultaneous[packed->dtype](packed, stage, stats);
            continue;
        }
        for (int64_t r = 0; r < stage->ranges; r++)
            scheme->sequential[packed->dtype](packed, schedule->range + stage->first_range + r,
                                              stats);
    }
}
