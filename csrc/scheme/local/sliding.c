/* Sticking and sliding impulses of one contact: see scheme/local/sliding.h. */
#include "scheme/local/sliding.h"

#include <float.h>
#include <math.h>

enum { MAX_STEPS = 100 };

static double length_of(int rows, const double *x)
{
    double square = 0;
    for (int i = 0; i < rows; i++) square += x[i] * x[i];
    return sqrt(square);
}

int cs_sliding_reduce(int n, const double *W, const double *q, double reach, cs_sliding *problem)
{
    int rows = n - 1;
    problem->rows = rows;
    problem->normal = W[0];
    problem->q = q[0];
    problem->reach = reach;
    problem->size = 0;
    if (W[0] == 0) return 0;
    for (int i = 0; i < rows; i++) {
        const double *row = W + (i + 1) * n;
        double share = row[0] / W[0];
        problem->across[i] = W[i + 1];
        for (int j = 0; j < rows; j++) problem->s[i * rows + j] = row[j + 1] - share * W[j + 1];
        problem->g[i] = share * q[0] - q[i + 1];
        problem->size = fmax(problem->size, row[i + 1]);
    }
    return 1;
}

/* The impulses z(kappa), and their derivatives. */
typedef struct point {
    double z[1 + CS_SLIDING_ROWS], slope[1 + CS_SLIDING_ROWS];
    int regular; /* the sign of the determinant of S + kappa 1; 0 if it is only rounding errors */
} point;

/* The sign of a determinant; 0 if it is not larger than the rounding errors of terms of that size. */
static int sign_of(double determinant, double size)
{
    if (determinant > 64 * DBL_EPSILON * size) return 1;
    return determinant < -64 * DBL_EPSILON * size ? -1 : 0;
}

/* inverse <- (S + kappa 1)^-1. Returns the sign of its determinant. */
static int invert_shifted(const cs_sliding *c, double kappa, double *inverse)
{
    /* One and two rows. */
    const double *s = c->s;
    if (c->rows == 1) {
        inverse[0] = 1 / (s[0] + kappa);
        return sign_of(s[0] + kappa, c->size);
    }
    if (c->rows == 2) {
        double a = s[0] + kappa, d = s[3] + kappa, det = a * d - s[1] * s[2];
        inverse[0] = d / det, inverse[1] = -s[1] / det;
        inverse[2] = -s[2] / det, inverse[3] = a / det;
        return sign_of(det, fabs(a * d));
    }

    /* Three rows, by cofactors. */
    double a = s[0] + kappa, e = s[4] + kappa, i = s[8] + kappa;
    double x = e * i - s[5] * s[7], y = s[5] * s[6] - s[3] * i, w = s[3] * s[7] - e * s[6];
    double det = a * x + s[1] * y + s[2] * w;
    double cofactor[9] = {x, s[2] * s[7] - s[1] * i, s[1] * s[5] - s[2] * e,
                          y, a * i - s[2] * s[6],    s[2] * s[3] - a * s[5],
                          w, s[1] * s[6] - a * s[7], a * e - s[1] * s[3]};
    for (int k = 0; k < 9; k++) inverse[k] = cofactor[k] / det;
    return sign_of(det, fabs(a * e * i));
}

/* The normal impulse for which v_n = 0. With q = 0 and the derivatives of the tangential impulses, its derivative. */
static double normal_of(const cs_sliding *c, double q, const double *tangential)
{
    for (int i = 0; i < c->rows; i++) q += c->across[i] * tangential[i];
    return -q / c->normal;
}

/* The point at kappa: z_t = (S + kappa 1)^-1 g, dz_t/dkappa = -(S + kappa 1)^-1 z_t. */
static point point_at(const cs_sliding *c, double kappa)
{
    int rows = c->rows;
    double inverse[CS_SLIDING_ROWS * CS_SLIDING_ROWS];
    point p = {.regular = invert_shifted(c, kappa, inverse)};
    if (!p.regular) return p;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++) p.z[1 + i] += inverse[i * rows + j] * c->g[j];
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++) p.slope[1 + i] -= inverse[i * rows + j] * p.z[1 + j];
    p.z[0] = normal_of(c, c->q, p.z + 1);
    p.slope[0] = normal_of(c, 0, p.slope + 1);
    return p;
}

int cs_sliding_stick(const cs_sliding *c, double *z)
{
    point p = point_at(c, 0);
    if (!p.regular) p = point_at(c, 256 * DBL_EPSILON * c->size);
    for (int i = 0; i <= c->rows; i++) z[i] = p.z[i];
    return p.regular && z[0] >= 0 && length_of(c->rows, z + 1) <= c->reach * z[0];
}

