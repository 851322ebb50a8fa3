/* Dense matrices of a few rows, on the stack, row-major, in double precision: the diagonal blocks
 * of A (m <= 6) and the inverse mass of one body. */
#ifndef CS_SMALL_H
#define CS_SMALL_H

#include "core/set.h"

/* Largest eigenvalue of the symmetric part of `a` (n, n), n <= CS_MAX_ROWS, by Jacobi rotations. */
double cs_largest_eigenvalue(int n, const double *a);

/* inverse <- a^-1 (n, n), n <= CS_MAX_ROWS, by elimination with partial pivoting. Returns -1 if a is singular to
 * rounding, where each row is compared with its diagonal entry. */
int cs_invert(int n, const double *a, double *inverse);

/* c <- a b (n, n); c must be neither a nor b. */
void cs_multiply_small(int n, const double *a, const double *b, double *c);

/* lower (n, n) <- L with L L^T = a for a symmetric positive semidefinite a, of which only the lower triangle is read. A
 * zero pivot gives a zero column. Returns -1 on success, or the row at which a is found to be indefinite. */
int cs_semidefinite_cholesky(int n, const double *a, double *lower);

/* x <- gram^-1 x for the Gram matrix of n <= CS_MOST_GRAM vectors. The vectors may be linearly dependent: 1e-10 of the
 * mean diagonal entry is added to the diagonal. gram (n, n) is the corner of a matrix with `columns` columns. */
enum { CS_MOST_GRAM = 20 };
void cs_solve_gram(int n, const double *gram, int columns, double *x);

#endif
