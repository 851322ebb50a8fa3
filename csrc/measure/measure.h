/* How good an iterate is. All blocks are measured at one state lambda, in double precision, on the
 * user's data, whatever the solver computed with: a measure is an outside judge.
 *
 * The stop rule compares velocities, set by set and island by island:
 *
 *     Delta_s <= tau_s = atol + rtol rho_s V,     V = max over the island's sets of a_s Delta_s(P_C(0))
 *
 * rho_s is one over the largest diagonal entry of A_ss; a_s is the largest diagonal entry of J M^-1 J^T in
 * the set, without compliance. V is the speed at which the island's bodies would break their constraints
 * without any impulse: bodies that leave, or slide without load, do not count. */
#ifndef CS_MEASURE_H
#define CS_MEASURE_H

#include "problem/problem.h"

/* Delta_s and rho_s of one coupled set, and its first row in the block. */
typedef struct cs_set_defect {
    double impulse, rho;
    int row;
} cs_set_defect;

/* By what velocity it misses its law [m/s]; an impulse that moves nothing has none. */
static inline double cs_defect_velocity(const cs_set_defect *set)
{
    return set->impulse == 0 ? 0 : set->impulse / set->rho;
}

typedef struct cs_natural_map {
    double impulse, velocity, scaled; /* the three natural maps */
    int64_t worst_block;              /* where `scaled` is reached; -1 with no blocks */
    cs_set_defect worst;              /* and of which of its sets */
    int met;                          /* Delta_s <= tau_s for every coupled set */
} cs_natural_map;

/* One state, and what measuring it needs. */
typedef struct cs_state {
    const cs_problem *problem;
    const double *b, *parameters; /* in force for this solve */
    const double *rho;   /* (rows): 1 / max diag(A_ss); 0 where no impulse moves anything */
    const double *scale; /* (blocks): V of the block's island; 0 where P_C(0) solves it */
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

/* Takes one coupled set of a block into a map, which is CS_NO_DEFECT to begin with. */
#define CS_NO_DEFECT ((cs_natural_map){.worst_block = -1, .met = 1})
void cs_add_defect(const cs_state *state, const cs_set_defect *set, int64_t block,
                   cs_natural_map *map);

/* Delta_s and rho_s of each coupled set of one block; returns how many sets. */
int cs_block_defects(const cs_state *state, const cs_block_group *group, int64_t index,
                     cs_set_defect *sets);

/* The largest distance of a coupled set's impulse from the set. */
double cs_block_infeasibility(const cs_state *state, const cs_block_group *group, int64_t index);

/* rho = 1 / max diag(A_ss) for every row of its coupled set s (S2 eqs. 4.42, 4.43); 0 where an
 * impulse moves nothing. */
void cs_set_scales(const cs_block_group *group, const double *diagonal, double *rho);

/* Sets of a given A whose diagonal entries are zero and on which others act: their rho becomes one over the
 * largest |A| in their rows and columns. Returns the first such row, or -1. `coupling` (rows) is scratch. */
int64_t cs_find_couplings(const cs_problem *problem, double *rho, double *coupling);

/* Blocks without an island (-1) become islands of their own. */
void cs_number_all_islands(const cs_problem *problem, int64_t *island);

/* response (rows) <- a_s of each row's set, from rho; where there is compliance from J M^-1 J^T. */
void cs_find_responses(const cs_problem *problem, const double *rho, double *response);

/* What the speed V of each island is found from. */
typedef struct cs_scale_data {
    const cs_problem *problem;
    const double *b, *parameters, *rho, *response;
    const int64_t *island; /* (blocks): from 0 */
    double *speed;         /* (islands): scratch */
    double *magnitude;     /* (rows): scratch */
} cs_scale_data;

/* scale (blocks) <- V of the block's island; velocities that are but rounding at P_C(0) count as none.
 * `lambda` and `xi` (rows) are scratch and end as P_C(0) and its residual velocities; `velocity`
 * (velocities) is scratch. */
void cs_find_scales(const cs_scale_data *data, double *lambda, double *xi, double *velocity,
                    double *scale);

/* tau_s of a set of this block. */
static inline double cs_tolerance_of(const cs_state *state, int64_t block, double rho)
{
    return state->atol + state->rtol * rho * state->scale[block];
}

/* Units of rounding in a floor. */
enum { CS_FLOOR_UNITS = 4 };

/* Units of rounding in b, which is itself a result of some computation. */
enum { CS_B_UNITS = 64 };

/* The rounding floor of the natural map: what rounding alone may leave of Delta_s.
 *
 *     phi_s = 4 eps max(rho_s (|A| |lambda| + |b|)_s + |lambda_s|) */
typedef struct cs_floor {
    double scaled; /* the largest phi_s / (rho_s V) of the islands that P_C(0) does not solve, */
    int64_t block; /* and where that is; -1: nowhere */
    double missed; /* the same in units of the iterates, of the sets with Delta_s > tau_s only, */
    int64_t missed_block;
    int reachable;  /* phi_s <= tau_s for every set */
    int only_floor; /* Delta_s <= phi_s, with the unit of the iterates, wherever Delta_s > tau_s */
} cs_floor;

/* The floor at the state, which must be known; `unit` is the rounding unit of the iterates. `magnitude`
 * (rows) and `velocity` (velocities) are scratch. */
cs_floor cs_find_floor(const cs_state *state, double unit, double *magnitude, double *velocity);

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
