/* The link of interior-point steps, after a round that has not halved the natural map. Its points are in the
 * user's order, so that it works on a packing of its own, and the sweeps' one is put back afterwards. */
#include "core/error.h"
#include "methods/chain/chain.h"

#include <math.h>

/* Prepares the method as a solver of its own would: state, points and pattern of its factor. */
static cs_status build(cs_chain_solve *s, const cs_setting *own, int count,
                       cs_cancellation *cancellation)
{
    cs_solver *solver = s->solver;
    cs_chain_interior *interior = &s->chain->interior;
    cs_packing packing = solver->packing;
    cs_points *points = solver->points;
    cs_budget building = {.control = s->budget->control, .cancellation = cancellation};
    cs_arena_mark mark = cs_arena_position(&solver->arena);
    interior->state = cs_arena_take(&solver->arena, 1, cs_method_interior_point.own);
    if (!interior->state) return cs_no_memory(s->error, "a link of interior-point steps");

    /* What it takes instead of the packed iterate is kept for later solves. */
    cs_status status =
        cs_chain_switch_to(s, &cs_method_interior_point, own, count, s->max_iterations);
    if (!status) status = cs_method_interior_point.prepare(solver, &building, s->error);
    interior->packing = solver->packing;
    interior->points = solver->points;
    solver->packing = packing;
    solver->points = points;
    if (!status) return CS_OK;

    /* After a failure or a cancellation, give the memory back. */
    *interior = (cs_chain_interior){0};
    cs_arena_rewind(&solver->arena, mark);
    return status;
}

/* Whether the link is worth its cost: that of Newton's steps stands for that of its own, which factor a matrix
 * of the same pattern (of A if that is given, of bodies otherwise). */
static int is_worth(const cs_chain_solve *s, int last)
{
    double cost = CS_INTERIOR_EXPECTED * s->chain->newton_step;
    return isfinite(cost) && (last || cost <= CS_INTERIOR_WORTH * s->sweeps);
}

cs_status cs_chain_solve_unpacked(cs_chain_solve *s)
{
    cs_solver *solver = s->solver;
    cs_packing packing = solver->packing;
    cs_points *points = solver->points;
    solver->packing = s->chain->interior.packing;
    solver->packing.products = packing.products; /* those of the solve so far */
    solver->points = s->chain->interior.points;
    cs_status status = cs_method_interior_point.solve(solver, s->budget, s->result, s->error);

    /* Sweeps go on from what it has returned. */
    solver->packing = packing;
    solver->points = points;
    cs_packing_put(&solver->packing, solver->lambda);
    return status;
}

cs_status cs_chain_run_interior(cs_chain_solve *s, int last)
{
    /* The space of Newton's method, by which the price is known: A may be dense where bodies have few partners. */
    const cs_setting own[] = {
        {.name = "patience", .number = CS_INTERIOR_PATIENCE},
        {.name = "space", .word = s->solver->problem->matrix ? "constraints" : "bodies"}};
    if (s->ended || s->interior_ran || !cs_chain_can_use(s->solver, &cs_method_interior_point))
        return CS_OK;

    /* Its price. */
    cs_status status = cs_chain_estimate_newton_step(s, NULL);
    if (status || !is_worth(s, last)) return status;
    s->interior_ran = 1;

    /* Run it, unless the method does not accept the sets of the problem. */
    if (!s->chain->interior.state) status = cs_chain_prepare_link(s, build, own, 2);
    if (!status && !s->ended)
        status = cs_chain_run_link(s, &cs_method_interior_point, s->chain->best, own, 2,
                                   CS_INTERIOR_STEPS);
    if (status != CS_UNSUPPORTED) return status;
    *s->error = (cs_error){0};
    return CS_OK;
}
