/* L U of a sparse matrix whose pattern is symmetric and whose values are not, by its profile.
 *
 *     | d u        |    a row is kept from its first non-zero column as far as the last row that begins
 *     | l d u u    |    at or before its diagonal: elimination, row by row and without interchanges,
 *     |   l d u    |    fills nothing outside.
 *     |   l l d u  |
 *     |       l d  |
 *
 * For small systems, of which the work of a factor in plain loops is less than that of a few products.
 * Without interchanges a pivot may vanish, or be small: whoever solves has to look at the residual. */
#ifndef CS_PROFILE_H
#define CS_PROFILE_H

#include "core/memory.h"

typedef struct cs_profile {
    int64_t rows;
    int64_t *first, *end;    /* (rows): columns of each row */
    int64_t *start;          /* (rows + 1) into value */
    double *value, *inverse; /* `inverse` (rows): one over the pivots */
} cs_profile;

/* The pattern of a matrix with these first columns (rows), without room for values. Non-zero: no
 * memory. */
int cs_profile_shape(cs_profile *profile, int64_t rows, const int64_t *first, cs_arena *arena);

/* Multiplications of a factor, at most. */
double cs_profile_work(const cs_profile *profile);

/* Room for the values, all zero. Non-zero: no memory. */
int cs_profile_take(cs_profile *profile, cs_arena *arena);

/* All zero again. */
void cs_profile_clear(cs_profile *profile);

/* Row i, of which columns first[i] ... end[i] - 1 are kept: entry (i, j) is [j] of what this returns. */
static inline double *cs_profile_row(const cs_profile *profile, int64_t i)
{
    return profile->value + profile->start[i] - profile->first[i];
}

/* L U in place of the matrix. Non-zero: a pivot is zero or not finite. */
int cs_profile_factor(cs_profile *profile);

/* x <- (L U)^-1 x (rows) */
void cs_profile_solve(const cs_profile *profile, double *x);

#endif
