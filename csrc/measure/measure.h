/* Measures of how accurate an iterate is. A measure evaluates all blocks at one iterate lambda, in double
 * precision and with the user's data, whatever precision the solver used: it does not depend on the solver.
 *
 * The stop rule tests every coupled set s:
 *
 *     Delta_s <= tau_s = atol + rtol rho_s V,     V = max over the island's sets of a_s Delta_s(P_C(0))
 *
 *     Delta_s   natural map: how far one prox step moves lambda_s (measure/natural_map.c)
 *     rho_s     1 / the largest diagonal entry of A_ss
 *     a_s       the largest diagonal entry of J M^-1 J^T in the set, without compliance
 *     V         the speed at which the bodies of the island would violate their constraints without any
 *               impulse; bodies that separate, or slide without load, do not contribute
 *
 * V makes the test a comparison of velocities, relative to each island. */
#ifndef CS_MEASURE_H
#define CS_MEASURE_H

#include "core/loop.h"
#include "distributed/ranks.h"
#include "measure/coupled_sets.h"
#include "measure/impulse_change.h"
#include "problem/products.h"

/* The velocity by which the set violates its law [m/s]; 0 for an impulse that moves nothing. */
static inline double cs_defect_velocity(const cs_set_defect *set)
{
    return set->impulse == 0 ? 0 : set->impulse / set->rho;
}

/* Room for sums over the parts of the problem (cs_sum_over_parts). */
typedef struct cs_part_sums {
    const cs_schedule *schedule; /* whose parts have owners */
    double *of_block;            /* (blocks) */
    double *of_owner;            /* (owners) */
} cs_part_sums;

/* One iterate and everything that measures need. */
typedef struct cs_state {
    const cs_problem *problem;
    const double *b, *parameters; /* of this solve, which may replace the problem's */
    const double *rho;            /* (rows): rho of the row's set; 0 where impulses move nothing */
    const double *scale;          /* (blocks): V of the block's island; 0 where P_C(0) solves it */
    double rtol, atol;
    double quality_r;
    double residual, merit;           /* of the last sweep; NaN before the first */
    double delta_element, delta_norm; /* likewise, if a measure needs the previous iterate */
    int no_tolerance;                 /* whether the solve has neither rtol nor atol */
    int threads; /* that share the evaluation of a measure; at most one if a prox calls the caller's code */
    const double *lambda, *xi; /* (rows) */
    cs_ranks *ranks; /* that share the problem, and measure it together; NULL: it is on one rank */
    const cs_part_sums *sums; /* NULL: sums over all blocks are not taken by parts */
    int have_natural_map;
    cs_natural_map natural_map; /* cached by cs_natural_map_of */
} cs_state;

/* How the value of a whole problem follows from those of its islands: not at all, as their maximum, or as
 * their sum. */
typedef enum cs_across { CS_NOT_APART, CS_LARGEST, CS_SUM } cs_across;

/* The numbers of a sweep. */
typedef enum cs_sweep_number {
    CS_SWEEP_NO_NUMBER,
    CS_SWEEP_RESIDUAL,
    CS_SWEEP_MERIT,
    CS_SWEEP_DELTA_ELEMENT,
    CS_SWEEP_DELTA_NORM,
} cs_sweep_number;

typedef struct cs_measure {
    const char *name, *summary;
    cs_sweep_number of_sweep; /* CS_SWEEP_NO_NUMBER: it needs xi at lambda */
    int of_change;            /* whether it needs the iterate before the last sweep */
    cs_across across;
    int is_ratio; /* whether it contains rtol and atol: a solve that stops by it stops at 1 */
    double (*evaluate)(cs_state *state);
    /* In place of `evaluate`: the maximum or the sum (`across`) over the blocks begin .. end - 1. Threads call it for
     * several ranges of blocks at once. */
    double (*part)(const cs_state *state, int64_t begin, int64_t end);
    /* The number of one block, for sums that have `part`: where sums are taken by parts of the problem, they are sums of
     * these. NULL: ranks do not have such a sum. */
    double (*of_block)(const cs_state *state, const cs_block_group *group, int64_t index);
    int on_ranks; /* whether `evaluate` takes sums by cs_sum_over_parts where the state has room for these */
    /* Returns why the measure is not defined for this problem, or NULL if it is. NULL: always defined. */
    const char *(*obstacle)(const cs_problem *problem);
} cs_measure;

/* Those that the stop rule compares with. */
extern const cs_measure cs_measure_natural_map, cs_measure_natural_map_scaled;

/* The measure of that name, or NULL. */
const cs_measure *cs_measure_find(const char *name);

/* The value of a measure. */
double cs_measure_value(const cs_measure *measure, cs_state *state);

/* The sum of the numbers of all blocks: over the blocks of each part of the problem in the order of their visits, then over the
 * parts in their order. The bits depend neither on threads nor on ranks. Needs state->sums. Collective. */
typedef double (*cs_block_number)(const cs_state *state, const void *context,
                                  const cs_block_group *group, int64_t index);
double cs_sum_over_parts(const cs_state *state, cs_block_number number, const void *context);

/* The sum over the rows of all blocks of x_i^2, or of (x_i - y_i)^2; x and y (rows), y may be NULL. In the same way. */
double cs_square_over_parts(const cs_state *state, const double *x, const double *y);

