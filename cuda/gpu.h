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
/* kernel<<<blocks, threads>>> in the stream of a queue; the arguments follow. Threads are whole warps. */
#define CS_LAUNCH(queue, blocks, threads, kernel, ...) \
    cs_count_launch(),                                 \
        kernel<<<(unsigned)(blocks), (unsigned)(threads), 0, (queue)->stream>>>(__VA_ARGS__)
/* The same with all blocks resident at once, so that they may wait for each other. `blocks` <= cs_resident_blocks. */
#define CS_LAUNCH_TOGETHER(queue, blocks, threads, kernel, ...) \
    cs_launch_shared(queue, true, blocks, threads, 0, kernel, ##__VA_ARGS__)
#define CS_SHARED(type, name, count) __shared__ type name[count]
/* Memory of a block whose size the launch says, which is at most cs_most_shared. */
#define CS_SHARED_BYTES(name, bytes)                         \
    extern __shared__ __align__(16) unsigned char cs_room[]; \
    unsigned char *name = cs_room
#define CS_LAUNCH_SHARED(queue, blocks, threads, bytes, kernel, ...) \
    cs_launch_shared(queue, false, blocks, threads, bytes, kernel, ##__VA_ARGS__)
#define CS_LAUNCH_TOGETHER_SHARED(queue, blocks, threads, bytes, kernel, ...) \
    cs_launch_shared(queue, true, blocks, threads, bytes, kernel, ##__VA_ARGS__)
/* Waits for the other lanes of a warp, or for those of the same half of it (lanes = 16). */
#define CS_MEET(lanes) \
    __syncwarp((lanes) == 32 ? 0xffffffffu : 0xffffu << (threadIdx.x % 32 / 16 * 16))
/* Between two looks at what another thread will write. */
#define CS_SPIN() ((void)0)
/* Before a loop: makes so many of its passes one, whose loads are on the way at the same time. */
#define CS_UNROLL_BY(passes) _Pragma(CS_TEXT(unroll passes))

#else
#include "cuda/emulation/emulation.h"

#define CS_KERNEL static
#define CS_GPU static inline
#define CS_GPU_CALLED static inline
#define CS_BOTH static inline
#define CS_LAUNCH(queue, blocks, threads, kernel, ...)                         \
    cs_count_launch(), emulation::launch((queue)->machine, (unsigned)(blocks), \
                                         (unsigned)(threads), false, [=] { kernel(__VA_ARGS__); })
#define CS_LAUNCH_TOGETHER(queue, blocks, threads, kernel, ...)                \
    cs_count_launch(), emulation::launch((queue)->machine, (unsigned)(blocks), \
                                         (unsigned)(threads), true, [=] { kernel(__VA_ARGS__); })
#define CS_SHARED(type, name, count)  \
    static const char name##_key = 0; \
    type *name = static_cast<type *>( \
        emulation::shared(&name##_key, sizeof(type) * static_cast<size_t>(count)))
#define CS_SHARED_BYTES(name, bytes)  \
    static const char name##_key = 0; \
    unsigned char *name =             \
        static_cast<unsigned char *>(emulation::shared(&name##_key, static_cast<size_t>(bytes)))
#define CS_LAUNCH_SHARED(queue, blocks, threads, bytes, kernel, ...)           \
    cs_count_launch(), emulation::launch((queue)->machine, (unsigned)(blocks), \
                                         (unsigned)(threads), false, [=] { kernel(__VA_ARGS__); })
#define CS_LAUNCH_TOGETHER_SHARED(queue, blocks, threads, bytes, kernel, ...)  \
    cs_count_launch(), emulation::launch((queue)->machine, (unsigned)(blocks), \
                                         (unsigned)(threads), true, [=] { kernel(__VA_ARGS__); })
#define CS_SPIN() emulation::pause()
#define CS_UNROLL_BY(passes)
#endif

#include <math.h>
#include <stdint.h>

/* Counts a launch, or the capture of one (cs_device_asked). */
void cs_count_launch(void);

/* Bodies of csrc/ that work on vectors: a thread is one lane (core/simd.h). */
#define CS_SIMT
#define CS_KERNEL_BUILD simt

enum { CS_WARP = 32 };
#define CS_ALL_LANES 0xffffffffu

/* nvcc compiles bodies of csrc/ for the host as well, which never runs them. */
#if defined(__CUDACC__) && !defined(__CUDA_ARCH__)
CS_BOTH int cs_lane() { return 0; }
#else
CS_BOTH int cs_lane() { return (int)(threadIdx.x % CS_WARP); }
#endif

CS_GPU int64_t cs_thread() { return (int64_t)blockIdx.x * blockDim.x + threadIdx.x; }
CS_GPU int64_t cs_warp() { return cs_thread() / CS_WARP; }

/* 16 bytes at once; addresses are multiples of 16 bytes. */
CS_BOTH void cs_load_piece(const float *from, float *to)
{
    const float4 piece = *reinterpret_cast<const float4 *>(from);
    to[0] = piece.x, to[1] = piece.y, to[2] = piece.z, to[3] = piece.w;
}

CS_BOTH void cs_load_piece(const double *from, double *to)
{
    const double2 piece = *reinterpret_cast<const double2 *>(from);
    to[0] = piece.x, to[1] = piece.y;
}

CS_BOTH void cs_store_piece(float *to, const float *from)
{
    *reinterpret_cast<float4 *>(to) = make_float4(from[0], from[1], from[2], from[3]);
}

CS_BOTH void cs_store_piece(double *to, const double *from)
{
    *reinterpret_cast<double2 *>(to) = make_double2(from[0], from[1]);
}

/* Begins to load what is near an address into the cache of the own multiprocessor. */
#if defined(__CUDACC__)
CS_GPU void cs_prefetch_near(const void *from)
{
    asm volatile("prefetch.global.L1 [%0];" ::"l"(from));
}
#else
CS_GPU void cs_prefetch_near(const void *) {}
#endif

/* A number that other blocks may have written since the kernel began: not from the cache of the own multiprocessor. */
#if defined(__CUDACC__)
template <class number> CS_GPU number cs_read_fresh(const number *from) { return __ldcg(from); }
#else
template <class number> CS_GPU number cs_read_fresh(const number *from) { return *from; }
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
#else
CS_GPU uint32_t cs_read_count(const uint32_t *from) { return *from; }

CS_GPU void cs_write_count(uint32_t *to, uint32_t count)
{
    if (!emulation::loses_write()) *to = count;
}
#endif

#endif
