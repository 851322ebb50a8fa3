/* A sweep is a list of phases. The threads go through the list together, and each thread takes the next task when it
 * has finished one:
 *
 *     thread 0:  task 0, task 2, task 3 ... all tasks ended? next phase
 *     thread 1:  task 1, ...
 *
 * A phase ends when its tasks have ended, not when all threads have arrived. If the system suspends a thread between
 * two tasks, the others need not wait for it: on a busy machine, a barrier after each phase would cost milliseconds
 * (a time slice of the scheduler) each time. Only at the end of the sweep all threads must arrive, and core/pace.h
 * decides whether that saves time. The result depends neither on the number of threads nor on which thread runs which
 * task. */
#include "sweep/sweep.h"

#include "core/clock.h"
#include "core/denormals.h"
#include "core/parallel.h"

#include <math.h>
#include <sched.h>
#include <string.h>

enum { SPINS = 1000 }; /* reads of a counter before the thread yields its core to other threads */

/* Takes and runs tasks of a phase until none is left. */
static void run_tasks(cs_packed *packed, cs_phase *phase)
{
    const cs_scheme *scheme = packed->scheme;
    for (;;) {
        int64_t task = atomic_fetch_add_explicit(&phase->begun, 1, memory_order_relaxed);
        if (task >= phase->tasks) return;
        scheme->run[packed->dtype](packed, phase->stage, phase->number, task);
        atomic_fetch_add_explicit(&phase->ended, 1, memory_order_release);
    }
}

/* Waits until all tasks of a phase have ended. */
static void wait_for(const cs_phase *phase)
{
    for (int spin = 0;; spin++) {
        if (atomic_load_explicit(&phase->ended, memory_order_acquire) == phase->tasks) return;
        if (spin % SPINS == SPINS - 1) sched_yield();
    }
}

/* The i-th phase of this sweep. */
static cs_phase *phase_of(const cs_packed *packed, int64_t i)
{
    return &packed->phase[packed->backwards ? packed->backward[i] : i];
}

/* What each of several threads does in a sweep. */
static void run_together(void *context, int thread)
{
    (void)thread;
    cs_packed *packed = context;
    cs_float_mode mode = cs_flush_denormals();
    for (int64_t p = 0; p < packed->phases; p++) {
        cs_phase *phase = phase_of(packed, p);
        run_tasks(packed, phase);
        wait_for(phase);
    }
    cs_restore_denormals(mode);
}

/* A sweep on one thread. */
static void run_alone(cs_packed *packed)
{
    const cs_scheme *scheme = packed->scheme;
    for (int64_t p = 0; p < packed->phases; p++) {
        const cs_phase *phase = phase_of(packed, p);
        for (int64_t task = 0; task < phase->tasks; task++)
            scheme->run[packed->dtype](packed, phase->stage, phase->number, task);
    }
}

/* A sweep on packed->threads threads. */
static void run_shared(cs_packed *packed)
{
    for (int64_t p = 0; p < packed->phases; p++) {
        atomic_store_explicit(&packed->phase[p].begun, 0, memory_order_relaxed);
        atomic_store_explicit(&packed->phase[p].ended, 0, memory_order_relaxed);
    }
    cs_parallel(packed->threads, run_together, packed);
}

/* A sweep on one or several threads, as core/pace.h decides; its time is measured for the next decision. */
static void run_paced(cs_packed *packed)
{
    double start = cs_clock();
    int shares = cs_pace_shares(&packed->pace);
    if (shares) run_shared(packed);
    else run_alone(packed);
    cs_pace_learn(&packed->pace, shares, cs_clock() - start);
}

/* packed->kept <- lambda, in groups whose visits do not copy it themselves (which costs less time). */
static void keep_impulses(cs_packed *packed)
{
    size_t size = cs_real_size(packed->dtype);
    for (int g = 0; g < packed->problem->block_groups; g++) {
        const cs_packed_group *group = &packed->group[g];
        size_t first = size * (size_t)group->first_impulse;
        if (!group->keeps)
            memcpy((char *)packed->kept + first, (char *)packed->lambda + first,
                   size * (size_t)(group->slots * group->rows));
    }
}

void cs_sweep(cs_packed *packed, cs_sweep_stats *stats)
{
    /* Run the phases. */
    const cs_scheme *scheme = packed->scheme;
    packed->products += scheme->begin ? scheme->begin(packed) : packed->matrix_blocks;
    if (packed->kept) keep_impulses(packed);
    if (packed->threads == 1) run_alone(packed);
    else if (packed->paced) run_paced(packed);
    else run_shared(packed);
    packed->kept = NULL;

    /* Combine the statistics of all parts, in order: the result is the same for any number of threads. */
    *stats = (cs_sweep_stats){0};
    for (int64_t p = 0; p < packed->schedule->parts; p++) {
        const cs_sweep_stats *part = &packed->part[p];
        if (part->residual > stats->residual) stats->residual = part->residual;
        stats->merit += part->merit;
        stats->unfinished += part->unfinished;
    }
    if (isnan(stats->merit)) stats->residual = NAN; /* the maximum above ignores NaN */
}
