/* Phases on several threads: each task is made once, after all those of earlier phases. Compiled with ThreadSanitizer
 * it also shows that what a task wrote is seen by the tasks of later phases. */
#include "core/phases.h"
#include "testing.h"

#include <stdatomic.h>
#include <string.h>

enum { PHASES = 40, MOST_TASKS = 30, REPEATS = 50 };

/* What tasks do: each counts itself, and adds up what those of the phase before have written. */
typedef struct record {
    cs_phase phase[PHASES];
    int made[PHASES][MOST_TASKS];
    int64_t value[PHASES][MOST_TASKS];
    atomic_int ended[PHASES]; /* tasks of a phase so far */
    atomic_int early;         /* tasks that began before an earlier phase had ended */
} record;

static record r;

static void run(void *context, int64_t phase, int64_t task)
{
    record *all = context;
    const cs_phase *before = phase ? &all->phase[phase - 1] : NULL;
    if (before &&
        atomic_load_explicit(&all->ended[phase - 1], memory_order_relaxed) < before->tasks)
        atomic_fetch_add_explicit(&all->early, 1, memory_order_relaxed);
    all->made[phase][task]++;
    all->value[phase][task] = phase + task;
    for (int64_t t = 0; before && t < before->tasks; t++)
        all->value[phase][task] += all->value[phase - 1][t] % 1000;
    atomic_fetch_add_explicit(&all->ended[phase], 1, memory_order_relaxed);
}

/* Phases of so many tasks, one of them none, every third of them brief if `some_brief`. */
static void prepare(int some_brief)
{
    memset(&r, 0, sizeof r);
    for (int p = 0; p < PHASES; p++) {
        r.phase[p].tasks = (7 * p + 1) % (MOST_TASKS + 1);
        r.phase[p].brief = some_brief && (p % 3 == 0 || (p > 10 && p < 15));
    }
    r.phase[5].tasks = 1;
    r.phase[6].tasks = 0;
}

/* Runs all phases, and folds what the tasks have written into one number. */
static int64_t make_all(int threads)
{
    cs_phases phases = {PHASES, r.phase, run, &r};
    cs_phases_run(&phases, threads);
    int64_t sum = 0;
    for (int p = 0; p < PHASES; p++)
        for (int t = 0; t < MOST_TASKS; t++) {
            CHECK(r.made[p][t] == (t < r.phase[p].tasks));
            sum = 31 * (sum % (INT64_C(1) << 40)) + r.value[p][t];
        }
    CHECK(r.early == 0);
    return sum;
}

static void every_task_is_made_once_and_in_turn(void)
{
    prepare(0);
    int64_t wanted = make_all(1);
    for (int some_brief = 0; some_brief < 2; some_brief++)
        for (int threads = 1; threads <= 9; threads++)
            for (int repeat = 0; repeat < REPEATS; repeat++) {
                prepare(some_brief);
                CHECK(make_all(threads) == wanted);
            }
}

/* More threads than can take part. */
static void too_many_threads_are_no_failure(void)
{
    prepare(1);
    int64_t wanted = make_all(1);
    prepare(1);
    CHECK(make_all(300) == wanted);
}

/* ---- rounds --------------------------------------------------------------------------------------- */

enum { LISTS = 3, ROUNDS = 200, WIDE = 12 };

/* What the rounds share: sums of the tasks of a round, from which its last phase chooses the next. */
typedef struct rounds_record {
    int64_t value[WIDE], sum;
    int64_t round, made;
    unsigned char chosen[ROUNDS + 1];
    int polls;
} rounds_record;

static rounds_record g;

/* A phase of many tasks; in the last phase, the only task folds their values. */
static void run_round(void *context, int64_t phase, int64_t task)
{
    const cs_phases *list = context;
    if (phase + 1 < list->count) {
        g.value[task] += g.sum % 97 + phase + task;
        return;
    }
    for (int t = 0; t < WIDE; t++) g.sum += g.value[t];
    g.made++;
    int ends = ++g.round == ROUNDS;
    g.chosen[g.round] = (unsigned char)(ends ? CS_NO_ROUND : (g.sum / 7 + g.round) % LISTS);
}

static void count_polls(void *context) { (*(int *)context)++; }

static int64_t run_rounds(int threads, int polls)
{
    static const cs_phase wide[] = {{.tasks = WIDE}, {.tasks = 3}, {.tasks = WIDE}, {.tasks = 1}};
    static const cs_phase few[] = {{.tasks = 2}, {.tasks = 1}};
    static const cs_phase none[] = {{.tasks = 1}};
    static cs_phases list[LISTS];
    memset(&g, 0, sizeof g);
    list[0] = (cs_phases){4, wide, run_round, &list[0]};
    list[1] = (cs_phases){2, few, run_round, &list[1]};
    list[2] = (cs_phases){1, none, run_round, &list[2]};
    const cs_rounds rounds = {list, g.chosen, polls ? count_polls : NULL, &g.polls};
    cs_rounds_run(&rounds, threads);
    CHECK(g.made == ROUNDS);
    CHECK(!polls || g.polls >= ROUNDS);
    return g.sum;
}

/* Each round decides what the next one does: no thread may follow another list. */
static void rounds_follow_their_decisions(void)
{
    int64_t wanted = run_rounds(1, 1);
    int lists[LISTS] = {0};
    for (int n = 0; n < ROUNDS; n++) lists[g.chosen[n]]++;
    for (int n = 0; n < LISTS; n++) CHECK(lists[n] > 0);
    for (int threads = 1; threads <= 9; threads++)
        for (int repeat = 0; repeat < REPEATS / 5; repeat++)
            CHECK(run_rounds(threads, repeat % 2) == wanted);
}

int main(void)
{
    every_task_is_made_once_and_in_turn();
    too_many_threads_are_no_failure();
    rounds_follow_their_decisions();
    return test_result();
}
