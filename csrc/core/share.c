#include "core/share.h"

#include "core/parallel.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

typedef struct sharing {
    const cs_tasks *tasks;
    atomic_llong begun, ended;
} sharing;

static void take_tasks(void *context, int thread)
{
    sharing *all = context;
    const cs_tasks *tasks = all->tasks;

    /* Take tasks until none is left to begin. */
    for (;;) {
        int64_t next = atomic_fetch_add(&all->begun, 1);
        if (next >= tasks->count) break;
        tasks->work(tasks->context, tasks->order[next], thread);
        atomic_fetch_add(&all->ended, 1);
    }

    /* The other threads may still work on theirs: thread 0 keeps polling the caller. */
    while (thread == 0 && atomic_load(&all->ended) < tasks->count) {
        sched_yield();
        if (tasks->wait) tasks->wait(tasks->context);
    }
}

void cs_share_out(const cs_tasks *tasks, int threads)
{
    sharing all = {tasks, 0, 0};
    cs_parallel(threads, take_tasks, &all);
}

void cs_sort_largest_first(int64_t count, const int64_t *size, int64_t most, int64_t *place,
                           int64_t *order)
{
    /* Counting sort: place[most - size] becomes the first place of the tasks of this size. */
    memset(place, 0, sizeof(int64_t) * (size_t)(most + 2));
    for (int64_t i = 0; i < count; i++) place[most - size[i] + 1]++;
    for (int64_t s = 0; s < most; s++) place[s + 1] += place[s];
    for (int64_t i = 0; i < count; i++) order[place[most - size[i]]++] = i;
}
