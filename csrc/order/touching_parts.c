/* How many parts of concurrent stages visit each body. With a body's mass divided among them, the energy of all parts
 * together bounds that of the whole (Tonge, Benevolenski and Voroshilov 2012):
 *
 *     (G_b^T sum_p x_p)^2 <= n_b sum_p (G_b^T x_p)^2,    n_b: parts at body b */
#include "core/error.h"
#include "order/schedule.h"

/* Counts a part at the bodies of one block. last (bodies): one more than the last part counted at each body. */
static void count_block(const cs_block_group *group, int64_t index, int64_t part, int64_t *last,
                        double *count)
{
    for (int s = 0; s < cs_block_partners(group); s++) {
        if (!cs_partner_moves(group, index, s)) continue;
        int64_t body = cs_partner_body(group, index, s);
        count[body] += last[body] != part + 1;
        last[body] = part + 1;
    }
}

cs_status cs_schedule_count_parts(const cs_problem *problem, cs_schedule *schedule, cs_arena *arena,
                                  cs_error *error)
{
    /* Allocate. */
    cs_arena scratch = {0};
    double *count = cs_arena_take(arena, problem->bodies, sizeof(double));
    int64_t *last = cs_arena_take(&scratch, problem->bodies, sizeof(int64_t));
    if (!count || !last) {
        cs_arena_clear(&scratch);
        return cs_no_memory(error, "the parts at each body");
    }

    /* Count part by part. */
    for (int64_t s = 0; s < schedule->stages; s++) {
        const cs_stage *stage = &schedule->stage[s];
        if (stage->kind != CS_CONCURRENT) continue;
        for (int64_t p = stage->first_part; p < stage->first_part + stage->parts; p++)
            for (int64_t r = schedule->part[p]; r < schedule->part[p + 1]; r++) {
                const cs_range *range = &schedule->range[r];
                const int64_t *visit = schedule->visit[range->group];
                for (int64_t v = range->first; v < range->first + range->count; v++)
                    count_block(&problem->block_group[range->group], visit[v], p, last, count);
            }
    }

    /* A body that no part visits keeps its mass. */
    for (int64_t body = 0; body < problem->bodies; body++)
        if (count[body] < 1) count[body] = 1;
    schedule->touching_parts = count;
    cs_arena_clear(&scratch);
    return CS_OK;
}