/* The next kappa of Newton's method on 1/|z_t| - 1/(c z_n) = 0; negative if the step is not defined. */
static double newton_step(const cs_sliding *c, const point *p, double kappa)
{
    double length = length_of(c->rows, p->z + 1), bound = c->reach * p->z[0], along = 0;
    if (!(length > 0 && bound > 0)) return -1;
    for (int i = 1; i <= c->rows; i++) along += p->z[i] * p->slope[i];
    double value = 1 / length - 1 / bound;
    double slope = c->reach * p->slope[0] / (bound * bound) - along / (length * length * length);
    return slope != 0 ? kappa - value / slope : -1;
}

/* The next kappa in (low, high): Newton's step, or the middle if that is outside. high < 0: no upper bound is known,
 * and steps may grow at most geometrically. */
static double next_kappa(const cs_sliding *c, const point *p, double kappa, double low, double high)
{
    double next = newton_step(c, p, kappa);
    if (high >= 0) return next > low && next < high ? next : (low + high) / 2;
    double far = 8 * kappa + 1e-3 * c->size;
    return next > low && next < 64 * far ? next : far;
}

/* z <- tangential impulses in their direction with |z_t| = c z_n exactly, and the z_n for which v_n = 0. Returns 0 if
 * there is no such z_n >= 0. */
static int put_on_bound(const cs_sliding *c, double *z)
{
    double length = length_of(c->rows, z + 1), stiffness = c->normal;
    if (!(length > 0)) return 0;
    for (int i = 0; i < c->rows; i++) stiffness += c->reach * c->across[i] * (z[1 + i] / length);
    if (!(stiffness > 0)) return 0;
    z[0] = -c->q / stiffness;
    for (int i = 1; i <= c->rows; i++) z[i] = c->reach * z[0] * (z[i] / length);
    return z[0] >= 0;
}

int cs_sliding_root(const cs_sliding *c, double guess, double *z)
{
    /* Safeguarded Newton iteration: below the root |z_t| > c z_n, above it |z_t| < c z_n. */
    double low = 0, high = -1, kappa = guess > 0 ? guess : 0.1 * c->size;
    point p = {0};
    if (!(c->normal > 0)) return 0;
    for (int i = 0; i < MAX_STEPS; i++) {
        p = point_at(c, kappa);
        double excess = length_of(c->rows, p.z + 1) - c->reach * p.z[0];
        if (p.regular <= 0 || excess > 0) low = kappa;
        else high = kappa;

        /* Stop if the equation holds to rounding, or the bounds have met. */
        if (p.regular > 0 && fabs(excess) <= 2 * DBL_EPSILON * c->reach * fabs(p.z[0])) break;
        if (high >= 0 && high - low <= 2 * DBL_EPSILON * high) break;
        kappa = next_kappa(c, &p, kappa, low, high);
        if (!isfinite(kappa)) return 0;
    }

    /* Take the last point. */
    for (int i = 0; i <= c->rows; i++) z[i] = p.z[i];
    return put_on_bound(c, z);
}

/* ---- the quartic ----------------------------------------------------------------------------- */

/* coefficient (5) <- the quartic for kappa / scale.
 * With x = kappa, u = adj(S) g + x g and d = det(S + x 1), the impulses are z_t = u / d and
 * z_n = -(q d + W_nt u) / (W_nn d), so that |z_t| = c z_n is
 *
 *     c^2 (q d + W_nt u)^2 - W_nn^2 |u|^2 = 0                                                     */
static void quartic_of(const cs_sliding *c, double scale, double *coefficient)
{
    const double *s = c->s, *a = c->across;
    double g[2] = {c->g[0] * scale, c->g[1] * scale};
    double u[2] = {s[3] * c->g[0] - s[1] * c->g[1], s[0] * c->g[1] - s[2] * c->g[0]};
    double p[3] = {c->q * (s[0] * s[3] - s[1] * s[2]) + a[0] * u[0] + a[1] * u[1],
                   c->q * (s[0] + s[3]) * scale + a[0] * g[0] + a[1] * g[1], c->q * scale * scale};
    double m = c->reach * c->reach, w = c->normal * c->normal;
    coefficient[0] = m * p[0] * p[0] - w * (u[0] * u[0] + u[1] * u[1]);
    coefficient[1] = 2 * m * p[0] * p[1] - 2 * w * (u[0] * g[0] + u[1] * g[1]);
    coefficient[2] = m * (p[1] * p[1] + 2 * p[0] * p[2]) - w * (g[0] * g[0] + g[1] * g[1]);
    coefficient[3] = 2 * m * p[1] * p[2];
    coefficient[4] = m * p[2] * p[2];
}

/* The value at x by Horner's rule. size <- the sum of the absolute terms. */
static double polynomial(int degree, const double *c, double x, double *size)
{
    double value = 0, sum = 0;
    for (int i = degree; i >= 0; i--) value = value * x + c[i], sum = sum * x + fabs(c[i]);
    *size = sum;
    return value;
}

