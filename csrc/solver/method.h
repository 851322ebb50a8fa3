/* The methods, and the solver that runs them. */
#ifndef CS_METHOD_H
#define CS_METHOD_H

#include "linalg/lanczos.h"
#include "measure/measure.h"
#include "solver/history.h"
#include "sweep/sweep.h"

/* A method: what is iterated. */
typedef struct cs_method {
    const char *name, *summary;
    cs_stage_kind stage; /* what the blocks of one sweep see of each other */
    int symmetric;       /* every second sweep goes backwards */
    cs_status (*solve)(cs_solver *solver, const cs_control *control, cs_result *result,
                       cs_error *error);
    /* Methods without sweeps: whether they take the options and the problem, and what they build
     * instead of packing. NULL for methods that sweep. */
    cs_status (*check)(const cs_options *options, const char *name, const cs_problem *problem,
                       cs_error *error);
    cs_status (*prepare)(cs_solver *solver, const cs_control *control, cs_error *error);
} cs_method;

/* The method of that name, or NULL. */
const cs_method *cs_method_find(const char *name);

/* Whether a sweep is one simultaneous stage, whatever the order says. */
static inline int cs_is_flat(const cs_method *method) { return method->stage == CS_SIMULTANEOUS; }

/* What a method's and an order's name, or "auto", stand for. */
cs_status cs_choose_method(const char *name, const cs_method **method, cs_error *error);
cs_status cs_choose_order(const char *name, const cs_order_options *options, const cs_order **order,
                          cs_error *error);
/* What r_factor="balanced" keeps; without it all are NULL. */
typedef struct cs_balance {
    double *factor; /* (rows): of each row's coupled set, over the local one */
    double *before; /* (rows): lambda after the last sweep */
    double *change; /* (rows): how the last sweep changed it; zero when that is not known */
    int changed;    /* a factor is not 1 */
} cs_balance;

/* One problem packed for one method. */
struct cs_solver {
    cs_arena arena;
    const cs_problem *problem;
    const cs_method *method;
    const cs_scheme *scheme;
    cs_options options;
    int instructions; /* asked for, see cs_packed */
    const cs_order *order;
    const cs_measure *stop;
    int fixed_iterations; /* no tolerance: exactly max_iterations sweeps */
    cs_schedule schedule;
    cs_packed packed;
    cs_history history;
    /* R as computed, in the user's order; what is packed may be scaled by a rollback. */
    double *r;
    double *step[CS_MAX_GROUPS];
    double steps_scale;
    double *rho;
    double *b, *parameters; /* in force for this solve */
    double *lambda, *xi;    /* (rows), double precision, for the measures */
    double *velocity;       /* (velocities), scratch */
    void *best;             /* (impulses), as packed */
    double *previous;       /* (rows): lambda before the last sweep; NULL unless a measure asks */
    cs_spectrum spectrum;   /* of A, for the global factor */
    cs_balance balance;
    int64_t immovable_blocks, singular_blocks;
    int64_t version;              /* of the problem, as packed; -1 when packing failed */
    struct cs_pivoting *pivoting; /* of methods that pivot */
    cs_arena given;               /* what outlives a repacking: the order given by the caller */
    double setup_seconds;
};

/* The fixed-point iteration that Jacobi and Gauss-Seidel share.  S1 chapter 3 */
cs_status cs_fixed_point(cs_solver *solver, const cs_control *control, cs_result *result,
                         cs_error *error);

/* R and rho from the diagonal blocks of A, and how each group is updated; counts immovable and
 * singular blocks. */
cs_status cs_choose_steps(cs_solver *solver, cs_local *local, cs_error *error);

/* Whether one r is wanted for all rows; and that r, from the spectrum of A. */
int cs_is_global(const cs_options *options);
double cs_global_value(const cs_spectrum *spectrum);
cs_status cs_global_factor(cs_solver *solver, cs_error *error);

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

/* Methods that pivot (solver/pivoting/contact.c): what a cs_method of theirs points to, and the end
 * of what they built; `pivoting` may be NULL. */
cs_status cs_pivoting_check(const cs_options *options, const char *name, const cs_problem *problem,
                            cs_error *error);
cs_status cs_pivoting_prepare(cs_solver *solver, const cs_control *control, cs_error *error);
cs_status cs_pivoting_solve(cs_solver *solver, const cs_control *control, cs_result *result,
                            cs_error *error);
void cs_pivoting_destroy(struct cs_pivoting *pivoting);
void cs_pivoting_describe(const struct cs_pivoting *pivoting, cs_solver_info *info);

#endif
