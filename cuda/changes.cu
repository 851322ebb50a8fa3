/* The change of the impulses in each sweep of a launch (S2 eqs. 4.49 and 4.50), with the bits of the processor
 * (csrc/measure/impulse_change.h). The rows of a group are read in the user's order from where the visits have them. */
#include "cuda/device.h"

/* The sums of all lanes, in halves: those of the first lane are the processor's. Every lane calls it. */
CS_GPU cs_change_sums sum_lanes(cs_change_sums own)
{
    for (int half = CS_CHANGE_LANES / 2; half; half /= 2) {
        cs_change_sums other;
        other.element = __shfl_xor_sync(CS_ALL_LANES, own.element, half);
        other.change = __shfl_xor_sync(CS_ALL_LANES, own.change, half);
        other.size = __shfl_xor_sync(CS_ALL_LANES, own.size, half);
        cs_change_add(&own, &other);
    }
    return own;
}

/* The impulses before the first sweep of a launch, and after each of its sweeps: `stride` from one iterate to the next one. */
struct changed_iterates {
    const void *before, *after;
    int64_t stride, sweeps;
};

/* part[sweep, piece] <- the sums over a piece of a group's rows: a warp each. */
template <class number>
CS_KERNEL void sum_changes(CS_PARAMETER cs_device_changes changes,
                           CS_PARAMETER cs_device_changed_rows group,
                           CS_PARAMETER changed_iterates iterates, int64_t pieces,
                           const cs_device_state *state)
{
    if (cs_warp() >= pieces * iterates.sweeps) return;
    int64_t sweep = cs_warp() / pieces, piece = cs_warp() % pieces;
    const number *updated = (const number *)iterates.after + sweep * iterates.stride + group.first;
    const number *old =
        sweep ? updated - iterates.stride : (const number *)iterates.before + group.first;
    double rtol = state->rule.rtol, atol = state->rule.atol;

    /* The block and the row in it of the lane's first row, and how far the next one is. */
    int64_t begin = piece * CS_CHANGE_ROWS + cs_lane(), end = (piece + 1) * CS_CHANGE_ROWS;
    int64_t block = begin / group.rows;
    int row = (int)(begin % group.rows);
    const int blocks = CS_WARP / group.rows, rows = CS_WARP % group.rows;
    if (end > group.count) end = group.count;
    cs_change_sums own = {0, 0, 0};
    for (int64_t i = begin; i < end; i += CS_WARP) {
        int64_t slot = group.slot ? group.slot[block] : block, lane = slot & (group.lanes - 1);
        int64_t at = (slot - lane) * group.rows + row * group.lanes + lane;
        cs_change_sums one = cs_change_of_row((double)old[at], (double)updated[at], rtol, atol);
        cs_change_add(&own, &one);
        block += blocks;
        row += rows;
        if (row >= group.rows) row -= group.rows, block++;
    }
    own = sum_lanes(own);
    if (cs_lane() == 0) changes.part[sweep * changes.pieces + group.first_piece + piece] = own;
}

/* change[sweep] <- both ratios: a warp each. */
CS_KERNEL void join_changes(CS_PARAMETER cs_device_changes changes, int64_t sweeps,
                            const cs_device_state *state)
{
    if (cs_warp() >= sweeps) return;
    const cs_change_sums *part = changes.part + cs_warp() * changes.pieces;
    cs_change_sums own = {0, 0, 0};
    for (int64_t p = cs_lane(); p < changes.pieces; p += CS_WARP) cs_change_add(&own, part + p);
    own = sum_lanes(own);
    if (cs_lane() == 0)
        changes.change[cs_warp()] = cs_change_of_all(&own, state->rule.rtol, state->rule.atol);
}

/* After a launch that knows no changes: state->change <- that of its last sweep, or of the first one with which the rule ends
 * the call, state->met. One thread. */
CS_KERNEL void end_changes(const cs_impulse_change *change, cs_device_state *state)
{
    if (threadIdx.x != 0) return;
    const cs_sweep_stats none = {NAN, NAN, 0};
    int64_t last = state->reached;
    for (int64_t s = 0; s < last; s++) {
        int may_end = s + 1 < last || !state->alarm;
        state->change = change[s];
        if (!may_end || !cs_rule_ends(&state->rule, &none, &change[s])) continue;
        state->met = s + 1;
        return;
    }
}

/* to <- from */
template <class number> CS_KERNEL void copy_impulses(int64_t count, number *to, const number *from)
{
    if (cs_thread() < count) to[cs_thread()] = from[cs_thread()];
}

static bool is_single(const cs_device_program *program)
{
    return cs_real(program->packed.dtype) == CS_F32;
}

void cs_device_keep_before(cs_queue *queue, const cs_device_program *program)
{
    int64_t count = program->packed.impulses, blocks = cs_blocks_of(count, CS_DEVICE_THREADS);
    void *to = program->changes.before;
    const void *from = program->packed.lambda;
    if (is_single(program))
        CS_LAUNCH(queue, blocks, CS_DEVICE_THREADS, copy_impulses<float>, count, (float *)to,
                  (const float *)from);
    else
        CS_LAUNCH(queue, blocks, CS_DEVICE_THREADS, copy_impulses<double>, count, (double *)to,
                  (const double *)from);
}

void cs_device_measure_changes(cs_queue *queue, const cs_device_program *program,
                               const void *before, const void *after, int64_t stride,
                               int64_t sweeps)
{
    const cs_device_changes *changes = &program->changes;
    changed_iterates iterates = {before, after, stride, sweeps};
    for (int g = 0; g < changes->groups; g++) {
        cs_device_changed_rows group = changes->group[g];
        int64_t pieces = cs_blocks_of(group.count, CS_CHANGE_ROWS);
        int64_t blocks = cs_blocks_of(pieces * sweeps, CS_DEVICE_BATCHES);
        if (!blocks) continue;
        if (is_single(program))
            CS_LAUNCH(queue, blocks, CS_DEVICE_THREADS, sum_changes<float>, *changes, group,
                      iterates, pieces, program->state);
        else
            CS_LAUNCH(queue, blocks, CS_DEVICE_THREADS, sum_changes<double>, *changes, group,
                      iterates, pieces, program->state);
    }
    CS_LAUNCH(queue, cs_blocks_of(sweeps, CS_DEVICE_BATCHES), CS_DEVICE_THREADS, join_changes,
              *changes, sweeps, program->state);
}

void cs_device_end_changes(cs_queue *queue, const cs_device_program *program)
{
    CS_LAUNCH(queue, 1, CS_WARP, end_changes, program->changes.change, program->state);
}
