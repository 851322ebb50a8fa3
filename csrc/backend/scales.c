/* rho and V of the natural map over packed factors, in double precision: groups in batches have them. */
#include "backend/scales.h"

#include "core/error.h"
#include "distributed/ranks.h"

/* Whether every visit is in a batch that reads u itself, and not a part's copy of it. */
static int is_measurable(const cs_packed *packed)
{
    if (packed->dtype != CS_F64 || !packed->velocity || !packed->wide) return 0;
    if (packed->copy_start[packed->schedule->parts] > 0) return 0;
    for (int g = 0; g < packed->problem->block_groups; g++)
        if (packed->group[g].lanes == 1) return 0;
    return 1;
}

/* Writes rho and 1 / rho of a group. */
static void fill_group(cs_packed *packed, int g, const double *rho)
{
    cs_packed_group *group = &packed->group[g];
    cs_pack_row_numbers(packed, g, rho, group->rho);
    for (int64_t i = 0; i < group->slots * group->rows; i++)
        group->inverse[i] = group->rho[i] > 0 ? 1 / group->rho[i] : 0;
}

static void fill(cs_packed *packed, const double *rho)
{
    for (int g = 0; g < packed->problem->block_groups; g++) fill_group(packed, g, rho);
}

cs_status cs_pack_scales(cs_packed *packed, const cs_pack_request *request, int *measures,
                         cs_arena *arena, cs_error *error)
{
    *measures = cs_ranks_all(packed->ranks, request->rho && is_measurable(packed));
    if (!*measures) return CS_OK;
    for (int g = 0; g < packed->problem->block_groups; g++) {
        cs_packed_group *group = &packed->group[g];
        group->rho = cs_take_visits(CS_F64, group, group->rows, arena);
        group->inverse = cs_take_visits(CS_F64, group, group->rows, arena);
        if (request->islands > 1) group->speed = cs_arena_take(arena, group->slots, sizeof(double));
    }
    cs_status status = cs_arena_status(arena, error, "the workspace");
    if (!status) fill(packed, request->rho);
    return status;
}

int cs_refill_scales(cs_packed *packed, const cs_pack_request *request, int measures)
{
    int wanted = request->rho && is_measurable(packed);
    if (wanted && measures) fill(packed, request->rho);
    return wanted == measures;
}
