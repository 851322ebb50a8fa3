/* A half-space n . x <= offset with every other shape: the lowest points of the shape. The half-space is the second
 * shape, so that the normal of a contact is -n. */
#include "collide/pair.h"
#include "collide/vector.h"

/* The plane of the half-space, relative to the centre of the other shape: n . x = the value returned. */
static double plane_of(const cs_placed *other, const cs_placed *half_space, double *n)
{
    double apart[3];
    cs_subtract(half_space->center, other->center, apart);
    cs_rotate(half_space->rotation, half_space->solid->normal, n);
    return half_space->solid->offset + cs_dot(n, apart);
}

void cs_pair_ball_half_space(const cs_placed *a, const cs_placed *b, double margin,
                             cs_manifold *manifold)
{
    double n[3], surface[3];
    double height = -plane_of(a, b, n), radius = a->solid->radius;
    cs_set(manifold->normal, -n[0], -n[1], -n[2]);
    cs_set(surface, -radius * n[0], -radius * n[1], -radius * n[2]);
    cs_manifold_add(manifold, surface, height - radius, 0, margin);
}
