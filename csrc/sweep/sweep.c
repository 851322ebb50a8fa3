/* A sweep is a list of phases (core/phases.h), which several threads share where that pays (core/pace.h). */
#include "sweep/sweep.h"

#include "core/clock.h"
#include "core/costs.h"
#include "distributed/ranks.h"

#include <math.h>
#include <string.h>

/* The i-th phase of this sweep, which may go backwards. */
static const cs_stage_phase *phase_of(const cs_packed *packed, int64_t i)
{
    return &packed->phase[packed->backwards ? packed->backward[i] : i];
}

static void run_task(void *context, int64_t p, int64_t task)
{
    cs_packed *packed = context;
    const cs_stage_phase *phase = phase_of(packed, p);
    if (phase->task) task = phase->task[task];
    packed->scheme->run[packed->dtype](packed, phase->stage, phase->number, task);
}

/* Whether a phase takes less time than threads take to wait for each other. A number of threads that is exact shares
 * such phases, too. Phases over all bodies have tasks of their own. */
static int is_brief(const cs_packed *packed, const cs_stage_phase *phase)
{
    return packed->paced && phase->stage->blocks < CS_WORTH_A_PHASE &&
           phase->tasks <= phase->stage->parts;
}

/* Runs the phases first ... end - 1 on so many threads. */
static void run_phases(cs_packed *packed, int64_t first, int64_t end, int threads)
{
    /* One thread needs no list of what it shares. */
    for (int64_t p = first; p < end && threads <= 1; p++)
        for (int64_t task = 0; task < phase_of(packed, p)->tasks; task++) {
            run_task(packed, p, task);
            if (packed->ranks) cs_ranks_work(packed->ranks);
        }
    if (threads <= 1) return;

    /* Several threads share the phases that are worth it. */
    cs_phases phases = {packed->phases, packed->shared_phase, run_task, packed};
    for (int64_t p = first; p < end; p++) {
        const cs_stage_phase *phase = phase_of(packed, p);
        packed->shared_phase[p] = (cs_phase){phase->tasks, is_brief(packed, phase)};
    }
    cs_phases_run_part(&phases, first, end, threads);
    if (packed->ranks && end > first) cs_ranks_work(packed->ranks);
}

/* Runs all phases on so many threads. */
static void run_on(cs_packed *packed, int threads)
{
    run_phases(packed, 0, packed->phases, threads);
}

/* A sweep on one or several threads, as core/pace.h decides; its time is measured for the next decision. */
static void run_paced(cs_packed *packed)
{
    double start = cs_clock();
    int shares = cs_pace_shares(&packed->pace);
    run_on(packed, shares ? packed->threads : 1);
    cs_pace_learn(&packed->pace, shares, cs_clock() - start);
}

/* Runs the phases of one stage, first ... end - 1. After it, u of ghost bodies comes from the ranks that own them. Messages
 * travel while the rank makes visits that are not at its border: those of this stage and of others. */
static void run_stage_on_ranks(cs_packed *packed, int64_t s, int64_t first, int64_t end)
{
    /* What comes before the visits at the border, or may come before them: they read u of ghosts. */
    int64_t border = first;
    while (border < end && packed->schedule->stage[s].kind == CS_SIMULTANEOUS &&
           (phase_of(packed, border)->inner ||
            phase_of(packed, border)->number < packed->scheme->visit))
        border++;
    run_phases(packed, first, border, packed->threads);
    cs_ranks_await(packed->ranks, s);

    /* The visits at the border, and all that follows visits. The changes of concurrent parts come to the owners of the bodies
     * before they are added. */
    int64_t merge = border, inner;
    while (merge < end && !phase_of(packed, merge)->inner &&
           phase_of(packed, merge)->number != packed->scheme->merge)
        merge++;
    run_phases(packed, border, merge, packed->threads);
    if (packed->absent)
        cs_ranks_exchange_changes(packed->ranks, s, packed->velocity, packed->change_from[s],
                                  packed->change_to[s]);
    for (inner = merge; inner < end && !phase_of(packed, inner)->inner;) inner++;
    run_phases(packed, merge, inner, packed->threads);

    /* The first messages after these visits travel during the others. */
    int returns = cs_ranks_return(packed->ranks, s, packed->velocity, packed->body_place);
    if (returns) run_phases(packed, inner, end, packed->threads);
    cs_ranks_exchange(packed->ranks, s, packed->velocity, packed->body_place);
    if (!returns) run_phases(packed, inner, end, packed->threads);
}

