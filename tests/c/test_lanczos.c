/* Lanczos' iteration against matrices with known eigenvalues. */
#include "linalg/lanczos.h"
#include "testing.h"

#include <float.h>

enum { LARGEST = 400 };

/* Q diag(values) Q with the reflection Q = I - 2 v v^T / (v^T v): these eigenvalues, no zero entry. */
typedef struct known {
    int64_t n;
    int products;
    double values[LARGEST], v[LARGEST];
} known;

static void reflect(const known *k, double *x)
{
    double along = 0, square = 0;
    for (int64_t i = 0; i < k->n; i++) {
        along += k->v[i] * x[i];
        square += k->v[i] * k->v[i];
    }
    for (int64_t i = 0; i < k->n; i++) x[i] -= 2 * along / square * k->v[i];
}

static void multiply(void *context, const double *x, double *y)
{
    known *k = context;
    k->products++;
    for (int64_t i = 0; i < k->n; i++) y[i] = x[i];
    reflect(k, y);
    for (int64_t i = 0; i < k->n; i++) y[i] *= k->values[i];
    reflect(k, y);
}

static void prepare(known *k, int64_t n, double *start)
{
    uint64_t random = 5;
    k->n = n;
    k->products = 0;
    for (int64_t i = 0; i < n; i++) {
        k->v[i] = test_random(&random);
        start[i] = test_random(&random);
    }
}

static void small_matrices_to_rounding(void)
{
    static known k;
    double start[LARGEST];
    for (int n = 1; n <= CS_LANCZOS_STEPS; n += n < 8 ? 1 : 10) {
        cs_spectrum spectrum;
        prepare(&k, n, start);
        for (int i = 0; i < n; i++) k.values[i] = 1e-3 + i;
        CHECK(cs_lanczos(n, 1, multiply, &k, start, &spectrum) == 0);
        CHECK_NEAR(spectrum.smallest, 1e-3, 64 * DBL_EPSILON * n);
        CHECK_NEAR(spectrum.largest, 1e-3 + n - 1, 64 * DBL_EPSILON * n);
        CHECK(spectrum.steps == k.products && spectrum.steps <= n);
    }
}

/* Few different eigenvalues: the subspace ends early, and both ends are exact. */
static void repeated_eigenvalues(void)
{
    static known k;
    double start[LARGEST];
    cs_spectrum spectrum;
    prepare(&k, LARGEST, start);
    for (int i = 0; i < LARGEST; i++) k.values[i] = i % 4; /* zero among them */
    CHECK(cs_lanczos(LARGEST, 1, multiply, &k, start, &spectrum) == 0);
    CHECK_NEAR(spectrum.smallest, 0, 1e-13);
    CHECK_NEAR(spectrum.largest, 3, 1e-13);
    CHECK(spectrum.steps <= 8);
}

/* A large matrix: the largest eigenvalue from below, and the truth within the error told. */
static void errors_are_bounds(void)
{
    static known k;
    double start[LARGEST];
    cs_spectrum spectrum;
    prepare(&k, LARGEST, start);
    for (int i = 0; i < LARGEST; i++) k.values[i] = 1 + 9.0 * i / (LARGEST - 1);
    CHECK(cs_lanczos(LARGEST, 1, multiply, &k, start, &spectrum) == 0);
    CHECK(spectrum.largest <= 10 + 1e-12 && spectrum.smallest >= 1 - 1e-12);
    CHECK(10 - spectrum.largest <= fmax(spectrum.largest_error, 9.0 / LARGEST));
    CHECK(spectrum.largest > 9.99 && spectrum.smallest < 1.01);
    CHECK(spectrum.steps <= CS_LANCZOS_STEPS);
}

static void isolated_ends_stop_early(void)
{
    static known k;
    double start[LARGEST];
    cs_spectrum spectrum;
    prepare(&k, LARGEST, start);
    for (int i = 0; i < LARGEST; i++) k.values[i] = 1 + 0.1 * i / LARGEST;
    k.values[3] = 10;
    k.values[7] = 0.01;
    CHECK(cs_lanczos(LARGEST, 1, multiply, &k, start, &spectrum) == 0);
    CHECK_NEAR(spectrum.largest, 10, CS_LANCZOS_LARGEST * 10);
    CHECK_NEAR(spectrum.smallest, 0.01, CS_LANCZOS_SMALLEST * 0.01);
    CHECK(spectrum.steps < CS_LANCZOS_STEPS);
}

/* A diagonal matrix, whose products need no threads. */
static void multiply_diagonal(void *context, const double *x, double *y)
{
    for (int64_t i = 0; i < *(int64_t *)context; i++) y[i] = (1 + (double)i) * x[i];
}

static void threads_change_no_bit(void)
{
    enum { MANY = 5000 };
    static double start[MANY];
    int64_t n = MANY;
    uint64_t random = 9;
    for (int i = 0; i < MANY; i++) start[i] = test_random(&random);
    cs_spectrum alone;
    CHECK(cs_lanczos(n, 1, multiply_diagonal, &n, start, &alone) == 0);
    CHECK(alone.largest > 0.99 * MANY && alone.steps > 8);
    for (int threads = 2; threads <= 8; threads = threads < 3 ? 3 : threads + 5) {
        cs_spectrum shared;
        CHECK(cs_lanczos(n, threads, multiply_diagonal, &n, start, &shared) == 0);
        CHECK(shared.largest == alone.largest && shared.smallest == alone.smallest);
        CHECK(shared.largest_error == alone.largest_error && shared.steps == alone.steps);
    }
}

static void nothing_to_start_from(void)
{
    static known k;
    double start[LARGEST] = {0};
    cs_spectrum spectrum;
    k.n = 3;
    CHECK(cs_lanczos(3, 1, multiply, &k, start, &spectrum) == 0);
    CHECK(spectrum.largest == 0 && spectrum.steps == 0);
    CHECK(cs_lanczos(0, 1, multiply, &k, start, &spectrum) == 0);
    start[0] = 1;
    int64_t live = cs_memory_live();
    cs_memory_fail_after(0);
    CHECK(cs_lanczos(3, 1, multiply, &k, start, &spectrum) == -1);
    cs_memory_fail_after(-1);
    CHECK(cs_memory_live() == live);
}

int main(void)
{
    small_matrices_to_rounding();
    repeated_eigenvalues();
    errors_are_bounds();
    isolated_ends_stop_early();
    threads_change_no_bit();
    nothing_to_start_from();
    return test_result();
}
