/* A contact with one ball of friction of up to three tangential rows, W z + q = v, q_n < 0. It has two modes:
 *
 *     stick  v = 0                      if |z_t| <= c z_n
 *     slide  v_n = 0, v_t = -kappa z_t  with kappa > 0 and |z_t| = c z_n
 *
 * Eliminating the normal impulse gives (S + kappa 1) z_t = g, with S = W_tt - W_tn W_nt / W_nn and
 * g = W_tn q_n / W_nn - q_t. Sliding then is one equation for kappa, |z_t| = c z_n; for two tangential rows it is a
 * quartic (Bonnefon and Daviet 2011). */
#ifndef CS_SLIDING_H
#define CS_SLIDING_H

#include "core/set.h"

enum { CS_SLIDING_ROWS = 3, CS_SLIDING_MOST = 8 }; /* tangential rows; roots tried at most */

/* The reduced problem. */
typedef struct cs_sliding {
    int rows;                                                        /* tangential ones */
    double normal, across[CS_SLIDING_ROWS];                          /* W_nn, W_nt */
    double s[CS_SLIDING_ROWS * CS_SLIDING_ROWS], g[CS_SLIDING_ROWS]; /* S, g */
    double q, reach;                                                 /* q_n, c */
    double size; /* largest entry of diag W_tt */
} cs_sliding;

/* Reduces the problem of W (n, n), with a normal row and n - 1 tangential rows. Returns 0 if W_nn is zero. */
int cs_sliding_reduce(int n, const double *W, const double *q, double reach, cs_sliding *problem);

/* z <- the impulses of a sticking contact; if S is singular to rounding, one of several. Returns whether friction is
 * within its bound. */
int cs_sliding_stick(const cs_sliding *problem, double *z);

/* z <- the impulses of a sliding contact, by Newton's method on 1/|z_t| - 1/(c z_n) = 0, which is nearly linear in
 * kappa, with bisection as a safeguard. `guess`: an estimate of kappa, or 0. If W is positive semidefinite and the
 * contact cannot stick, a solution exists. Returns whether it was found. */
int cs_sliding_root(const cs_sliding *problem, double guess, double *z);

/* z (CS_SLIDING_MOST, 4) <- the impulses for all positive roots of the quartic, for two tangential rows. Returns
 * their number. */
int cs_sliding_quartic(const cs_sliding *problem, double (*z)[4]);

/* The same, by a search over all scales of kappa for sign changes of |z_t| - c z_n. Slower than the quartic, but
 * accurate if W is ill-conditioned, where the coefficients of the quartic have large rounding errors. */
int cs_sliding_scan(const cs_sliding *problem, double (*z)[4]);

/* root <- the positive roots, ascending, of c[0] + c[1] x + ... + c[degree] x^degree, degree <= 4, with the points
 * where the polynomial touches zero to rounding. Returns their number. */
int cs_positive_roots(int degree, const double *c, double *root);

#endif
