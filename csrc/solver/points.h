/* Points: impulses as packed, and u = G^T lambda beside them where the scheme keeps it. Both are
 * linear in lambda, so that sums of points need no product with A.
 *
 * Elements are worked on in chunks of fixed size, on the threads of the solve, and sums over chunks
 * are added in their order: the same bits from any number of threads. */
#ifndef CS_POINTS_H
#define CS_POINTS_H

#include "solver/method.h"
#include "solver/stagnation.h"

typedef struct cs_point {
    void *impulses, *velocities; /* in the precision of impulses; NULL: the scheme keeps none */
} cs_point;

/* What methods in steps keep: earlier iterates and their scalars. */
typedef struct cs_points {
    cs_point *point;
    void *scalars;
    double *chunk_sum; /* scratch of sums */
    double *zero;      /* (rows) of zeros; NULL but for methods without sweeps */
    cs_stagnation stagnation;
} cs_points;

/* Room for the points that the method keeps, and its scalars; for as many as any of several do. */
cs_status cs_points_take(cs_solver *solver, cs_error *error);
cs_status cs_points_take_most(cs_solver *solver, int count, size_t memory, cs_error *error);

/* So many points, and so many bytes, which are not the solver's yet. */
cs_status cs_points_make(cs_solver *solver, int count, size_t bytes, cs_point **points,
                         void **scalars, cs_error *error);

/* The i-th of them; where the sweeps are. */
cs_point cs_point_at(const cs_solver *solver, int i);
cs_point cs_point_here(const cs_solver *solver);

/* to <- from */
void cs_point_copy(cs_solver *solver, cs_point to, cs_point from);

/* to <- a p + b q; `to` may be one of them. */
void cs_point_combine(cs_solver *solver, cs_point to, double a, cs_point p, double b, cs_point q);

/* x <- x + beta (x - before), before <- x as it was. */
void cs_point_extrapolate(cs_solver *solver, cs_point x, double beta, cs_point before);

/* A step of conjugate gradients from `start` over x:
 *     p <- beta p + (x - start),   x <- x + beta p as it was,   start <- x as it is now */
void cs_point_conjugate(cs_solver *solver, cs_point x, double beta, cs_point p, cs_point start);

/* p.q and |p - q|^2, over the impulses. */
double cs_point_dot(cs_solver *solver, cs_point p, cs_point q);
double cs_point_distance(cs_solver *solver, cs_point p, cs_point q);

#endif
