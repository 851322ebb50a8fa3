/* Extreme eigenvalues of a large symmetric positive semi-definite matrix that is known by its
 * products only. */
#ifndef CS_LANCZOS_H
#define CS_LANCZOS_H

#include "core/memory.h"

/* Products with the matrix at most; a basis of as many vectors is kept. */
enum { CS_LANCZOS_STEPS = 48 };

/* y <- matrix x */
typedef void (*cs_product)(void *context, const double *x, double *y);

typedef struct cs_spectrum {
    double smallest, largest;             /* Ritz values; the largest one never above the truth */
    double smallest_error, largest_error; /* each lies this near to an eigenvalue */
    int steps;                            /* products made */
} cs_spectrum;

/* Relative errors at which both are good enough to stop early. */
#define CS_LANCZOS_LARGEST 1e-6
#define CS_LANCZOS_SMALLEST 1e-3

/* Lanczos' iteration with full reorthogonalisation, from `start` (n), which is overwritten; the
 * caller decides on the subspace by what is zero there. Deterministic. With n <= CS_LANCZOS_STEPS
 * both values are exact to rounding. Returns -1 without memory. */
int cs_lanczos(int64_t n, cs_product product, void *context, double *start, cs_spectrum *spectrum);

#endif
