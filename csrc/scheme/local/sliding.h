/* One contact with one ball of friction of up to three rows, W z + q = v, q_n < 0:
 *
 *     stick  v = 0                      where |z_t| <= c z_n
 *     slide  v_n = 0, v_t = -kappa z_t  with kappa > 0 and |z_t| = c z_n
 *
 * With the normal impulse eliminated, sliding is (S + kappa 1) z_t = g and one equation for kappa,
 * |z_t| = c z_n. Two rows make it a quartic (Bonnefon and Daviet 2011). */
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

/* W (n, n), of the normal and n - 1 tangential rows. Returns whether W_nn is not zero. */
int cs_sliding_reduce(int n, const double *W, const double *q, double reach, cs_sliding *problem);

/* z <- the sticking contact; where S is singular to rounding, one of them. Returns whether friction is
 * within its bound. */
int cs_sliding_stick(const cs_sliding *problem, double *z);

/* z <- a sliding contact, by Newton's method on 1/|z_t| - 1/(c z_n), which is nearly straight in
 * kappa, between bounds; `guess` of kappa, 0 for none. There is one where W is positive semidefinite
 * and sticking is none. Returns whether it was found. */
int cs_sliding_root(const cs_sliding *problem, double guess, double *z);

/* z (most, 4) <- the contacts of all positive roots of the quartic, for two tangential rows. Returns
 * how many. */
int cs_sliding_quartic(const cs_sliding *problem, double (*z)[4]);

/* The same where kappa, looked for over all scales, changes the sign of |z_t| - c z_n. Slower, and no
 * worse for badly conditioned W, of which the quartic's coefficients keep little. */
int cs_sliding_scan(const cs_sliding *problem, double (*z)[4]);

/* root <- positive roots, ascending, of c[0] + c[1] x + ... + c[degree] x^degree, degree <= 4, and the
 * points where it touches zero to rounding. Returns how many. */
int cs_positive_roots(int degree, const double *c, double *root);

#endif
