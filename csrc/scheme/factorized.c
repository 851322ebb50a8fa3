/* The scheme `factorized`: each contact keeps its G_k = J_k L, each body its u = G^T lambda. */
#include "core/denormals.h"
#include "core/error.h"
#include "core/parallel.h"
#include "scheme/scheme.h"

#define CS_TEMPLATE "scheme/factorized.inc"
#include "core/both.h"

static cs_status no_memory(cs_error *error)
{
    return cs_fail(error, CS_NO_MEMORY, "out of memory for the factors of A");
}

static cs_status pack_group(cs_packed *packed, int g, cs_arena *arena, cs_error *error)
{
    const cs_problem *problem = packed->problem;
    const cs_block_group *blocks = &problem->block_group[g];
    cs_packed_group *group = &packed->group[g];
    int64_t size = cs_jacobian_size(blocks);
    double scaled[2 * CS_MAX_ROWS * CS_MAX_DOF];
    group->scaled = cs_arena_take(arena, group->count * size, cs_real_size(packed->dtype));
    group->velocity = cs_arena_take(arena, 2 * group->count, sizeof(int64_t));
    if (!group->scaled || !group->velocity) return no_memory(error);
    if (blocks->compliance) {
        group->compliance =
            cs_arena_take(arena, group->count * group->rows, cs_real_size(packed->dtype));
        if (!group->compliance) return no_memory(error);
    }
    for (int64_t v = 0; v < group->count; v++) {
        int64_t index = packed->schedule->visit[g][v];
        cs_scaled_jacobian(problem, blocks, index, scaled);
        cs_convert(packed->dtype, group->scaled, v * size, scaled, size);
        if (group->compliance)
            cs_convert(packed->dtype, group->compliance, v * group->rows,
                       blocks->compliance + index * group->rows, group->rows);
        for (int side = 0; side < 2; side++) {
            int64_t at = blocks->velocity[2 * index + side];
            group->velocity[2 * v + side] = at >= 0 ? at : problem->velocities;
        }
    }
    return CS_OK;
}

/* The contacts of each body, ordered by group and visit. */
static cs_status pack_gather(cs_packed *packed, cs_arena *arena, cs_error *error)
{
    const cs_problem *problem = packed->problem;
    packed->gather_start = cs_arena_take(arena, problem->bodies + 2, sizeof(int64_t));
    packed->gather = cs_arena_take(arena, 2 * problem->blocks, sizeof(cs_gather));
    if (!packed->gather_start || !packed->gather) return no_memory(error);
    int64_t *next = packed->gather_start + 1;
    for (int filling = 0; filling < 2; filling++) {
        for (int g = 0; g < problem->block_groups; g++) {
            const cs_block_group *blocks = &problem->block_group[g];
            for (int64_t i = 0; i < 2 * blocks->count; i++) {
                int64_t at = 2 * packed->schedule->visit[g][i / 2] + i % 2;
                int64_t body = blocks->bodies[at];
                if (blocks->velocity[at] < 0) continue;
                if (filling) packed->gather[next[body]++] = (cs_gather){i / 2, g, (int)(i % 2)};
                else next[body + 1]++;
            }
        }
        for (int64_t body = 0; body < problem->bodies && !filling; body++)
            next[body + 1] += next[body];
    }
    return CS_OK;
}

static cs_status pack(cs_packed *packed, cs_arena *arena, const cs_control *control,
                      cs_error *error)
{
    (void)control; /* short work: linear in the contacts */
    size_t size = cs_real_size(packed->dtype);
    packed->velocity = cs_arena_take(arena, packed->problem->velocities + CS_MAX_DOF, size);
    if (!packed->velocity) return no_memory(error);
    for (int g = 0; g < packed->problem->block_groups; g++) {
        cs_status status = pack_group(packed, g, arena, error);
        if (status) return status;
    }
    return pack_gather(packed, arena, error);
}

const cs_scheme cs_scheme_factorized = {
    .name = "factorized",
    .summary = "u = G^T lambda kept up to date, A never formed (S1 section 3.4.2)",
    .needs_jacobian = 1,
    .pack = pack,
    .refresh = {factorized_refresh_f32, factorized_refresh_f64},
    .sequential = {factorized_sequential_f32, factorized_sequential_f64},
    .simultaneous = {factorized_simultaneous_f32, factorized_simultaneous_f64},
};
