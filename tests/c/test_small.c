/* Small dense linear algebra against known answers: eigenvalue, inverse, Cholesky. */
#include "linalg/small.h"
#include "testing.h"

#include <float.h>
#include <string.h>

enum { LARGEST = 12 }; /* rows: more than a block has, as bodies may */

/* a <- Q diag(values) Q with the reflection Q = I - 2 v v^T / (v^T v) of a random v: symmetric, with
 * these eigenvalues. */
static void with_eigenvalues(int n, const double *values, uint64_t *random, double *a)
{
    double v[LARGEST], q[LARGEST * LARGEST], norm = 0;
    for (int i = 0; i < n; i++) {
        v[i] = test_random(random);
        norm += v[i] * v[i];
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) q[i * n + j] = (i == j) - 2 * v[i] * v[j] / norm;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            a[i * n + j] = 0;
            for (int k = 0; k < n; k++) a[i * n + j] += q[i * n + k] * values[k] * q[j * n + k];
        }
}

static void multiply(int n, const double *a, const double *b, int transposed, double *product)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            product[i * n + j] = 0;
            for (int k = 0; k < n; k++)
                product[i * n + j] += a[i * n + k] * b[transposed ? j * n + k : k * n + j];
        }
}

/* ---- the largest eigenvalue ------------------------------------------------------------------ */

static void eigenvalue_of_known_matrices(void)
{
    CHECK(cs_largest_eigenvalue(1, (double[]){-3}) == -3);
    CHECK(cs_largest_eigenvalue(3, (double[]){1, 0, 0, 0, 5, 0, 0, 0, 2}) == 5);
    CHECK(cs_largest_eigenvalue(2, (double[]){0, 0, 0, 0}) == 0);
    CHECK_NEAR(cs_largest_eigenvalue(2, (double[]){2, 1, 1, 2}), 3, 4 * DBL_EPSILON);
    CHECK_NEAR(cs_largest_eigenvalue(2, (double[]){0, 2, 2, 0}), 2, 4 * DBL_EPSILON);
    CHECK_NEAR(cs_largest_eigenvalue(3, (double[]){2, -1, 0, -1, 2, -1, 0, -1, 2}), 2 + sqrt(2),
               16 * DBL_EPSILON);
    /* only the symmetric part counts */
    CHECK_NEAR(cs_largest_eigenvalue(2, (double[]){2, 5, -3, 2}), 3, 4 * DBL_EPSILON);
}

static void eigenvalue_of_random_matrices(void)
{
    uint64_t random = 7;
    for (int n = 1; n <= CS_MAX_ROWS; n++)
        for (int round = 0; round < 20; round++) {
            double values[CS_MAX_ROWS], a[CS_MAX_ROWS * CS_MAX_ROWS], largest = -INFINITY;
            double scale = pow(10, 8 * test_random(&random)), size = 0;
            for (int i = 0; i < n; i++) {
                values[i] = scale * test_random(&random);
                if (round % 2 && i > 1) values[i] = values[1]; /* repeated */
                largest = fmax(largest, values[i]);
                size = fmax(size, fabs(values[i]));
            }
            with_eigenvalues(n, values, &random, a);
            CHECK_NEAR(cs_largest_eigenvalue(n, a), largest, 32 * DBL_EPSILON * size);
        }
}

static void eigenvalue_across_units(void)
{
    double a[] = {1e-8, 1e-3, 1e-3, 1e8};
    CHECK_NEAR(cs_largest_eigenvalue(2, a) / 1e8, 1, 4 * DBL_EPSILON);
    double tiny[] = {1, 1e-200, 1e-200, 2};
    CHECK(cs_largest_eigenvalue(2, tiny) == 2);
}

/* ---- the inverse ----------------------------------------------------------------------------- */

