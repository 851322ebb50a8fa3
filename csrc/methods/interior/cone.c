#include "methods/interior/cone.h"

#include <math.h>

/* |(x_1, ...)| */
static double length_of(int rows, const double *x)
{
    return rows == 2 ? fabs(x[1]) : hypot(x[1], x[2]);
}

/* x_0^2 - |(x_1, ...)|^2, in the form without cancellation. */
static double determinant(int rows, const double *x)
{
    double length = length_of(rows, x);
    return (x[0] - length) * (x[0] + length);
}

/* The inner product without entry 0. */
static double dot(int rows, const double *x, const double *y)
{
    double sum = x[1] * y[1];
    return rows == 2 ? sum : sum + x[2] * y[2];
}

int cs_scaling_of(int rows, const double *x, const double *y, cs_scaling *s)
{
    double of_x = determinant(rows, x), of_y = determinant(rows, y);
    if (!(of_x > 0 && of_y > 0 && x[0] > 0 && y[0] > 0)) return -1;

    /* w = (x' + J y') / (2 gamma), where x' and y' are x and y scaled to determinant 1. */
    double root_x = sqrt(of_x), root_y = sqrt(of_y), w[CS_CONE_ROWS];
    double product = (x[0] * y[0] + dot(rows, x, y)) / (root_x * root_y);
    double gamma = sqrt((1 + product) / 2), beta = sqrt(root_x / root_y);
    for (int i = 0; i < rows; i++)
        w[i] = (x[i] / root_x + (i ? -1 : 1) * y[i] / root_y) / (2 * gamma);

    /* V = beta (2 u u^T - J) has the eigenvalues beta (w_0 +- |w|) and beta. */
    double length = length_of(rows, w);
    s->rows = rows;
    s->high = (w[0] + length) / beta;
    s->low = 1 / (s->high * beta * beta);
    s->middle = 1 / beta;
    for (int i = 1; i < rows; i++) s->axis[i] = length > 0 ? w[i] / length : i == 1;

    /* v = V y */
    cs_scale(s, 1, y, s->v);
    return isfinite(s->high) && s->low > 0 ? 0 : -1;
}

/* z <- F x, where F has the eigenvalues `along` of (1, axis), `against` of (1, -axis), and `across`. */
static void apply(const cs_scaling *s, double along, double against, double across, const double *x,
                  double *z)
{
    int rows = s->rows;
    double part = dot(rows, s->axis, x);
    double plus = along * (x[0] + part) / 2, minus = against * (x[0] - part) / 2;
    z[0] = plus + minus;
    for (int i = 1; i < rows; i++)
        z[i] = (plus - minus) * s->axis[i] + across * (x[i] - part * s->axis[i]);
}

void cs_scale(const cs_scaling *s, int power, const double *x, double *z)
{
    if (power < 0) apply(s, s->low, s->high, s->middle, x, z);
    else apply(s, 1 / s->low, 1 / s->high, 1 / s->middle, x, z);
}

/* For an eigenvalue l of V^-1: that of U, (l^2 + shift)^-1/2; or, if `inverse`, that of U V^-1. */
static double shifted(double eigenvalue, double shift, int inverse)
{
    return (inverse ? eigenvalue : 1) / sqrt(eigenvalue * eigenvalue + shift);
}

void cs_scale_shifted(const cs_scaling *s, double shift, int inverse, const double *x, double *z)
{
    apply(s, shifted(s->low, shift, inverse), shifted(s->high, shift, inverse),
          shifted(s->middle, shift, inverse), x, z);
}

void cs_jordan_multiply(int rows, const double *x, const double *y, double *z)
{
    double first = x[0] * y[0] + dot(rows, x, y);
    for (int i = 1; i < rows; i++) z[i] = x[0] * y[i] + y[0] * x[i];
    z[0] = first;
}

void cs_jordan_divide(int rows, const double *x, const double *y, double *z)
{
    double first = (x[0] * y[0] - dot(rows, x, y)) / determinant(rows, x);
    for (int i = 1; i < rows; i++) z[i] = (y[i] - first * x[i]) / x[0];
    z[0] = first;
}

double cs_cone_reach(int rows, const double *x, const double *d)
{
    /* The smallest positive t at which det(x + t d) = a t^2 + 2 b t + c vanishes. */
    double a = determinant(rows, d), b = x[0] * d[0] - dot(rows, x, d), c = determinant(rows, x);
    double root = b * b - a * c;
    if (root < 0) return INFINITY;
    double bottom = sqrt(root) - b;
    return bottom > 0 ? c / bottom : INFINITY;
}
