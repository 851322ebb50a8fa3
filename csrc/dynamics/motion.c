/* How bodies move without contacts: displacements, moments of inertia, forces. */
#include "core/error.h"
#include "dynamics/inertia.h"
#include "dynamics/world.h"

#include <math.h>
#include <string.h>

/* ---- the state of a step --------------------------------------------------------------------- */

static void copy_motion(const cs_world *world, const cs_motion *from, cs_motion *to)
{
    size_t n = (size_t)world->rigid.count * sizeof(double);
    if (!n) return;
    memcpy(to->position, from->position, n * (size_t)world->space.dimension);
    memcpy(to->orientation, from->orientation, n * (size_t)world->space.orientation);
    memcpy(to->velocity, from->velocity, n * (size_t)world->space.dof);
}

void cs_world_begin_motion(cs_world *world)
{
    copy_motion(world, &world->rigid.now, &world->rigid.next);
}

void cs_world_end_motion(cs_world *world)
{
    copy_motion(world, &world->rigid.next, &world->rigid.now);
}

cs_status cs_world_check_motion(const cs_world *world, cs_error *error)
{
    const cs_motion *next = &world->rigid.next;
    const double *array[] = {next->position, next->orientation, next->velocity};
    int size[] = {world->space.dimension, world->space.orientation, world->space.dof};
    for (int a = 0; a < 3; a++)
        for (int64_t i = 0; i < world->rigid.count * size[a]; i++)
            if (!isfinite(array[a][i]))
                return cs_fail(error, CS_INVALID,
                               "the motion of body %lld is not finite after this step: take a "
                               "smaller time step, or gyroscopic='implicit'",
                               (long long)(i / size[a]));
    return CS_OK;
}

/* ---- displacements --------------------------------------------------------------------------- */

/* q <- q + h F(q) w = q + h/2 (0, w) q, normalised: w is in the world frame.  S2 eq. 4.1 */
static void turn(double *q, const double *w, double h)
{
    double s = 0.5 * h, a = q[0], x = q[1], y = q[2], z = q[3];
    double turned[4] = {
        a - s * (w[0] * x + w[1] * y + w[2] * z),
        x + s * (w[0] * a + w[1] * z - w[2] * y),
        y + s * (w[1] * a + w[2] * x - w[0] * z),
        z + s * (w[2] * a + w[0] * y - w[1] * x),
    };
    double square = 0;
    for (int i = 0; i < 4; i++) square += turned[i] * turned[i];
    double scale = 1 / sqrt(square);
    for (int i = 0; i < 4; i++) q[i] = turned[i] * scale;
}

void cs_world_move(cs_world *world, double h)
{
    const cs_space *space = &world->space;
    const cs_motion *next = &world->rigid.next;
    for (int64_t i = 0; i < world->rigid.count; i++) {
        double *position = next->position + i * space->dimension;
        double *orientation = next->orientation + i * space->orientation;
        const double *velocity = next->velocity + i * space->dof;
        for (int k = 0; k < space->dimension; k++) position[k] += h * velocity[k];
        if (space->dimension == 3) turn(orientation, velocity + 3, h);
        else orientation[0] += h * velocity[2];
    }
}

/* ---- forces ---------------------------------------------------------------------------------- */

enum { NEWTON_STEPS = 4 }; /* of the implicit gyroscopic term, which converges quadratically */

/* change += w+ - w, where I (w+ - w) + dt w+ x I w+ = 0, by Newton's method with
 * I + dt ([w] I - [I w]) as the derivative. */
static void add_implicit(const double *tensor, const double *w, double dt, double *change)
{
    double v[3] = {w[0], w[1], w[2]};
    for (int step = 0; step < NEWTON_STEPS; step++) {
        /* The residual. */
        double moment[3], residual[3], difference[3] = {v[0] - w[0], v[1] - w[1], v[2] - w[2]};
        double inertial[3];
        cs_rotate(tensor, v, moment);
        cs_rotate(tensor, difference, inertial);
        cs_cross(v, moment, residual);
        for (int i = 0; i < 3; i++) residual[i] = inertial[i] + dt * residual[i];

        /* The derivative: column j is I e_j + dt (e_j x I v + v x I e_j). */
        double slope[9];
        for (int j = 0; j < 3; j++) {
            double e[3] = {j == 0, j == 1, j == 2}, column[3], first[3], second[3];
            cs_rotate(tensor, e, column);
            cs_cross(e, moment, first);
            cs_cross(v, column, second);
            for (int i = 0; i < 3; i++) slope[3 * i + j] = column[i] + dt * (first[i] + second[i]);
        }
        double inverse[9], correction[3];
        if (cs_invert(3, slope, inverse)) break;
        cs_rotate(inverse, residual, correction);
        cs_subtract(v, correction, v);
    }
    for (int i = 0; i < 3; i++) change[i] += v[i] - w[i];
}

