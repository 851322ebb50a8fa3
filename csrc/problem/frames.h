/* Contacts between rigid bodies in space as frames: 12 numbers in place of the Jacobian's 36 or more.
 *
 *     frame   n (3), t (3), r_0 (3), r_1 (3)     normal, first tangent, lever arms from both centres of mass
 *     J       side i:  +-[d, r_i x d]  for d = n, t, s = n x t;  - for the first body, + for the second
 *             then     +-[0, n]        with 4 rows (spin), or +-[0, t] and +-[0, s] with 5 (rolling)
 *
 * S1 eqs. 2.55 to 2.63 */
#ifndef CS_FRAMES_H
#define CS_FRAMES_H

#include "core/compiler.h"

#include <string.h>

enum { CS_FRAME_NUMBERS = 12, CS_FRAME_ARM = 6 };

/* third <- s = n x t */
CS_INLINE_ON_BOTH void cs_frame_third(const double *frame, double *third)
{
    const double *n = frame, *t = frame + 3;
    third[0] = n[1] * t[2] - n[2] * t[1];
    third[1] = n[2] * t[0] - n[0] * t[2];
    third[2] = n[0] * t[1] - n[1] * t[0];
}

/* axis (3) <- the directions of the rows: n, t, s. `third` (3) stores s. */
CS_INLINE_ON_BOTH void cs_frame_axes(const double *frame, double *third, const double *axis[3])
{
    cs_frame_third(frame, third);
    axis[0] = frame;
    axis[1] = frame + 3;
    axis[2] = third;
}

/* The direction of row i >= 3, about which it turns: of `rows` rows. */
static inline int cs_frame_turning_axis(int rows, int i) { return rows == 4 ? 0 : i - 2; }

/* jacobian (rows, 6) <- J of one side. */
CS_INLINE_ON_BOTH void cs_frame_expand(const double *frame, int rows, int side, double *jacobian)
{
    double third[3], sign = side ? 1 : -1;
    const double *axis[3], *r = frame + CS_FRAME_ARM + 3 * side;
    cs_frame_axes(frame, third, axis);
    for (int i = 0; i < rows; i++) {
        const double *d = axis[i < 3 ? i : cs_frame_turning_axis(rows, i)];
        double *row = jacobian + 6 * i;
        for (int k = 0; k < 3; k++) row[k] = i < 3 ? sign * d[k] : 0;
        row[3] = sign * (i < 3 ? r[1] * d[2] - r[2] * d[1] : d[0]);
        row[4] = sign * (i < 3 ? r[2] * d[0] - r[0] * d[2] : d[1]);
        row[5] = sign * (i < 3 ? r[0] * d[1] - r[1] * d[0] : d[2]);
    }
}

/* velocity (6) += J^T lambda of one side: a force, its moment about the centre of mass, and the moments of the rows
 * that turn. */
CS_INLINE void cs_frame_add_impulse(const double *frame, int rows, int side, const double *lambda,
                                    double *velocity)
{
    double third[3], force[3] = {0}, moment[3], sign = side ? 1 : -1;
    const double *axis[3], *r = frame + CS_FRAME_ARM + 3 * side;
    cs_frame_axes(frame, third, axis);
    for (int i = 0; i < rows && i < 3; i++)
        for (int k = 0; k < 3; k++) force[k] += lambda[i] * axis[i][k];
    moment[0] = r[1] * force[2] - r[2] * force[1];
    moment[1] = r[2] * force[0] - r[0] * force[2];
    moment[2] = r[0] * force[1] - r[1] * force[0];
    for (int i = 3; i < rows; i++)
        for (int k = 0; k < 3; k++)
            moment[k] += lambda[i] * axis[cs_frame_turning_axis(rows, i)][k];
    for (int k = 0; k < 3; k++) {
        velocity[k] += sign * force[k];
        velocity[3 + k] += sign * moment[k];
    }
}

/* at (3) <- the velocity of a body at the end of an arm from its centre of mass. */
CS_INLINE void cs_velocity_at(const double *arm, const double *velocity, double *at)
{
    const double *w = velocity + 3;
    at[0] = velocity[0] + (w[1] * arm[2] - w[2] * arm[1]);
    at[1] = velocity[1] + (w[2] * arm[0] - w[0] * arm[2]);
    at[2] = velocity[2] + (w[0] * arm[1] - w[1] * arm[0]);
}

/* xi (rows) += J velocity of one side: the velocity of the body at the contact, along each row. */
CS_INLINE void cs_frame_add_velocity(const double *frame, int rows, int side,
                                     const double *velocity, double *xi)
{
    double third[3], at[3], sign = side ? 1 : -1;
    const double *axis[3], *w = velocity + 3;
    cs_frame_axes(frame, third, axis);
    cs_velocity_at(frame + CS_FRAME_ARM + 3 * side, velocity, at);
    for (int i = 0; i < rows; i++) {
        const double *d = axis[i < 3 ? i : cs_frame_turning_axis(rows, i)], *v = i < 3 ? at : w;
        xi[i] += sign * (d[0] * v[0] + d[1] * v[1] + d[2] * v[2]);
    }
}

#endif
