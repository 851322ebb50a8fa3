/* The prox together with its derivative, for semismooth Newton methods: p (m) <- prox(z), and slope (m, m),
 * row-major, <- one element of the generalised Jacobian of the prox at z. Both must be zero on entry: the
 * functions write non-zero entries only. */
#ifndef CS_PROX_SLOPE_H
#define CS_PROX_SLOPE_H

/* Box: low <= p <= high on each row. */
void cs_slope_of_box(int rows, const double *low, const double *high, const double *z, double *p,
                     double *slope);

/* Second-order cone: |p_t| <= mu p_n, projecting all rows as one point.  Fukushima, Luo and Tseng 2002 */
void cs_slope_of_cone(int rows, double mu, const double *z, double *p, double *slope);

/* A ball of radius reach * `normal` for rows first ... first + count - 1. `follows`: `normal` is p[0], which has been
 * computed before, and the slope contains the derivative of the radius. If the radius is zero, so is p. */
void cs_slope_of_ball(int rows, int first, int count, double reach, double normal, int follows,
                      const double *z, double *p, double *slope);

/* The normal impulse of a contact and its balls of friction. Coupled set s >= 1 is a ball of radius reach[s - 1] *
 * normal impulse. ends (sets): the first row behind each ball. */
void cs_slope_of_balls(int rows, int sets, const int *ends, const double *reach, const double *z,
                       double *p, double *slope);

/* G (n, n) <- dx/dy, where x is the nearest point to y of an ellipsoid with semi-axes along the coordinates, some of
 * which may be zero. */
void cs_slope_in_ellipsoid(int n, const double *axes, const double *y, const double *x, double *G);

/* slope <- the derivative of the prox of a contact with friction in one convex set times the normal impulse p[0] > 0.
 * G (rows - 1, rows - 1) is the derivative of the friction rows p_t for a fixed set. As the projection is
 * homogeneous in z_t and p_n together, and G (z_t - p_t) = 0,
 *
 *     dp_t / dz_n = (p_t - G z_t) / p_n = (1 - G) p_t / p_n */
void cs_slope_follows(int rows, const double *G, const double *p, double *slope);

#endif
