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
    double residual, merit;           /* of the last sweep; not a number before the first */
    double delta_element, delta_norm; /* likewise, where a measure asks for the previous iterate */
    int no_tolerance;                 /* rtol and atol were not given */
    const double *lambda, *xi;        /* (rows) */
    int have_natural_map;
    cs_natural_map natural_map; /* cached by cs_natural_map_of */
} cs_state;

/* How the values of parts that share nothing make that of the whole. */
typedef enum cs_across { CS_NOT_APART, CS_LARGEST, CS_SUM } cs_across;

typedef struct cs_measure {
    const char *name, *summary;
    int of_sweep;  /* from the last sweep alone; otherwise xi at lambda is needed */
    int of_change; /* the iterate before the last sweep is needed */
    cs_across across;
    int is_ratio; /* holds rtol and atol itself: a solve that stops by it stops at 1 */
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

/* Delta_s, |lambda_s|^2 and rho_s of one coupled set. */
typedef struct cs_set_defect {
    double impulse, norm_square, rho;
} cs_set_defect;

/* Those of each coupled set of one block; returns how many sets. */
int cs_block_defects(const cs_state *state, const cs_block_group *group, int64_t index,
                     cs_set_defect *sets);

/* The largest distance of a coupled set's impulse from the set. */
double cs_block_infeasibility(const cs_state *state, const cs_block_group *group, int64_t index);

/* rho = 1 / max diag(A_ss) for every row of its coupled set s (S2 eqs. 4.42, 4.43); 0 where an
 * impulse moves nothing. */
void cs_set_scales(const cs_block_group *group, const double *diagonal, double *rho);

/* delta_element and delta_norm of the state, from the impulses (rows) around one sweep. */
void cs_measure_change(cs_state *state, const double *old, const double *updated);

/* The bound of coupled set s >= 1 of a contact over lambda_n; 0 without friction. */
static inline double cs_friction_of(const cs_state *state, const cs_block_group *group,
                                    int64_t index, int s)
{
    if (!group->set->frictional) return 0;
    return cs_state_parameters(state, group, index)[group->set->radius_parameter[s]];
}

#endif
