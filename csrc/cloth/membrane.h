/* The membrane: linear triangles of constant strain in a corotated frame.  Etzmuss, Keckeisen and Strasser 2003
 *
 *     F = R S            the deformation gradient (3, 2), its rotation and stretch (cloth/polar.h)
 *     e = S - 1          strain;   t = lambda tr(e) 1 + 2 mu e: stress of plane stress [N/m]
 *     W = A (mu |e|^2 + lambda tr(e)^2 / 2),   force on vertex a: -A R t grad N_a
 *
 * In the frame of the principal axes, the second derivative of W has four modes in the plane, of which three are those of
 * linear elasticity ("warped stiffness"), and two out of it. The fourth mode turns the triangle, with the stiffness
 * (t_1 + t_2) / (sigma_1 + sigma_2); those out of the plane have t_i / sigma_i. These are the geometric stiffness; only its
 * positive part is kept, so that the matrix is positive semidefinite, and exact where both principal stresses are tension.
 *
 * Viscosity resists the rate of Green's strain, F'dF/dt + its transpose: rotations of any state are free of it. */
#ifndef CS_MEMBRANE_H
#define CS_MEMBRANE_H

#include "core/error.h"

#include <stdint.h>

/* A face whose height over an edge is less than this part of the edge is degenerate: at rest it is refused, and in motion it
 * has no normal to bend. */
#define CS_LEAST_HEIGHT 1e-6

/* Lame's constants of plane stress [N/m]. */
typedef struct cs_membrane {
    double lambda, mu;
} cs_membrane;

/* A triangle at rest. */
typedef struct cs_triangle_rest {
    int64_t vertex[3];
    double gradient
        [2]
        [2]; /* of N_1 and N_2, in a frame of the rest plane [1/m]; that of N_0 is minus their sum */
    double area; /* [m^2] */
} cs_triangle_rest;

/* What each kind of element computes its share of a system from:
 *
 *     (M + h D + h^2 K) dv = ... + h force - h D rate - h^2 K shift
 *
 * Arrays (vertices, 3). */
typedef struct cs_element_state {
    const double *position, *rate, *shift;
    double h, damping; /* [s]; viscosity is `damping` times the stiffness of the rest state */
} cs_element_state;

/* The second derivative in principal axes, times the area:
 * rows 1, 2 of a block (a, b) by the gradients p = grad N_a, q = grad N_b:
 *     | normal[0] p1 q1 + shear[0] p2 q2     poisson p1 q2 + cross p2 q1        |
 *     | poisson p2 q1 + cross p1 q2          normal[1] p2 q2 + shear[1] p1 q1   |
 * and row 3, of the normal: out[0] p1 q1 + out[1] p2 q2. */
typedef struct cs_triangle_modes {
    double normal[2], shear[2], poisson, cross, out[2];
} cs_triangle_modes;

/* A triangle's share of a system. */
typedef struct cs_triangle {
    double frame[3][3];    /* u_1, u_2, normal */
    double gradient[3][2]; /* of N_a, in principal axes */
    cs_triangle_modes modes;
    double load[2][3]; /* of vertex a: -(load[0] gradient[a][0] + load[1] gradient[a][1]) */
} cs_triangle;

/* rest <- the triangle of the corners x[0..2]. Fails if it is degenerate over its longest edge, and so over no other; `t` is
 * its number, for the message. */
cs_status cs_triangle_measure(cs_triangle_rest *rest, const double *const x[3], int64_t t,
                              cs_error *error);

void cs_triangle_compute(const cs_triangle_rest *rest, const cs_membrane *law,
                         const cs_element_state *state, cs_triangle *triangle);

/* block (3, 3) += that of corners a and b; force += that of corner a. */
void cs_triangle_add_block(const cs_triangle *triangle, int a, int b, double *block);
void cs_triangle_add_load(const cs_triangle *triangle, int a, double *force);

/* W [J]. */
double cs_triangle_energy(const cs_triangle_rest *rest, const cs_membrane *law,
                          const double *position);

#endif
