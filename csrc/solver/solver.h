/* The solver: one problem prepared for one method, and what every solve touches. */
#ifndef CS_SOLVER_H
#define CS_SOLVER_H

#include "backend/backend.h"
#include "linalg/lanczos.h"
#include "measure/certificate.h"
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
    double *touching;            /* (bodies): blocks on each body; NULL unless masses are split */
    double bound;                /* lambda_max(R A) before cs_bound_steps; NaN if not computed */
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
    double *response;          /* (rows): a_s of each row's coupled set (measure/measure.h) */
    int64_t *island;           /* (blocks): island of each block, from 0 */
    double *scale;             /* (blocks): V of the block's island in this solve */
    const double *outer_scale; /* (blocks): V from an enclosing problem, used instead; or NULL */
    double *speed, *magnitude; /* (blocks), (rows): scratch */
    int settles; /* whether cs_settle has work: an island that P_C(0) solves, or an immovable row */
    double noise; /* |b| below which an immovable row counts as satisfied */
    int64_t immovable_blocks;
    cs_ray ray;
} cs_judge;

/* A row at which A proved not to be positive definite. */
typedef struct cs_row_failure {
    int64_t row;               /* of the problem; -1: none */
    double pivot, entry, cure; /* pivot left by elimination; A_ii; a compliance that cures it */
} cs_row_failure;

/* How a problem may be solved in parts, each by a solver of its own. What stands above the solver gives it
 * (compose/islands.h), so that nothing here knows of it. */
typedef struct cs_composition {
    /* Cuts the solver's problem where that is asked for, possible, and pays: solver->parts. */
    cs_status (*cut)(cs_solver *solver, const cs_control *control, cs_error *error);
    /* As cs_method.solve. */
    cs_status (*solve)(cs_solver *solver, cs_budget *budget, cs_result *result, cs_error *error);
    void (*describe)(const void *parts, cs_solver_info *info);
    void (*release)(void *parts);
} cs_composition;

/* cs_solver_create with a composition, or NULL; and with a backend for the sweeps, NULL being that of the
 * processor. */
cs_status cs_solver_make(cs_solver **solver, const cs_problem *problem, const cs_options *options,
                         const cs_composition *composition, const cs_backend *backend,
                         const cs_control *control, cs_error *error);

/* A solver with the options of `whole` for a part of its problem; `control` may be NULL. */
cs_status cs_solver_make_part(cs_solver **part, const cs_solver *whole, const cs_problem *problem,
                              const cs_control *control, cs_error *error);

/* cs_solver_solve on a budget of the caller's, who sets deadline and index set. */
cs_status cs_solver_run(cs_solver *solver, const double *initial, const double *b,
                        const double *parameters, cs_budget *budget, cs_result *result,
                        cs_error *error);

/* One problem prepared for one method. */
struct cs_solver {
    cs_arena arena;
    const cs_problem *problem;
    const cs_method *method;
    void *own; /* the method's state */
    const cs_scheme *scheme;
    cs_setting scheme_setting[CS_MAX_OWN_OPTIONS]; /* the scheme's own, one for each of its table */
    cs_options options;
    double setting[CS_MAX_METHOD_OPTIONS]; /* the method's own; of a word its place in the list */
    int symmetric;                         /* every second sweep goes backwards */
    int instructions;                      /* asked for, see cs_pack_request */
    const cs_order *order;
    const cs_measure *stop;
    int fixed_iterations; /* no tolerance: exactly max_iterations sweeps */
    cs_schedule schedule;
    const cs_backend *backend; /* of methods over sweeps */
    cs_packing packing;
    cs_history history;
    cs_factors factors;
    cs_judge judge;
    cs_shared_products products; /* of A with impulses that are judged */
    double *b, *parameters;      /* in force for this solve */
    double *lambda, *xi;         /* (rows), double precision, for the measures */
    double *velocity;            /* (velocities), scratch */
    double *corrected[2]; /* (rows): b before and after a correction; NULL but in mixed precision */
    double *previous;     /* (rows): lambda before the last sweep; NULL unless a measure asks */
    struct cs_stagnation *stagnation; /* of the common patience; NULL where none was asked for */
    struct cs_points *points;         /* of methods in steps: what they keep (solver/points.h) */
    int64_t version;                  /* of the problem, as packed; -1 when packing failed */
    cs_row_failure failure;           /* of the last solve */
    const double *unbounded;          /* (rows): impulses that could grow for ever in it; or NULL */
    const signed char *index_set;     /* (rows), the caller's: what solves begin with; or NULL */
    const cs_composition *composition; /* how it may be solved in parts; NULL: as one */
    void *parts;                       /* these, where it is; NULL */
    int64_t island_count;              /* of the problem; 0 where they were not counted */
    int within;                        /* another solver's, for a part of its problem */
    int together;   /* somebody looks at every iterate: islands are not solved by themselves */
    cs_arena given; /* what outlives a repacking: the order given by the caller */
    double setup_seconds;
};

