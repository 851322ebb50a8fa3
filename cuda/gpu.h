/* What kernels are written in: CUDA, or its emulation on the processor (cuda/emulation/emulation.h), which runs the same
 * files without a GPU. Include this header before any other. */
#ifndef CS_GPU_H
#define CS_GPU_H

#if defined(__CUDACC__)
#include <cuda_runtime.h>

#define CS_KERNEL static __global__
#define CS_GPU static __device__ __forceinline__
/* One that is called: what is seldom done must not take registers of what is done often. */
#define CS_GPU_CALLED static __device__ __noinline__
#define CS_BOTH static __host__ __device__ __forceinline__
/* kernel<<<blocks, threads>>> in the stream of a queue; the arguments follow. Threads are whole warps; no blocks: nothing. */
#define CS_LAUNCH(queue, blocks, threads, kernel, ...) \
    cs_launch(queue, CS_BLOCKS_APART, blocks, threads, 0, kernel, ##__VA_ARGS__)
/* The same with all blocks resident at once, so that they may wait for each other. `blocks` <= cs_resident_blocks. */
#define CS_LAUNCH_TOGETHER(queue, blocks, threads, kernel, ...) \
    cs_launch(queue, CS_BLOCKS_TOGETHER, blocks, threads, 0, kernel, ##__VA_ARGS__)
#define CS_SHARED(type, name, count) __shared__ type name[count]
/* Memory of a block whose size the launch says, which is at most cs_most_shared. */
#define CS_SHARED_BYTES(name, bytes)                         \
    extern __shared__ __align__(16) unsigned char cs_room[]; \
    unsigned char *name = cs_room
#define CS_LAUNCH_SHARED(queue, blocks, threads, bytes, kernel, ...) \
    cs_launch(queue, CS_BLOCKS_APART, blocks, threads, bytes, kernel, ##__VA_ARGS__)
#define CS_LAUNCH_TOGETHER_SHARED(queue, blocks, threads, bytes, kernel, ...) \
    cs_launch(queue, CS_BLOCKS_TOGETHER, blocks, threads, bytes, kernel, ##__VA_ARGS__)
/* The same; with `early` its blocks may start before the kernel before it ends (cs_wait_for_kernel_before). */
#define CS_LAUNCH_EARLY(queue, early, blocks, threads, bytes, kernel, ...)                        \
    cs_launch(queue, (early) ? CS_BLOCKS_EARLY : CS_BLOCKS_APART, blocks, threads, bytes, kernel, \
              ##__VA_ARGS__)
/* Waits for the other lanes of a warp, or for those of the same half of it (lanes = 16). */
#define CS_MEET(lanes) \
    __syncwarp((lanes) == 32 ? 0xffffffffu : 0xffffu << (threadIdx.x % 32 / 16 * 16))
/* Between two looks at what another thread will write. */
#define CS_SPIN() ((void)0)
/* Around a meeting of blocks, which orders what they do: for ThreadSanitizer. */
#define CS_LEAVE_MARK(mark) ((void)0)
#define CS_TAKE_MARK(mark) ((void)0)
/* The compiler moves no access of memory past it; threads do not wait. */
#define CS_KEEP_ORDER() asm volatile("" ::: "memory")
/* Before a loop: makes so many of its passes one, whose loads are on the way at the same time. */
#define CS_UNROLL_BY(passes) _Pragma(CS_TEXT(unroll passes))

#else
#include "cuda/emulation/emulation.h"

#define CS_KERNEL static
#define CS_GPU static inline
#define CS_GPU_CALLED static inline
#define CS_BOTH static inline
#define CS_RUN_EMULATED(queue, blocks, threads, together, ...)                 \
    cs_count_launch(), emulation::launch((queue)->machine, (unsigned)(blocks), \
                                         (unsigned)(threads), together, [=] { __VA_ARGS__; })
#define CS_LAUNCH(queue, blocks, threads, kernel, ...) \
    CS_RUN_EMULATED(queue, blocks, threads, false, kernel(__VA_ARGS__))
#define CS_LAUNCH_TOGETHER(queue, blocks, threads, kernel, ...) \
    CS_RUN_EMULATED(queue, blocks, threads, true, kernel(__VA_ARGS__))
#define CS_SHARED(type, name, count)  \
    static const char name##_key = 0; \
    type *name = static_cast<type *>( \
        emulation::shared(&name##_key, sizeof(type) * static_cast<size_t>(count)))
#define CS_SHARED_BYTES(name, bytes)  \
    static const char name##_key = 0; \
    unsigned char *name =             \
        static_cast<unsigned char *>(emulation::shared(&name##_key, static_cast<size_t>(bytes)))
#define CS_LAUNCH_SHARED(queue, blocks, threads, bytes, kernel, ...) \
    CS_RUN_EMULATED(queue, blocks, threads, false, kernel(__VA_ARGS__))
#define CS_LAUNCH_TOGETHER_SHARED(queue, blocks, threads, bytes, kernel, ...) \
    CS_RUN_EMULATED(queue, blocks, threads, true, kernel(__VA_ARGS__))
#define CS_LAUNCH_EARLY(queue, early, blocks, threads, bytes, kernel, ...) \
    ((void)(early), (void)(bytes),                                         \
     CS_RUN_EMULATED(queue, blocks, threads, false, kernel(__VA_ARGS__)))
#define CS_SPIN() emulation::pause()
#define CS_LEAVE_MARK(mark) emulation::leave_mark(mark)
#define CS_TAKE_MARK(mark) emulation::take_mark(mark)
#define CS_KEEP_ORDER() ((void)0)
#define CS_UNROLL_BY(passes)
#endif

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Counts a launch, or the capture of one (cs_device_asked). */
void cs_count_launch(void);

/* Bodies of csrc/ that work on vectors: a thread is one lane (core/simd.h). */
#define CS_SIMT
#define CS_KERNEL_BUILD simt

enum { CS_WARP = 32 };
#define CS_ALL_LANES 0xffffffffu

CS_GPU int cs_lane() { return (int)(threadIdx.x % CS_WARP); }

CS_GPU int64_t cs_thread() { return (int64_t)blockIdx.x * blockDim.x + threadIdx.x; }
CS_GPU int64_t cs_warp() { return cs_thread() / CS_WARP; }

/* 16 bytes at once; addresses are multiples of 16 bytes. */
CS_GPU void cs_load_piece(const float *from, float *to)
{
    const float4 piece = *reinterpret_cast<const float4 *>(from);
    to[0] = piece.x, to[1] = piece.y, to[2] = piece.z, to[3] = piece.w;
}

CS_GPU void cs_load_piece(const double *from, double *to)
{
    const double2 piece = *reinterpret_cast<const double2 *>(from);
    to[0] = piece.x, to[1] = piece.y;
}

CS_GPU void cs_store_piece(float *to, const float *from)
{
    *reinterpret_cast<float4 *>(to) = make_float4(from[0], from[1], from[2], from[3]);
}

CS_GPU void cs_store_piece(double *to, const double *from)
{
    *reinterpret_cast<double2 *>(to) = make_double2(from[0], from[1]);
}

/* Begins to copy 4, 8 or 16 bytes to shared memory; cs_wait_for_copies of the same thread waits for them. */
#if defined(__CUDACC__)
template <int bytes> CS_GPU void cs_copy_ahead(void *to, const void *from)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    const unsigned place = (unsigned)__cvta_generic_to_shared(to);
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(from)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(place), "l"(from),
                     "n"(bytes == 16 ? 8 : bytes)
                     : "memory");
#else
    if (bytes == 16) *(float4 *)to = *(const float4 *)from;
    else if (bytes == 8) *(double *)to = *(const double *)from;
    else *(float *)to = *(const float *)from;
#endif
}

CS_GPU void cs_wait_for_copies()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
#else
template <int bytes> CS_GPU void cs_copy_ahead(void *to, const void *from)
{
    __builtin_memcpy(to, from, bytes);
}

CS_GPU void cs_wait_for_copies() {}
#endif

/* Begins to load what is near an address into the cache of the own multiprocessor, or into that of the device. */
#if defined(__CUDACC__)
CS_GPU void cs_prefetch_near(const void *from)
{
    asm volatile("prefetch.global.L1 [%0];" ::"l"(from));
}

CS_GPU void cs_prefetch_far(const void *from)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}
#else
CS_GPU void cs_prefetch_near(const void *) {}
CS_GPU void cs_prefetch_far(const void *) {}
#endif

/* A number that other blocks may have written since the kernel began: not from the cache of the own multiprocessor. */
#if defined(__CUDACC__)
template <class number> CS_GPU number cs_read_fresh(const number *from) { return __ldcg(from); }
#else
template <class number> CS_GPU number cs_read_fresh(const number *from) { return *from; }
#endif

/* The same for 16 bytes; and 16 bytes that are read once in a sweep, which caches need not keep. */
#if defined(__CUDACC__)
CS_GPU void cs_read_fresh_piece(const float *from, float *to)
{
    const float4 piece = __ldcg(reinterpret_cast<const float4 *>(from));
    to[0] = piece.x, to[1] = piece.y, to[2] = piece.z, to[3] = piece.w;
}

CS_GPU void cs_read_fresh_piece(const double *from, double *to)
{
    const double2 piece = __ldcg(reinterpret_cast<const double2 *>(from));
    to[0] = piece.x, to[1] = piece.y;
}

CS_GPU void cs_load_piece_once(const float *from, float *to)
{
    const float4 piece = __ldcs(reinterpret_cast<const float4 *>(from));
    to[0] = piece.x, to[1] = piece.y, to[2] = piece.z, to[3] = piece.w;
}

CS_GPU void cs_load_piece_once(const double *from, double *to)
{
    const double2 piece = __ldcs(reinterpret_cast<const double2 *>(from));
    to[0] = piece.x, to[1] = piece.y;
}

/* A piece of which some numbers may be `written` meanwhile; the caller replaces them. */
#define CS_READ_UNSETTLED_PIECE(written, from, to) cs_read_fresh_piece(from, to)
#else
template <class number> CS_GPU void cs_read_fresh_piece(const number *from, number *to)
{
    cs_load_piece(from, to);
}

/* ThreadSanitizer does not see such a read. */
template <class number>
__attribute__((noinline, no_sanitize("thread"))) static void cs_read_unseen_piece(
    const number *from, number *to)
{
    for (size_t k = 0; k < 16 / sizeof(number); k++) to[k] = from[k];
}

#define CS_READ_UNSETTLED_PIECE(written, from, to)   \
    do {                                             \
        if (written) cs_read_unseen_piece(from, to); \
        else cs_read_fresh_piece(from, to);          \
    } while (0)

template <class number> CS_GPU void cs_load_piece_once(const number *from, number *to)
{
    cs_load_piece(from, to);
}
#endif

/* Early launches (CS_LAUNCH_EARLY): the next kernel may start once all blocks have called the first function; a kernel waits
 * by the second one until the kernel before it has ended, and before that reads nothing that any kernel has written. Without
 * an early launch they do nothing. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
CS_GPU void cs_let_next_kernel_start() { asm volatile("griddepcontrol.launch_dependents;"); }
CS_GPU void cs_wait_for_kernel_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
#else
CS_GPU void cs_let_next_kernel_start() {}
CS_GPU void cs_wait_for_kernel_before() {}
#endif

/* 16 bytes that threads write and read whole while others do: three words, and the version that they belong to. A reader
 * that finds the version it waits for has words of this version, without a fence. */
struct alignas(16) cs_versioned_piece {
    uint32_t word[3], version;
};

#if defined(__CUDACC__)
CS_GPU cs_versioned_piece cs_read_versioned(const cs_versioned_piece *from)
{
    unsigned long long low, high;
    asm volatile("{ .reg .b128 q; ld.relaxed.gpu.global.b128 q, [%2]; mov.b128 {%0, %1}, q; }"
                 : "=l"(low), "=l"(high)
                 : "l"(from)
                 : "memory");
    return {{(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high}, (uint32_t)(high >> 32)};
}

CS_GPU void cs_write_versioned(cs_versioned_piece *to, const cs_versioned_piece &piece)
{
    unsigned long long low = (unsigned long long)piece.word[1] << 32 | piece.word[0];
    unsigned long long high = (unsigned long long)piece.version << 32 | piece.word[2];
    asm volatile(
        "{ .reg .b128 q; mov.b128 q, {%1, %2}; st.relaxed.gpu.global.b128 [%0], q; }" ::"l"(to),
        "l"(low), "l"(high)
        : "memory");
}
/* The same, if it is wanted; otherwise the piece remains. Pieces that are wanted are on the way at the same time. */
CS_GPU void cs_read_versioned_if(bool wanted, const cs_versioned_piece *from,
                                 cs_versioned_piece *piece)
{
    unsigned long long low = (unsigned long long)piece->word[1] << 32 | piece->word[0];
    unsigned long long high = (unsigned long long)piece->version << 32 | piece->word[2];
    asm volatile("{ .reg .pred p; .reg .b128 q; setp.ne.s32 p, %3, 0; mov.b128 q, {%0, %1};"
                 " @p ld.relaxed.gpu.global.b128 q, [%2]; mov.b128 {%0, %1}, q; }"
                 : "+l"(low), "+l"(high)
                 : "l"(from), "r"((int)wanted)
                 : "memory");
    *piece = {{(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high}, (uint32_t)(high >> 32)};
}
#else
/* Races on these are meant: ThreadSanitizer does not see them, and they order nothing. */
__attribute__((noinline, unused, no_sanitize("thread"))) static cs_versioned_piece
cs_read_versioned(const cs_versioned_piece *from)
{
    return *from;
}

__attribute__((noinline, unused, no_sanitize("thread"))) static void cs_write_versioned(
    cs_versioned_piece *to, const cs_versioned_piece &piece)
{
    if (!emulation::loses_write()) *to = piece;
}

static inline void cs_read_versioned_if(bool wanted, const cs_versioned_piece *from,
                                        cs_versioned_piece *piece)
{
    if (wanted) *piece = cs_read_versioned(from);
}
#endif

/* Between two looks at what does not come: after so many of them the launch fails. */
CS_GPU void cs_look_again(int looks)
{
    if (looks > 1 << 26) __trap();
    CS_SPIN();
}

/* A number that threads write and read while others do. What they write before cs_write_count, and read after they have
 * found the number by cs_read_count, is separated from it by __threadfence(). */
#if defined(__CUDACC__)
CS_GPU uint32_t cs_read_count(const uint32_t *from)
{
    uint32_t count;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(count) : "l"(from) : "memory");
    return count;
}

CS_GPU void cs_write_count(uint32_t *to, uint32_t count)
{
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(count) : "memory");
}

/* Adds one after all that the block has done before the last barrier, or the warp before the last __syncwarp; a reader that finds it by the second function sees
 * all that. No fence is needed. */
CS_GPU void cs_arrive(uint32_t *count)
{
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(count) : "memory");
}

CS_GPU uint32_t cs_read_arrivals(const uint32_t *from)
{
    uint32_t count;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(count) : "l"(from) : "memory");
    return count;
}
#else
/* A reader sees what was done before: ThreadSanitizer knows nothing of __threadfence(). */
CS_GPU void cs_arrive(uint32_t *count) { __atomic_fetch_add(count, 1u, __ATOMIC_RELEASE); }
CS_GPU uint32_t cs_read_count(const uint32_t *from)
{
    return __atomic_load_n(from, __ATOMIC_ACQUIRE);
}
CS_GPU uint32_t cs_read_arrivals(const uint32_t *from) { return cs_read_count(from); }

CS_GPU void cs_write_count(uint32_t *to, uint32_t count)
{
    if (!emulation::loses_write()) __atomic_store_n(to, count, __ATOMIC_RELEASE);
}
#endif

/* 16 bytes of global memory go to shared memory without passing through registers; they are there for the own thread after
 * cs_end_copies, for others of the warp after __syncwarp as well. */
#if defined(__CUDACC__)
CS_GPU void cs_begin_copy(void *to, const void *from)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
        "l"(from)
        : "memory");
#else
    *(float4 *)to = *(const float4 *)from;
#endif
}

CS_GPU void cs_end_copies()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
#else
CS_GPU void cs_begin_copy(void *to, const void *from) { emulation::copies().push_back({to, from}); }

CS_GPU void cs_end_copies()
{
    for (const emulation::copy &each : emulation::copies()) memcpy(each.to, each.from, 16);
    emulation::copies().clear();
}
#endif

/* All blocks of a launch, which are resident at once, wait for each other: what their threads have written before, all read
 * after. The highest bit of the count, which begins at 0, changes once all have come. */
CS_GPU void cs_meet_blocks(uint32_t *count)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        const uint32_t highest = 0x80000000u;
        __threadfence();
        CS_LEAVE_MARK(count);
        uint32_t before = atomicAdd(count, blockIdx.x ? 1u : highest - (gridDim.x - 1));
        for (int looks = 0; !((cs_read_count(count) ^ before) & highest); looks++)
            cs_look_again(looks);
        CS_TAKE_MARK(count);
        __threadfence();
    }
    __syncthreads();
}

#endif
