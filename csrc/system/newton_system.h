/* The linear systems of Newton's method, (I + A S) d = r, with S block diagonal:
 *
 *     S = T + N,   T symmetric positive semidefinite,  N what friction's bound adds
 *
 * I + A T has a Cholesky factor behind it, in whichever space there is:
 *
 *     A = G G^T + Sigma (Jacobians):  (I + A T)^-1 = (I + Sigma T)^-1 (I - G H^-1 G^T T'),
 *                                     H = I + G^T T' G,  T' = T (I + Sigma T)^-1
 *     A given, its symmetric part:    (I + A T)^-1 = I - A L H^-1 L^T,
 *                                     H = I + L^T A L,   T = L L^T
 *
 * H is never singular. It is kept in its envelope in reverse Cuthill-McKee order (linalg/panel.h).
 * What N and the rest of A add is left to GMRES, preconditioned by that inverse.
 *
 * In small systems of bodies products cost more than elimination: there the same is done with S in place
 * of T, H unsymmetric and L U in place of Cholesky's factor (linalg/profile.h), and no GMRES. Such an H
 * may have a vanishing pivot: where what is left of r is too large the symmetric way is gone after all.
 *
 * newton_layout.c builds a system, newton_products.c multiplies, newton_factor.c fills H and factors it,
 * newton_gmres.c solves. */
#ifndef CS_NEWTON_SYSTEM_H
#define CS_NEWTON_SYSTEM_H

#include "linalg/krylov.h"
#include "linalg/panel.h"
#include "linalg/profile.h"
#include "problem/problem.h"

typedef struct cs_newton_system {
    const cs_problem *problem;
    const double *scale; /* (rows): rho, by which velocities are weighed */
    int64_t size;        /* of H */
    cs_panels panels;
    cs_profile profile;            /* of H with S; without values in larger systems */
    int exact;                     /* the factor at hand is that one, and `symmetric` is S */
    int64_t *place;                /* where a block is in H: (blocks, 2), its bodies, -1: immovable;
                                    * or (blocks) with a given A */
    double *scaled;                /* G, block after block; NULL with a given A */
    int64_t first[CS_MAX_GROUPS];  /* where a group's blocks begin there, */
    int64_t square[CS_MAX_GROUPS]; /* and in arrays of (m, m) */
    double *slope;                 /* S, to be written by the caller */
    double *symmetric;             /* T, or T' */
    double *inverse;               /* (I + Sigma T)^-1; NULL without compliance */
    double *root;                  /* L; NULL with Jacobians */
    double *y;                     /* (size) */
    double *work, *right;          /* (rows) */
    double *basis;                 /* (CS_KRYLOV + 1, rows) */
    int krylov;                    /* (I + A T) is not I + A S */
    cs_cancellation *cancellation; /* of factors; NULL: nobody asks */
    int64_t factors, krylov_steps; /* made so far */
} cs_newton_system;

/* Refuses where the factor takes more than `bytes`. CS_INTERRUPTED: the cancellation, which may be NULL, says
 * to leave off. */
cs_status cs_newton_system_build(cs_newton_system *system, const cs_problem *problem,
                                 const double *scale, double bytes, cs_cancellation *cancellation,
                                 cs_arena *arena, cs_error *error);

/* What one step costs before anything is built, by the envelope of H: multiplications of a factor, entries
 * of it. Fails as the above does. */
typedef struct cs_newton_size {
    double multiplications, entries;
    double elimination; /* multiplications of L U; 0 where the system is too large for that */
} cs_newton_size;

cs_status cs_newton_size_of(const cs_problem *problem, cs_cancellation *cancellation,
                            cs_newton_size *size, cs_error *error);

/* y <- A x */
void cs_newton_multiply(cs_newton_system *system, const double *x, double *y);

/* Factors for the S at hand. Non-zero where that breaks down, or the cancellation says so. */
int cs_newton_factor(cs_newton_system *system);

/* d <- (I + A S)^-1 r to |residual| <= most, weighed by sqrt(rho), or as far as CS_KRYLOV steps lead.
 * Returns |residual|. */
double cs_newton_solve(cs_newton_system *system, const double *r, double most, double *d);

#endif
