/* Energies and momenta of the bodies that are not driven. */
#include "dynamics/inertia.h"
#include "dynamics/world.h"

/* I w of a body, in the world frame; one number in the plane. */
static void spin_of(const cs_world *world, int64_t i, double *spin)
{
    const cs_rigid *rigid = &world->rigid;
    const double *w = rigid->now.velocity + i * world->space.dof + world->space.dimension;
    if (world->space.dimension == 2) {
        spin[0] = rigid->inertia[i] * w[0];
        return;
    }
    double rotation[9], tensor[9];
    cs_rotation_of(3, rigid->now.orientation + 4 * i, rotation);
    cs_turn_tensor(rotation, rigid->inertia + 9 * i, tensor);
    cs_rotate(tensor, w, spin);
}

void cs_world_energy(const cs_world *world, double *kinetic, double *potential)
{
    const cs_rigid *rigid = &world->rigid;
    int dimension = world->space.dimension, turns = world->space.dof - dimension;
    *kinetic = *potential = 0;
    for (int64_t i = 0; i < rigid->count; i++) {
        if (!rigid->movable[i]) continue;
        const double *u = rigid->now.velocity + i * world->space.dof;
        double spin[3], twice = 0;
        spin_of(world, i, spin);
        for (int k = 0; k < dimension; k++) twice += rigid->mass[i] * u[k] * u[k];
        for (int k = 0; k < turns; k++) twice += spin[k] * u[dimension + k];
        *kinetic += 0.5 * twice;
        for (int k = 0; k < dimension; k++)
            *potential -=
                rigid->mass[i] * world->options.gravity[k] * rigid->now.position[i * dimension + k];
    }
}

void cs_world_momentum(const cs_world *world, double *linear, double *angular)
{
    const cs_rigid *rigid = &world->rigid;
    int dimension = world->space.dimension, turns = world->space.dof - dimension;
    for (int k = 0; k < dimension; k++) linear[k] = 0;
    for (int k = 0; k < turns; k++) angular[k] = 0;
    for (int64_t i = 0; i < rigid->count; i++) {
        if (!rigid->movable[i]) continue;
        const double *u = rigid->now.velocity + i * world->space.dof;
        const double *x = rigid->now.position + i * dimension;
        double spin[3], p[3] = {0};
        spin_of(world, i, spin);
        for (int k = 0; k < dimension; k++) linear[k] += p[k] = rigid->mass[i] * u[k];
        for (int k = 0; k < turns; k++) angular[k] += spin[k];
        if (dimension == 2) {
            angular[0] += x[0] * p[1] - x[1] * p[0];
            continue;
        }
        double orbital[3];
        cs_cross(x, p, orbital);
        for (int k = 0; k < 3; k++) angular[k] += orbital[k];
    }
}