/* The word that stands for option i. */
const char *cs_word_setting(const cs_solver *solver, int i);

/* The growth of a residual over its least that counts as divergence. Residuals of sweeps rise in passing;
 * those of blocks updated at once also cycle, within bounds. */
double cs_rollback_growth(const cs_solver *solver);

/* One iterate as measures see it, at the solver's lambda and xi, before the first iteration. */
cs_state cs_state_of(const cs_solver *solver);

/* Whether the stop rule holds after iteration `number`. The state must be known, unless the rule looks
 * at the sweep only. */
int cs_stop_rule(const cs_solver *solver, cs_state *state, int64_t number);

/* Shows iteration `number` to a control with a poll; `stopped` is set where the answer is to stop. */
cs_status cs_ask(const cs_solver *solver, const cs_control *control, int64_t number, int *stopped,
                 cs_error *error);

/* Which of two ends of parts is that of the whole: whether a is worse than b. */
int cs_outcome_is_worse(cs_outcome a, cs_outcome b);

/* The figures and the caller's buffers, all at a state that is known. */
void cs_hand_out(const cs_solver *solver, cs_state *state, int64_t number, double seconds,
                 cs_result *result);

/* Changes of so many rounding units are noise: rounding must not decide. */
enum { CS_ROUNDING_UNITS = 256 };

static inline double cs_rounding_noise(cs_dtype dtype)
{
    return CS_ROUNDING_UNITS * (dtype == CS_F32 ? (double)FLT_EPSILON : DBL_EPSILON);
}

/* Makes what the scheme keeps beside lambda agree with it. In mixed precision so that the residual
 * velocities of the next visits are those of A itself, not of what is stored of it. Returns by how
 * much that alone moves an impulse at most, before rollbacks. Room for it. */
double cs_refresh(cs_solver *solver);
cs_status cs_refresh_take(cs_solver *solver, cs_error *error);

/* R and rho from the diagonal blocks of A, and how each group is updated; counts immovable and
 * singular blocks. */
cs_status cs_choose_steps(cs_solver *solver, cs_local *local, cs_error *error);

/* Whether `local` says that blocks' own problems are solved. */
int cs_solves_blocks(const cs_options *options);

/* Whether one r is wanted for all rows; and that r, from the spectrum of A. */
int cs_is_global(const cs_options *options);
double cs_global_value(const cs_spectrum *spectrum);
cs_status cs_global_factor(cs_solver *solver, cs_error *error);

/* y <- 1/2 (A + A^T) x, for Lanczos' iteration; `zero` (rows), `velocity` (velocities). */
typedef struct cs_symmetric_part {
    const cs_problem *problem;
    double *zero, *velocity;
} cs_symmetric_part;
void cs_multiply_symmetric(void *context, const double *x, double *y);

/* A start that has a part along every eigenvector: fixed pseudo-random numbers, zero where no
 * impulse moves anything, so that immovable blocks do not make A singular. */
void cs_lanczos_start(const cs_problem *problem, const double *rho, double *start);

/* For methods that split masses: how many blocks touch each body, and the diagonal block A_kk of bodies
 * whose mass is shared out among these. */
cs_status cs_count_touching(cs_solver *solver, cs_error *error);
void cs_split_diagonal(const cs_solver *solver, const cs_block_group *group, int64_t index,
                       double *diagonal);

/* For methods that accelerate Jacobi's sweeps: R over lambda_max(R A), where that is above 1. */
cs_status cs_bound_steps(cs_solver *solver, const cs_local *local, cs_error *error);

/* Whether each coupled set's factor follows its residuals; room for what that takes. */
int cs_is_balanced(const cs_options *options);
cs_status cs_balance_take(cs_solver *solver, cs_error *error);

/* All factors as computed; the last change unknown; new factors after a sweep. Without
 * r_factor="balanced" these do nothing. */
void cs_balance_begin(cs_solver *solver);
void cs_balance_forget(cs_solver *solver);
void cs_balance_steps(cs_solver *solver);

/* weight (blocks) <- 1 / number of adjacent contacts.  S4 */
cs_status cs_adjacent_weights(const cs_problem *problem, double *weight, cs_error *error);

/* After a solve that failed with CS_UNSUPPORTED at a row of A: the message, `row` being its number in
 * `problem`. */
cs_status cs_explain_failure(const cs_row_failure *failure, const cs_problem *problem, int64_t row,
                             cs_error *error);

/* What sweeps in a part of a solver is told as the whole's. */
void cs_take_sweeps(cs_solver_info *info, const cs_solver_info *part);

#endif
