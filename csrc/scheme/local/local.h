/* One block's own problem, all other impulses as they are (S4), in double precision:
 *
 *     W z + q = v,   z = prox(z - r v)   for any r > 0
 *
 *     block ──describe──► cs_local_problem ──► closed form, root, Newton, all modes ──► z
 *
 * Sets are described as what they are in common: friction as balls that follow the normal impulse
 * (disc, box friction, rolling, Contensou; an ellipse after its axes are scaled to one), a box, or a
 * cone. What one way finds counts only where the natural map is zero to rounding (cs_local_defect);
 * otherwise the next way is tried. */
#ifndef CS_LOCAL_H
#define CS_LOCAL_H

#include "core/set.h"

#include <float.h>

/* How a block's own problem is solved. */
typedef enum cs_local_method {
    CS_LOCAL_BEST,    /* what is fastest for the set, see cs_local_solve */
    CS_LOCAL_NEWTON,  /* Newton's method first, whatever the set */
    CS_LOCAL_QUARTIC, /* sliding by the roots of a polynomial */
} cs_local_method;

typedef enum cs_local_shape { CS_LOCAL_BALLS, CS_LOCAL_BOX, CS_LOCAL_CONE } cs_local_shape;

enum { CS_LOCAL_BALLS_MOST = 2 };

typedef struct cs_local_problem {
    cs_local_shape shape;
    int rows, balls;
    int first[CS_LOCAL_BALLS_MOST + 1]; /* rows first[i] ... first[i + 1] - 1 are of ball i */
    double reach[CS_LOCAL_BALLS_MOST];  /* its radius over the normal impulse; of the cone, too, */
    int fixed;                          /* or over `normal`, that of before the visit */
    double normal;
    double low[CS_MAX_ROWS], high[CS_MAX_ROWS];          /* of the box */
    double W[CS_MAX_ROWS * CS_MAX_ROWS], q[CS_MAX_ROWS]; /* row-major */
    double r[CS_MAX_ROWS];   /* > 0, the same on the rows of one coupled set, */
    int set_of[CS_MAX_ROWS]; /* which is that */
} cs_local_problem;

/* Relative to the terms that it is made of, what the natural map of a solution may be. */
#define CS_LOCAL_TOLERANCE (64 * DBL_EPSILON)

/* Whether blocks of this set and size are solved outright in that way. */
int cs_local_fits(const cs_set *set, int rows, cs_local_method method);

/* z (m) <- the solution, from z of before the visit. `parameters` as the set has them; `previous`:
 * the bound of friction is that of z[0]. Returns whether one was found; otherwise z is the best of
 * what was tried. */
int cs_local_solve(const cs_set *set, int rows, cs_local_method method, const double *W,
                   const double *q, const double *parameters, int previous, double *z);

/* ---- what the ways share --------------------------------------------------------------------- */

/* |z - prox(z - r v)|, the largest of its rows, each relative to the terms of its coupled set. */
double cs_local_defect(const cs_local_problem *p, const double *z);

/* Newton's method on z = prox(z - r v) from z (Alart and Curnier 1991), while the map gets smaller.
 * Returns the defect. */
double cs_local_newton(const cs_local_problem *p, double *z);

/* Every mode of contact (a ball sticks or slides), q_n < 0 and bounds that follow the normal
 * impulse. z <- the best; returns its defect. */
double cs_local_modes(const cs_local_problem *p, double *z);

/* A cone's boundary. Returns the defect. */
double cs_local_boundary(const cs_local_problem *p, double *z);

/* Friction bounds that do not follow the normal impulse: set after set, each exactly, with Newton's
 * method from where that has come. Returns the defect. */
double cs_local_by_sets(const cs_local_problem *p, double *z);

/* The solution of a box by Murty's least index: finite for P-matrices. Returns the defect. */
double cs_local_pivots(const cs_local_problem *p, double *z);

/* a x = b (n, n), b <- x; a is overwritten. Directions in which a is singular to rounding are left
 * out. */
void cs_local_eliminate(int n, double *a, double *b);

#endif