/* Runs the stages. Those without contacts of this rank have no phases. */
static void run_on_ranks(cs_packed *packed)
{
    const cs_schedule *schedule = packed->schedule;
    int64_t stages = schedule->stages, first = 0;
    for (int64_t i = 0; i < stages; i++) {
        int64_t s = packed->backwards ? stages - 1 - i : i, end = first;
        while (end < packed->phases && phase_of(packed, end)->stage == &schedule->stage[s]) end++;
        run_stage_on_ranks(packed, s, first, end);
        first = end;
    }
    cs_ranks_exchange_impulses(packed->ranks, packed->lambda, packed->impulse_place);
}

/* Combines the statistics over the parts of the problem: those of the parts of stages that belong to each, then those of
 * the parts in their order, on whatever ranks they are. */
static void add_by_owners(const cs_packed *packed, cs_sweep_stats *stats)
{
    const cs_schedule *schedule = packed->schedule;
    double *sum = packed->owner_sum, unfinished = 0;
    for (int64_t p = 0; p < schedule->owners; p++) sum[p] = 0;
    for (int64_t p = 0; p < schedule->parts; p++) {
        const cs_sweep_stats *part = &packed->part[p];
        sum[schedule->owner[p]] += part->merit;
        if (cs_ranks_own(packed->ranks, schedule->owner[p])) unfinished += (double)part->unfinished;
    }
    stats->merit =
        cs_ranks_tally(packed->ranks, sum, schedule->owners, &stats->residual, &unfinished);
    stats->unfinished = (int64_t)unfinished;
}

/* packed->kept <- lambda, in groups whose visits do not copy it themselves (which costs less time). */
static void keep_impulses(cs_packed *packed)
{
    size_t size = cs_real_size(packed->dtype);
    for (int g = 0; g < packed->problem->block_groups; g++) {
        const cs_packed_group *group = &packed->group[g];
        size_t first = size * (size_t)group->first_impulse;
        if (!group->keeps || packed->absent)
            memcpy((char *)packed->kept + first, (char *)packed->lambda + first,
                   size * (size_t)(group->slots * group->rows));
    }

    /* Those of other ranks may still travel. */
    if (packed->absent) cs_ranks_copy_impulses(packed->ranks, packed->kept);
}

void cs_sweep_combine(cs_packed *packed, cs_sweep_stats *stats)
{
    /* In order: the result is the same for any number of threads. */
    *stats = (cs_sweep_stats){0};
    for (int64_t p = 0; p < packed->schedule->parts; p++) {
        const cs_sweep_stats *part = &packed->part[p];
        if (part->residual > stats->residual) stats->residual = part->residual;
        stats->merit += part->merit;
        stats->unfinished += part->unfinished;
    }
    if (packed->schedule->owner) add_by_owners(packed, stats);
    if (isnan(stats->merit)) stats->residual = NAN; /* the maximum above ignores NaN */
}

void cs_sweep(cs_packed *packed, cs_sweep_stats *stats)
{
    /* Run the phases. */
    const cs_scheme *scheme = packed->scheme;
    packed->products += scheme->begin ? scheme->begin(packed) : packed->matrix_blocks;
    if (packed->kept) keep_impulses(packed);
    if (packed->ranks) run_on_ranks(packed);
    else if (packed->paced && packed->threads > 1) run_paced(packed);
    else run_on(packed, packed->threads);
    packed->kept = NULL;

    cs_sweep_combine(packed, stats);
}
