/* Sweeps of a device on ranks: the steps of one stage after another, and in between u of ghost bodies through the host.
 *
 *     device   steps of a stage | u -> host                       host -> u | steps of the next stage
 *     host                                   own u -> others, others' -> ghosts
 *
 * All of u is copied, if any of it travels. Statistics of a sweep are sums over blocks of threads on each rank, then over the
 * ranks: the residual, which is a maximum, has the same bits for any number of ranks, and the merit has not. */
#include "backend/device_internal.h"
#include "distributed/ranks.h"

#include <math.h>

cs_status cs_device_check_ranks(const cs_pack_request *request, const char *name, cs_error *error)
{
    /* Statistics count the unfinished blocks of all contacts that a rank visits, also where others visit them, too. */
    if (!request->ranks) return CS_OK;
    for (int g = 0; g < request->problem->block_groups; g++)
        if (cs_solves_block(request->local[g]))
            return cs_fail(error, CS_UNSUPPORTED,
                           "local problems are not available on ranks with device='%s': use "
                           "local='projected'",
                           name);
    return CS_OK;
}

void cs_device_exchange(cs_on_device *d, int64_t stage)
{
    cs_packed *packed = &d->packed;
    size_t bytes = (size_t)packed->velocities * cs_real_size(packed->dtype);
    if (!cs_ranks_travels(packed->ranks, stage)) return;
    d->device->download(d->queue, packed->velocity, d->program.packed.velocity, bytes);
    cs_ranks_exchange(packed->ranks, stage, packed->velocity, packed->body_place);
    cs_ranks_settle(packed->ranks);
    cs_device_upload(d, d->program.packed.velocity, packed->velocity, bytes);
}

/* Runs the stages of one sweep; the last one ends it, with the statistics of this rank. */
static void run_stages(cs_on_device *d, int backwards)
{
    const cs_step_list *list = &d->sweep[backwards];
    int64_t stages = d->packed.schedule->stages, first = 0;
    cs_device_state state = {.backwards = backwards};
    cs_device_upload(d, d->program.state, &state, sizeof state);
    d->program.packed.backwards = backwards;
    d->program.packed.damping = d->packed.damping;
    for (int64_t i = 0; i < stages; i++) {
        int64_t end = list->stage_end[i];
        d->device->run(d->queue, &d->program, list->step + first, end - first);
        cs_device_exchange(d, backwards ? stages - 1 - i : i);
        first = end;
    }
    d->device->sweep(d->queue, &d->program, list->step + first, list->count - first, 0);
}

/* stats <- those of all ranks, in their order. */
static void join_stats(cs_ranks *ranks, cs_sweep_stats *stats)
{
    enum { RESIDUAL, MERIT, NUMBERS };
    const double own[NUMBERS] = {stats->residual, stats->merit};
    const double *all = cs_ranks_gather(ranks, own, NUMBERS);
    if (!all) return;
    stats->merit = 0;
    for (int r = 0; r < cs_ranks_count(ranks); r++, all += CS_RANKS_NUMBERS) {
        stats->residual = fmax(stats->residual, all[RESIDUAL]);
        stats->merit += all[MERIT];
    }
    if (isnan(stats->merit)) stats->residual = NAN; /* the maximum ignores NaN */
}

cs_status cs_device_sweep_on_ranks(cs_on_device *d, cs_sweep_call *call, cs_error *error)
{
    size_t bytes = (size_t)d->packed.impulses * cs_real_size(d->packed.dtype);
    call->alarm = 0;
    call->products = 0;
    for (call->made = 0; call->made < call->most && !call->alarm;) {
        /* If lambda is the best iterate, a copy of it is kept. */
        if (call->best && call->best->best_is_current) {
            d->device->copy(d->queue, d->program.best, d->program.packed.lambda, bytes);
            call->best->best_backwards = call->backwards;
        }

        /* Sweep. */
        cs_device_state state;
        run_stages(d, call->backwards);
        d->device->download(d->queue, &state, d->program.state, sizeof state);
        cs_status status = d->device->wait(d->queue, error);
        if (status) return status;
        call->backwards = call->alternates && !call->backwards;

        /* All ranks decide by the same numbers. */
        call->stats = state.stats;
        join_stats(d->packed.ranks, &call->stats);
        status = cs_ranks_status(d->packed.ranks, error);
        if (status) return status;
        cs_sweep_count(call);
    }
    return CS_OK;
}
