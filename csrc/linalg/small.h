/* Dense matrices of a few rows, on the stack, row-major, in double precision: the diagonal blocks
 * of A (m <= 6) and the inverse mass of one body. */
#ifndef CS_SMALL_H
#define CS_SMALL_H

#include "core/set.h"

/* Largest eigenvalue of the symmetric part of `a` (n, n), n <= CS_MAX_ROWS, by Jacobi rotations. */
double cs_largest_eigenvalue(int n, const double *a);

/* inverse <- a^-1 (n, n), n <= CS_MAX_ROWS, by elimination with partial pivoting. Returns 0, or -1
 * where a is singular to rounding, each row measured by its own diagonal entry. */
int cs_invert(int n, const double *a, double *inverse);

/* c <- a b (n, n); c is another. */
void cs_multiply_small(int n, const double *a, const double *b, double *c);

/* lower (n, n) with lower lower^T = a for a symmetric positive semi-definite a, whose lower
 * triangle is read; a zero pivot gives a zero column. Returns -1, or the row at which a proves
 * indefinite. */
int cs_semidefinite_cholesky(int n, const double *a, double *lower);

/* Solves gram x = x in place for the Gram matrix of n vectors, n <= CS_MOST_GRAM, which may depend on
 * each other: 1e-10 of the diagonal's mean is added to it. gram (n, n) is the
 * corner of a matrix with so many columns. */
enum { CS_MOST_GRAM = 20 };
void cs_solve_gram(int n, const double *gram, int columns, double *x);

#endif
