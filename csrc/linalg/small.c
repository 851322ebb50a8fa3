#include "linalg/small.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { SWEEPS = 30 }; /* Jacobi converges quadratically: ten are plenty */

static double off_diagonal(int n, double s[CS_MAX_ROWS][CS_MAX_ROWS])
{
    double largest = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) largest = fmax(largest, fabs(s[i][j]));
    return largest;
}

/* One rotation in the plane (p, q) that makes s[p][q] zero. */
static void rotate(int n, double s[CS_MAX_ROWS][CS_MAX_ROWS], int p, int q)
{
    if (s[p][q] == 0) return;
    double theta = (s[q][q] - s[p][p]) / (2 * s[p][q]);
    double t = copysign(1, theta) / (fabs(theta) + sqrt(1 + theta * theta));
    double c = 1 / sqrt(1 + t * t), d = t * c;
    for (int k = 0; k < n; k++) {
        double a = s[k][p], b = s[k][q];
        s[k][p] = c * a - d * b;
        s[k][q] = d * a + c * b;
    }
    for (int k = 0; k < n; k++) {
        double a = s[p][k], b = s[q][k];
        s[p][k] = c * a - d * b;
        s[q][k] = d * a + c * b;
    }
}

double cs_largest_eigenvalue(int n, const double *a)
{
    double s[CS_MAX_ROWS][CS_MAX_ROWS], scale = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            s[i][j] = 0.5 * (a[i * n + j] + a[j * n + i]);
            scale = fmax(scale, fabs(s[i][j]));
        }
    for (int sweep = 0; sweep < SWEEPS && off_diagonal(n, s) > DBL_EPSILON * scale; sweep++)
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++) rotate(n, s, p, q);
    double largest = s[0][0];
    for (int i = 1; i < n; i++) largest = fmax(largest, s[i][i]);
    return largest;
}

/* About a_ii^-1/2, as a power of two, so that scaling by it causes no rounding. It makes rows of different units
 * comparable. */
static double unit_scale(double diagonal)
{
    int exponent = 0;
    if (isfinite(diagonal)) frexp(diagonal, &exponent);
    int half = (exponent >= 0 ? exponent : exponent - 1) / 2; /* rounded down, at both signs */
    return ldexp(1, -half);
}

/* Inverts S a S, and scales the result back; the diagonal S makes the rows comparable. */
int cs_invert(int n, const double *a, double *inverse)
{
    double work[CS_MAX_ROWS][2 * CS_MAX_ROWS] = {{0}}, unit[CS_MAX_ROWS], scale = 0;
    for (int i = 0; i < n; i++) unit[i] = unit_scale(a[i * n + i]);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            work[i][j] = unit[i] * a[i * n + j] * unit[j];
            scale = fmax(scale, fabs(work[i][j]));
        }
        work[i][n + i] = 1;
    }
    for (int column = 0; column < n; column++) {
        int pivot = column;
        for (int i = column + 1; i < n; i++)
            if (fabs(work[i][column]) > fabs(work[pivot][column])) pivot = i;
        if (!(fabs(work[pivot][column]) > 64 * DBL_EPSILON * scale)) return -1;
        for (int j = 0; j < 2 * n; j++) {
            double swap = work[pivot][j];
            work[pivot][j] = work[column][j];
            work[column][j] = swap;
        }
        double factor = 1 / work[column][column];
        for (int j = 0; j < 2 * n; j++) work[column][j] *= factor;
        for (int i = 0; i < n; i++) {
            double multiple = work[i][column];
            if (i == column || multiple == 0) continue;
            for (int j = 0; j < 2 * n; j++) work[i][j] -= multiple * work[column][j];
        }
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) inverse[i * n + j] = unit[i] * work[i][n + j] * unit[j];
    return 0;
}

void cs_multiply_small(int n, const double *a, const double *b, double *c)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}

/* Limits of a pivot relative to the diagonal entry of its row, so that units do not matter: below INDEFINITE it is
 * negative, otherwise below ZERO it is a rounding error of zero. */
#define INDEFINITE 1e-9
#define ZERO 1e-13
#define ZERO_COLUMN 1e-6 /* largest entry of a zero pivot's column, over sqrt(a_ii a_jj) */

int cs_semidefinite_cholesky(int n, const double *a, double *lower)
{
    memset(lower, 0, sizeof(double) * (size_t)n * (size_t)n);
    for (int j = 0; j < n; j++) {
        double diagonal = a[j * n + j], pivot = diagonal;
        for (int k = 0; k < j; k++) pivot -= lower[j * n + k] * lower[j * n + k];
        if (diagonal < 0 || pivot < -INDEFINITE * diagonal) return j;
        int zero = pivot <= ZERO * diagonal;
        double root = zero ? 0 : sqrt(pivot);
        lower[j * n + j] = root;
        for (int i = j + 1; i < n; i++) {
            double entry = a[i * n + j];
            for (int k = 0; k < j; k++) entry -= lower[i * n + k] * lower[j * n + k];
            if (!zero) lower[i * n + j] = entry / root;
            else if (fabs(entry) > ZERO_COLUMN * sqrt(fabs(diagonal * a[i * n + i]))) return i;
        }
    }
    return -1;
}

/* ---- Gram matrices --------------------------------------------------------------------------- */

static void factor_gram(int n, const double *gram, int columns, double a[][CS_MOST_GRAM])
{
    const double share = 1e-10;
    double trace = 0;
    for (int i = 0; i < n; i++) trace += gram[i * columns + i];
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            a[i][j] = gram[i * columns + j] + (i == j ? share * trace / n : 0);
            for (int k = 0; k < j; k++) a[i][j] -= a[i][k] * a[j][k];
            if (i == j) a[i][i] = sqrt(fmax(a[i][i], share * share * trace));
            else a[i][j] = a[j][j] > 0 ? a[i][j] / a[j][j] : 0;
        }
}

void cs_solve_gram(int n, const double *gram, int columns, double *x)
{
    double a[CS_MOST_GRAM][CS_MOST_GRAM];
    factor_gram(n, gram, columns, a);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++) x[i] -= a[i][k] * x[k];
        x[i] = a[i][i] > 0 ? x[i] / a[i][i] : 0;
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++) x[i] -= a[k][i] * x[k];
        x[i] = a[i][i] > 0 ? x[i] / a[i][i] : 0;
    }
}
