/* A second level of unknowns for impulses: substructuring over aggregates of bodies.
 *
 *     face |  inner contacts  | face         A face is the set of all contacts between two aggregates.
 *       o--+--o----o----o-----+--o           Its impulses change by a few patterns W, those of one
 *     -> W e_1  X (e_1, e_2)  -> W e_2       wrench. The impulses inside an aggregate (rows i) follow
 *                                            those on its faces (rows I) with the least energy,
 *                                            X = -A_ii^-1 A_iI W: in equilibrium as far as possible.
 *
 * A correction changes the free rows alone. Let P consist of the patterns W and their extensions X. A
 * correction is
 *
 *     delta = P (P^T A P)^-1 P^T r + A_ii^-1 r_i,     r = -xi on free rows, 0 elsewhere
 *
 * Its two parts are A-orthogonal. What remains of the residual is due to impulses on faces outside the span of
 * the patterns. Since A is a sum over bodies, P^T A P is the sum of the Schur complements of the aggregates on
 * their faces.
 *
 * Przemieniecki 1963 */
#ifndef CS_COARSE_H
#define CS_COARSE_H

#include "core/cancellation.h"
#include "problem/problem.h"

typedef struct cs_coarse cs_coarse;

/* Finds aggregates of at most `size` bodies (0: the size with the least work), and allocates everything in the
 * arena. coarse <- NULL if factors would need more than `most_work` multiplications. */
cs_status cs_coarse_take(const cs_problem *problem, int64_t size, double most_work, cs_arena *arena,
                         cs_coarse **coarse, cs_error *error);

/* Discards the factors: the next call of cs_coarse_factor computes all of them. */
void cs_coarse_forget(cs_coarse *coarse);

/* Factors A + shift diag(rho)^-1 on the free rows, those with is_free[i] != 0. Only factors that depend on
 * free rows that have changed are computed again, or all of them if the shift has. rho (rows) must be positive
 * on free rows. Returns non-zero if cancelled (`cancellation` may be NULL). */
int cs_coarse_factor(cs_coarse *coarse, const signed char *is_free, const double *rho, double shift,
                     cs_cancellation *cancellation);

/* delta (rows) <- the correction for xi (rows). It is zero on rows that are not free, and everywhere if a
 * factor broke down. */
void cs_coarse_correct(cs_coarse *coarse, const double *xi, double *delta);

/* Multiplications of a correction that needs all factors anew; those of all factors and corrections so far. */
double cs_coarse_work(const cs_coarse *coarse);
double cs_coarse_spent(const cs_coarse *coarse);

#endif