static void inverse_of_known_matrices(void)
{
    double inverse[16];
    CHECK(cs_invert(1, (double[]){4}, inverse) == 0);
    CHECK(inverse[0] == 0.25);
    double swap[] = {0, 1, 0, 0, 0, 1, 1, 0, 0}, back[] = {0, 0, 1, 1, 0, 0, 0, 1, 0};
    CHECK(cs_invert(3, swap, inverse) == 0); /* needs its pivots exchanged */
    CHECK_ALL_NEAR(9, inverse, back, 0);

    double hilbert[16];
    double known[] = {16,  -120,  240,  -140,  -120, 1200, -2700, 1680,
                      240, -2700, 6480, -4200, -140, 1680, -4200, 2800};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) hilbert[i * 4 + j] = 1.0 / (i + j + 1);
    CHECK(cs_invert(4, hilbert, inverse) == 0);
    CHECK_ALL_NEAR(16, inverse, known, 1.6e4 * 6480 * DBL_EPSILON); /* condition number 1.6e4 */
}

/* Rows of different units: each is measured by its own diagonal entry. */
static void inverse_of_badly_scaled_matrices(void)
{
    double inverse[9], unit[] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, product[9];
    CHECK(cs_invert(2, (double[]){1, 0, 0, 1e-15}, inverse) == 0);
    CHECK(inverse[0] == 1 && inverse[1] == 0 && inverse[2] == 0 && inverse[3] == 1 / 1e-15);
    double scale[] = {1, 0x1p-80, 0x1p+90}, alike[] = {4, 1, 1, 1, 3, 1, 1, 1, 2}, a[9];
    for (int i = 0; i < 9; i++) a[i] = scale[i / 3] * alike[i] * scale[i % 3];
    CHECK(cs_invert(3, a, inverse) == 0);
    for (int i = 0; i < 9; i++) inverse[i] *= scale[i / 3] * scale[i % 3];
    multiply(3, alike, inverse, 0, product);
    CHECK_ALL_NEAR(9, product, unit, 8 * DBL_EPSILON);
    double dependent[] = {1, 2, 2, 4};
    for (int i = 0; i < 4; i++) dependent[i] *= scale[i / 2] * scale[i % 2];
    CHECK(cs_invert(2, dependent, inverse) == -1);
}

static void inverse_of_random_matrices(void)
{
    uint64_t random = 11;
    for (int n = 1; n <= CS_MAX_ROWS; n++)
        for (int round = 0; round < 20; round++) {
            double values[CS_MAX_ROWS], a[36], inverse[36], product[36], unit[36];
            for (int i = 0; i < n; i++) values[i] = 1 + 0.9 * test_random(&random);
            with_eigenvalues(n, values, &random, a);
            for (int i = 0; i < n * n; i++) unit[i] = i % (n + 1) == 0;
            if (n > 1) a[1] += 0.03; /* an inverse of unsymmetric matrices, too */
            double kept[36];
            memcpy(kept, a, sizeof a);
            CHECK(cs_invert(n, a, inverse) == 0);
            CHECK(memcmp(kept, a, sizeof(double) * (size_t)(n * n)) == 0);
            multiply(n, a, inverse, 0, product);
            CHECK_ALL_NEAR(n * n, product, unit, 500 * DBL_EPSILON);
        }
}

static void singular_matrices_have_no_inverse(void)
{
    double inverse[36];
    uint64_t random = 13;
    CHECK(cs_invert(1, (double[]){0}, inverse) == -1);
    CHECK(cs_invert(2, (double[]){0, 0, 0, 0}, inverse) == -1);
    CHECK(cs_invert(2, (double[]){1, 2, 2, 4}, inverse) == -1);
    CHECK(cs_invert(3, (double[]){1, 2, 3, 4, 5, 6, 7, 8, 9}, inverse) == -1);
    CHECK(cs_invert(2, (double[]){NAN, 0, 0, 1}, inverse) == -1);
    for (int n = 2; n <= CS_MAX_ROWS; n++)
        for (int rank = 0; rank < n; rank++) {
            double values[CS_MAX_ROWS] = {0}, a[36];
            for (int i = 0; i < rank; i++) values[i] = 1e3 * (i + 1);
            with_eigenvalues(n, values, &random, a);
            CHECK(cs_invert(n, a, inverse) == -1);
        }
}

/* ---- the semidefinite Cholesky factor -------------------------------------------------------- */

