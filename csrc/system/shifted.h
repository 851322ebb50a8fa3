/* Solves with A + P, P = (L L^T)^-1 a positive diagonal, by a sparse Cholesky factor: in constraint space of
 *
 *     I + L^T (A + A^T)/2 L                            (rows unknowns)
 *
 * or in body space, A = G G^T + Sigma, F = L^T G and E = I + L^T Sigma L, of
 *
 *     H = I + F^T E^-1 F,   (I + L^T A L)^-1 r = E^-1 (r - F H^-1 F^T E^-1 r)      (velocities unknowns)
 *
 * (Woodbury), the velocities being those of movable bodies. Both are positive definite even if contacts are
 * redundant. The pattern (system/pattern.h), ordered by minimum degree, is computed once; a new factor is
 * computed whenever P changes. */
#ifndef CS_SHIFTED_H
#define CS_SHIFTED_H

#include "core/cancellation.h"
#include "problem/problem.h"

typedef enum cs_space { CS_SPACE_AUTO, CS_SPACE_CONSTRAINTS, CS_SPACE_BODIES } cs_space;

typedef struct cs_shifted cs_shifted;

/* Allocates, and computes the pattern. CS_SPACE_AUTO chooses the space with fewer unknowns; a given A
 * has no body space. Fails with CS_INTERRUPTED if `control` or `cancellation` (may be NULL) asks for
 * it. */
cs_status cs_shifted_take(const cs_problem *problem, cs_space space, int threads, cs_arena *arena,
                          const cs_control *control, cs_cancellation *cancellation,
                          cs_shifted **shifted, cs_error *error);

/* Factors for P (rows). Fails with CS_INTERRUPTED if cancelled (`cancellation` may be NULL). */
cs_status cs_shifted_factor(cs_shifted *shifted, const double *p, cs_cancellation *cancellation,
                            cs_error *error);

/* The same in other unknowns: factors I + L^T A L, which is never singular, L of blocks (m, m) that the
 * caller writes; blocks may be zero. Then x <- (I + L^T A L)^-1 x (rows). */
double *cs_shifted_root(cs_shifted *shifted, int64_t block);
cs_status cs_shifted_factor_roots(cs_shifted *shifted, cs_cancellation *cancellation,
                                  cs_error *error);
void cs_shifted_solve_roots(cs_shifted *shifted, double *x);

/* y_k <- L_k x_k, or L_k^T x_k, for all blocks; they may be one. */
void cs_shifted_multiply_roots(const cs_shifted *shifted, int transposed, const double *x,
                               double *y);

/* x <- (A + P)^-1 x (rows) */
void cs_shifted_solve(cs_shifted *shifted, double *x);

#endif
