/* The Jordan algebra of one second-order cone, x_0 >= |(x_1, ...)|, of 2 or 3 rows, for interior-point
 * methods.  Alizadeh and Goldfarb 2003; scaling: Nesterov and Todd 1997, in the form of Andersen, Dahl and
 * Vandenberghe 2003 */
#ifndef CS_CONE_H
#define CS_CONE_H

enum { CS_CONE_ROWS = 3 };

/* The scaling V of a pair x, y inside of the cone, with V y = V^-1 x = v. It is stored by the eigenvalues
 * and eigenvectors of V^-1:
 *
 *     low   of (1, axis),   high   of (1, -axis),   middle   of vectors across the axis
 * */
typedef struct cs_scaling {
    int rows;
    double low, high, middle;
    double axis[CS_CONE_ROWS]; /* unit vector in entries 1, 2 */
    double v[CS_CONE_ROWS];
} cs_scaling;

/* Returns 0, or -1 if x or y is not inside of the cone. */
int cs_scaling_of(int rows, const double *x, const double *y, cs_scaling *scaling);

/* z <- V^power x, for a power of 1 or -1. */
void cs_scale(const cs_scaling *scaling, int power, const double *x, double *z);

/* z <- U x, or U V^-1 x, with U = (V^-2 + shift)^-1/2. */
void cs_scale_shifted(const cs_scaling *scaling, double shift, int inverse, const double *x,
                      double *z);

/* z <- x o y; z <- the solution of x o z = y. */
void cs_jordan_multiply(int rows, const double *x, const double *y, double *z);
void cs_jordan_divide(int rows, const double *x, const double *y, double *z);

/* The largest t for which x + t d stays in the cone; x is inside. Infinite if there is no limit. */
double cs_cone_reach(int rows, const double *x, const double *d);

#endif
