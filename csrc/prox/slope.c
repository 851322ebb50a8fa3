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
    double length = rows == 2 ? fabs(z[1]) : hypot(z[1], z[2]);
    if (length <= mu * z[0]) {
        memcpy(p, z, sizeof(double) * (size_t)rows);
        for (int i = 0; i < rows; i++) slope[i * rows + i] = 1;
        return;
    }
    if (mu * length <= -z[0]) return;
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
    for (int i = first; i < first + count; i++) {
        double side = z[i] / length;
        p[i] = length <= radius ? z[i] : radius * side;
        if (length <= radius) slope[i * rows + i] = 1;
        else if (follows) slope[i * rows] = reach * side;
        for (int j = first; j < first + count && length > radius; j++)
            slope[i * rows + j] = radius / length * ((i == j) - side * z[j] / length);
    }
}
