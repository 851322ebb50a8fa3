/* Kernels with one mistake each, for the emulation to find: planted NAME ORDER. */
#include "cuda/queue.h"

#include <cmath>
#include <cstdio>
#include <cstring>

enum { THREADS = 64 };

/* total <- the sum over a block, by halving. */
CS_KERNEL void sum_block(const double *from, double *total)
{
    CS_SHARED(double, part, THREADS);
    int t = (int)threadIdx.x;
    part[t] = from[t];
    for (int half = THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (t < half) part[t] += part[t + half];
    }
    if (t == 0) *total = part[0];
}

CS_KERNEL void missing_barrier(const double *from, double *total)
{
    CS_SHARED(double, part, THREADS);
    int t = (int)threadIdx.x;
    part[t] = from[t];
    if (t == 0) {
        *total = 0;
        for (int i = 0; i < THREADS; i++) *total += part[i];
    }
}

/* A lane reads what another lane of its warp has written, without __syncwarp. */
CS_KERNEL void missing_syncwarp(const double *from, double *total)
{
    CS_SHARED(double, part, THREADS);
    int t = (int)threadIdx.x;
    part[t] = from[t];
    double other = __shfl_xor_sync(CS_ALL_LANES, part[t], 1) + part[t ^ 1];
    if (t == 0) *total = other;
}

/* The same with it. */
CS_KERNEL void with_syncwarp(const double *from, double *total)
{
    CS_SHARED(double, part, THREADS);
    int t = (int)threadIdx.x;
    part[t] = from[t];
    __syncwarp();
    double other = __shfl_xor_sync(CS_ALL_LANES, part[t], 1) + part[t ^ 1];
    if (t == 0) *total = other;
}

/* The first thread of each block writes the same number. */
CS_KERNEL void racing_blocks(const double *from, double *total)
{
    if (threadIdx.x == 0) *total = from[0];
}

CS_KERNEL void divergent_barrier(const double *from, double *total)
{
    if (threadIdx.x < THREADS / 2) __syncthreads();
    else __syncthreads();
    *total = from[0];
}

CS_KERNEL void left_barrier(const double *from, double *total)
{
    if (threadIdx.x == 3) return;
    __syncthreads();
    *total = from[0];
}

CS_KERNEL void overrun(const double *from, double *total)
{
    CS_SHARED(double, part, THREADS);
    part[threadIdx.x + 1] = from[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) *total = part[1];
}

CS_KERNEL void unwritten(const double *from, double *total)
{
    CS_SHARED(double, part, THREADS);
    if (threadIdx.x != 5) part[threadIdx.x] = from[threadIdx.x];
    __syncthreads();
    if (threadIdx.x != 0) return;
    *total = 0;
    for (int i = 0; i < THREADS; i++) *total += part[i];
}

/* One lane takes no part in an exchange of its warp. */
CS_KERNEL void missing_lane(const double *from, double *total)
{
    double sum = from[threadIdx.x];
    if (threadIdx.x != 7) sum += __shfl_xor_sync(CS_ALL_LANES, sum, 1);
    if (threadIdx.x == 0) *total = sum;
}

/* The halves of a warp meet by themselves, and not equally often. */
CS_KERNEL void halves(const double *from, double *total)
{
    CS_SHARED(double, part, THREADS);
    int t = (int)threadIdx.x;
    part[t] = from[t];
    for (int i = 0; i <= t / 16; i++) CS_MEET(16);
    double sum = part[t / 16 * 16];
    for (int l = 1; l < 16; l++) sum += part[t / 16 * 16 + l];
    CS_MEET(16);
    part[t] = sum;
    __syncthreads();
    if (t == 0) *total = part[0] + part[16] + part[32] + part[48];
}

CS_KERNEL void missing_in_half(const double *from, double *total)
{
    if (threadIdx.x != 7) CS_MEET(16);
    if (threadIdx.x == 0) *total = from[0];
}

/* Waits for a number that nobody writes. */
CS_KERNEL void endless_wait(const double *from, double *total)
{
    while (from[0] < 0) CS_SPIN();
    *total = from[0];
}

/* Threads add in turn, each after the version that the one before it writes, or, with `early`, after an earlier one. */
template <int early> CS_GPU void add_in_turn(const double *from, double *total)
{
    CS_SHARED(cs_versioned_piece, piece, 1);
    uint32_t t = threadIdx.x, awaited = t >= early ? t - early : 0;
    if (t == 0) cs_write_versioned(piece, {{0, 0, 0}, 0});
    __syncthreads();
    cs_versioned_piece here;
    while ((here = cs_read_versioned(piece)).version != awaited) CS_SPIN();
    cs_write_versioned(piece, {{here.word[0] + (uint32_t)from[t], 0, 0}, t + 1});
    if (t == THREADS - 1) *total = here.word[0] + from[t];
}

CS_KERNEL void right_version(const double *from, double *total) { add_in_turn<0>(from, total); }

CS_KERNEL void wrong_version(const double *from, double *total) { add_in_turn<1>(from, total); }

CS_KERNEL void trap(const double *from, double *total)
{
    *total = from[0];
    if (threadIdx.x == 9) __trap();
}

int main(int count, char **argument)
{
    const struct {
        const char *name;
        void (*kernel)(const double *, double *);
    } known[] = {
        {"sum_block", sum_block},
        {"missing_barrier", missing_barrier},
        {"missing_syncwarp", missing_syncwarp},
        {"with_syncwarp", with_syncwarp},
        {"racing_blocks", racing_blocks},
        {"divergent_barrier", divergent_barrier},
        {"left_barrier", left_barrier},
        {"overrun", overrun},
        {"unwritten", unwritten},
        {"missing_lane", missing_lane},
        {"halves", halves},
        {"missing_in_half", missing_in_half},
        {"endless_wait", endless_wait},
        {"right_version", right_version},
        {"wrong_version", wrong_version},
        {"trap", trap},
    };
    if (count != 3) return 2;
    cs_queue queue;
    for (auto turn :
         {emulation::order::forward, emulation::order::reverse, emulation::order::random})
        if (std::strcmp(argument[2], turn == emulation::order::forward   ? "forward"
                                     : turn == emulation::order::reverse ? "reverse"
                                                                         : "random") == 0)
            queue.machine.turn = turn;

    double from[THREADS], total = -1;
    for (int i = 0; i < THREADS; i++) from[i] = 1;
    if (std::strcmp(argument[1], "endless_wait") == 0) from[0] = -1;
    const double *values = from;
    double *result = &total;
    cs_queue *here = &queue;
    for (const auto &each : known) {
        auto kernel = each.kernel;
        if (std::strcmp(argument[1], each.name) == 0)
            CS_LAUNCH(here, kernel == racing_blocks ? 2 : 1, THREADS, kernel, values, result);
    }
    if (!queue.machine.failure.empty()) std::printf("failed: %s\n", queue.machine.failure.c_str());
    else std::printf("total %g\n", total);
    return 0;
}
