/* The solver: one problem that is prepared for one method, and the data of its solves. */
#ifndef CS_SOLVER_H
#define CS_SOLVER_H

#include "backend/backend.h"
#include "distributed/ranks.h"
#include "linalg/lanczos.h"
#include "measure/certificate.h"
#include "measure/one_pass.h"
#include "solver/history.h"
#include "solver/method.h"

#include <float.h>

/* State of r_factor="balanced"; all pointers are NULL with other factors. */
typedef struct cs_balance {
    double *factor;       /* (rows): multiple of the local R that each row's coupled set has now */
    double *before;       /* (rows): lambda after the last sweep */
    double *change;       /* (rows): change of lambda in the last sweep; 0 if it is not known */
    double *r;            /* (rows): R with these factors */
    unsigned char *moved; /* (blocks): whether the last sweep changed a factor */
    int changed;          /* whether any factor differs from 1 */
} cs_balance;

/* The factors R and what they are computed from (solver/steps/). A backend may hold R times `scale`. */
typedef struct cs_factors {
    double *r;                   /* (rows): R, in the user's order */
    double *step[CS_MAX_GROUPS]; /* (count, m, m): R_k of groups with full blocks, else NULL */
    double scale;                /* product of the rollbacks of the last solve */
    double *rho;                 /* (rows): 1 / A_ii; 0 for a row that no impulse moves */
    cs_spectrum spectrum;        /* of A, for the global factor */
    double *
        touching; /* (bodies): among how many blocks or parts the mass of each body is split; NULL: it is not */
    unsigned char *
        of_border; /* (blocks): whether a block sees split masses; NULL: every block, if masses are split */
    double bound; /* lambda_max(R A) before cs_bound_steps; NaN if not computed */
    cs_balance balance;
    int64_t singular_blocks;
} cs_factors;

/* Iterates that show whether impulses grow without bound (solver/judge.h). */
typedef struct cs_ray {
    double *earlier; /* (rows): impulses after half as many iterations */
    int64_t next;    /* the iteration at which they are compared */
    int kept;        /* whether `earlier` holds impulses */
    cs_certificate certificate;
} cs_ray;

/* What judges iterates: the speeds V that tolerances refer to, and proofs that no solution exists
 * (solver/judge.h). */
typedef struct cs_judge {
    double *response;        /* (rows): a_s of each row's coupled set (measure/measure.h) */
    int64_t *island;         /* (blocks): island of each block, from 0 */
    int64_t islands;         /* their number */
    int64_t largest_island;  /* blocks of the largest one; -1: not counted yet */
    cs_island_pieces pieces; /* of the islands, by parts of the problem if the schedule has them */
    double *of_part;         /* (parts of the problem): scratch; NULL without parts */
    int alone;               /* whether the prox of a set calls the caller's code: one thread */
    int begun;               /* whether `scale` is that of this solve, */
    int handed_over;         /* whether the backend has it for maps over the factors, */
    int handed_there;        /* and for verdicts on a device */
    int rests;               /* whether `scale` is 0 somewhere: an island that P_C(0) solves */
    int possible_there,
        there;      /* whether a device may give verdicts (cs_verdicts); and does in this solve */
    cs_floor floor; /* of the last verdict there */
    double *scale;  /* (blocks): V of the block's island in this solve */
    const double *outer_scale; /* (blocks): V from an enclosing problem, used instead; or NULL */
    double *speed, *largest, *reach; /* (blocks): scratch */
    double *magnitude;               /* (rows): scratch */
    int settles; /* whether cs_settle has work: an island that P_C(0) solves, or an immovable row */
    int immovable_row; /* whether some row is immovable: rho = 0 */
    double noise;      /* |b| below which an immovable row counts as satisfied */
    int64_t immovable_blocks;
    cs_pace pace;         /* of evaluations of results */
    cs_one_pass one_pass; /* of these by one thread, on several ranks; without pieces: none */
    cs_ray ray;
} cs_judge;

/* What solver->b and solver->parameters, and the backend's copies of them, hold: whether it is the problem's own. */
typedef struct cs_loaded {
    int own_b, own_parameters;
    int b_is_there; /* only the backend has b, and V of all blocks is judge.scale[0] (solver/there.h) */
} cs_loaded;

/* A row at which A proved not to be positive definite. */
typedef struct cs_row_failure {
    int64_t row;               /* of the problem; -1: none */
    double pivot, entry, cure; /* pivot left by elimination; A_ii; a compliance that cures it */
} cs_row_failure;

