/* How good an iterate is. All blocks are measured at one state lambda, in double precision, on the
 * user's data, whatever the solver computed with: a measure is an outside judge. */
#ifndef CS_MEASURE_H
#define CS_MEASURE_H

#include "problem/problem.h"

typedef struct cs_natural_map {
    double impulse, velocity, scaled; /* the three natural maps */
    int64_t worst_block;              /* where `impulse` is reached; -1 with no blocks */
    int met;                          /* every coupled set is within atol + rtol (its scale) */
} cs_natural_map;

/* One state, and what measuring it needs. */
typedef struct cs_state {
    const cs_problem *problem;
    const double *b, *parameters; /* in force for this solve */
    const double *rho; /* (rows): 1 / max diag(A_ss); 0 where no impulse moves anything */
    double largest_b;  /* max |b| */
    double rtol, atol;
    double quality_r;
    double residual, merit;    /* of the last sweep; not a number before the first */
    const double *lambda, *xi; /* (rows) */
    int have_natural_map;
    cs_natural_map natural_map; /* cached by cs_natural_map_of */
} cs_state;

typedef struct cs_measure {
    const char *name, *summary;
    int of_sweep; /* from the last sweep alone; otherwise xi at lambda is needed */
    double (*evaluate)(cs_state *state);
    /* NULL, or why the measure is not defined for this problem. */
    const char *(*obstacle)(const cs_problem *problem);
} cs_measure;

/* The measure of that name, or NULL. */
const cs_measure *cs_measure_find(const char *name);

/* The parameters of block `index` of a group. */
static inline const double *cs_state_parameters(const cs_state *state, const cs_block_group *group,
                                                int64_t index)
{
    return state->parameters + group->first_parameter + index * group->parameters;
}

const cs_natural_map *cs_natural_map_of(cs_state *state);

#endif
