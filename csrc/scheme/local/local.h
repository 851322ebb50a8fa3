/* Solves the local problem of one block, with all other impulses fixed (S4), in double precision:
 *
 *     W z + q = v,   z = prox(z - r v)   for any r > 0
 *
 *     block ──describe──► cs_local_problem ──► closed form, root, Newton, all modes ──► z
 *
 * Every set is described by one of three shapes: balls of friction whose radius is proportional to the normal impulse
 * (disc, box friction, rolling, Contensou; an ellipse after its axes are scaled to one), a box, or a cone. A result
 * is accepted if its natural map is zero to rounding (cs_local_defect); otherwise the next method is tried. */
#ifndef CS_LOCAL_H
#define CS_LOCAL_H

#include "core/set.h"

#include <float.h>

/* How local problems are solved. */
typedef enum cs_local_method {
    CS_LOCAL_BEST,    /* by the fastest method for the set */
    CS_LOCAL_NEWTON,  /* Newton's method first, whatever the set */
    CS_LOCAL_QUARTIC, /* sliding by the roots of a polynomial */
} cs_local_method;

typedef struct cs_local_problem {
    cs_local_shape shape;
    int rows, balls;
    int first[CS_MOST_FRICTION_PARTS +
              1]; /* ball i consists of rows first[i] ... first[i + 1] - 1 */
    double reach
        [CS_MOST_FRICTION_PARTS]; /* radius of each ball, or of the cone, over the normal impulse */
    int fixed;     /* the radii do not follow the normal impulse: they are `reach` times `normal` */
    double normal; /* the normal impulse from before the visit */
    double low[CS_MAX_ROWS], high[CS_MAX_ROWS];          /* bounds of the box */
    double W[CS_MAX_ROWS * CS_MAX_ROWS], q[CS_MAX_ROWS]; /* row-major */
    double r[CS_MAX_ROWS];   /* > 0, with one value for all rows of a coupled set */
    int set_of[CS_MAX_ROWS]; /* the coupled set of each row */
} cs_local_problem;

/* The largest defect of a solution: cs_local_defect. */
#define CS_LOCAL_TOLERANCE (64 * DBL_EPSILON)

/* Whether this method solves blocks of this set and size. */
int cs_local_fits(const cs_set *set, int rows, cs_local_method method);

/* z (m) <- the solution. On entry z holds the impulses from before the visit. `parameters`: those of the set;
 * `previous`: friction is bounded by the z[0] from before the visit. Returns whether a solution was found;
 * otherwise z is the best impulse found, or unchanged. */
int cs_local_solve(const cs_set *set, int rows, cs_local_method method, const double *W,
                   const double *q, const double *parameters, int previous, double *z);

/* ---- methods --------------------------------------------------------------------------------- */

/* The defect of z: the largest row of |z - prox(z - r v)|, relative to the terms of z - r v in its coupled set. */
double cs_local_defect(const cs_local_problem *p, const double *z);

/* Newton's method on z = prox(z - r v) from z (Alart and Curnier 1991), as long as the natural map decreases.
 * Returns the defect. */
double cs_local_newton(const cs_local_problem *p, double *z);

/* Tries every mode of contact: each ball sticks or slides. Needs q_n < 0 and bounds that follow the normal impulse.
 * z <- the best solution found; returns its defect. */
double cs_local_modes(const cs_local_problem *p, double *z);

/* z <- the best point found on the boundary of a cone; returns its defect. */
double cs_local_cone_boundary(const cs_local_problem *p, double *z);

/* For friction bounds that do not follow the normal impulse: block Gauss-Seidel over the coupled sets, each solved
 * exactly, and from time to time Newton's method from there. z <- the best point; returns its defect. */
double cs_local_fixed_bounds(const cs_local_problem *p, double *z);

/* z <- the solution of a box by Murty's least-index rule, which is finite for P-matrices. Returns the defect. */
double cs_local_murty(const cs_local_problem *p, double *z);

/* Solves a x = b (n, n) by Gaussian elimination; b <- x, and a is overwritten. If a pivot is zero to rounding, its
 * component of x is zero. */
void cs_local_eliminate(int n, double *a, double *b);

#endif
