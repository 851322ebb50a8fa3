/* The only place that knows about compilers.
 *
 * Kernels are written once and compiled for several precisions (core/each_precision.h), block shapes
 * (CS_INLINE bodies called with constant sizes), instruction sets (CS_BUILD) and GPUs: the bodies of
 * the sets (prox/prox.h) and of a block's update (scheme/packed.h) are valid C and valid C++. */
#ifndef CS_COMPILER_H
#define CS_COMPILER_H

#include <stdint.h>

/* Marks functions that nvcc compiles for the host and for the device, and bodies of kernels, which it compiles for the device
 * alone. */
#if defined(__CUDACC__)
#define CS_DEVICE __host__ __device__
#define CS_BODY __device__
#else
#define CS_DEVICE
#define CS_BODY
#endif

/* A body that is too long to be inlined. In C it is one function of the library. A file in C++ does not
 * link with the library: it includes the body and has a function of its own. */
#if defined(__cplusplus)
#define CS_CALLED CS_BODY static __attribute__((noinline, unused))
#define CS_RESTRICT __restrict__
#else
#define CS_CALLED
#define CS_RESTRICT restrict
#endif

/* Aborts the kernel on a device, the process on a host. */
#if defined(__CUDA_ARCH__)
#define CS_TRAP() __trap()
#else
#define CS_TRAP() __builtin_trap()
#endif

/* Tells the processor that a loop waits for another thread: saves power, and a sibling on the core goes faster. */
#if defined(__x86_64__) || defined(__i386__)
#define CS_PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define CS_PAUSE() __asm__ volatile("yield")
#else
#define CS_PAUSE() ((void)0)
#endif

/* A body that the compiler must inline: loops over sizes that are constants in the caller unroll. */
#define CS_INLINE CS_BODY static inline __attribute__((always_inline))
/* One that functions of a header call, which nvcc compiles for the host. */
#define CS_INLINE_ON_BOTH CS_DEVICE static inline __attribute__((always_inline))
/* Before a short loop whose bounds are known once it is inlined: its arrays become registers. */
#if defined(__CUDACC__)
#define CS_UNROLL _Pragma("unroll")
#elif defined(__clang__)
#define CS_UNROLL _Pragma("clang loop unroll(full)")
#else
#define CS_UNROLL _Pragma("GCC unroll 32")
#endif
/* A choice between many bodies: inlined on a processor, whose callers know most of the choice. On a GPU it is one function
 * of all kernels, whose registers would be too few for all bodies: cuda/sets.cu defines it, others declare it. */
#if defined(CS_SIMT)
#define CS_DISPATCH CS_BODY
#else
#define CS_DISPATCH CS_INLINE
#endif
/* A rare path that must stay out of its caller's loop. */
#define CS_RARE CS_BODY static __attribute__((noinline, cold, unused))
/* Begins to load `count` doubles into the second-level cache. */
CS_INLINE void cs_prefetch(const double *from, int64_t count)
{
    enum { LINE = 8 };
    for (int64_t i = 0; i < count; i += LINE) __builtin_prefetch(from + i, 0, 2);
}
#define CS_UNUSED __attribute__((unused))
#define CS_PRINTF(text, first) __attribute__((format(printf, text, first)))

#define CS_CAT_(a, b) a##b
#define CS_CAT(a, b) CS_CAT_(a, b)
#define CS_TEXT_(name) #name
#define CS_TEXT(name) CS_TEXT_(name)
/* In a file that is compiled once per instruction set: the name with the set's name appended. All
 * functions of such a file that are not inlined need it; tests search the library for them. */
#define CS_BUILD(name) CS_CAT(CS_CAT(name, _), CS_KERNEL_BUILD)

#endif
