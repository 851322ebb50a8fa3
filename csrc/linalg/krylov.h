/* Krylov methods for linear systems. Products are callbacks: the methods never see the matrix.
 *
 *     cs_gmres                 any A, preconditioned from the right
 *     cs_conjugate_direction   symmetric positive definite A: one step of conjugate gradients, between
 *     cs_conjugate_length      which the caller updates and tests its own residual
 *     cs_conjugate_turn,       the same for a caller who has the vectors, and hands over their inner products
 *     cs_conjugate_advance     (sparse/conjugate.c: by parts)                                              */
#ifndef CS_KRYLOV_H
#define CS_KRYLOV_H

#include "core/cancellation.h"

#include <stdint.h>

enum { CS_KRYLOV = 60 }; /* the most steps of GMRES */

/* A linear operator on arrays of `count` numbers, with its preconditioner and its inner product. */
typedef struct cs_operator {
    int64_t count;
    void *context;
    void (*multiply)(void *context, const double *x, double *y); /* y <- A x */
    void (*precondition)(void *context, double *r);              /* r <- M r */
    /* x.y in the norm in which residuals are measured. */
    double (*dot)(void *context, const double *x, const double *y);
    double work;                   /* multiplications of a step, for the cancellation */
    cs_cancellation *cancellation; /* NULL: runs to its end */
} cs_operator;

/* d <- A^-1 r up to |r - A d| <= most, for CS_KRYLOV steps at most, or until cancelled. `basis`
 * (CS_KRYLOV + 1, count) is scratch. Returns |r - A d| by the recurrence; `made` <- number of steps.
 * Saad and Schultz 1986; preconditioned from the right */
double cs_gmres(const cs_operator *A, const double *r, double most, double *basis, double *d,
                int64_t *made);

/* The state of a conjugate gradient iteration.  Golub and Van Loan 2013, Algorithm 11.5.1 */
typedef struct cs_conjugate {
    int64_t count;
    double *direction; /* (count): p */
    double product;    /* r.z of the last residual r and z = M r; 0 before the first step */
} cs_conjugate;

/* beta = r.z / the r.z of the last step, 0 before the first, from the present r.z. */
double cs_conjugate_turn(cs_conjugate *steps, double product);

/* The length r.z / p.Ap, from p.Ap; 0 if A is not positive definite. */
double cs_conjugate_advance(const cs_conjugate *steps, double curvature);

/* p <- z + beta p, with beta = r.z / the r.z of the last step. Returns 0 if r.z <= 0, so that M is not positive
 * definite. */
int cs_conjugate_direction(cs_conjugate *steps, const double *r, const double *z);

/* The length r.z / p.Ap of the step along p, where `image` is A p; 0 if A is not positive definite. */
double cs_conjugate_length(const cs_conjugate *steps, const double *image);

#endif