static void factor_of_known_matrices(void)
{
    double lower[9];
    CHECK(cs_semidefinite_cholesky(2, (double[]){4, 2, 2, 5}, lower) == -1);
    CHECK_ALL_NEAR(4, lower, ((double[]){2, 0, 1, 2}), 0);
    /* the upper triangle is not read */
    CHECK(cs_semidefinite_cholesky(2, (double[]){4, 99, 2, 5}, lower) == -1);
    CHECK_ALL_NEAR(4, lower, ((double[]){2, 0, 1, 2}), 0);
    double singular[] = {4, 2, 2, 2, 1, 1, 2, 1, 5}, root[] = {2, 0, 0, 1, 0, 0, 1, 0, 2};
    CHECK(cs_semidefinite_cholesky(3, singular, lower) == -1);
    CHECK_ALL_NEAR(9, lower, root, 0);
    double immovable[9] = {0};
    CHECK(cs_semidefinite_cholesky(3, immovable, lower) == -1);
    CHECK_ALL_NEAR(9, lower, immovable, 0);
    /* a body that may move along its second axis only */
    CHECK(cs_semidefinite_cholesky(2, (double[]){0, 0, 0, 9}, lower) == -1);
    CHECK_ALL_NEAR(4, lower, ((double[]){0, 0, 0, 3}), 0);
}

static void indefinite_matrices_are_found_at_their_row(void)
{
    double lower[9];
    CHECK(cs_semidefinite_cholesky(1, (double[]){-1}, lower) == 0);
    CHECK(cs_semidefinite_cholesky(1, (double[]){-1e-300}, lower) == 0);
    CHECK(cs_semidefinite_cholesky(2, (double[]){1, 2, 2, 1}, lower) == 1);
    CHECK(cs_semidefinite_cholesky(2, (double[]){0, 1, 1, 0}, lower) == 1);
    CHECK(cs_semidefinite_cholesky(2, (double[]){0, 1, 1, 5}, lower) == 1);
    CHECK(cs_semidefinite_cholesky(3, (double[]){1, 0, 0, 0, 1, 3, 0, 3, 1}, lower) == 2);
    /* in the units of a small body the same matrix is as indefinite as in others */
    CHECK(cs_semidefinite_cholesky(2, (double[]){1e-12, 2e-6, 2e-6, 1}, lower) == 1);
    uint64_t random = 17;
    for (int n = 2; n <= LARGEST; n++) {
        double values[LARGEST], a[LARGEST * LARGEST], factor[LARGEST * LARGEST];
        for (int i = 0; i < n; i++) values[i] = 1 + i;
        values[n - 1] = -1e-3;
        with_eigenvalues(n, values, &random, a);
        CHECK(cs_semidefinite_cholesky(n, a, factor) >= 0);
    }
}

/* Gram matrices of every rank, in mixed units: the factor gives them back, lower triangular. */
static void factor_of_random_matrices(void)
{
    uint64_t random = 19;
    for (int n = 1; n <= LARGEST; n++)
        for (int rank = 0; rank <= n; rank++) {
            double half[LARGEST * LARGEST] = {0}, a[LARGEST * LARGEST], scale[LARGEST];
            double lower[LARGEST * LARGEST], product[LARGEST * LARGEST];
            for (int i = 0; i < n; i++) {
                scale[i] = pow(10, 4 * test_random(&random));
                for (int k = 0; k < rank; k++) half[i * n + k] = test_random(&random);
            }
            multiply(n, half, half, 1, a);
            for (int i = 0; i < n * n; i++) a[i] *= scale[i / n] * scale[i % n];
            CHECK(cs_semidefinite_cholesky(n, a, lower) == -1);
            multiply(n, lower, lower, 1, product);
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++) {
                    double unit = scale[i] * scale[j];
                    CHECK_NEAR(product[i * n + j] / unit, a[i * n + j] / unit, 1e-11);
                    if (j > i) CHECK(lower[i * n + j] == 0);
                }
        }
}

int main(void)
{
    eigenvalue_of_known_matrices();
    eigenvalue_of_random_matrices();
    eigenvalue_across_units();
    inverse_of_known_matrices();
    inverse_of_badly_scaled_matrices();
    inverse_of_random_matrices();
    singular_matrices_have_no_inverse();
    factor_of_known_matrices();
    indefinite_matrices_are_found_at_their_row();
    factor_of_random_matrices();
    return test_result();
}
