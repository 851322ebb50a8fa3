/* Extreme eigenvalues of a large symmetric positive semidefinite matrix, from products with vectors. */
#ifndef CS_LANCZOS_H
#define CS_LANCZOS_H

#include "core/memory.h"

/* The most products with the matrix, which is also the number of basis vectors in memory. */
enum { CS_LANCZOS_STEPS = 48 };

/* y <- matrix x */
typedef void (*cs_product)(void *context, const double *x, double *y);

typedef struct cs_spectrum {
    double smallest, largest;             /* Ritz values; `largest` never exceeds the eigenvalue */
    double smallest_error, largest_error; /* bounds of their distances from an eigenvalue */
    int steps;                            /* number of products */
} cs_spectrum;

/* The iteration stops early once both relative errors are below these. */
#define CS_LANCZOS_LARGEST 1e-6
#define CS_LANCZOS_SMALLEST 1e-3

/* Lanczos' iteration with full reorthogonalisation, from the vector `start` (n). Entries that are zero in `start` and
 * remain zero in all products restrict it to a subspace. With n <= CS_LANCZOS_STEPS both values are exact to
 * rounding. The threads share sums over vectors, with the same bits for any number. Returns -1 if memory runs out. */
int cs_lanczos(int64_t n, int threads, cs_product product, void *context, double *start,
               cs_spectrum *spectrum);

/* The sums over vectors, if the caller takes them: `all` is the length of the whole vectors, of which the caller may have n
 * entries only. */
typedef struct cs_vector_sums {
    int64_t all;
    double (*dot)(void *context, const double *x, const double *y);
    void *context;
} cs_vector_sums;

/* The same with these sums. */
int cs_lanczos_with(int64_t n, int threads, const cs_vector_sums *sums, cs_product product,
                    void *context, double *start, cs_spectrum *spectrum);

#endif
