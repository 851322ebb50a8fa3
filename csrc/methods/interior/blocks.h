/* One block as interior-point steps see it, a cone or rows within bounds; the vectors of the iteration; and
 * its initial values, impulses and velocities inside of their sets. */
#ifndef CS_INTERIOR_BLOCKS_H
#define CS_INTERIOR_BLOCKS_H

#include "solver/accelerate.h"
#include "methods/interior/cone.h"

/* The scalars of a solve. */
typedef struct cs_interior {
    int started;
    double first;  /* the first mean */
    double mean;   /* mean of the products x y */
    double degree; /* number of finite bounds and of cones */
    int shifted;   /* 1: the problem has discs, whose shift changes */
} cs_interior;

/* The vectors (rows) of the iteration:
 *
 *     LOW, HIGH              forces of the lower and of the upper bound; of a cone y is in LOW
 *     GAP_LOW, GAP_HIGH      x - lo and hi - x; 0 without a bound
 *     DLOW, DHIGH            changes of the forces; of a cone dy is in DLOW
 *     PUSH_LOW, PUSH_HIGH    required changes of the products force x gap; of a cone c and dx', both scaled
 *     R                      the residual r
 *     STEP, SCALED           dx = L z, and z
 *     RIGHT, WORK            right side of the system; scratch */
enum {
    LOW,
    HIGH,
    GAP_LOW,
    GAP_HIGH,
    DLOW,
    DHIGH,
    PUSH_LOW,
    PUSH_HIGH,
    R,
    STEP,
    SCALED,
    RIGHT,
    WORK,
    POINTS
};

/* Vector i of this enum. */
static inline double *cs_interior_vector(const cs_solver *solver, int i)
{
    return cs_point_at(solver, i).impulses;
}

/* One block, and whether it is treated as a cone. */
typedef struct cs_interior_block {
    const cs_block_group *group;
    const double *parameters;
    int64_t block, row;
    int rows;
    int cone;  /* 1: one cone; 0: row by row, within bounds */
    double mu; /* friction coefficient of a cone; otherwise 0 */
} cs_interior_block;

/* Block k of group g. */
cs_interior_block cs_interior_block_of(const cs_solver *solver, int g, int64_t k);

/* Whether row i of the block keeps its impulse: its bounds are equal, or no impulse moves it. */
int cs_interior_is_fixed(const cs_solver *solver, const cs_interior_block *block, int i);

/* The number added to W so that redundant contacts do not make the system singular: a small fraction of A's
 * diagonal. */
double cs_interior_proximal_of(const cs_solver *solver, const cs_interior_block *block);

/* W = f / (x - lo) + f' / (hi - x) of a row within bounds, without the number added to it. */
double cs_interior_weight_of(const cs_solver *solver, int64_t row);

/* z <- (power x_n, x_t). Impulses with the power mu, (mu x_n, x_t), and velocities with the power 1 / mu,
 * (y_n / mu, y_t), belong to a cone of slope 1; their inner product is unchanged. */
void cs_interior_to_cone(const cs_interior_block *block, const double *x, double power, double *z);

/* scaling <- the scaling of a cone at the current x and y. Returns -1 if x or y is not inside. */
int cs_interior_scaling_of(const cs_solver *solver, const cs_interior_block *block,
                           cs_scaling *scaling);

/* Sets the initial impulses and velocities, from those in lambda; counts bounds and cones. */
void cs_interior_begin(cs_solver *solver, cs_interior *own);

#endif