/* The functions that divide a problem into parts, each with a solver of its own. The code above the solver provides
 * them (compose/islands.h), so that the solver does not depend on it. */
typedef struct cs_composition {
    /* Divides the solver's problem if the options allow it, if it is possible, and if it saves time: sets
     * solver->parts. */
    cs_status (*cut)(cs_solver *solver, const cs_control *control, cs_error *error);
    /* Solves the parts, like cs_method.solve. */
    cs_status (*solve)(cs_solver *solver, cs_budget *budget, cs_result *result, cs_error *error);
    void (*describe)(const void *parts, cs_solver_info *info);
    void (*release)(void *parts);
} cs_composition;

/* cs_solver_create with a composition (NULL: the problem is not divided) and a backend for the sweeps (NULL: the
 * processor). */
cs_status cs_solver_make(cs_solver **solver, const cs_problem *problem, const cs_options *options,
                         const cs_composition *composition, const cs_backend *backend,
                         const cs_control *control, cs_error *error);

/* Creates a solver, with the options of `whole`, for a part of its problem. `control` may be NULL. */
cs_status cs_solver_make_part(cs_solver **part, const cs_solver *whole, const cs_problem *problem,
                              const cs_control *control, cs_error *error);

/* cs_solver_solve with a budget, whose control, deadline and index set the caller sets. */
cs_status cs_solver_run(cs_solver *solver, const double *initial, const double *b,
                        const double *parameters, cs_budget *budget, cs_result *result,
                        cs_error *error);

struct cs_solver {
    cs_arena kept;  /* what new values of J and M^-1 leave: islands, schedule, workspace, packing */
    cs_arena arena; /* everything else that is allocated anew when the problem's values change */
    cs_arena_mark before_packing; /* of `kept` */
    cs_arena_mark before_method;  /* of `arena` */
    int64_t points_before_method; /* taken */
    int roots_changed;            /* whether M^-1 has changed since the last preparation */
    const cs_problem *problem;
    const cs_method *method;
    void *own; /* the method's state */
    const cs_scheme *scheme;
    cs_setting scheme_setting[CS_MAX_OWN_OPTIONS]; /* values of the scheme's own options */
    cs_options options;
    double setting[CS_MAX_METHOD_OPTIONS]; /* values of the method's own options; words by index */
    double figure_value[CS_MAX_FIGURES];   /* of the method, in this solve (CS_COUNT_FIGURE) */
    int symmetric;                         /* every second sweep goes backwards */
    int instructions;                      /* see cs_pack_request */
    const cs_order *order;
    const cs_measure *stop;
    int fixed_iterations; /* there is no tolerance: exactly max_iterations iterations */
    cs_schedule schedule;
    const cs_backend *backend; /* runs the sweeps */
    cs_packing packing;
    cs_network_request network; /* makes the sweeps; without a name: none */
    cs_history history;
    cs_factors factors;
    cs_judge judge;
    cs_shared_products products; /* products with A, where iterates are judged */
    cs_ranks *ranks;             /* that share the problem; NULL: it is on one rank */
    double *b, *parameters;      /* (rows), (parameters): of this solve */
    cs_loaded loaded;
    double *lambda, *xi;  /* (rows), in double precision, for the measures */
    double *velocity;     /* (velocities): scratch */
    double *corrected[2]; /* (rows): b before and after a correction (refresh.c); otherwise NULL */
    cs_part_sums sums;    /* of measures; without a schedule they are not taken by parts */
    double *previous;     /* (rows): lambda before the last sweep, if a measure needs it; or NULL */
    struct cs_stagnation *stagnation; /* NULL if neither patience nor a method asks for it */
    struct cs_points *points;         /* data of methods in steps (solver/points.h) */
    const struct cs_checkpoints *checkpoints; /* of the next solve (solver/checkpoint.h); or NULL */
    double *ghosts;                           /* the caller's, see cs_solver_ghosts; or NULL */
    struct cs_there *there;  /* arrays of the next solve on the device (solver/there.h); or NULL */
    int64_t version;         /* problem->version when it was packed; -1: not packed */
    cs_row_failure failure;  /* of the last solve */
    const double *unbounded; /* (rows): a ray that the last solve found; or NULL */
    const signed char *index_set;      /* (rows), the caller's: start of the next solves; or NULL */
    const cs_composition *composition; /* divides the problem into parts; NULL: it is not divided */
    void *parts;                       /* of the composition; NULL: the problem is not divided */
    int by_parts;                      /* see cs_packed: the composition of batches sets it */
    int64_t island_count;              /* islands of the problem; 0: not reported */
    int setup_threads;                 /* how many threads share the set-up */
    int64_t preemptions;               /* so far, for the choice of setup_threads */
    int within;     /* whether this solver solves a part of another solver's problem */
    int together;   /* not divided, because a control looks at every iterate of the whole */
    cs_arena given; /* copies of the caller's lists, which are kept if the problem changes */
    double setup_seconds;
    int64_t
        at_once; /* sweeps of a call at the end of the last solve, for the next one; 0: not known */
    signed char *index_found; /* (rows): of the last solve; NULL: the method takes no index sets */
};

