/* Phases: lists of tasks, one list after another, which threads go through together. The tasks of a phase are divided
 * into runs of consecutive ones, a run for each thread; who has finished its own takes tasks of the others:
 *
 *     thread 0:  task 0, task 1, task 2            ... all ended? next phase
 *     thread 1:  task 3, task 4, and task 2 if thread 0 has not begun it
 *
 * In phases of as many tasks, a thread begins with the same ones each time, so that what they read stays in the caches
 * of its core. A thread that the system has taken off its core between two tasks has none in hand, so that the others
 * need not wait for it: on a busy machine a barrier after each phase, where all have to show up, costs a scheduler's
 * tick of milliseconds each time. At the end of all phases they do have to. Neither which thread does a task nor how
 * many there are makes a difference to the result. */
#ifndef CS_PHASES_H
#define CS_PHASES_H

#include <stdint.h>

typedef struct cs_phase {
    int64_t tasks; /* fewer than 2^32 */
    int brief; /* its work takes less time than to wait for each other: one thread makes all of it */
} cs_phase;

typedef struct cs_phases {
    int64_t count;         /* fewer than 2^31 */
    const cs_phase *phase; /* (count) */
    /* Runs one task of phase `phase`. Threads may run tasks of one phase at once. */
    void (*run)(void *context, int64_t phase, int64_t task);
    void *context;
} cs_phases;

/* Runs all phases on so many threads, which have the caller's mode for denormals. */
void cs_phases_run(const cs_phases *phases, int threads);

/* The same for the phases first ... end - 1, which keep their numbers. */
void cs_phases_run_part(const cs_phases *phases, int64_t first, int64_t end, int threads);

/* Rounds: lists of phases, one after another, where the last phase of a round decides which list follows. A thread that was
 * off its core reads the decisions that it has missed. */
enum { CS_NO_ROUND = 255 };
typedef struct cs_rounds {
    const cs_phases *list;
    /* (rounds + 1): the list of each round, then CS_NO_ROUND. The caller sets the first; the last phase of a round, which
     * has one task, sets the next. */
    unsigned char *chosen;
    void (*poll)(void *context); /* NULL, or what thread 0 calls after each phase */
    void *context;
} cs_rounds;

/* Runs all rounds; fewer than 2^32 phases in all. */
void cs_rounds_run(const cs_rounds *rounds, int threads);

#endif
