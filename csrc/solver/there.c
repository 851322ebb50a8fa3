#include "solver/there.h"

#include "core/loop.h"
#include "solver/judge.h"

static const cs_arrays_there *arrays_of(const cs_solver *solver)
{
    return solver->packing.backend->arrays;
}

static void read(const cs_solver *solver, const double *numbers, double *to)
{
    arrays_of(solver)->read(solver->packing.state, numbers, to);
}

/* Whether some group has compliance, which changes a_s. */
static int has_compliance(const cs_problem *problem)
{
    int found = 0;
    for (int g = 0; g < problem->block_groups; g++)
        found |= problem->block_group[g].compliance || problem->block_group[g].included;
    return found;
}

/* Whether the device finds V from b: there is one island, which P_C(0) may solve, and nothing else needs b. */
static int takes_b(const cs_solver *solver)
{
    const cs_judge *judge = &solver->judge;
    return judge->islands == 1 && !judge->outer_scale && !judge->immovable_row &&
           solver->packing.dtype != CS_MIXED && !has_compliance(solver->problem);
}

int cs_there_is_possible(const cs_solver *solver, const cs_there *there)
{
    const cs_packing *packing = &solver->packing;
    int alone = !solver->parts && !solver->ranks && !solver->network.ranks;
    if (!alone || !packing->state || !solver->judge.possible_there) return 0;
    if (there->b && !takes_b(solver)) return 0;
    return (!there->b && !there->initial) || packing->backend->arrays->takes(packing->state);
}

void cs_solver_there(cs_solver *solver, cs_there *there) { solver->there = there; }

cs_status cs_there_load_b(cs_solver *solver, cs_error *error)
{
    cs_judge *judge = &solver->judge;
    cs_zero_speeds speeds;
    arrays_of(solver)->put_b(solver->packing.state, solver->there->b, &speeds);
    double speed = cs_speed_beyond_rounding(speeds.speed, speeds.largest);

    /* What the processor needs b for: the message, V of a feasible set without 0, and impulses of an island at rest. */
    judge->begun = 0;
    solver->loaded.b_is_there = 0;
    if (!speeds.finite || speeds.moved || speed == 0) {
        read(solver, solver->there->b, solver->b);
        return speeds.finite ? CS_OK : cs_check_rows(solver->problem, "b", solver->b, error);
    }

    /* V is that of all blocks; only the first one is told. */
    judge->begun = 1;
    judge->handed_over = judge->handed_there = judge->rests = 0;
    judge->scale[0] = speed;
    solver->loaded.b_is_there = 1;
    return CS_OK;
}

cs_status cs_there_load_impulses(cs_solver *solver, cs_error *error)
{
    const cs_arrays_there *arrays = arrays_of(solver);
    const double *initial = solver->there->initial;
    if (!arrays->are_finite(solver->packing.state, initial)) {
        read(solver, initial, solver->lambda);
        return cs_check_rows(solver->problem, "initial", solver->lambda, error);
    }
    arrays->put(solver->packing.state, initial);

    /* Impulses that the processor sets. */
    if (!solver->judge.settles) return CS_OK;
    read(solver, initial, solver->lambda);
    if (cs_settle(solver)) cs_packing_put(&solver->packing, solver->lambda);
    return CS_OK;
}

void cs_there_fetch_b(cs_solver *solver)
{
    if (!solver->loaded.b_is_there) return;
    double *scale = solver->judge.scale;
    solver->loaded.b_is_there = 0;
    read(solver, solver->there->b, solver->b);
    for (int64_t k = 1; k < solver->problem->blocks; k++) scale[k] = scale[0];
}
