/* Runs kernels on the processor, so that they are tested where there is no GPU. Each thread of a kernel is a fiber: it
 * runs until it waits at a barrier or for its warp, and then another one runs, in an order that tests choose. One
 * thread of the process runs all fibers of a launch.
 *
 * Kept: barriers of blocks, exchanges within warps, shared memory of blocks, atomics, launches of resident blocks.
 * Found, and reported as the failure of the launch:
 *     a barrier that some threads reach at another line, or never (they left)
 *     an exchange within a warp that some lanes do not join
 *     waiting without end: no fiber can run, or all pause for too long
 *     __trap()
 * Shared memory is filled with NaN, and is an allocation of its own, so that AddressSanitizer sees overruns.
 * Built with ThreadSanitizer, each thread of a kernel is one for it as well (cuda/emulation/sanitizers.h): it reports two
 * threads of a launch that use the same memory, one of them writing, without a barrier or __syncwarp between. */
#ifndef CS_EMULATION_H
#define CS_EMULATION_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#define __device__
#define __host__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)

struct uint3 {
    unsigned x, y, z;
};

struct float4 {
    float x, y, z, w;
} __attribute__((aligned(16)));

struct double2 {
    double x, y;
} __attribute__((aligned(16)));

inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline double2 make_double2(double x, double y) { return {x, y}; }

namespace emulation
{
/* The order in which the threads that can run do so. */
enum class order { forward, reverse, random };

/* Captured launches. */
struct machine;
typedef std::vector<std::function<void(machine &)>> launches;

/* What launches need, and the first failure: one for each queue. */
struct machine {
    order turn = order::forward;
    uint64_t seed = 1;
    unsigned resident = 3;       /* the most blocks of launches of resident blocks */
    int64_t shared = 227 * 1024; /* bytes that a block may share: those of an H100 */
    unsigned threads = 1024;     /* the most threads of a block for which a kernel has registers */
    uint64_t lost_write =
        0; /* which of the versioned pieces written from now on is lost, for tests; 0: none */
    uint64_t lost_launch = 0;  /* with which of the next launches the device is lost; 0: none */
    uint64_t lost_capture = 0; /* which of the next captures another thread ends; 0: none */
    size_t memory = SIZE_MAX;  /* bytes of the device */
    std::string failure;       /* empty: none */
    std::optional<launches> capture; /* launches are added to it instead of running */
};

/* What new queues begin with, for all of the process. */
machine &settings();

/* The indices of the running fiber. */
struct indices {
    uint3 thread, block, block_size, grid_size;
};
extern thread_local indices now;

/* Runs the kernel in `blocks` blocks of `threads` threads. `together`: all blocks at once. Does nothing after a
 * failure. */
void launch(machine &on, unsigned blocks, unsigned threads, bool together,
            const std::function<void()> &kernel);

/* How many kernels have run since the process began, those of replayed graphs as well. */
uint64_t kernels_run();

/* Called by kernels. `line`: where in the source, so that threads that meet at different places are found. */
void barrier(int line);
void *shared(const void *key, size_t bytes);
void pause();
bool loses_write();
/* What all threads that left a mark have done before happens before what a thread does that takes it. */
void leave_mark(void *mark);
void take_mark(void *mark);
/* Copies of 16 bytes that the running fiber has begun and not yet waited for: they are made when it does. */
struct copy {
    void *to;
    const void *from;
};
std::vector<copy> &copies();
[[noreturn]] void fail(const std::string &why);
/* Leaves `value`, waits for all 32 lanes, or for the 16 of its half of the warp, and returns what they left. `orders`: what
 * lanes have done to memory before happens before what they do after, which shuffles and votes do not promise. */
const uint64_t *exchange(uint64_t value, int line, unsigned lanes = 32, bool orders = false);

template <class value> value shuffle(value own, int from, int line)
{
    static_assert(sizeof(value) <= 8, "a shuffle of at most 8 bytes");
    uint64_t bits = 0;
    std::memcpy(&bits, &own, sizeof own);
    const uint64_t *all = exchange(bits, line);
    std::memcpy(&own, all + from % 32, sizeof own);
    return own;
}

inline unsigned vote(int holds, int line)
{
    const uint64_t *all = exchange(holds != 0, line);
    unsigned votes = 0;
    for (int l = 0; l < 32; l++) votes |= static_cast<unsigned>(all[l]) << l;
    return votes;
}

/* Fibers run one at a time: what they do to memory needs no locks. Atomics order nothing else. */
template <class value> value add(value *to, value more)
{
    value old, sum;
    __atomic_load(to, &old, __ATOMIC_RELAXED);
    sum = old + more;
    __atomic_store(to, &sum, __ATOMIC_RELAXED);
    return old;
}
} // namespace emulation

#define threadIdx (emulation::now.thread)
#define blockIdx (emulation::now.block)
#define blockDim (emulation::now.block_size)
#define gridDim (emulation::now.grid_size)

#define __syncthreads() emulation::barrier(__LINE__)
#define __syncwarp() ((void)emulation::exchange(0, __LINE__, 32, true))
#define CS_MEET(lanes) ((void)emulation::exchange(0, __LINE__, lanes, true))
#define __shfl_xor_sync(mask, value, lanes) \
    emulation::shuffle(value, static_cast<int>(threadIdx.x % 32) ^ (lanes), __LINE__)
#define __shfl_sync(mask, value, from) emulation::shuffle(value, from, __LINE__)
#define __any_sync(mask, holds) (emulation::vote(holds, __LINE__) != 0)
#define __threadfence() ((void)0)
#define __trap() emulation::fail("the kernel trapped")
#define atomicAdd(to, more) emulation::add(to, more)

#endif
