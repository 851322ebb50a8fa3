/* The kernels of linalg/skyline.h for one instruction set. */
#include "core/compiler.h"
#include "linalg/skyline.h"

#include <math.h>

/* y -= a x */
CS_INLINE void subtract(int64_t count, double a, const double *restrict x, double *restrict y)
{
    for (int64_t i = 0; i < count; i++) y[i] -= a * x[i];
}

/* Eight independent sums, because consecutive additions to one sum wait for each other. */
CS_INLINE double dot(int64_t count, const double *restrict x, const double *restrict y)
{
    enum { CHAINS = 8 };
    double sum[CHAINS] = {0}, rest = 0;
    int64_t i = 0;
    for (; i + CHAINS <= count; i += CHAINS)
        for (int s = 0; s < CHAINS; s++) sum[s] += x[i + s] * y[i + s];
    for (; i < count; i++) rest += x[i] * y[i];
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7])) + rest;
}

/* sigma <- sigma - (x / y) column,  column <- (sqrt(z) / y) column + (sqrt(z) x / gamma) sigma */
CS_INLINE void rotate(int64_t count, double x_over_y, double scale, double gain,
                      double *restrict sigma, double *restrict column)
{
    for (int64_t j = 0; j < count; j++) {
        double s = sigma[j] - x_over_y * column[j];
        sigma[j] = s;
        column[j] = scale * column[j] + gain * s;
    }
}

/* Sets row i of the factor to zero left of its diagonal. */
static void CS_BUILD(clear_row)(cs_skyline *skyline, int64_t i)
{
    for (int64_t k = i - 1; k >= 0 && skyline->last[k] >= i; k--)
        skyline->value[skyline->start[k] + i - k] = 0;
}

static void CS_BUILD(remove_row)(cs_skyline *skyline, int64_t i, double *sigma)
{
    double *out = skyline->value + skyline->start[i], beta = 1;
    int64_t end = skyline->last[i];
    for (int64_t j = i + 1; j <= end; j++) {
        sigma[j] = out[j - i];
        out[j - i] = 0;
    }
    out[0] = 1;
    CS_BUILD(clear_row)(skyline, i);
    for (int64_t k = i + 1; k <= end; k++) {
        double *column = skyline->value + skyline->start[k];
        double x = sigma[k], y = column[0];
        sigma[k] = 0;
        if (x == 0) continue;
        double z = y * y + x * x / beta, gamma = beta * y * y + x * x, root = sqrt(z);
        column[0] = root;
        beta += x * x / (y * y);
        if (skyline->last[k] > end) end = skyline->last[k];
        rotate(skyline->last[k] - k, x / y, root / y, root * x / gamma, sigma + k + 1, column + 1);
    }
}

/* Subtracts sigma sigma^T from the block behind row i by hyperbolic rotations. Returns -1 if a pivot vanishes. */
static int CS_BUILD(subtract_square)(cs_skyline *skyline, int64_t i, double *sigma, double floor)
{
    int64_t end = skyline->last[i];
    int failed = 0;
    for (int64_t k = i + 1; k <= end; k++) {
        double *column = skyline->value + skyline->start[k];
        double x = sigma[k], y = column[0], square = (y - x) * (y + x);
        sigma[k] = 0;
        if (x == 0 || failed) continue;
        failed = !(square > floor * y * y);
        if (failed) continue;
        double root = sqrt(square), cosine = root / y, sine = x / y;
        column[0] = root;
        if (skyline->last[k] > end) end = skyline->last[k];
        for (int64_t j = k + 1; j <= skyline->last[k]; j++) {
            double entry = (column[j - k] - sine * sigma[j]) / cosine;
            column[j - k] = entry;
            sigma[j] = cosine * sigma[j] - sine * entry;
        }
    }
    return failed ? -1 : 0;
}

static int CS_BUILD(add_row)(cs_skyline *skyline, int64_t i, double *column, double floor)
{
    double *own = skyline->value + skyline->start[i], square = column[i], diagonal = column[i];
    int64_t first = i, n = skyline->rows;
    while (first > 0 && skyline->last[first - 1] >= i) first--;
    for (int64_t k = first; k < i; k++) { /* solve L l = a; the rest of a remains behind row i */
        const double *part = skyline->value + skyline->start[k];
        double l = column[k] / part[0];
        column[k] = l;
        if (l == 0) continue;
        subtract(skyline->last[k] - k, l, part + 1, column + k + 1);
        square -= l * l;
    }
    for (int64_t k = first; k < i; k++) {
        skyline->value[skyline->start[k] + i - k] = column[k];
        column[k] = 0;
    }
    int failed = !(square > floor * diagonal);
    double root = failed ? 1 : sqrt(square);
    own[0] = root;
    for (int64_t j = i + 1; j <= skyline->last[i]; j++) own[j - i] = column[j] /= root;
    column[i] = 0;
    if (!failed) return CS_BUILD(subtract_square)(skyline, i, column, floor);
    for (int64_t j = i; j < n; j++) column[j] = 0;
    return -1;
}

static void CS_BUILD(solve)(const cs_skyline *skyline, double *x)
{
    for (int64_t k = 0; k < skyline->rows; k++) {
        const double *column = skyline->value + skyline->start[k];
        x[k] /= column[0];
        if (x[k] != 0) subtract(skyline->last[k] - k, x[k], column + 1, x + k + 1);
    }
    for (int64_t k = skyline->rows - 1; k >= 0; k--) {
        const double *column = skyline->value + skyline->start[k];
        x[k] = (x[k] - dot(skyline->last[k] - k, column + 1, x + k + 1)) / column[0];
    }
}

extern const cs_skyline_kernels CS_BUILD(cs_skyline_kernels);
const cs_skyline_kernels CS_BUILD(cs_skyline_kernels) = {
    .remove = CS_BUILD(remove_row),
    .add = CS_BUILD(add_row),
    .solve = CS_BUILD(solve),
};
