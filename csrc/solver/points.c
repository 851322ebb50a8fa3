#include "solver/points.h"

#include "core/error.h"
#include "solver/accelerate.h"

cs_status cs_points_take(cs_solver *solver, int count, size_t bytes, cs_error *error)
{
    cs_arena *arena = &solver->arena;
    cs_packing *packing = &solver->packing;

    /* The arrays. */
    cs_points *points = solver->points = cs_arena_take(arena, 1, sizeof *points);
    if (!points) return cs_no_memory(error, "earlier iterates");
    points->point = cs_arena_take(arena, count, sizeof(cs_point));
    points->scalars = cs_arena_take(arena, (int64_t)bytes, 1);
    if (cs_arena_failed(arena)) return cs_no_memory(error, "earlier iterates");

    /* The backend's points. */
    for (int i = 0; i < count; i++) {
        cs_status status =
            packing->backend->take_point(packing->state, arena, &points->point[i], error);
        packing->points += !status;
        if (status) return status;
    }
    return CS_OK;
}
