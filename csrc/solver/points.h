/* Earlier iterates that methods in steps keep, as points of the backend (backend/backend.h). */
#ifndef CS_POINTS_H
#define CS_POINTS_H

#include "solver/solver.h"

/* The data that a method in steps keeps during a solve. */
typedef struct cs_points {
    cs_point *point; /* earlier iterates */
    void *scalars;   /* the method's own variables */
    double *zero;    /* (rows): zeros, for methods without sweeps; otherwise NULL */
} cs_points;

/* Allocates solver->points, with `count` points and `bytes` bytes for the method's own variables. */
cs_status cs_points_take(cs_solver *solver, int count, size_t bytes, cs_error *error);

/* The i-th of the points that the method keeps. */
static inline cs_point cs_point_at(const cs_solver *solver, int i)
{
    return solver->points->point[i];
}

/* The point that the sweeps change. */
static inline cs_point cs_point_here(const cs_solver *solver)
{
    return solver->packing.backend->here(solver->packing.state);
}

/* to <- from */
static inline void cs_point_copy(cs_solver *solver, cs_point to, cs_point from)
{
    solver->packing.backend->copy(solver->packing.state, to, from);
}

/* to <- a p + b q; `to` may be p or q. */
static inline void cs_point_combine(cs_solver *solver, cs_point to, double a, cs_point p, double b,
                                    cs_point q)
{
    solver->packing.backend->combine(solver->packing.state, to, a, p, b, q);
}

/* x <- x + beta (x - before), before <- the old x. */
static inline void cs_point_extrapolate(cs_solver *solver, cs_point x, double beta, cs_point before)
{
    solver->packing.backend->extrapolate(solver->packing.state, x, beta, before);
}

/* A step of conjugate gradients, where a sweep went from `start` to x:
 *     p <- beta p + (x - start),   x <- x + beta (the old p),   start <- the new x */
static inline void cs_point_conjugate(cs_solver *solver, cs_point x, double beta, cs_point p,
                                      cs_point start)
{
    solver->packing.backend->conjugate(solver->packing.state, x, beta, p, start);
}

/* p.q, over the impulses. */
static inline double cs_point_dot(cs_solver *solver, cs_point p, cs_point q)
{
    return solver->packing.backend->dot(solver->packing.state, p, q);
}

/* |p - q|^2, over the impulses. */
static inline double cs_point_distance(cs_solver *solver, cs_point p, cs_point q)
{
    return solver->packing.backend->distance(solver->packing.state, p, q);
}

#endif
