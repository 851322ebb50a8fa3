/* Methods in steps: they accelerate sweeps by extrapolation, or compute the whole step themselves. A method declares
 * which earlier iterates it keeps and how a step goes; the driver (cs_accelerate) judges, records, polls, keeps the
 * best iterate and ends the solve.
 *
 *          y packed --step: sweep--> x packed --judge--> extrapolate --> next y packed
 *             ^                                                              |
 *             '--------------------------------------------------------------'
 *
 * The driver judges and returns x, the result of a prox step; y is only the point where the next sweep begins. With
 * symmetric sweeps a step is a forward and a backward sweep, and each sweep is one iteration. The iterate between
 * the two is judged, but never extrapolated. */
#ifndef CS_ACCELERATE_H
#define CS_ACCELERATE_H

#include "solver/driver.h"
#include "solver/points.h"

#include <math.h>

/* The state of a solve in steps. */
typedef struct cs_steps_run {
    cs_run run;
    void *scalars; /* the method's own variables, zero at the beginning of a solve */
    double change; /* |x - y|^2 of the last step */
    int risen;     /* number of sweeps in a row whose residual was far above the least one */
    int half;      /* whether the first of the two sweeps of a symmetric step was made */
    double least;  /* smallest residual / nu since the last rollback */
} cs_steps_run;

/* The functions and sizes that a method in steps declares. */
typedef struct cs_steps {
    int (*points)(const cs_solver *solver); /* number of points that the method keeps */
    size_t scalars;                         /* bytes of its own variables */
    /* Clears all momentum: called at the beginning, and after R was halved. */
    void (*begin)(cs_steps_run *steps);
    /* Computes the step from y to x, and writes its residual and merit to run.stats. NULL: a step is a sweep. */
    cs_step (*step)(cs_steps_run *steps);
    /* Moves from x, the packed iterate, to the point where the next sweep begins. Reads `change`. NULL: stays at
     * x. */
    void (*extrapolate)(cs_steps_run *steps);
    /* The names of the methods that take turns (solver/stages.h), ended by NULL; NULL: the method is one stage. */
    const char *const *stage;
} cs_steps;

/* The `solve` of every method that has `steps`. */
cs_status cs_accelerate(cs_solver *solver, cs_budget *budget, cs_result *result, cs_error *error);

/* The `prepare` of methods in steps that make no sweeps. Their points are in the user's order and in double
 * precision, without velocities; x is solver->lambda. */
cs_status cs_prepare_steps(cs_solver *solver, cs_budget *budget, cs_error *error);

/* z <- prox_C(z), block by block (rows). */
void cs_project(const cs_solver *solver, double *z);

/* y <- A x (rows), computed in double precision from the problem's own data. Only for methods that were prepared by
 * cs_prepare_steps. */
void cs_multiply(cs_solver *solver, const double *x, double *y);

/* Adds the change of one impulse to the residual and the merit. S1 eqs. 3.30 and 3.31 */
static inline void cs_count_change(cs_sweep_stats *stats, double change)
{
    stats->residual = fmax(stats->residual, fabs(change));
    stats->merit += change * change;
}

/* The largest 1 / rho_i of a block's rows, which is the largest diagonal entry of A there; 1 if the block's impulses
 * move nothing. */
double cs_largest_diagonal(int rows, const double *rho);

/* For cs_steps.points of methods that keep one point or two. */
int cs_one_point(const cs_solver *solver);
int cs_two_points(const cs_solver *solver);

/* The first two options of most methods in steps: the patience of the stagnation test, which is found by its name, and
 * the sweeps that are accelerated (cs_method.over). A method's own options follow. */
enum { CS_PATIENCE, CS_OVER, CS_OWN_OPTIONS };

#define CS_PATIENCE_OPTION                                                                  \
    [CS_PATIENCE] = {.name = "patience",                                                    \
                     .summary = "iterations without halving the natural map after which a " \
                                "solve ends as stalled or wandering; None: never",          \
                     .kind = CS_COUNT,                                                      \
                     .optional = 1,                                                         \
                     .least = 1,                                                            \
                     .most = 2e9}
#define CS_OVER_OPTION(place)                              \
    [CS_OVER] = {.name = "over",                           \
                 .summary = "sweeps that are accelerated", \
                 .kind = CS_WORD,                          \
                 .usual = place,                           \
                 .words = cs_over_words}

/* The state of Nesterov's momentum (methods/accelerated/nesterov.c). */
typedef struct cs_momentum {
    double t;
    double least, last; /* smallest and last length of a step since the last restart */
} cs_momentum;

#define CS_NO_MOMENTUM ((cs_momentum){1, INFINITY, INFINITY})
enum { CS_CONTRACTION = 2 }; /* the default of `contraction` */

/* Returns beta after a step of that length; NaN: restart without momentum. */
double cs_momentum_next(cs_momentum *momentum, double length, double restart, double contraction);

/* The problem classes of methods that work over sweeps of any kind. */
#define CS_SOLVES_AS_SWEEPS                                                                     \
    (CS_BIT(CS_SOLVES_FRICTIONLESS) | CS_BIT(CS_SOLVES_JOINTS) | CS_BIT(CS_SOLVES_ASSOCIATED) | \
     CS_BIT(CS_SOLVES_BOX) | CS_BIT(CS_SOLVES_COULOMB) | CS_BIT(CS_SOLVES_REDUNDANT) |          \
     CS_BIT(CS_SOLVES_UNSYMMETRIC))

#endif
