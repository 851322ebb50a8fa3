/* A second level of unknowns for a force network: substructuring over aggregates of bodies.
 *
 *     face |  inner contacts  | face         Between two aggregates impulses change by a few patterns W,
 *       o--+--o----o----o-----+--o           those of one wrench; inside an aggregate they follow so
 *     -> W e_1  X (e_1, e_2)  -> W e_2       that they do least work, X = -A_ii^-1 A_iI W: in
 *                                            equilibrium as far as that is possible.
 *
 * Only loose rows change. With P the patterns and their continuations, a correction is
 *
 *     delta = P (P^T A P)^-1 P^T r + A_ii^-1 r_i,     r = -xi on loose rows
 *
 * whose two parts are A-orthogonal: what is left lies between patterns of the faces. A = sum over
 * bodies G_b^T G_b, so that P^T A P is a sum over aggregates, of their Schur complements on faces.
 * Przemieniecki 1963 */
#ifndef CS_COARSE_H
#define CS_COARSE_H

#include "core/cancellation.h"
#include "problem/problem.h"

typedef struct cs_coarse cs_coarse;

/* Aggregates of `size` bodies at most; 0: of as many as take the least work. NULL where factors would
 * take more than `most_work` multiplications. Everything is taken from the arena. */
cs_status cs_coarse_take(const cs_problem *problem, int64_t size, double most_work, cs_arena *arena,
                         cs_coarse **coarse, cs_error *error);

/* Makes the next factors new ones, whatever was loose before. */
void cs_coarse_forget(cs_coarse *coarse);

/* Factors of A + shift diag(rho)^-1 for the rows with loose[i] != 0, where these or the shift are others
 * than the last time; rho (rows) is positive on loose rows. Non-zero: cancelled
 * (`cancellation` may be NULL). */
int cs_coarse_factor(cs_coarse *coarse, const signed char *loose, const double *rho, double shift,
                     cs_cancellation *cancellation);

/* delta <- the correction for xi (rows); zero on rows that are not loose, and on all where a factor
 * failed. */
void cs_coarse_correct(cs_coarse *coarse, const double *xi, double *delta);

/* Multiplications of a correction all of whose factors are new; of all until now. */
double cs_coarse_work(const cs_coarse *coarse);
double cs_coarse_spent(const cs_coarse *coarse);

#endif
