/* A half-space n . x <= offset with every other shape: the lowest points of the shape. The half-space is the second
 * shape, so that the normal of a contact is -n. */
#include "collide/posed.h"
#include "core/vector.h"

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
    double height = -plane_of(a, b, n), radius = a->bound;
    cs_set_vector(manifold->normal, -n[0], -n[1], -n[2]);
    cs_set_vector(surface, -radius * n[0], -radius * n[1], -radius * n[2]);
    cs_manifold_add(manifold, surface, height - radius, 0, margin);
}

/* The facing side or face of the shape, over the plane; of more than four corners, those that span it. */
void cs_pair_polytope_half_space(const cs_placed *a, const cs_placed *b, double margin,
                                 cs_manifold *manifold)
{
    double n[3];
    cs_posed posed;
    cs_pose(a, a->center, &posed);
    double offset = plane_of(a, b, n);
    int deepest = 0;
    for (int v = 1; v < posed.vertices; v++)
        if (cs_dot(n, posed.vertex[v]) < cs_dot(n, posed.vertex[deepest])) deepest = v;

    cs_outline outline;
    cs_posed_face(&posed, cs_facing(&posed, n, deepest, 1e-10 * posed.size), &outline);
    cs_landing landing = {
        .normal = n,
        .offset = offset,
        .reversed = 1,
        .radius = {0, posed.radius},
        .most = CS_MOST_POINTS,
        .margin = margin,
    };
    cs_manifold_land(manifold, &outline, &landing);
}
