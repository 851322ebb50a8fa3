/* Operations on points (backend/backend.h), and the end of a sweep. Sums have the bits of the processor's: chunks of
 * CS_DEVICE_CHUNK numbers, each in eight partial sums. */
#include "cuda/device.h"
#include "cuda/ends.h"

enum { SUM_LANES = 8 };

/* to <- a p + b q */
template <class number>
CS_KERNEL void combine(int64_t count, number *to, number a, const number *p, number b,
                       const number *q)
{
    int64_t i = cs_thread();
    if (i < count) to[i] = a * p[i] + b * q[i];
}

/* x <- x + beta (x - before),  before <- the old x */
template <class number>
CS_KERNEL void extrapolate(int64_t count, number *x, number beta, number *before)
{
    int64_t i = cs_thread();
    if (i >= count) return;
    number here = x[i];
    x[i] = here + beta * (here - before[i]);
    before[i] = here;
}

/* p <- beta p + (x - start),  x <- x + beta (the old p),  start <- the new x */
template <class number>
CS_KERNEL void conjugate(int64_t count, number *x, number beta, number *p, number *start)
{
    int64_t i = cs_thread();
    if (i >= count) return;
    number step = x[i] - start[i], direction = beta * p[i];
    start[i] = x[i] += direction;
    p[i] = direction + step;
}

/* sums[chunk] <- p.q of a chunk, or |p - q|^2. A warp sums a chunk: its first lanes have the partial sums. */
template <class number>
CS_KERNEL void sum_products(int64_t count, const number *p, const number *q, int distance,
                            double *sums)
{
    int64_t first = cs_warp() * CS_DEVICE_CHUNK, end = first + CS_DEVICE_CHUNK;
    if (end > count) end = count;
    double sum = 0;
    if (cs_lane() < SUM_LANES)
        for (int64_t i = first + cs_lane(); i < end; i += SUM_LANES) {
            double a = (double)p[i], b = (double)q[i];
            sum += distance ? (a - b) * (a - b) : a * b;
        }
    double total = 0;
    for (int l = 0; l < SUM_LANES; l++) total += __shfl_sync(CS_ALL_LANES, sum, l);
    if (cs_lane() == 0 && first < count) sums[cs_warp()] = total;
}

template <class number> static void run_pass(cs_queue *queue, const cs_device_pass *pass)
{
    enum { THREADS = 256 };
    int64_t blocks = cs_blocks_of(pass->count, THREADS), count = pass->count;
    number *to = (number *)pass->to, *p = (number *)pass->p, *q = (number *)pass->q;
    number a = (number)pass->a, b = (number)pass->b;
    double *sums = pass->sums;
    int distance = pass->what == CS_POINT_DISTANCE;
    int64_t chunks = cs_blocks_of(count, CS_DEVICE_CHUNK);
    switch (pass->what) {
    case CS_POINT_COMBINE:
        CS_LAUNCH(queue, blocks, THREADS, combine<number>, count, to, a, p, b, q);
        break;
    case CS_POINT_EXTRAPOLATE:
        CS_LAUNCH(queue, blocks, THREADS, extrapolate<number>, count, to, a, p);
        break;
    case CS_POINT_CONJUGATE:
        CS_LAUNCH(queue, blocks, THREADS, conjugate<number>, count, to, a, p, q);
        break;
    case CS_POINT_DOT:
    case CS_POINT_DISTANCE:
        CS_LAUNCH(queue, chunks, CS_WARP, sum_products<number>, count, p, q, distance, sums);
    }
}

void cs_device_run_pass(cs_queue *queue, const cs_device_pass *pass)
{
    if (pass->single) run_pass<float>(queue, pass);
    else run_pass<double>(queue, pass);
}

/* ---- numbers in the user's order ---------------------------------------------------------------- */

/* A thread has a number of a slot: batches hold the same number of all their lanes side by side (scheme/packed.h). */
template <class number> CS_KERNEL void unpack(cs_device_rows r)
{
    int64_t i = cs_thread();
    if (i >= r.slots * r.rows) return;
    int64_t batch = i / ((int64_t)r.lanes * r.rows);
    int64_t slot = batch * r.lanes + i % r.lanes, row = i / r.lanes % r.rows;
    int64_t block = r.block ? r.block[slot] : slot;
    if (block >= 0) r.plain[block * r.rows + row] = (double)((const number *)r.packed)[i];
}

/* The other direction. Numbers of slots without a contact remain. */
template <class number> CS_KERNEL void pack(cs_device_rows r)
{
    int64_t i = cs_thread();
    if (i >= r.slots * r.rows) return;
    int64_t batch = i / ((int64_t)r.lanes * r.rows);
    int64_t slot = batch * r.lanes + i % r.lanes, row = i / r.lanes % r.rows;
    int64_t block = r.block ? r.block[slot] : slot;
    if (block >= 0) ((number *)r.packed)[i] = (number)r.plain[block * r.rows + row];
}

void cs_device_unpack(cs_queue *queue, const cs_device_rows *rows)
{
    enum { THREADS = 256 };
    int64_t blocks = cs_blocks_of(rows->slots * rows->rows, THREADS);
    cs_device_rows r = *rows;
    if (!blocks) return;
    if (r.single) CS_LAUNCH(queue, blocks, THREADS, unpack<float>, r);
    else CS_LAUNCH(queue, blocks, THREADS, unpack<double>, r);
}

void cs_device_pack(cs_queue *queue, const cs_device_rows *rows)
{
    enum { THREADS = 256 };
    int64_t blocks = cs_blocks_of(rows->slots * rows->rows, THREADS);
    cs_device_rows r = *rows;
    if (!blocks) return;
    if (r.single) CS_LAUNCH(queue, blocks, THREADS, pack<float>, r);
    else CS_LAUNCH(queue, blocks, THREADS, pack<double>, r);
}

