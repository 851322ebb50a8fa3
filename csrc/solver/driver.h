/* The driver: what every solve does around the steps of its method.
 *
 *     begin -> judge -> [ step -> roll back? -> judge -> poll -> stagnation? overtaken? -> next ] -> end
 *
 * A method says how it goes from one iterate to the next (cs_iteration); the driver judges the iterate as
 * the stop rule asks, records it, keeps the best one, shows it to the caller, and ends the solve. The iterate
 * is what is packed, in the precision and the order of the sweeps, or solver->lambda. */
#ifndef CS_DRIVER_H
#define CS_DRIVER_H

#include "core/denormals.h"
#include "solver/solver.h"
#include "solver/stagnation.h"

/* Iterations over those that the alternative method would cost, before it takes over from sweeps that are
 * still far from a solution. */
#define CS_LATE_SHARE 1.5

/* How one step ended. */
typedef enum cs_step {
    CS_STEPPED,  /* there is a new iterate */
    CS_DIVERGED, /* the driver undoes the step, and ends the solve where R cannot be halved again */
    CS_TAKEN_BACK, /* the step was undone: the iterate is an earlier one */
    CS_DISCARDED,  /* the same, and there is nothing to judge */
    CS_EXHAUSTED,  /* the method has no further step: the solve ends */
} cs_step;

/* A solve under way. What a method adds stands behind this in a struct of its own. */
typedef struct cs_run {
    cs_solver *solver;
    cs_budget *budget;
    const cs_control *control;
    const struct cs_iteration *iteration;
    cs_stagnation *stagnation; /* NULL: the solve does not end for lack of progress */
    double patience;           /* iterations without a halving after which it does; 0: never */
    cs_state state;
    cs_sweep_stats stats; /* of the last sweep */
    int64_t number;       /* iterations so far */
    double seconds;       /* of the steps and of the checks that decide */
    int known;     /* the state is that of the iterate at hand, as far as the method is told */
    int evaluated; /* so are solver->lambda, xi and velocity */
    int to_judge;  /* said by a step: its iterate is judged whatever check_every says */
    int finished;  /* said by `next`: there is no further step */
    int converged, stopped;
    int aborted; /* within a step */
    int late;    /* stopped by max_seconds */
    int proven;  /* stopped by a proof that there is no solution */
    double last_poll;
    int64_t at_once;    /* sweeps that fit between two polls, by how long the last ones took */
    cs_float_mode mode; /* the caller's */
    cs_status status;   /* of a step that failed; the solve then ends with it */
    cs_error *error;

    double best, best_impulse; /* the smallest judgement so far; the natural map of that iterate */
    int64_t best_number;       /* the iteration that reached it; -1: none was judged */
    int rollbacks;             /* halvings of R so far */
    double scale;              /* nu: product of these halvings */
    double alternative; /* cost of the alternative method in sweeps, once asked; 0: it was not */
} cs_run;

/* How a method iterates. */
typedef struct cs_iteration {
    /* One iteration from the iterate at hand. What may fail sets run->status. */
    cs_step (*step)(cs_run *run);
    /* From an iterate that was judged to where the next step begins; may be NULL. */
    void (*next)(cs_run *run);
    /* After a step that diverged: restores an earlier iterate; prepares steps with half of R, NULL: there
     * are none. S1 section 3.5 */
    void (*undo)(cs_run *run);
    void (*shorten)(cs_run *run);
    /* Keeps the iterate at hand as the best one; brings it back. NULL: the last one is returned. */
    void (*keep)(cs_run *run);
    void (*restore)(cs_run *run);
    int unpacked;        /* the iterate is solver->lambda, not what is packed */
    int needs_state;     /* every iterate is judged, whatever is asked for */
    int keeps_denormals; /* nothing is flushed to zero */
    int best_of_all;     /* the best iterate is returned also where no tolerance was given */
    int tests_first; /* stagnation tests begin with the first iterate, which no step has moved */
    int next_after_loss; /* `next` also follows steps that were taken back */
} cs_iteration;

/* From here on denormals are flushed, unless they are kept; cs_run_end restores the caller's mode. */
cs_run cs_run_begin(cs_solver *solver, cs_budget *budget, const cs_iteration *iteration,
                    cs_error *error);

/* Iterates until the tolerance is met, the iterations are made, or there is no further progress: the
 * outcome. */
cs_status cs_run_iterate(cs_run *run, cs_result *result);

/* Brings xi and the state in line with the packed impulses as they are now. */
void cs_run_evaluate(cs_run *run);

/* How many sweeps may be one call, from the one at hand on: up to the next one that is judged, recorded or
 * shown, and no more than fit between two polls. What they compute does not depend on it. */
int64_t cs_run_sweeps_at_once(const cs_run *run);

/* Sweeps, and what measures of the last one need of it. A failure is the run's status. */
void cs_run_sweep(cs_run *run, cs_sweep_call *call);

/* What a cancellation asks within a step, its context being the run: `stopped` or `aborted`. */
int cs_run_is_cancelled(void *run);

/* Whether part of a step was cancelled because the solve is to stop, not to fail: then it ends with what
 * is at hand, and no error. */
int cs_run_is_stopping(const cs_run *run, cs_status status);

/* The residual and the merit of a step without sweeps, which took the impulses (rows) from `before` to `now`;
 * and the measures of a change, where one is asked for. */
void cs_run_note_change(cs_run *run, const double *before, const double *now);

/* A step that was undone has no residual that a stop rule could take for a small one. */
void cs_run_forget_change(cs_run *run);

/* Ends the history, judges the iterate that is returned, the best one where it is kept, and hands it out. With
 * `status` only the mode is restored. */
cs_status cs_run_end(cs_run *run, cs_status status, cs_result *result);

/* The same with an iterate that others have put there, which the history's last row is to tell of. */
cs_status cs_run_end_with(cs_run *run, cs_result *result);

/* By what iterates are compared: the natural map, scaled where the tolerance is relative. */
double cs_run_judgement(cs_run *run);

/* max |lambda_i| */
double cs_run_largest_impulse(const cs_run *run);

#endif
