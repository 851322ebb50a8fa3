/* What interior-point steps know of one block: a cone, or rows within bounds; its numbers; and where all
 * begin, impulses and velocities inside of their sets. */
#ifndef CS_INTERIOR_BLOCKS_H
#define CS_INTERIOR_BLOCKS_H

#include "solver/accelerate.h"
#include "methods/interior/cone.h"

/* A solve's scalars. */
typedef struct cs_interior {
    int started;
    double first;  /* the mean to begin with */
    double mean;   /* of x y */
    double degree; /* bounds and cones */
    int shifted;   /* there are discs */
} cs_interior;

/* Of cones y and its step are in LOW and in DLOW; c and dx', in scaled unknowns, in PUSH_LOW and
 * PUSH_HIGH. */
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

/* (rows) of them. */
static inline double *cs_interior_numbers(const cs_solver *solver, int i)
{
    return cs_point_at(solver, i).impulses;
}

typedef struct cs_interior_block {
    const cs_block_group *group;
    const double *parameters;
    int64_t block, row;
    int rows;
    int cone; /* all rows as one; else row by row within bounds */
    double mu;
} cs_interior_block;

cs_interior_block cs_interior_block_of(const cs_solver *solver, int g, int64_t k);

/* Rows that stay where they are: between equal bounds, or where no impulse moves anything. */
int cs_interior_is_fixed(const cs_solver *solver, const cs_interior_block *block, int i);

/* What is added to W, a small part of A's diagonal. */
double cs_interior_proximal_of(const cs_solver *solver, const cs_interior_block *block);

/* W = f / (x - lo) + f' / (hi - x) of a row within bounds, without what is added to it. */
double cs_interior_weight_of(const cs_solver *solver, int64_t row);

/* (mu x_n, x_t) of impulses, power mu; (y_n / mu, y_t) of velocities, 1 / mu: a cone of slope 1, the same
 * products. */
void cs_interior_to_cone(const cs_interior_block *block, const double *x, double power, double *z);

/* The scaling of a cone at hand. Returns -1 where x or y is not inside. */
int cs_interior_scaling_of(const cs_solver *solver, const cs_interior_block *block,
                           cs_scaling *scaling);

/* The first impulses and velocities, from those in lambda; counts bounds and cones. */
void cs_interior_begin(cs_solver *solver, cs_interior *own);

#endif
