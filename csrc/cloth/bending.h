/* Bending at the hinges of a mesh, by one of two models.
 *
 *     hinge      moment c (sin(theta / 2) - sin(theta_0 / 2)) of the angle theta between the normals, with
 *                c = k |E|^2 / (|N_1| + |N_2|) of the rest shape               Bridson, Marino and Fedkiw 2003, section 4
 *     quadratic  W = (c / 4) |sum of w_a x_a|^2, whose matrix is constant; w_a is the derivative of theta by the height of
 *                vertex a in the flat rest shape                               Bergou, Wardetzky, Harmon, Zorin, Grinspun 2006
 *
 * Lengths of the rest shape in c make the moments those of an energy. Near a flat state, and for isometric motion, the two
 * models are the same with k = 4 D: c / 2 = D |E|^2 / (A_1 + A_2), a third of Bergou's factor, so that D is the plate
 * stiffness for bending across the lines of a grid. Viscosity is a moment (c / 2) damping dtheta/dt in both.
 *
 * Of the second derivative of the hinges, c / 2 cos(theta / 2) grad theta grad theta' is kept: positive semidefinite. */
#ifndef CS_BENDING_H
#define CS_BENDING_H

#include "cloth/membrane.h"
#include "cloth/mesh.h"

typedef enum cs_bending_model { CS_BENDING_HINGE, CS_BENDING_QUADRATIC } cs_bending_model;

/* A hinge at rest. */
typedef struct cs_hinge_rest {
    int64_t vertex[4]; /* the ends of the edge, then the opposite ones */
    double weight[4];  /* w_a [1/m] */
    double size;       /* |E|^2 / (|N_1| + |N_2|): c of k = 1 */
    double angle;      /* theta_0 */
} cs_hinge_rest;

typedef struct cs_bending {
    cs_bending_model model;
    double stiffness; /* k [N m]; of the quadratic model 4 D */
} cs_bending;

/* A hinge's share of a system. */
typedef struct cs_hinge_share {
    double gradient[4][3]; /* of theta */
    double weight[4];
    double along;  /* on gradient gradient' */
    double even;   /* on weight weight' times the identity */
    double moment; /* load of vertex a: -(moment gradient[a] + weight[a] pull) */
    double pull[3];
} cs_hinge_share;

/* rest <- the hinge in the shape x (vertices, 3), none of whose faces is degenerate. */
void cs_hinge_measure(cs_hinge_rest *rest, const cs_hinge *hinge, const double *x);

void cs_hinge_compute(const cs_hinge_rest *rest, const cs_bending *law,
                      const cs_element_state *state, cs_hinge_share *share);

/* block (3, 3) += that of vertices a and b; force += that of vertex a. */
void cs_hinge_add_block(const cs_hinge_share *share, int a, int b, double *block);
void cs_hinge_add_load(const cs_hinge_share *share, int a, double *force);

/* W [J]. */
double cs_hinge_energy(const cs_hinge_rest *rest, const cs_bending *law, const double *position);

#endif
