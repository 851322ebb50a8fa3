/* Support functions of the caller's, by the handle that stands among a block's parameters. */
#ifndef CS_SUPPORT_CALLBACK_H
#define CS_SUPPORT_CALLBACK_H

#include "contactsolve.h"

/* The function of that handle, or NULL. */
const cs_support *cs_support_find(double handle);

/* z (n) <- the nearest point of the function's set times `scale`; zero where the function fails. */
void cs_nearest_by_function(double handle, double block, int n, double scale, double *z);

/* G (n, n) <- how p, that nearest point, moves with z; zero where the function fails. */
void cs_slope_by_function(double handle, double block, int n, double scale, const double *z,
                          const double *p, double *G);

#endif