/* The root between low and high, where the polynomial has different signs. */
static double bisect(int degree, const double *c, double low, double high)
{
    double size, sign = polynomial(degree, c, low, &size) > 0 ? 1 : -1;
    for (int i = 0; i < MAX_STEPS && high - low > 4 * DBL_EPSILON * high; i++) {
        double middle = (low + high) / 2;
        if (polynomial(degree, c, middle, &size) * sign > 0) low = middle;
        else high = middle;
    }
    return (low + high) / 2;
}

/* Between two neighbouring extrema, which are the roots of the derivative, there is at most one root. */
int cs_positive_roots(int degree, const double *c, double *root)
{
    /* Cut the positive axis at the extrema; the last cut is Cauchy's bound of the roots. */
    while (degree > 0 && c[degree] == 0) degree--;
    if (degree == 0) return 0;
    double slope[5] = {0}, cut[2 * CS_SLIDING_MOST], size, low = 0, most = 0;
    for (int i = 1; i <= degree; i++) slope[i - 1] = i * c[i];
    for (int i = 0; i < degree; i++) most = fmax(most, fabs(c[i] / c[degree]));
    int cuts = cs_positive_roots(degree - 1, slope, cut), count = 0;
    cut[cuts++] = 1 + most;

    /* Look for a root in each interval, and at each cut. */
    double before = polynomial(degree, c, 0, &size);
    for (int i = 0; i < cuts; i++) {
        double value = polynomial(degree, c, cut[i], &size);
        if (fabs(value) <= 1e-12 * size && count < CS_SLIDING_MOST) root[count++] = cut[i];
        else if (before * value < 0 && count < CS_SLIDING_MOST)
            root[count++] = bisect(degree, c, low, cut[i]);
        low = cut[i];
        before = value;
    }
    return count;
}

/* Improves a root by Newton steps on the equation of kappa. The quartic squares that equation, and its roots
 * therefore have only half of the digits. */
static double refine(const cs_sliding *c, double kappa)
{
    double least = INFINITY, best = kappa;
    for (int i = 0; i < 6; i++) {
        point p = point_at(c, kappa);
        double excess = fabs(length_of(c->rows, p.z + 1) - c->reach * p.z[0]);
        if (!p.regular || !(excess < least)) break;
        least = excess;
        best = kappa;
        kappa = newton_step(c, &p, kappa);
        if (!(kappa > 0)) break;
    }
    return best;
}

int cs_sliding_quartic(const cs_sliding *c, double (*z)[4])
{
    double coefficient[5], root[CS_SLIDING_MOST], scale = c->size;
    if (!(scale > 0)) return 0;
    quartic_of(c, scale, coefficient);
    int roots = cs_positive_roots(4, coefficient, root), count = 0;

    /* Refine each root, and keep those with a normal impulse >= 0. */
    for (int i = 0; i < roots; i++) {
        point p = point_at(c, refine(c, root[i] * scale));
        for (int j = 0; j < 3; j++) z[count][j] = p.z[j];
        count += p.regular && put_on_bound(c, z[count]);
    }
    return count;
}

/* ---- all scales ------------------------------------------------------------------------------ */

/* excess <- |z_t| - c z_n at kappa. Returns whether it is defined. */
static int excess_at(const cs_sliding *c, double kappa, double *excess)
{
    point p = point_at(c, kappa);
    *excess = length_of(c->rows, p.z + 1) - c->reach * p.z[0];
    return p.regular && isfinite(*excess);
}

/* The kappa between low and high at which |z_t| - c z_n changes its sign: geometric, later arithmetic bisection. */
static double bisect_excess(const cs_sliding *c, double low, double high, double at_low)
{
    for (int i = 0; i < MAX_STEPS && high - low > 2 * DBL_EPSILON * high; i++) {
        double middle = high > 2 * low ? sqrt(low * high) : (low + high) / 2, excess;
        if (!excess_at(c, middle, &excess)) break;
        if (excess * at_low > 0) low = middle;
        else high = middle;
    }
    return (low + high) / 2;
}

int cs_sliding_scan(const cs_sliding *c, double (*z)[4])
{
    /* Four values of kappa per decade, over 36 decades. */
    const double ratio = sqrt(sqrt(10));
    double kappa = 1e-18 * c->size, before = 0, excess;
    int count = 0, known = 0;
    for (int i = 0; i < 4 * 36 && count < CS_SLIDING_MOST; i++, kappa *= ratio) {
        int here = excess_at(c, kappa, &excess);

        /* A sign change: bisect. */
        if (here && known && before * excess <= 0) {
            point p = point_at(c, bisect_excess(c, kappa / ratio, kappa, before));
            for (int j = 0; j <= c->rows; j++) z[count][j] = p.z[j];
            count += p.regular && put_on_bound(c, z[count]);
        }
        known = here;
        before = excess;
    }
    return count;
}
