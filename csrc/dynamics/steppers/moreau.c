/* Moreau's midpoint rule.  S2 Table 4.2 */
#include "dynamics/world.h"

static cs_status step(cs_world *world, const cs_control *control, cs_error *error)
{
    /* q^M = q^S + dt/2 F(q^S) u^S, with the contacts and M there. */
    double half = 0.5 * world->options.time_step;
    cs_world_move(world, half);
    cs_status status = cs_world_find_tension(world, error);
    if (!status) cs_world_apply_forces(world);
    if (!status) status = cs_world_find_contacts(world, error);

    /* u^E, and q^E = q^M + dt/2 F(q^M) u^E. */
    if (!status) status = cs_world_solve(world, 0, control, error);
    if (!status) cs_world_move(world, half);
    return status;
}

const cs_stepper cs_stepper_moreau = {
    .name = "moreau",
    .summary = "midpoint rule: contacts at the middle of the step, restitution in velocities",
    .paper = "Moreau 1988; S2 Table 4.2",
    .rest = 0.5,
    .step = step,
};
