/* Checkpoints of a solve on ranks: what it needs to go on later, on any number of ranks, with the bits of a solve that was not
 * interrupted.
 *
 *     ... -> judge -> next -> | checkpoint | -> step -> judge -> next -> | ... -> end
 *                                   ^
 *                     a later solve begins here
 *
 * A checkpoint is taken where the next step begins. The last iteration has none: it is judged in another way, because its
 * iterate may be returned.
 *
 * Impulses, and u = G^T lambda of the sweeps, are stored with their bits: a sum over contacts in another order would have
 * others. What follows from the problem and the options (R before rollbacks, V, the schedule) is not stored. */
#ifndef CS_CHECKPOINT_H
#define CS_CHECKPOINT_H

#include "solver/driver.h"

/* Numbers that are the same on all ranks. */
typedef struct cs_saved_numbers {
    int64_t iteration;
    double seconds, sweep_seconds; /* so far */
    int64_t products;              /* blocks multiplied by impulses so far */

    /* The best iterate, the present stage, and the rollbacks (cs_run). */
    double best, best_impulse, start, patience;
    int64_t first;
    int64_t best_number;
    int rollbacks;
    double scale;

    /* The stagnation test; zero without one. */
    double reference;
    int64_t since, seen, stride;

    /* The criterion of divergence: `least` of both iterations; the rest is cs_best_sweep and the next sweep of the
     * fixed-point iteration, and cs_steps_run of methods in steps. */
    double least;
    int best_is_current, best_backwards, backwards;
    int64_t best_sweep;
    double refreshed, change;
    int risen, half;

    /* The next test for a proof that there is no solution, and whether there are impulses to compare with (cs_ray). */
    int64_t ray_next;
    int ray_kept;
} cs_saved_numbers;

enum { CS_SAVED_BALANCE = 3 }; /* arrays of cs_balance that are kept */

/* A checkpoint. Arrays of a rank are in the sequence of its problem. */
typedef struct cs_saved {
    cs_saved_numbers number;
    double *impulses; /* (p + 2, rows): lambda, the p points of the method, the best iterate */
    double
        *u; /* (p + 1, 2, velocities): those of lambda and of the points (cs_backend.get_point) */
    double *b; /* (rows), the corrected one of mixed precision; otherwise NULL */
    double
        *balance; /* (3, rows): factor, before and change of cs_balance; NULL unless it is used */
    double *
        earlier; /* (rows): impulses of the last test for such a proof; NULL if there are no tests */
    unsigned char *scalars; /* (bytes): the method's own variables */
    int64_t bytes;
    double *figures; /* (CS_MAX_FIGURES) */
    double *band;    /* (bands): residuals of the stagnation test */
    int64_t bands;
    double *history; /* (history_rows, columns); the times in column 1 are those of rank 0 */
    int64_t history_rows;
} cs_saved;

/* What a solve does with checkpoints. */
typedef struct cs_checkpoints {
    int64_t every;  /* iterations from one to the next; 0: they are not counted */
    double seconds; /* from one to the next, by the clock of any rank; INFINITY: never */
    /* Keeps a checkpoint, which is valid during the call. Collective. Returns 0 to continue, 1 to stop, which all ranks
     * return, and -1 to fail. */
    int (*write)(void *context, const cs_saved *saved);
    void *context;
    const cs_saved *resumed; /* where the solve begins; NULL: at its first iterate */
} cs_checkpoints;

/* The next solve has these; NULL: none. They must live until it ends. */
void cs_solver_checkpoints(cs_solver *solver, const cs_checkpoints *checkpoints);

/* The sizes of the solver's checkpoints. */
typedef struct cs_saved_sizes {
    int points; /* p */
    int has_b, has_balance,
        has_earlier;          /* whether there are such arrays, also on ranks without contacts */
    int64_t rows, velocities; /* of the rank's problem */
    int64_t scalars;          /* bytes */
    int64_t columns;          /* of the history */
} cs_saved_sizes;
cs_saved_sizes cs_saved_sizes_of(const cs_solver *solver);

/* ---- for the driver ---------------------------------------------------------------------------- */

/* saved <- the state of the run. Takes its arrays from `arena` at the first call. */
cs_status cs_save_run(cs_run *run, cs_arena *arena, cs_saved *saved, cs_error *error);

/* The run goes on from a checkpoint. */
cs_status cs_load_run(cs_run *run, const cs_saved *saved, cs_error *error);

#endif
