/* Semi-implicit Euler, with the gap fed back: J u^E >= -gap / dt along the normals.  S3 eqs. 1.14 and 1.15 */
#include "dynamics/world.h"

static cs_status step(cs_world *world, const cs_control *control, cs_error *error)
{
    double dt = world->options.time_step;
    cs_status status = cs_world_find_tension(world, error);
    if (!status) cs_world_apply_forces(world);
    if (!status) status = cs_world_find_contacts(world, error);
    if (!status) status = cs_world_solve(world, 1 / dt, control, error);
    if (!status) cs_world_move(world, dt);
    return status;
}

const cs_stepper cs_stepper_semi_implicit_euler = {
    .name = "semi_implicit_euler",
    .summary = "contacts at the beginning of the step, whose gaps the velocities close",
    .paper = "S3 section 1.2",
    .rest = 1,
    .step = step,
};