/* to (rows), in the memory of the solver's device, <- impulses (rows), if the device has them since the last solve. found
 * <- whether it has. */
cs_status cs_solver_impulses_there(cs_solver *solver, const double *impulses, double *to,
                                   int *found, cs_error *error);

/* ghosts (cs_ranks_ghost_velocities), from now on: on one of several ranks a solve writes there the velocities M^-1 J^T lambda
 * of bodies of other ranks. With these, cs_solver_evaluate and cs_solver_velocity_change read them, and need no other rank.
 * NULL ends this. */
void cs_solver_ghosts(cs_solver *solver, double *ghosts);

/* The iterations without halving the natural map that end a solve by the current method, 0: never: the method's
 * own option of that name, or else the common one. `test` <- the state of the test; NULL for methods that have
 * neither. */
double cs_patience_of(const cs_solver *solver, struct cs_stagnation **test);
int cs_tests_stagnation(const cs_solver *solver);

/* The word that the method's own option i has. */
const char *cs_word_setting(const cs_solver *solver, int i);

/* The growth of the residual, relative to its least value, that counts as divergence: the option rollback_growth or
 * its default. The residual of a sweep may rise for a while by a large factor, although the method converges; the
 * default of simultaneous updates is smaller, because they may cycle without any larger growth. */
double cs_rollback_growth(const cs_solver *solver);

/* The state for measures, with the solver's lambda and xi, before the first iteration. */
cs_state cs_state_of(const cs_solver *solver);

/* What the value of a stop rule is compared with, but for natural maps. */
double cs_stop_bound(const cs_solver *solver);

/* Whether the stop rule holds after iteration `number`. The state must be known, unless the rule needs only the
 * values of the last sweep. */
int cs_stop_rule(const cs_solver *solver, cs_state *state, int64_t number);

/* Polls a control, which must have a `poll`, after iteration `number`. Sets `stopped` if the answer is to stop; fails
 * with CS_INTERRUPTED if it is to abort. */
cs_status cs_ask(const cs_solver *solver, const cs_control *control, int64_t number, int *stopped,
                 cs_error *error);

/* The reason why a link of a chain or a stage ended, in words, by its outcome. */
const char *cs_outcome_reason(cs_outcome outcome);

/* Whether outcome a is worse than b: the outcome of a problem in parts is the worst of its parts. */
int cs_outcome_is_worse(cs_outcome a, cs_outcome b);

/* Has the network of the solver, if there is one, make the sweeps over what was packed. */
cs_status cs_connect_packing(cs_solver *solver, cs_error *error);

/* Whether the result of a solve is evaluated: always if there is a tolerance, otherwise if the caller or a chain asks
 * for what an evaluation gives. */
int cs_is_asked_for(const cs_solver *solver, const cs_budget *budget, const cs_result *result);

/* Fails if some of the values (rows) is not finite. Messages call them `name`[block, row]. */
cs_status cs_check_rows(const cs_problem *problem, const char *name, const double *values,
                        cs_error *error);

/* b (rows) <- the problem's own. */
void cs_take_own_b(const cs_solver *solver, double *b);

/* solver->b and solver->parameters <- those given, or (NULL) those of the problem. */
cs_status cs_solver_load(cs_solver *solver, const double *b, const double *parameters,
                         cs_error *error);

/* result->velocity_change <- M^-1 J^T impulses, if it is asked for and no evaluation gave it */
void cs_hand_out_velocity(const cs_solver *solver, const double *impulses, cs_result *result);

/* result->impulses <- solver->lambda */
void cs_hand_out_impulses(const cs_solver *solver, cs_result *result);

/* Fills the figures of the result, and those that follow from a state that is known; `state` NULL: none is. */
void cs_hand_out(const cs_solver *solver, cs_state *state, int64_t number, cs_result *result);

/* The caller's xi and velocity change <- those of an evaluated iterate. cs_hand_out calls it unless a device has judged the
 * iterate (judge.there): then they may not be here. */
void cs_hand_out_arrays(const cs_solver *solver, cs_result *result);

