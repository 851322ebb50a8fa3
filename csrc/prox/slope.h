/* A prox together with its generalised derivative, for Newton's method: p <- prox(z) (m) and
 * slope <- one element of the generalised Jacobian at z (m, m), row-major. What is written is added
 * to p and slope of zeros. */
#ifndef CS_PROX_SLOPE_H
#define CS_PROX_SLOPE_H

/* low <= p <= high, row by row. */
void cs_slope_of_box(int rows, const double *low, const double *high, const double *z, double *p,
                     double *slope);

/* |p_t| <= mu p_n, all rows as one point.  Fukushima, Luo and Tseng 2002 */
void cs_slope_of_cone(int rows, double mu, const double *z, double *p, double *slope);

/* The `count` rows from `first` into the ball of radius reach x `normal`; with `follows` that is p[0],
 * known already, and the slope tells how the bound follows it. Without a radius p is zero. */
void cs_slope_of_ball(int rows, int first, int count, double reach, double normal, int follows,
                      const double *z, double *p, double *slope);

#endif
