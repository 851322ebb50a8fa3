/* The end of sweeps: sums of their statistics, and what these decide (backend/cpu.c does the same after each sweep). A
 * launch of several sweeps ends in one kernel: all blocks sum, meet, and come to the same decision. */
#ifndef CS_CUDA_ENDS_H
#define CS_CUDA_ENDS_H

#include "cuda/kernels.h"

/* The numbers of a sweep decide whether the next one runs; `change`: NULL where it is not measured, or not yet. One thread. */
CS_GPU void cs_judge_sweep(cs_sweep_stats stats, const cs_impulse_change *change,
                           cs_device_state *state)
{
    if (isnan(stats.merit)) stats.residual = stats.merit; /* maxima ignore NaN */
    state->stats = stats;
    state->made++;
    if (state->keeps_best) {
        if (state->best.best_is_current) state->best.best_backwards = state->backwards;
        state->best.number++;
        state->alarm = cs_best_is_exceeded(&state->best, &stats);
        if (!state->alarm) cs_best_update(&state->best, &stats);
    }
    if (change) state->change = *change;
    state->ended = state->alarm || cs_rule_ends(&state->rule, &stats, change);
    state->backwards = state->alternates && !state->backwards;
}

/* Copies of what a launch of several sweeps begins with, before a thread writes the state. Every thread of a block calls it,
 * and the block meets before `own` is read. */
CS_GPU void cs_read_state(const cs_device_state *state, cs_device_state *own)
{
    if (threadIdx.x == 0) *own = *state;
}

/* Sums of the sweeps that are recorded: flow.sum[4 s + w] <- those of warp w of the block of CS_DEVICE_THREADS threads that
 * end_sweep (cuda/points.cu) has for a sweep, which sums over the batches of what would be a block of visits, then over
 * these blocks. The warps of the launch share them. */
CS_GPU void cs_sum_flow(const cs_device_flow *flow)
{
    int64_t warps = (int64_t)gridDim.x * blockDim.x / CS_WARP;
    int64_t hidden = flow->sweeps - flow->recorded;
    for (int64_t part = cs_warp(); part < flow->recorded * CS_DEVICE_BATCHES; part += warps) {
        int64_t s = part / CS_DEVICE_BATCHES, first = part % CS_DEVICE_BATCHES * CS_WARP;
        const cs_sweep_stats *stats =
            cs_flow_stats(flow, s, cs_flow_goes_backwards(flow, hidden + s));
        double residual = 0, merit = 0, unfinished = 0;
        CS_UNROLL_BY(2)
        for (int64_t b = first + cs_lane(); b < flow->places / CS_DEVICE_BATCHES;
             b += CS_DEVICE_THREADS) {
            const cs_sweep_stats *batch = stats + b * CS_DEVICE_BATCHES;
            double sum = batch[0].merit;
            for (int w = 1; w < CS_DEVICE_BATCHES; w++) sum += batch[w].merit;
            for (int w = 0; w < CS_DEVICE_BATCHES; w++) {
                if (batch[w].residual > residual) residual = batch[w].residual;
                unfinished += (double)batch[w].unfinished;
            }
            merit += sum;
        }
        residual = cs_warp_maximum(residual);
        merit = cs_warp_sum(merit);
        unfinished = cs_warp_sum(unfinished);
        if (cs_lane() == 0) flow->sum[part] = {residual, merit, (int64_t)unfinished};
    }
}

/* The sums of a sweep, in the order of cs_put_block_stats. */
CS_GPU cs_sweep_stats cs_sum_of_parts(const cs_sweep_stats *part)
{
    cs_sweep_stats sum = part[0];
    for (int w = 1; w < CS_DEVICE_BATCHES; w++) {
        if (part[w].residual > sum.residual) sum.residual = part[w].residual;
        sum.merit += part[w].merit;
        sum.unfinished += part[w].unfinished;
    }
    return sum;
}

/* What the end of a launch is reported in begins with the sweeps that are not recorded. One thread. */
CS_GPU void cs_begin_report(const cs_device_flow *flow, cs_device_state *state)
{
    int64_t hidden = flow->sweeps - flow->recorded;
    state->reached = hidden;
    state->kept = -1;
    state->began_backwards = state->backwards;
    state->made += hidden;
    state->backwards = cs_flow_goes_backwards(flow, hidden);
}

/* The end of each of the sweeps that are recorded, up to that with which the call ends. Every thread of a block calls it after
 * the blocks have met behind cs_sum_flow; `own` is the block's copy of the state. */
CS_GPU void cs_judge_flow(const cs_device_flow *flow, cs_device_state *own)
{
    CS_SHARED(cs_sweep_stats, sum, CS_FLOW_SWEEPS);
    for (int64_t s = threadIdx.x; s < flow->recorded; s += blockDim.x)
        sum[s] = cs_sum_of_parts(flow->sum + s * CS_DEVICE_BATCHES);
    __syncthreads();
    if (threadIdx.x == 0) {
        cs_begin_report(flow, own);
        for (int64_t s = 0; s < flow->recorded && !own->ended; s++) {
            if (cs_keeps(own)) own->kept = s;
            own->reached++;
            cs_judge_sweep(sum[s], NULL, own);
        }
    }
    __syncthreads();
}

/* The end of a launch of several sweeps, all blocks of which are resident: `state` <- what its sweeps decide. Every thread
 * calls it; `own` is the block's copy of the state from before, and then of the new one. */
CS_GPU_CALLED void cs_end_flow(const cs_device_flow *flow, cs_device_state *state,
                               cs_device_state *own)
{
    cs_sum_flow(flow);
    cs_meet_blocks(flow->meet);
    cs_judge_flow(flow, own);
    if (cs_thread() == 0) *state = *own;
}

#endif
