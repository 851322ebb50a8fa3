/* Methods in steps over sweeps. A method writes down what it keeps and how a step goes; the driver
 * around it (cs_accelerate) judges, records, polls, keeps the best iterate and ends.
 *
 *          y packed --step: sweeps--> x packed --checked--> extrapolate --> next y packed
 *             ^                                                                  |
 *             '------------------------------------------------------------------'
 *
 * Judged and returned is x, which came out of a prox; y is only where the next sweep begins. Over
 * symmetric sweeps a step is a forward and a backward one, each an iteration; what lies between the
 * two is judged and never extrapolated. */
#ifndef CS_ACCELERATE_H
#define CS_ACCELERATE_H

#include "solver/driver.h"
#include "solver/points.h"

#include <math.h>

/* A solve by steps under way. */
typedef struct cs_steps_run {
    cs_run run;
    void *scalars; /* the method's, zero when a solve begins */
    double change; /* |x - y|^2 of the step just made */
    int risen;     /* sweeps in a row whose residual was far above the least */
    int half;      /* between the two sweeps of a symmetric step */
    double least;  /* smallest residual over nu since the last rollback */
} cs_steps_run;

/* What a method in steps says of itself. */
typedef struct cs_steps {
    int (*points)(const cs_solver *solver); /* that it keeps */
    size_t scalars;                         /* bytes of its scalars */
    /* Forgets all momentum: at the beginning, and after R has been halved. */
    void (*begin)(cs_steps_run *steps);
    /* The step itself, from y to x, its residual and merit into run.stats; NULL: a sweep. */
    cs_step (*step)(cs_steps_run *steps);
    /* From x, packed and known by `change`, to where the next sweep begins. */
    void (*extrapolate)(cs_steps_run *steps);
} cs_steps;

/* The solve of a method that has `steps`. */
cs_status cs_accelerate(cs_solver *solver, cs_budget *budget, cs_result *result, cs_error *error);

/* The `prepare` of methods in steps without sweeps: their points are in the user's order and in double
 * precision, without velocities, and x is the solver's lambda. */
cs_status cs_prepare_steps(cs_solver *solver, cs_budget *budget, cs_error *error);

/* z <- prox_C(z), block by block (rows). */
void cs_project(const cs_solver *solver, double *z);

/* y <- A x (rows), with A as it was given. */
void cs_multiply(cs_solver *solver, const double *x, double *y);

/* Counts the change of one impulse. S1 eqs. 3.30 and 3.31 */
static inline void cs_count_change(cs_sweep_stats *stats, double change)
{
    stats->residual = fmax(stats->residual, fabs(change));
    stats->merit += change * change;
}

/* The largest diagonal entry 1 / rho_i of a block of A; 1 where no impulse moves anything. */
double cs_largest_diagonal(int rows, const double *rho);

/* Methods that keep one point, two, ... */
int cs_one_point(const cs_solver *solver);
int cs_two_points(const cs_solver *solver);

/* The option that ends hopeless solves, which methods in steps have as their first, and the one that
 * says over which sweeps they work as their second. */
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

/* Nesterov's momentum from step to step (methods/accelerated/nesterov.c). */
typedef struct cs_momentum {
    double t;
    double least, last; /* lengths of steps since it was given up */
} cs_momentum;

#define CS_NO_MOMENTUM ((cs_momentum){1, INFINITY, INFINITY})
enum { CS_CONTRACTION = 2 }; /* the usual power */

/* beta after a step of that length; NaN: it is to be given up. */
double cs_momentum_next(cs_momentum *momentum, double length, double restart, double contraction);

/* What methods over any sweeps are for. */
#define CS_SOLVES_AS_SWEEPS                                                                     \
    (CS_BIT(CS_SOLVES_FRICTIONLESS) | CS_BIT(CS_SOLVES_JOINTS) | CS_BIT(CS_SOLVES_ASSOCIATED) | \
     CS_BIT(CS_SOLVES_BOX) | CS_BIT(CS_SOLVES_COULOMB) | CS_BIT(CS_SOLVES_REDUNDANT) |          \
     CS_BIT(CS_SOLVES_UNSYMMETRIC))

#endif
