#include "core/phases.h"

#include "core/denormals.h"
#include "core/parallel.h"

#include <sched.h>

enum { SPINS = 1000 }; /* looks at a counter before giving the core away */

/* What the threads share. */
typedef struct shared {
    const cs_phases *phases;
    cs_float_mode mode; /* of the caller */
} shared;

static void run_tasks(const cs_phases *phases, int64_t p)
{
    cs_phase *phase = &phases->phase[p];
    for (;;) {
        int64_t task = atomic_fetch_add_explicit(&phase->begun, 1, memory_order_relaxed);
        if (task >= phase->tasks) return;
        phases->run(phases->context, p, task);
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

static void run_together(void *context, int thread)
{
    (void)thread;
    const shared *all = context;
    cs_float_mode own = cs_take_float_mode(all->mode);
    for (int64_t p = 0; p < all->phases->count; p++) {
        run_tasks(all->phases, p);
        wait_for(&all->phases->phase[p]);
    }
    cs_restore_denormals(own);
}

void cs_phases_run(const cs_phases *phases, int threads)
{
    /* One thread needs no counters. */
    if (threads <= 1) {
        for (int64_t p = 0; p < phases->count; p++)
            for (int64_t task = 0; task < phases->phase[p].tasks; task++)
                phases->run(phases->context, p, task);
        return;
    }

    for (int64_t p = 0; p < phases->count; p++) {
        atomic_store_explicit(&phases->phase[p].begun, 0, memory_order_relaxed);
        atomic_store_explicit(&phases->phase[p].ended, 0, memory_order_relaxed);
    }
    shared all = {phases, cs_float_mode_here()};
    cs_parallel(threads, run_together, &all);
}
