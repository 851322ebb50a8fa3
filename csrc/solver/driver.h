/* The driver: the loop of every iterative solve, around the steps of its method.
 *
 *     begin -> judge -> [ step -> roll back? -> judge -> poll -> stagnation? overtaken? -> next ] -> end
 *
 * The method says how to go from one iterate to the next (cs_iteration). The driver tests the stop rule (it "judges"
 * the iterate), records the history, keeps the best iterate, polls the caller's control, and ends the solve. The
 * present iterate is the packed one, in the precision and the order of the sweeps, or solver->lambda. */
#ifndef CS_DRIVER_H
#define CS_DRIVER_H

#include "core/denormals.h"
#include "solver/solver.h"
#include "solver/stagnation.h"

/* What a rollback multiplies R by: nu of S1 section 3.5. */
#define CS_ROLLBACK_FACTOR 0.5

/* How one step ended. */
typedef enum cs_step {
    CS_STEPPED,    /* there is a new iterate */
    CS_DIVERGED,   /* the driver undoes the step; the solve ends if R cannot be halved again */
    CS_TAKEN_BACK, /* the step was undone: the iterate is an earlier one */
    CS_DISCARDED,  /* the step was undone, and there is nothing to judge */
    CS_EXHAUSTED,  /* the method has no further step: the solve ends */
} cs_step;

struct cs_saved_numbers; /* solver/checkpoint.h */

/* The state of a solve. A method with more state puts this struct at the beginning of its own one. */
typedef struct cs_run {
    cs_solver *solver;
    cs_budget *budget;
    const cs_control *control;
    const struct cs_iteration *iteration;
    cs_stagnation *stagnation; /* NULL: there is no stagnation test */
    double patience;           /* iterations without a halving that end the solve; 0: never */
    cs_state state;
    cs_sweep_stats stats; /* of the last sweep */
    int64_t number;       /* iterations so far */
    int over_factors;     /* whether iterates before the last one are judged over what is packed */
    int there;            /* whether a device gives the verdicts (judge.there) */
    int known;            /* whether the method knows the natural map of the present iterate; */
    int confirmed;        /* whether that is the one from J and M^-1 as given, and */
    int evaluated; /* whether `state`, lambda, xi and velocity are those of the present iterate */
    int to_judge;  /* set by a step whose iterate shall be judged, whatever check_every is */
    int finished;  /* set by `next` if there is no further step */
    int converged, stopped;
    int aborted;          /* the caller aborted within a step */
    int asks_ranks;       /* whether ranks ask each other after each iteration who wants to stop */
    int watched;          /* whether some rank of a network looks at every iterate */
    int wants_checkpoint; /* whether the seconds up to the next checkpoint have passed */
    double last_checkpoint; /* cs_clock of it, or of the beginning */
    int late;               /* stopped by max_seconds */
    int proven;             /* stopped by a proof that there is no solution */
    double step_began;      /* cs_seconds at which the present step began */
    double last_poll;       /* cs_clock of the last poll */
    int64_t at_once;        /* sweeps that fit between two polls, by the last ones; 0: none yet */
    int was_cut; /* whether the last call made fewer sweeps than it might: its time tells nothing of that */
    cs_float_mode mode; /* the caller's floating-point mode */
    cs_status status;   /* failure of a step, with which the solve ends */
    cs_error *error;

    int64_t first; /* iterations before the present stage of the method (solver/stages.h) */
    double
        start; /* cs_run_judgement of the first iterate, or at the beginning of a round of stages */
    double best;         /* the smallest cs_run_judgement so far */
    double best_impulse; /* the natural map of that iterate */
    int64_t best_number; /* the iteration of that iterate; -1: none was judged */
    int rollbacks;       /* halvings of R so far */
    double scale;        /* nu: product of these halvings */
    double alternative;  /* estimated cost of the alternative method in sweeps; 0: not yet known */
} cs_run;

