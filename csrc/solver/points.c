#include "solver/points.h"

#include "core/error.h"
#include "solver/accelerate.h"

cs_status cs_points_take(cs_solver *solver, cs_error *error)
{
    const cs_steps *steps = solver->method->steps;
    if (!steps) return CS_OK;
    return cs_points_take_most(solver, steps->points(solver), steps->scalars, error);
}

cs_status cs_points_take_most(cs_solver *solver, int count, size_t memory, cs_error *error)
{
    cs_points *points = solver->points = cs_arena_take(&solver->arena, 1, sizeof *points);
    if (!points) return cs_no_memory(error, "earlier iterates");
    return cs_points_make(solver, count, memory, &points->point, &points->scalars, error);
}

cs_status cs_points_make(cs_solver *solver, int count, size_t bytes, cs_point **points,
                         void **scalars, cs_error *error)
{
    cs_arena *arena = &solver->arena;
    const cs_packing *packing = &solver->packing;
    *points = cs_arena_take(arena, count, sizeof(cs_point));
    *scalars = cs_arena_take(arena, (int64_t)bytes, 1);
    if (cs_arena_failed(arena)) return cs_no_memory(error, "earlier iterates");
    for (int i = 0; i < count; i++) {
        cs_status status = packing->backend->take_point(packing->state, arena, *points + i, error);
        if (status) return status;
    }
    return CS_OK;
}
