/* Derivatives of the prox of boxes, cones, balls and ellipsoids: see prox/slope.h. */
#include "prox/slope.h"

#include <math.h>
#include <string.h>

void cs_slope_of_box(int rows, const double *low, const double *high, const double *z, double *p,
                     double *slope)
{
    for (int i = 0; i < rows; i++) {
        p[i] = fmin(fmax(z[i], low[i]), high[i]);
        slope[i * rows + i] = p[i] == z[i];
    }
}

void cs_slope_of_cone(int rows, double mu, const double *z, double *p, double *slope)
{
    /* Inside the cone the derivative is the identity, inside the polar cone it is zero. */
    double length = rows == 2 ? fabs(z[1]) : hypot(z[1], z[2]);
    if (z[0] >= 0 && length <= mu * z[0]) {
        memcpy(p, z, sizeof(double) * (size_t)rows);
        for (int i = 0; i < rows; i++) slope[i * rows + i] = 1;
        return;
    }
    if (mu * length <= -z[0]) return;

    /* Outside: the projection onto the boundary, p_n = part (z_n + mu |z_t|), p_t = mu p_n z_t / |z_t|. */
    double part = 1 / (1 + mu * mu), normal = part * (z[0] + mu * length), side[2] = {0};
    p[0] = normal;
    slope[0] = part;
    for (int i = 1; i < rows; i++) {
        side[i - 1] = z[i] / length;
        p[i] = mu * normal * side[i - 1];
        slope[i] = slope[i * rows] = part * mu * side[i - 1];
    }
    for (int i = 1; i < rows; i++)
        for (int j = 1; j < rows; j++)
            slope[i * rows + j] = part * mu * mu * side[i - 1] * side[j - 1] +
                                  mu * normal / length * ((i == j) - side[i - 1] * side[j - 1]);
}

void cs_slope_of_ball(int rows, int first, int count, double reach, double normal, int follows,
                      const double *z, double *p, double *slope)
{
    double square = 0, radius = reach * normal;
    for (int i = first; i < first + count; i++) square += z[i] * z[i];
    double length = sqrt(square);
    if (!(radius > 0)) return;

    /* Inside the ball the identity, outside the radial projection. */
    for (int i = first; i < first + count; i++) {
        double side = z[i] / length;
        p[i] = length <= radius ? z[i] : radius * side;
        if (length <= radius) slope[i * rows + i] = 1;
        else if (follows) slope[i * rows] = reach * side;
        for (int j = first; j < first + count && length > radius; j++)
            slope[i * rows + j] = radius / length * ((i == j) - side * z[j] / length);
    }
}

void cs_slope_of_balls(int rows, int sets, const int *ends, const double *reach, const double *z,
                       double *p, double *slope)
{
    if (!(z[0] > 0)) return;
    p[0] = z[0];
    slope[0] = 1;
    for (int s = 0; s < sets; s++) {
        int first = s ? ends[s - 1] : 1;
        cs_slope_of_ball(rows, first, ends[s] - first, reach[s], p[0], 1, z, p, slope);
    }
}

/* A semi-axis below this part of the largest one counts as zero. */
#define FLAT 1e-60

/* The multiplier t of x_i = d_i y_i / (d_i + t), where d_i are the squares of the semi-axes. It is computed from the
 * shortest semi-axis with x_i != 0, where x depends most on t. */
static double multiplier(int n, const double *d, const double *y, const double *x)
{
    int from = -1;
    for (int i = 0; i < n; i++)
        if (d[i] > 0 && x[i] != 0 && (from < 0 || d[i] < d[from])) from = i;
    return from < 0 ? 0 : d[from] * ((y[from] - x[from]) / x[from]);
}

/* With D_i = d_i / (d_i + t) and the normal of any length u_i ~ y_i / (d_i + t) at x:
 *
 *     G = D - D u u^T D / (u^T D u) */
void cs_slope_in_ellipsoid(int n, const double *axes, const double *y, const double *x, double *G)
{
    double largest = 0, size = 0, d[3], D[3], Du[3], sum = 0;

    /* The squares of the semi-axes, divided by the largest one. */
    for (int i = 0; i < n; i++) largest = fmax(largest, axes[i]);
    for (int i = 0; i < n; i++) size = fmax(size, fabs(y[i]));
    memset(G, 0, sizeof(double) * (size_t)(n * n));
    if (!(largest > 0)) return;
    for (int i = 0; i < n; i++) {
        double ratio = axes[i] / largest;
        d[i] = ratio > FLAT ? ratio * ratio : 0;
    }

    /* G = D if t is zero: y is inside, or only the components along zero axes are changed. */
    double t = multiplier(n, d, y, x);
    for (int i = 0; i < n; i++) {
        D[i] = !(d[i] > 0) ? 0 : t > 0 ? d[i] / (d[i] + t) : 1;
        G[i * n + i] = D[i];
    }
    if (!(t > 0) || isinf(t)) return;

    /* Otherwise remove the component along the normal. */
    for (int i = 0; i < n; i++) {
        double u = y[i] / size * ((1 + t) / (d[i] + t));
        Du[i] = D[i] * u;
        sum += Du[i] * u;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) G[i * n + j] -= Du[i] * Du[j] / sum;
}

void cs_slope_follows(int rows, const double *G, const double *p, double *slope)
{
    /* The last columns are G, the first one is (1 - G) p_t / p_n. */
    int n = rows - 1;
    slope[0] = 1;
    for (int i = 0; i < n; i++) {
        double moved = p[1 + i];
        for (int j = 0; j < n; j++) {
            slope[(1 + i) * rows + 1 + j] = G[i * n + j];
            moved -= G[i * n + j] * p[1 + j];
        }
        slope[(1 + i) * rows] = moved / p[0];
    }
}
