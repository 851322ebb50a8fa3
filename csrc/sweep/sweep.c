/* A sweep is a list of phases. Threads go through the list together, each taking tasks as it comes:
 *
 *     thread 0:  task 0, task 2, task 3 ... all ended? next phase
 *     thread 1:  task 1, ...
 *
 * A thread that the system has taken off its core has usually no task in hand, so that the others
 * need not wait for it: on a busy machine a barrier, where all have to show up, costs a scheduler's
 * tick of milliseconds each time. Which thread does a task makes no difference to the result. */
#include "sweep/sweep.h"

#include "core/denormals.h"
#include "core/parallel.h"

#include <math.h>
#include <sched.h>

enum { SPINS = 1000 }; /* looks at a counter before giving the core away */

static void run_tasks(const cs_scheme *scheme, cs_packed *packed, cs_phase *phase)
{
    for (;;) {
        int64_t task = atomic_fetch_add_explicit(&phase->begun, 1, memory_order_relaxed);
        if (task >= phase->tasks) return;
        scheme->run[packed->dtype](packed, phase->stage, phase->number, task);
        atomic_fetch_add_explicit(&phase->ended, 1, memory_order_release);
    }
}

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

typedef struct sweep {
    const cs_scheme *scheme;
    cs_packed *packed;
} sweep;

static void run_together(void *context, int thread)
{
    (void)thread;
    const sweep *s = context;
    cs_float_mode mode = cs_flush_denormals();
    for (int64_t p = 0; p < s->packed->phases; p++) {
        cs_phase *phase = phase_of(s->packed, p);
        run_tasks(s->scheme, s->packed, phase);
        wait_for(phase);
    }
    cs_restore_denormals(mode);
}

static void run_alone(const cs_scheme *scheme, cs_packed *packed)
{
    for (int64_t p = 0; p < packed->phases; p++) {
        const cs_phase *phase = phase_of(packed, p);
        for (int64_t task = 0; task < phase->tasks; task++)
            scheme->run[packed->dtype](packed, phase->stage, phase->number, task);
    }
}

void cs_sweep(const cs_scheme *scheme, cs_packed *packed, cs_sweep_stats *stats)
{
    int threads = packed->threads;
    packed->products += scheme->begin ? scheme->begin(packed) : packed->matrix_blocks;
    if (threads > 1) {
        for (int64_t p = 0; p < packed->phases; p++) {
            atomic_store_explicit(&packed->phase[p].begun, 0, memory_order_relaxed);
            atomic_store_explicit(&packed->phase[p].ended, 0, memory_order_relaxed);
        }
        cs_parallel(threads, run_together, &(sweep){scheme, packed});
    } else {
        run_alone(scheme, packed);
    }
    *stats = (cs_sweep_stats){0};
    for (int64_t p = 0; p < packed->schedule->parts; p++) {
        const cs_sweep_stats *part = &packed->part[p];
        if (part->residual > stats->residual) stats->residual = part->residual;
        stats->merit += part->merit;
        stats->unfinished += part->unfinished;
    }
    if (isnan(stats->merit)) stats->residual = NAN; /* which a maximum loses */
}