/* The functions of one iterative method. */
typedef struct cs_iteration {
    /* Makes one iteration from the present iterate. A failure goes to run->status. */
    cs_step (*step)(cs_run *run);
    /* Moves from an iterate that was judged to the point where the next step begins. May be NULL. */
    void (*next)(cs_run *run);
    /* After a step that diverged: `undo` restores an earlier iterate, and `shorten` prepares the method for half of R
     * (NULL: R is not halved).  S1 section 3.5 */
    void (*undo)(cs_run *run);
    void (*shorten)(cs_run *run);
    /* Store the present iterate as the best one, and restore it. NULL: the solve returns its last iterate. */
    void (*keep)(cs_run *run);
    void (*restore)(cs_run *run);
    /* The solve would end as `result` says, because it diverged or stagnates. Goes to the method's next stage, which
     * begins at the best iterate. Returns 0: there is none. May be NULL. */
    int (*next_stage)(cs_run *run, const cs_result *result);
    /* Write and read the iteration's own numbers of a checkpoint (solver/checkpoint.h). NULL: it has no checkpoints. */
    void (*save)(const cs_run *run, struct cs_saved_numbers *number);
    void (*load)(cs_run *run, const struct cs_saved_numbers *number);
    int of_sweeps; /* every iterate is that of a sweep: it may be judged by what sweeps keep beside lambda. Momentum
                    * would amplify the rounding errors of these velocities. */
    int needs_state;     /* every iterate is evaluated, whatever the options are */
    int keeps_denormals; /* denormal numbers are not flushed to zero */
    int best_of_all;     /* the best iterate is returned even if no tolerance was given */
    int tests_first;     /* the stagnation test begins with the first iterate */
    int next_after_loss; /* `next` is also called after steps that were undone */
} cs_iteration;

/* Begins a run, and flushes denormal numbers to zero unless the iteration keeps them. cs_run_end restores the
 * caller's floating-point mode. */
cs_run cs_run_begin(cs_solver *solver, cs_budget *budget, const cs_iteration *iteration,
                    cs_error *error);

/* Iterates until the tolerance is met, max_iterations is reached, or another condition ends the solve. Sets
 * result->outcome. */
cs_status cs_run_iterate(cs_run *run, cs_result *result);

/* Computes xi and `state` of the present iterate. */
void cs_run_evaluate(cs_run *run);

/* Computes the natural map of the present iterate alone: over what is packed if that suffices, which costs less, or on a
 * device. */
void cs_run_measure(cs_run *run);

/* The number of sweeps that one call may make, including the present one: up to the next sweep that is judged,
 * recorded or shown, and at most as many as fit between two polls. The iterates do not depend on it. */
int64_t cs_run_sweeps_at_once(const cs_run *run);

/* Makes the sweeps of `call`, and computes the measures of the last one. A failure goes to run->status. */
void cs_run_sweep(cs_run *run, cs_sweep_call *call);

/* For cs_cancellation.is_cancelled inside a step, with the run as context: polls the control, and sets `stopped` or
 * `aborted`. */
int cs_run_is_cancelled(void *run);

/* Whether `status` is a cancellation that stops the solve without a failure. Then the error is cleared, and the solve
 * ends with the present iterate. */
int cs_run_is_stopping(const cs_run *run, cs_status status);

/* Computes the residual, the merit and the other measures of the change from `before` to `now` (rows), for steps
 * without sweeps. */
void cs_run_note_change(cs_run *run, const double *before, const double *now);

/* Sets the measures of the last change to NaN. After a step that was undone or not finished, a stop rule could
 * otherwise take them for a small residual. */
void cs_run_forget_change(cs_run *run);

/* Ends the solve: restores the best iterate if it is kept, evaluates it, completes the history and fills the result.
 * If `status` is a failure, it only restores the floating-point mode. */
cs_status cs_run_end(cs_run *run, cs_status status, cs_result *result);

/* Ends the solve with the present iterate, which a caller has restored itself: the last row of the history is
 * evaluated again for it. */
cs_status cs_run_end_with(cs_run *run, cs_result *result);

/* The number by which iterates are compared: the natural map, or the scaled one if there is a relative tolerance. */
double cs_run_judgement(cs_run *run);

/* max |lambda_i| */
double cs_run_largest_impulse(const cs_run *run);

#endif
