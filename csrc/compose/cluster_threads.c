/* Distributes clusters over threads: each thread takes the next one when it has finished one. Only thread 0 calls the
 * caller's functions. */
#include "compose/clusters.h"

#include "core/clock.h"
#include "core/error.h"
#include "core/share.h"

/* The `poll` of clusters on thread 0: asks the caller, and sets `halt` if the answer is to stop or to abort. */
static int ask_caller(void *context, const cs_progress *progress)
{
    /* Whether the work ends anyway. */
    cs_sharing *all = context;
    const cs_control *control = all->control;
    if (all->interrupted) return -1;
    if (atomic_load_explicit(&all->halt, memory_order_relaxed)) return 1;
    if (!control || !control->poll) return 0;

    /* Show the caller an iteration number that never decreases from one cluster to the next. */
    cs_progress told = progress ? *progress : (cs_progress){0};
    if (progress && progress->iteration > all->shown) all->shown = progress->iteration;
    told.iteration = all->shown;
    int answer = control->poll(control->context, progress ? &told : NULL);

    /* Pass the answer on to the other threads. */
    if (answer > 0 && all->sets_up) return 0;
    if (answer) atomic_store_explicit(&all->halt, 1, memory_order_relaxed);
    if (answer < 0) all->interrupted = 1;
    return answer;
}

/* The `poll` of clusters on the other threads: whether thread 0 has set `halt`. */
static int read_halt(void *context, const cs_progress *progress)
{
    (void)progress;
    cs_sharing *all = context;
    int halt = atomic_load_explicit(&all->halt, memory_order_relaxed);
    return halt && all->sets_up ? -1 : halt;
}

cs_control cs_islands_control(cs_sharing *all, int thread)
{
    return (cs_control){thread == 0 ? ask_caller : read_halt, all, 0};
}

/* One task (cs_tasks.work). */
static void work_on_cluster(void *context, int64_t c, int thread)
{
    cs_sharing *all = context;
    cs_cluster *cluster = &all->islands->cluster[c];
    cluster->status = all->work(all, cluster, thread);
}

/* Thread 0 polls while it waits for the others (cs_tasks.wait). */
static void wait_for_others(void *context)
{
    cs_sharing *all = context;
    if (all->interrupted || cs_clock() - all->last_poll < 0.005) return;
    ask_caller(all, NULL);
    all->last_poll = cs_clock();
}

cs_status cs_islands_share_out(cs_sharing *all, cs_error *error)
{
    cs_islands *islands = all->islands;
    cs_tasks tasks = {islands->clusters, islands->in_turn, work_on_cluster, wait_for_others, all};
    cs_share_out(&tasks, islands->threads);

    /* If the caller aborts, that is reported instead of other failures. Ask once more, because clusters may have
     * failed before any poll. */
    int failed = 0;
    for (int64_t c = 0; c < islands->clusters; c++) failed |= islands->cluster[c].status != CS_OK;
    if (failed && !all->interrupted) ask_caller(all, NULL);
    if (all->interrupted)
        return cs_fail(error, CS_INTERRUPTED, "interrupted at iteration %lld",
                       (long long)all->shown);

    /* The failure of the first cluster that failed. */
    for (int64_t c = 0; c < islands->clusters; c++) {
        if (!islands->cluster[c].status) continue;
        *error = islands->cluster[c].error;
        return islands->cluster[c].status;
    }
    return CS_OK;
}
