/* The user's support functions, which blocks refer to by a handle among their parameters. */
#ifndef CS_SUPPORT_CALLBACK_H
#define CS_SUPPORT_CALLBACK_H

#include "contactsolve.h"

/* The function with this handle, or NULL. */
const cs_support *cs_support_find(double handle);

/* z (n) <- the nearest point to z of the function's set times `scale`; zero if the function fails. */
void cs_nearest_by_function(double handle, double block, int n, double scale, double *z);

/* G (n, n) <- the derivative dp/dz of that nearest point p; zero if the function fails. */
void cs_slope_by_function(double handle, double block, int n, double scale, const double *z,
                          const double *p, double *G);

#endif
