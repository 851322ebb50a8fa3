#include "prox/nearest.h"

#include <float.h>
#include <math.h>

/* ---- ellipse --------------------------------------------------------------------------------- */

enum { NEWTON_STEPS = 60 }; /* about six are made */

/* Beyond this many semi-axes only the direction of a point matters, to rounding. */
#define FAR 1e100
/* An ellipse narrower than this is a segment, to rounding. */
#define FLAT 1e-150

/* The root t > 0 of |v(t)| = 1, v_i = a_i / (t + d_i): S1's g(d) = 0, of a point outside.
 *
 * 1 / |v| is concave and increases, nearly as a straight line: Newton's method on 1 / |v| = 1 comes
 * from below and never steps beyond the root. It begins where one of the terms alone is 1 or less. */
static double multiplier(const double *a, const double *d)
{
    double t = fmax(0, fmax(a[0] - d[0], a[1] - d[1]));
    double unit = DBL_EPSILON * fmin(d[0], d[1]);
    for (int step = 0; step < NEWTON_STEPS; step++) {
        double v0 = a[0] / (t + d[0]), v1 = a[1] / (t + d[1]);
        double square = v0 * v0 + v1 * v1, length = sqrt(square);
        double slope = v0 * v0 / (t + d[0]) + v1 * v1 / (t + d[1]);
        double change = (square - 1) / (length + 1) * square / slope;
        if (!(change > DBL_EPSILON * t + unit)) break;
        t += change;
    }
    return t;
}

/* In units of the larger semi-axis, with the ratio of the other to it; y >= 0 and outside. */
static void nearest_in_unit_ellipse(double ratio, double *y)
{
    double a[2] = {y[0], ratio * y[1]}, d[2] = {1, ratio * ratio};
    double t = multiplier(a, d);
    y[0] = a[0] / (t + d[0]);
    y[1] = ratio * (a[1] / (t + d[1]));
}

static double clamped(double value, double bound)
{
    return value > bound ? bound : value < -bound ? -bound : value;
}

void cs_nearest_in_ellipse(double c_0, double c_1, double normal, double *y)
{
    int large = c_1 > c_0, small = !large;
    double ratio = (large ? c_0 : c_1) / (large ? c_1 : c_0), axis = (large ? c_1 : c_0) * normal;
    if (!(axis >= DBL_MIN)) {
        y[0] = y[1] = 0;
        return;
    }
    if (isinf(axis)) {
        double down[2] = {y[0] * 0x1p-40, y[1] * 0x1p-40};
        if (isinf(normal)) return;
        cs_nearest_in_ellipse(c_0, c_1, normal * 0x1p-40, down);
        y[0] = down[0] * 0x1p40;
        y[1] = down[1] * 0x1p40;
        return;
    }
    if (ratio < FLAT) {
        y[large] = clamped(y[large], axis);
        y[small] = 0;
        return;
    }
    double unit[2] = {fabs(y[large]) / axis, fabs(y[small]) / axis};
    double across = unit[1] / ratio;
    if (unit[0] * unit[0] + across * across <= 1) return;
    double largest = fmax(fabs(y[0]), fabs(y[1]));
    if (!(largest / axis <= FAR)) {
        unit[0] = fabs(y[large]) / largest * FAR;
        unit[1] = fabs(y[small]) / largest * FAR;
    }
    nearest_in_unit_ellipse(ratio, unit);
    y[large] = copysign(unit[0] * axis, y[large]);
    y[small] = copysign(unit[1] * axis, y[small]);
}

/* ---- polygon --------------------------------------------------------------------------------- */

/* Products of larger numbers than this with a vertex overflow. */
#define CS_HUGE 1e300

#define CS_TEMPLATE "prox/nearest_in_polygon.inc"
#include "core/both.h"

void cs_slope_in_polygon(int sides, const double *vertices, double mu, double normal, double *y,
                         double *G)
{
    double along[2];
    int inside = nearest_in_polygon_f64(sides, vertices, mu, normal, y, along) && mu * normal > 0;
    double length = hypot(along[0], along[1]);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            double edge = length > 0 ? (along[i] / length) * (along[j] / length) : 0;
            G[2 * i + j] = inside ? i == j : edge;
        }
}
