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
    const cs_phases *phases;
    int64_t first, end; /* of these */
    int64_t tasks;
    int64_t number; /* of phases before its end, in all rounds */
} step;

/* The tasks of one thread's run in the present step. A step begins with the first thread that takes a task of the run:
 * nobody waits for its owner. On a cache line of its own, which the owner alone writes most of the time. */
typedef struct task_run {
    _Alignas(64)
        atomic_ullong taken; /* the step's number, and how many tasks of the run were taken */
} task_run;

enum { TAKEN_BITS = 32 };

/* What the threads share. */
typedef struct team {
    const cs_rounds *rounds;
    cs_float_mode mode; /* of the caller */
    int threads;
    task_run *run;                   /* (threads) */
    _Alignas(64) atomic_llong ended; /* tasks of all steps so far */
} team;

/* Whether one thread makes the whole phase. */
static int is_single(const cs_phase *phase) { return phase->brief || phase->tasks <= 1; }

/* The step that begins with phase `first`; `before`: phases of earlier rounds. */
static step step_at(const cs_phases *phases, int64_t first, int64_t before)
{
    step s = {phases, first, first + 1, phases->phase[first].tasks, before + first + 1};
    if (!is_single(&phases->phase[first])) return s;
    while (s.end < phases->count && is_single(&phases->phase[s.end])) s.end++;
    s.tasks = 1;
    s.number = before + s.end;
    return s;
}

/* Makes one task of a step: a task of its phase, or all of its phases. */
static void make(const step *s, int64_t task)
{
    const cs_phases *phases = s->phases;
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
    unsigned long long number = (unsigned long long)s->number << TAKEN_BITS;
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
    for (; (task = take(all, s, owner)) >= 0; made++) make(s, task);
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

/* A thread's share of a round; `tasks`: of all steps so far. */
static void make_round(team *all, const cs_phases *phases, int thread, int64_t before,
                       int64_t *tasks)
{
    for (int64_t p = 0; p < phases->count;) {
        step s = step_at(phases, p, before);
        *tasks += s.tasks;
        make_share(all, &s, thread, *tasks);
        if (thread == 0 && all->rounds->poll) all->rounds->poll(all->rounds->context);
        p = s.end;
    }
}

static void run_together(void *context, int thread)
{
    team *all = context;
    const cs_rounds *rounds = all->rounds;
    cs_float_mode own = cs_take_float_mode(all->mode);
    int64_t tasks = 0, before = 0;
    for (int64_t n = 0; rounds->chosen[n] != CS_NO_ROUND; n++) {
        const cs_phases *phases = &rounds->list[rounds->chosen[n]];
        make_round(all, phases, thread, before, &tasks);
        before += phases->count;
    }
    cs_restore_denormals(own);
}

/* One thread needs no counters. */
static void run_alone(const cs_rounds *rounds)
{
    for (int64_t n = 0; rounds->chosen[n] != CS_NO_ROUND; n++) {
        const cs_phases *phases = &rounds->list[rounds->chosen[n]];
        for (int64_t p = 0; p < phases->count; p++) {
            for (int64_t task = 0; task < phases->phase[p].tasks; task++)
                phases->run(phases->context, p, task);
            if (rounds->poll) rounds->poll(rounds->context);
        }
    }
}

void cs_rounds_run(const cs_rounds *rounds, int threads)
{
    if (threads <= 1) {
        run_alone(rounds);
        return;
    }

    task_run runs[MOST_THREADS];
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    for (int t = 0; t < threads; t++) atomic_init(&runs[t].taken, 0);
    team all = {.rounds = rounds, .mode = cs_float_mode_here(), .threads = threads, .run = runs};
    atomic_init(&all.ended, 0);
    cs_parallel(threads, run_together, &all);
}

void cs_phases_run(const cs_phases *phases, int threads)
{
    unsigned char once[] = {0, CS_NO_ROUND};
    const cs_rounds rounds = {.list = phases, .chosen = once};
    cs_rounds_run(&rounds, threads);
}

/* Phases of a longer list, from number `first` on. */
typedef struct part_of_list {
    const cs_phases *phases;
    int64_t first;
} part_of_list;

static void run_of_list(void *context, int64_t phase, int64_t task)
{
    const part_of_list *part = context;
    part->phases->run(part->phases->context, part->first + phase, task);
}

void cs_phases_run_part(const cs_phases *phases, int64_t first, int64_t end, int threads)
{
    part_of_list part = {phases, first};
    if (first == end) return;
    cs_phases_run(&(cs_phases){end - first, phases->phase + first, run_of_list, &part}, threads);
}
