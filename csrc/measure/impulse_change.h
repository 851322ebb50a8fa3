/* S2's two termination criteria, on the change of the impulses in one sweep, as ratios that are at most 1
 * where the criterion is met:
 *
 *     |Lambda_i^(k+1) - Lambda_i^k| <= |Lambda_i^k| T_rel + T_abs for all i     S2 eq. 4.49
 *     |Lambda^(k+1) - Lambda^k|_2 <= |Lambda^k|_2 T_rel + T_abs                 S2 eq. 4.50
 *
 * T_rel and T_abs are rtol and atol of the solve. The processor and devices add in the same order, so that the ratios have
 * the same bits: the rows of a group in the user's order, in pieces of CS_CHANGE_ROWS, row i of a piece in lane i modulo
 * CS_CHANGE_LANES; then the lanes, in halves; and the pieces of all groups, one after another, in the same way. */
#ifndef CS_IMPULSE_CHANGE_H
#define CS_IMPULSE_CHANGE_H

#include "core/compiler.h"

#include <math.h>

enum { CS_CHANGE_LANES = 32, CS_CHANGE_ROWS = 256 };

/* Of some rows: the largest ratio of a row, |change|^2, and |Lambda^k|^2. */
typedef struct cs_change_sums {
    double element, change, size;
} cs_change_sums;

/* Both ratios. */
typedef struct cs_impulse_change {
    double element, norm;
} cs_impulse_change;

/* change / bound, where no change is within any bound, also within 0. */
CS_INLINE_ON_BOTH double cs_change_ratio(double change, double bound)
{
    return change > 0 || isnan(change) ? change / bound : 0;
}

/* One row. */
CS_INLINE_ON_BOTH cs_change_sums cs_change_of_row(double old, double updated, double rtol,
                                                  double atol)
{
    double change = fabs(updated - old);
    cs_change_sums sums = {cs_change_ratio(change, fabs(old) * rtol + atol), change * change,
                           old * old};
    return sums;
}

/* Adds rows. What is not a number remains. */
CS_INLINE_ON_BOTH void cs_change_add(cs_change_sums *to, const cs_change_sums *from)
{
    if (from->element > to->element || isnan(from->element)) to->element = from->element;
    to->change += from->change;
    to->size += from->size;
}

/* The ratios of all rows. An infinite norm would make every change vanish. */
CS_INLINE_ON_BOTH cs_impulse_change cs_change_of_all(const cs_change_sums *all, double rtol,
                                                     double atol)
{
    double change = isfinite(all->size) ? sqrt(all->change) : (double)NAN;
    cs_impulse_change ratios = {all->element,
                                cs_change_ratio(change, sqrt(all->size) * rtol + atol)};
    return ratios;
}

#endif
