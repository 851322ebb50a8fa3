/* Phases: lists of tasks, one list after another. Threads go through them together, each taking tasks as it comes:
 *
 *     thread 0:  task 0, task 2, task 3 ... all ended? next phase
 *     thread 1:  task 1, ...
 *
 * A thread that the system has taken off its core between two tasks has none in hand, so that the others need not
 * wait for it: on a busy machine a barrier after each phase, where all have to show up, costs a scheduler's tick of
 * milliseconds each time. At the end of all phases they do have to. Neither which thread does a task nor how many
 * there are makes a difference to the result. */
#ifndef CS_PHASES_H
#define CS_PHASES_H

#include <stdatomic.h>
#include <stdint.h>

/* One phase: how many tasks it has, and how many of them have begun and ended. */
typedef struct cs_phase {
    int64_t tasks;
    _Alignas(64) atomic_llong begun; /* on a cache line of its own: every thread increments it */
    atomic_llong ended;
} cs_phase;

typedef struct cs_phases {
    int64_t count;
    cs_phase *phase; /* (count), with `tasks` set */
    /* Runs one task of phase `phase`. Threads may run tasks of one phase at once. */
    void (*run)(void *context, int64_t phase, int64_t task);
    void *context;
} cs_phases;

/* Runs all phases on so many threads, which have the caller's mode for denormals. */
void cs_phases_run(const cs_phases *phases, int threads);

#endif
