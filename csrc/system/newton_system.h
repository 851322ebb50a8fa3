/* The linear systems of Newton's method, (I + A S) d = r, with S block diagonal:
 *
 *     S = T + N,   T symmetric positive semidefinite,  N from the dependence of friction's bound
 *
 * The inverse of I + A T needs one Cholesky factor, in body or in constraint space:
 *
 *     A = G G^T + Sigma (Jacobians):  (I + A T)^-1 = (I + Sigma T)^-1 (I - G H^-1 G^T T'),
 *                                     H = I + G^T T' G,  T' = T (I + Sigma T)^-1
 *     A given, its symmetric part:    (I + A T)^-1 = I - A L H^-1 L^T,
 *                                     H = I + L^T A L,   T = L L^T
 *
 * H is never singular. It is kept in its envelope in reverse Cuthill-McKee order (linalg/panel.h).
 * If N or the skew part of A is not zero, GMRES solves the system, preconditioned by that inverse.
 *
 * In small systems of bodies, products cost more than elimination: there S takes the place of T, H is
 * unsymmetric, and an L U factor (linalg/profile.h) takes the place of Cholesky's and of GMRES. Such an H
 * may have a vanishing pivot: if the residual is too large, the symmetric factor and GMRES follow.
 *
 * newton_system.c builds a system (system/pattern.h, system/blocks.h), newton_factor.c fills H and factors
 * it, newton_gmres.c multiplies and solves. */
#ifndef CS_NEWTON_SYSTEM_H
#define CS_NEWTON_SYSTEM_H

#include "linalg/krylov.h"
#include "linalg/panel.h"
#include "linalg/profile.h"
#include "system/blocks.h"

typedef struct cs_newton_system {
    const cs_problem *problem;
    const double *scale; /* (rows): rho, the weights of velocities */
    cs_system_blocks blocks;
    cs_panels panels;     /* H with T, then its factor */
    cs_profile profile;   /* of H with S; without values in larger systems */
    int exact;            /* the current factor is that of H with S, and `symmetric` is S */
    double *slope;        /* S, to be written by the caller */
    double *symmetric;    /* T, or T' */
    double *inverse;      /* (I + Sigma T)^-1; NULL without compliance */
    double *root;         /* L; NULL with Jacobians */
    double *y;            /* (unknowns) */
    double *work, *right; /* (rows) */
    double *basis;        /* (CS_KRYLOV + 1, rows) */
    int krylov;           /* I + A T differs from I + A S: GMRES is needed */
    cs_cancellation *cancellation; /* of factors; NULL: runs to its end */
    int64_t factors, krylov_steps; /* made so far */
} cs_newton_system;

/* Builds the system; fails with CS_UNSUPPORTED if the factor needs more than `bytes`, and with
 * CS_INTERRUPTED if cancelled (`cancellation` may be NULL). */
cs_status cs_newton_system_build(cs_newton_system *system, const cs_problem *problem,
                                 const double *scale, double bytes, cs_cancellation *cancellation,
                                 cs_arena *arena, cs_error *error);

/* Predicts the cost of a step from the envelope of H, before anything is built: multiplications of a
 * factor, and its entries. */
typedef struct cs_newton_size {
    double multiplications, entries;
    double elimination; /* multiplications of L U; 0 if L U does not pay in this system */
} cs_newton_size;

cs_status cs_newton_size_of(const cs_problem *problem, cs_cancellation *cancellation,
                            cs_newton_size *size, cs_error *error);

/* y <- A x */
void cs_newton_multiply(cs_newton_system *system, const double *x, double *y);

/* Factors for the current S. Non-zero: breakdown, or cancelled. */
int cs_newton_factor(cs_newton_system *system);

/* Factors with T in place of S, after L U with S has failed. */
int cs_newton_factor_symmetric(cs_newton_system *system);

/* d <- (I + A S)^-1 r up to |residual| <= most, weighted by sqrt(rho), with CS_KRYLOV steps at most.
 * Returns |residual|. */
double cs_newton_solve(cs_newton_system *system, const double *r, double most, double *d);

#endif
