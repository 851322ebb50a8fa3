#include "core/phases.h"

#include "core/denormals.h"
#include "core/parallel.h"

#include <sched.h>
#include <stdatomic.h>

enum {
    SPINS = 1000,      /* looks at a counter before giving the core away */
    MOST_THREADS = 256 /* that share phases */
};

/* A step: a phase, or consecutive ones that one thread makes in one task, because each is brief or has one task. */
typedef struct step {
    int64_t first, end; /* phases */
    int64_t tasks;
} step;

/* The tasks of one thread's run in the present step. A step begins with the first thread that takes a task of the run:
 * nobody waits for its owner. On a cache line of its own, which the owner alone writes most of the time. */
typedef struct task_run {
    _Alignas(64)
        atomic_ullong taken; /* the step's `end`, and how many tasks of the run were taken */
} task_run;

enum { TAKEN_BITS = 32 };

/* What the threads share. */
typedef struct team {
    const cs_phases *phases;
    cs_float_mode mode; /* of the caller */
    int threads;
    task_run *run;                   /* (threads) */
    _Alignas(64) atomic_llong ended; /* tasks of all steps so far */
} team;

/* Whether one thread makes the whole phase. */
static int is_single(const cs_phase *phase) { return phase->brief || phase->tasks <= 1; }

/* The step that begins with phase `first`. */
static step step_at(const cs_phases *phases, int64_t first)
{
    step s = {first, first + 1, phases->phase[first].tasks};
    if (!is_single(&phases->phase[first])) return s;
    while (s.end < phases->count && is_single(&phases->phase[s.end])) s.end++;
    s.tasks = 1;
    return s;
}

/* Makes one task of a step: a task of its phase, or all of its phases. */
static void make(const cs_phases *phases, const step *s, int64_t task)
{
    if (!is_single(&phases->phase[s->first])) {
        phases->run(phases->context, s->first, task);
        return;
    }
    for (int64_t p = s->first; p < s->end; p++)
        for (int64_t t = 0; t < phases->phase[p].tasks; t++) phases->run(phases->context, p, t);
}

/* The first task of a thread's run: runs differ by one task at most, and the first threads have the longer ones. */
static int64_t first_of(const team *all, const step *s, int64_t thread)
{
    return (thread * s->tasks + all->threads - 1) / all->threads;
}

/* Takes a task of a thread's run; -1 if all of it were taken, or if the step has ended. */
static int64_t take(team *all, const step *s, int64_t owner)
{
    int64_t first = first_of(all, s, owner), size = first_of(all, s, owner + 1) - first;
    atomic_ullong *at = &all->run[owner].taken;
    unsigned long long number = (unsigned long long)s->end << TAKEN_BITS;
    unsigned long long seen = atomic_load_explicit(at, memory_order_relaxed), next;
    do {
        /* What an earlier step left does not count. */
        unsigned long long now = seen < number ? number : seen;
        if (now - number >= (unsigned long long)size) return -1;
        next = now + 1;
    } while (!atomic_compare_exchange_weak_explicit(at, &seen, next, memory_order_relaxed,
                                                    memory_order_relaxed));
    return first + (int64_t)(next - 1 - number);
}

/* Makes the tasks of a run that nobody has taken. Returns their number. */
static int64_t make_run(team *all, const step *s, int64_t owner)
{
    int64_t made = 0, task;
    for (; (task = take(all, s, owner)) >= 0; made++) make(all->phases, s, task);
    return made;
}

/* Whether all tasks of this step and of those before it, `tasks` in all, have ended. */
static int have_ended(team *all, int64_t tasks)
{
    return atomic_load_explicit(&all->ended, memory_order_acquire) >= tasks;
}

static void tell_ended(team *all, int64_t made)
{
    if (made) atomic_fetch_add_explicit(&all->ended, made, memory_order_acq_rel);
}

/* A thread's share of a step; `tasks` as above. */
static void make_share(team *all, const step *s, int thread, int64_t tasks)
{
    /* Its own run, then what is left of the others', from the next thread on. */
    tell_ended(all, make_run(all, s, thread));
    for (int i = 1; i < all->threads && !have_ended(all, tasks); i++)
        tell_ended(all, make_run(all, s, (thread + i) % all->threads));

    /* Wait for tasks that others have in hand. */
    for (int spin = 0; !have_ended(all, tasks); spin++)
        if (spin % SPINS == SPINS - 1) sched_yield();
}

static void run_together(void *context, int thread)
{
    team *all = context;
    cs_float_mode own = cs_take_float_mode(all->mode);
    int64_t tasks = 0;
    for (int64_t p = 0; p < all->phases->count;) {
        step s = step_at(all->phases, p);
        tasks += s.tasks;
        make_share(all, &s, thread, tasks);
        p = s.end;
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

    task_run runs[MOST_THREADS];
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    for (int t = 0; t < threads; t++) atomic_init(&runs[t].taken, 0);
    team all = {.phases = phases, .mode = cs_float_mode_here(), .threads = threads, .run = runs};
    atomic_init(&all.ended, 0);
    cs_parallel(threads, run_together, &all);
}