/* Whether the measure is one of the three natural maps. */
int cs_measure_is_natural_map(const cs_measure *measure);

/* The parameters of block `index` of a group. */
static inline const double *cs_state_parameters(const cs_state *state, const cs_block_group *group,
                                                int64_t index)
{
    return state->parameters + group->first_parameter + index * group->parameters;
}

/* The natural map of the state, computed at the first call. */
const cs_natural_map *cs_natural_map_of(cs_state *state);

/* The same after xi (rows), to which state->xi points, <- A lambda + b, with `velocity` = M^-1 J^T lambda: one pass over the
 * contacts does both. */
const cs_natural_map *cs_natural_map_and_residual(cs_state *state, const double *velocity,
                                                  double *xi);

/* What the sets of a block are compared with. */
static inline cs_set_bounds cs_bounds_of(const cs_state *state, int64_t block)
{
    return (cs_set_bounds){state->rtol, state->atol, state->scale[block], 1};
}

/* The same for all sets of the blocks begin .. end - 1, at state->xi. */
void cs_add_defects(const cs_state *state, int64_t begin, int64_t end, cs_natural_map *map);

/* state->natural_map <- the maximum over the maps (count) of pieces in the order of their blocks, and over all ranks. */
void cs_join_map_pieces(cs_state *state, const cs_natural_map *map, int64_t count);

/* map <- the maximum over the maps of all ranks, with the worst block by its number in the whole problem. Collective. */
void cs_join_natural_maps(cs_ranks *ranks, cs_natural_map *map);

/* sets <- Delta_s and rho_s of each coupled set of one block. Returns the number of sets. */
int cs_block_defects(const cs_state *state, const cs_block_group *group, int64_t index,
                     cs_set_defect *sets);

/* The largest distance between the impulse of a coupled set of the block and its feasible set. */
double cs_block_infeasibility(const cs_state *state, const cs_block_group *group, int64_t index);

/* rho (rows) <- 1 / max diag(A_ss) of each row's coupled set s (S2 eqs. 4.42, 4.43), from the block
 * `diagonal` = A_kk; 0 where an impulse moves nothing. */
void cs_set_scales(const cs_block_group *group, const double *diagonal, double *rho);

/* In a given A, a set may have zero diagonal entries although other blocks act on it. Its rho becomes 1 / the
 * largest |A| in its rows and columns. Returns the first row of such a set, or -1. `coupling` (rows) is
 * scratch. */
int64_t cs_find_couplings(const cs_problem *problem, double *rho, double *coupling);

/* Whether rho is 0 in some row. */
int cs_has_immovable_rows(const cs_problem *problem, int threads, const double *rho);

/* Gives every block without an island (-1) an island of its own. Returns the number of islands. */
int64_t cs_number_all_islands(const cs_problem *problem, int threads, int64_t *island);

/* response (rows) <- a_s of each row's set: 1 / rho, or with compliance the diagonal of J M^-1 J^T. */
void cs_find_responses(const cs_problem *problem, const double *rho, int threads, double *response);

/* The data that determine the speed V of each island, and room for the computation. */
typedef struct cs_scale_data {
    const cs_problem *problem;
    cs_shared_products *shared; /* how threads share products with A */
    const double *b, *parameters, *rho, *response;
    const int64_t *island;           /* (blocks): numbered from 0 */
    int64_t islands;                 /* on several ranks those that they share are the first ones */
    cs_ranks *ranks;                 /* as in cs_state */
    int threads;                     /* as in cs_state */
    double *scale;                   /* (blocks): the result */
    double *speed, *largest, *reach; /* (blocks and islands, whichever are more): scratch */
    double *lambda, *xi, *magnitude; /* (rows): scratch */
    double *velocity;                /* (velocities): scratch */
} cs_scale_data;

/* scale (blocks) <- V of the block's island, where velocities at P_C(0) that are only rounding errors count
 * as zero. */
void cs_find_scales(const cs_scale_data *data);

/* V of an island with these max a_s Delta_s and max |b|; 0 if the rounding errors of b explain it: then the island needs
 * no impulses. */
double cs_speed_beyond_rounding(double speed, double largest);

/* Rounding units that an entry of b may be wrong by, because b is the result of a computation, too. */
enum { CS_B_UNITS = 64 };

/* The rounding floor at the state, whose lambda and xi must be known, by the threads of `shared` and of the state, with
 * the same bits for any number. `unit` is the rounding unit of the iterates. `magnitude` (rows) and `velocity`
 * (velocities) are scratch. */
cs_floor cs_find_floor(const cs_state *state, const cs_shared_products *shared, double unit,
                       double *magnitude, double *velocity);

/* Sets delta_element and delta_norm of the state, from the impulses (rows) before and after one sweep. Collective. */
void cs_measure_change(cs_state *state, const double *old, const double *updated);

/* The friction bound of coupled set s >= 1 of a contact, divided by lambda_n; 0 without friction. */
static inline double cs_friction_of(const cs_state *state, const cs_block_group *group,
                                    int64_t index, int s)
{
    if (!group->set->frictional) return 0;
    return cs_state_parameters(state, group, index)[group->set->radius_parameter[s]];
}

#endif
