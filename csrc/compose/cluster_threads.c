/* Threads work on clusters as they come; thread 0 alone talks to the caller. */
#include "compose/clusters.h"

#include "core/clock.h"
#include "core/error.h"
#include "core/share.h"

/* What clusters ask between sweeps: thread 0 asks the caller, the others whether it told them to end. */
static int ask_caller(void *context, const cs_progress *progress)
{
    cs_sharing *all = context;
    const cs_control *control = all->control;
    if (all->interrupted) return -1;
    if (atomic_load_explicit(&all->halt, memory_order_relaxed)) return 1;
    if (!control || !control->poll) return 0;
    cs_progress told = progress ? *progress : (cs_progress){0};
    if (progress && progress->iteration > all->shown) all->shown = progress->iteration;
    told.iteration = all->shown;
    int answer = control->poll(control->context, progress ? &told : NULL);
    if (answer > 0 && all->sets_up) return 0;
    if (answer) atomic_store_explicit(&all->halt, 1, memory_order_relaxed);
    if (answer < 0) all->interrupted = 1;
    return answer;
}

static int ask_others(void *context, const cs_progress *progress)
{
    (void)progress;
    cs_sharing *all = context;
    int halt = atomic_load_explicit(&all->halt, memory_order_relaxed);
    return halt && all->sets_up ? -1 : halt;
}

cs_control cs_islands_control(cs_sharing *all, int thread)
{
    return (cs_control){thread == 0 ? ask_caller : ask_others, all, 0};
}

static void work_on_cluster(void *context, int64_t c, int thread)
{
    cs_sharing *all = context;
    cs_cluster *cluster = &all->islands->cluster[c];
    cluster->status = all->work(all, cluster, thread);
}

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

    /* An interruption goes before failures, also where these came too soon for anyone to be asked. */
    int failed = 0;
    for (int64_t c = 0; c < islands->clusters; c++) failed |= islands->cluster[c].status != CS_OK;
    if (failed && !all->interrupted) ask_caller(all, NULL);
    if (all->interrupted)
        return cs_fail(error, CS_INTERRUPTED, "interrupted at iteration %lld",
                       (long long)all->shown);
    for (int64_t c = 0; c < islands->clusters; c++) {
        if (!islands->cluster[c].status) continue;
        *error = islands->cluster[c].error;
        return islands->cluster[c].status;
    }
    return CS_OK;
}
