/* The functions of prox/nearest.h for the library, and the derivative of the nearest point of a polygon. */
#include "prox/nearest.inc"

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
