/* Moments of inertia in space. */
#ifndef CS_INERTIA_H
#define CS_INERTIA_H

#include "collide/collide.h"
#include "core/vector.h"
#include "linalg/small.h"

/* turned <- R tensor R^T, in the world frame: the symmetric tensor of a body in its own frame, and its rotation */
static inline void cs_turn_tensor(const double *rotation, const double *tensor, double *turned)
{
    double half[9];
    cs_multiply_small(3, rotation, tensor, half);
    for (int i = 0; i < 3; i++)
        for (int j = i; j < 3; j++)
            turned[3 * i + j] = turned[3 * j + i] = cs_dot(half + 3 * i, rotation + 3 * j);
}

#endif