/* ---- the end of a sweep -------------------------------------------------------------------------- */

/* What the threads of one block have collected decides whether the next sweep runs. Every thread calls it. */
CS_GPU void finish_sweep(double residual, double merit, double unfinished,
                         const cs_impulse_change *change, cs_device_state *state)
{
    cs_sweep_stats stats;
    cs_put_block_stats(residual, merit, unfinished, &stats);
    if (threadIdx.x == 0) cs_judge_sweep(stats, change, state);
}

CS_KERNEL void end_sweep(int64_t blocks, const cs_sweep_stats *part,
                         const cs_impulse_change *change, cs_device_state *state)
{
    if (state->ended) return;
    double residual = 0, merit = 0, unfinished = 0;
    for (int64_t b = threadIdx.x; b < blocks; b += CS_DEVICE_THREADS) {
        if (part[b].residual > residual) residual = part[b].residual;
        merit += part[b].merit;
        unfinished += (double)part[b].unfinished;
    }
    finish_sweep(residual, merit, unfinished, change, state);
}

void cs_device_end_sweep(cs_queue *queue, const cs_device_program *program)
{
    const cs_impulse_change *change = program->changes.asked ? program->changes.change : NULL;
    CS_LAUNCH(queue, 1, CS_DEVICE_THREADS, end_sweep, program->blocks, program->packed.part, change,
              program->state);
}

/* ---- the end of sweeps over whole rows of T ------------------------------------------------------ */

/* sum[s] <- the statistics of a recorded sweep s, a block of threads each: a thread adds up every CS_DEVICE_THREADS-th place,
 * whoever has written them. */
CS_KERNEL void sum_dense(CS_PARAMETER cs_device_flow flow, const cs_device_state *state)
{
    if (state->ended) return;
    const cs_sweep_stats *part = cs_flow_stats(&flow, blockIdx.x, 0);
    double residual = 0, merit = 0;
    for (int64_t i = threadIdx.x; i < flow.places; i += CS_DEVICE_THREADS) {
        if (part[i].residual > residual) residual = part[i].residual;
        merit += part[i].merit;
    }
    cs_put_block_stats(residual, merit, 0, flow.sum + blockIdx.x);
}

/* The end of each of these sweeps, up to that with which the call ends, as cs_judge_sweep has it: by one thread of a warp, whose
 * lanes first divide all residuals by nu. The state is in registers meanwhile. `change` (recorded): or NULL. */
CS_KERNEL void judge_dense(CS_PARAMETER cs_device_flow flow, const cs_impulse_change *change,
                           cs_device_state *state)
{
    CS_SHARED(cs_sweep_stats, sum, CS_DENSE_SWEEPS);
    CS_SHARED(double, scaled, CS_DENSE_SWEEPS);
    for (int64_t s = threadIdx.x; s < flow.recorded; s += CS_WARP) {
        sum[s] = flow.sum[s];
        scaled[s] = state->keeps_best ? sum[s].residual / state->best.scale : 0;
    }
    __syncwarp();
    if (threadIdx.x != 0) return;

    cs_device_state own = *state;
    own.ran = !own.ended;
    if (own.ran) cs_begin_report(&flow, &own);
    cs_best_sweep best = own.best;
    best.scale = 1;
    for (int64_t s = 0; s < flow.recorded && !own.ended; s++) {
        cs_sweep_stats stats = {scaled[s], sum[s].merit, 0};
        own.reached++;
        own.made++;
        own.stats = sum[s];
        if (own.keeps_best) {
            if (best.best_is_current) {
                own.kept = s;
                best.best_backwards = own.backwards;
            }
            best.number++;
            own.alarm = cs_best_is_exceeded(&best, &stats);
            if (!own.alarm) cs_best_update(&best, &stats);
        }
        if (isnan(own.stats.merit)) own.stats.residual = own.stats.merit; /* maxima ignore NaN */
        if (change) own.change = change[s];
        own.ended = own.alarm || (change ? cs_rule_ends(&own.rule, &own.stats, &own.change)
                                         : cs_rule_ends(&own.rule, &own.stats, NULL));
        own.backwards = own.alternates && !own.backwards;
    }
    best.scale = own.best.scale;
    own.best = best;
    *state = own;
}

void cs_device_end_dense(cs_queue *queue, const cs_device_program *program,
                         const cs_device_flow *flow)
{
    cs_device_flow own = *flow; /* a graph outlives it */
    const cs_impulse_change *change = program->changes.asked ? program->changes.change : NULL;
    CS_LAUNCH(queue, flow->recorded, CS_DEVICE_THREADS, sum_dense, own, program->state);
    if (change)
        cs_device_measure_changes(queue, program, program->packed.lambda, flow->iterates,
                                  program->packed.dense_stride, flow->sweeps);
    CS_LAUNCH(queue, 1, CS_WARP, judge_dense, own, change, program->state);
}

/* ---- numbers of the caller ------------------------------------------------------------------------- */

/* A thread has a number. */
CS_KERNEL void look_for_infinite(int64_t count, const double *numbers, int *found)
{
    int64_t i = cs_thread();
    int infinite = i < count && !isfinite(numbers[i]);
    if (__any_sync(CS_ALL_LANES, infinite) && cs_lane() == 0) atomicAdd(found, 1);
}

void cs_device_look_for_infinite(cs_queue *queue, int64_t count, const double *numbers, int *found)
{
    enum { THREADS = 256 };
    int64_t blocks = cs_blocks_of(count, THREADS);
    if (blocks) CS_LAUNCH(queue, blocks, THREADS, look_for_infinite, count, numbers, found);
}
