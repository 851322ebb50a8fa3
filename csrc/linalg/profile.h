/* L U factors of a sparse matrix with a symmetric pattern and unsymmetric values, within its profile.
 *
 *     | d u        |    A row is stored from its first non-zero column to the number of the last row that
 *     | l d u u    |    begins at or before its diagonal. Elimination, row by row and without interchanges,
 *     |   l d u    |    creates no entries outside.
 *     |   l l d u  |
 *     |       l d  |
 *
 * It is for small systems, for which a factor by plain loops costs less than a few matrix-vector products. Without
 * interchanges a pivot may vanish or be small: the caller has to check the residual. */
#ifndef CS_PROFILE_H
#define CS_PROFILE_H

#include "core/memory.h"

typedef struct cs_profile {
    int64_t rows;
    int64_t *first, *end;    /* (rows): columns of each row */
    int64_t *start;          /* (rows + 1) into value */
    double *value, *inverse; /* `inverse` (rows): one over the pivots */
} cs_profile;

/* Stores the pattern of a matrix with these first columns (rows), without its values. Returns non-zero if memory runs
 * out. */
int cs_profile_shape(cs_profile *profile, int64_t rows, const int64_t *first, cs_arena *arena);

/* An upper bound of the multiplications of a factor. */
double cs_profile_work(const cs_profile *profile);

/* Allocates the values, all zero. Returns non-zero if memory runs out. */
int cs_profile_take(cs_profile *profile, cs_arena *arena);

/* Sets all values to zero. */
void cs_profile_clear(cs_profile *profile);

/* A pointer to row i such that entry (i, j) is row[j], for first[i] <= j < end[i]. */
static inline double *cs_profile_row(const cs_profile *profile, int64_t i)
{
    return profile->value + profile->start[i] - profile->first[i];
}

/* Replaces the matrix by L U. Returns non-zero if a pivot is zero or not finite. */
int cs_profile_factor(cs_profile *profile);

/* x <- (L U)^-1 x (rows) */
void cs_profile_solve(const cs_profile *profile, double *x);

#endif