/* inverse <- (I + dt^2 T)^-1, and change += that of the moments - dt T w at the end of the step, where T is the tension
 * of the joints. Andrews, Teichmann and Kry, Geometric stiffness for real-time constrained multibody dynamics, 2017 */
static void add_tension(const cs_world *world, int64_t i, const double *tensor, double *inverse,
                        double *change)
{
    double dt = world->options.time_step, sum[9], moment[3], difference[3];
    const double *tension = (const double *)world->joints.tension.data + 9 * i;
    for (int k = 0; k < 9; k++) sum[k] = tensor[k] + dt * dt * tension[k];
    if (cs_invert(3, sum, inverse)) return;
    cs_rotate(tension, world->rigid.next.velocity + 6 * i + 3, moment);
    cs_rotate(inverse, moment, difference);
    for (int k = 0; k < 3; k++) change[k] -= dt * dt * difference[k];
}

/* M^-1 and M^-1 h dt of the angular velocities of body i, in space. */
static void apply_moments(cs_world *world, int64_t i)
{
    cs_rigid *rigid = &world->rigid;
    double dt = world->options.time_step, inverse[9];
    const double *w = rigid->next.velocity + 6 * i + 3, *moment = rigid->force + 6 * i + 3;
    double *change = rigid->change + 6 * i + 3;

    /* All axes of an isotropic body are alike. */
    if (rigid->isotropic) {
        double *diagonal = rigid->inverse + 6 * i;
        for (int k = 0; k < 3; k++) diagonal[3 + k] = rigid->inverse_inertia[9 * i];
        for (int k = 0; k < 3; k++) change[k] = dt * diagonal[3 + k] * moment[k];
        return;
    }

    /* M^-1, and the moments. */
    double rotation[9], tensor[9], *full = rigid->inverse + 36 * i, total[3];
    cs_rotation_of(3, rigid->next.orientation + 4 * i, rotation);
    cs_turn_tensor(rotation, rigid->inverse_inertia + 9 * i, inverse);
    cs_turn_tensor(rotation, rigid->inertia + 9 * i, tensor);
    memset(change, 0, 3 * sizeof *change);
    if (world->joints.implicit && world->joints.count)
        add_tension(world, i, tensor, inverse, change);
    for (int a = 0; a < 3; a++) {
        full[6 * a + a] = rigid->inverse_mass[i];
        for (int b = 0; b < 3; b++) full[6 * (3 + a) + 3 + b] = inverse[3 * a + b];
    }
    memcpy(total, moment, sizeof total);

    /* The gyroscopic moment - w x I w. */
    if (world->gyroscopic == CS_GYROSCOPIC_EXPLICIT) {
        double spin[3], gyroscopic[3];
        cs_rotate(tensor, w, spin);
        cs_cross(w, spin, gyroscopic);
        for (int k = 0; k < 3; k++) total[k] -= gyroscopic[k];
    }
    double by_moments[3];
    cs_rotate(inverse, total, by_moments);
    for (int k = 0; k < 3; k++) change[k] += dt * by_moments[k];
    if (world->gyroscopic == CS_GYROSCOPIC_IMPLICIT) add_implicit(tensor, w, dt, change);
}

void cs_world_apply_forces(cs_world *world)
{
    cs_rigid *rigid = &world->rigid;
    const cs_space *space = &world->space;
    int dof = space->dof, size = rigid->isotropic ? dof : dof * dof;
    double dt = world->options.time_step;
    for (int64_t i = 0; i < rigid->count; i++) {
        double *change = rigid->change + i * dof, *inverse = rigid->inverse + i * size;
        memset(change, 0, sizeof(double) * (size_t)dof);
        memset(inverse, 0, sizeof(double) * (size_t)size);
        if (!rigid->movable[i]) continue;

        /* Gravity and applied forces. */
        const double *force = rigid->force + i * dof;
        for (int k = 0; k < space->dimension; k++)
            change[k] = dt * (world->options.gravity[k] + rigid->inverse_mass[i] * force[k]);
        if (rigid->isotropic)
            for (int k = 0; k < space->dimension; k++) inverse[k] = rigid->inverse_mass[i];

        /* Moments. */
        if (space->dimension == 3) {
            apply_moments(world, i);
            continue;
        }
        inverse[2] = rigid->inverse_inertia[i];
        change[2] = dt * inverse[2] * force[2];
    }
}
