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

/* The `count` rows from `first` into the ball of radius reach x `normal`; with `follows` that is p[0],
 * known already, and the slope tells how the bound follows it. Without a radius p is zero. */
void cs_slope_of_ball(int rows, int first, int count, double reach, double normal, int follows,
                      const double *z, double *p, double *slope);

/* The balls of a contact of which set s >= 1 has the radius reach[s - 1] x normal impulse, with the
 * normal impulse itself; `ends` (sets): the first row behind each. */
void cs_slope_of_balls(int rows, int sets, const int *ends, const double *reach, const double *z,
                       double *p, double *slope);

/* G (n, n) <- how x, the nearest point to y of an ellipsoid with semi-axes along the coordinates,
 * any of them possibly zero, moves with y. */
void cs_slope_in_ellipsoid(int n, const double *axes, const double *y, const double *x, double *G);

/* The slope of a contact with friction in one convex set times the normal impulse p[0] > 0, from G
 * (rows - 1, rows - 1), that of the friction rows p_t with the bound as it is. As the projection is
 * homogeneous in z_t and p_n together, and G (z_t - p_t) = 0,
 *
 *     dp_t / dz_n = (p_t - G z_t) / p_n = (1 - G) p_t / p_n */
void cs_slope_follows(int rows, const double *G, const double *p, double *slope);

#endif