/* Sweeps between two refreshes (cs_refresh). In single precision the velocities u that sweeps keep beside
 * lambda drift away from it, by rounding errors of many small updates. In mixed precision u is computed with
 * factors rounded to single precision, and needs a correction. */
enum { CS_REFRESH_EVERY = 32 };

/* Changes of impulses of up to CS_ROUNDING_UNITS rounding units count as rounding errors. */
enum { CS_ROUNDING_UNITS = 256 };

/* The same, relative to the largest impulse. */
static inline double cs_rounding_noise(cs_dtype dtype)
{
    return CS_ROUNDING_UNITS * (dtype == CS_F32 ? (double)FLT_EPSILON : DBL_EPSILON);
}

/* Recomputes the data that sweeps keep beside lambda. In mixed precision it also corrects b, so that the next visits
 * see the residual velocities of A, not of the rounded A. Returns the largest change of an impulse that the
 * correction alone causes, for R without rollbacks; otherwise 0. cs_refresh_take allocates what it needs. */
double cs_refresh(cs_solver *solver);
cs_status cs_refresh_take(cs_solver *solver, cs_error *error);

/* Computes R and rho from the diagonal blocks of A; local (groups) <- how each group is updated. Counts immovable and
 * singular blocks. */
cs_status cs_choose_steps(cs_solver *solver, cs_local *local, cs_error *error);

/* Whether the option `local` says that the local problems of blocks are solved. */
int cs_solves_blocks(const cs_options *options);

/* r_factor="global": whether that is the option; the value r from the spectrum of A; and R = r I with relaxation. */
int cs_is_global(const cs_options *options);
double cs_global_value(const cs_spectrum *spectrum);
cs_status cs_global_factor(cs_solver *solver, cs_error *error);

/* y <- 1/2 (A + A^T) x (rows), a product for cs_lanczos. `context` is a cs_symmetric_part, with scratch `velocity`
 * (velocities). */
typedef struct cs_symmetric_part {
    const cs_problem *problem;
    cs_shared_products *shared;
    double *velocity;
} cs_symmetric_part;
void cs_multiply_symmetric(void *context, const double *x, double *y);

/* start (rows) <- a start of cs_lanczos with a component along every eigenvector: fixed pseudo-random numbers. It is
 * zero in immovable rows, so that these do not make A singular. */
void cs_lanczos_start(const cs_problem *problem, const double *rho, double *start);

/* The spectrum of A, or of another matrix with these products, where sums are taken by parts of the problem if the schedule
 * has them (solver/steps/part_sums.c). start (rows) is scratch. Returns -1 if memory runs out. */
int cs_solver_lanczos(const cs_solver *solver, cs_product product, void *context, double *start,
                      cs_spectrum *spectrum);

/* For methods and borders that split masses: finds among how many blocks, or parts of a border, each body's mass is
 * divided, and which blocks see that; diagonal (m, m) <- A_kk of block `index` with the divided masses. */
cs_status cs_count_touching(cs_solver *solver, cs_error *error);
cs_status cs_take_border(cs_solver *solver, cs_error *error);
int cs_sees_split_masses(const cs_solver *solver, int64_t block);
void cs_split_diagonal(const cs_solver *solver, const cs_block_group *group, int64_t index,
                       double *diagonal);

/* For methods that accelerate Jacobi's sweeps: divides R by lambda_max(R A) if that is larger than 1. */
cs_status cs_bound_steps(cs_solver *solver, const cs_local *local, cs_error *error);

/* r_factor="balanced": whether that is the option; and the allocation of its state. */
int cs_is_balanced(const cs_options *options);
cs_status cs_balance_take(cs_solver *solver, cs_error *error);

/* r_factor="balanced": all multiples of the local R become 1; the last change becomes unknown; new factors after a
 * sweep. With other factors these functions do nothing. */
void cs_balance_begin(cs_solver *solver);
void cs_balance_forget(cs_solver *solver);
void cs_balance_steps(cs_solver *solver);

/* weight (blocks) <- 1 / number of adjacent contacts in the whole problem; 1 if there are none. Collective on ranks.  S4 */
cs_status cs_adjacent_weights(const cs_solver *solver, double *weight, cs_error *error);

/* Fails with the message of a solve that found A not positive definite; `row` is the failure's row in `problem`. */
cs_status cs_explain_failure(const cs_row_failure *failure, const cs_problem *problem, int64_t row,
                             cs_error *error);

/* Copies the description of the sweeps in `part` to `info`, the description of the whole. */
void cs_take_sweeps(cs_solver_info *info, const cs_solver_info *part);

#endif
