/* The choice among the builds of a *.kernel.c file: the widest that this machine runs. Builds that
 * setup.py has not made are absent, not an error.
 *
 *     CS_KERNELS(cs_panel_kernels)     at file scope: the kernels `cs_panel_kernels_<build>`
 *     chosen_kernels()->solve(...) */
#ifndef CS_KERNELS_H
#define CS_KERNELS_H

#include "core/compiler.h"

#if defined(__x86_64__)
static inline int cs_runs_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

static inline int cs_runs_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

#define CS_KERNELS(kernels)                                                               \
    extern const kernels kernels##_baseline;                                              \
    extern const kernels kernels##_avx2 __attribute__((weak));                            \
    extern const kernels kernels##_avx512 __attribute__((weak));                          \
    static const kernels *chosen_kernels(void)                                            \
    {                                                                                     \
        if (&kernels##_avx512 && cs_runs_avx512()) return &kernels##_avx512;              \
        return &kernels##_avx2 && cs_runs_avx2() ? &kernels##_avx2 : &kernels##_baseline; \
    }
#else
#define CS_KERNELS(kernels)                  \
    extern const kernels kernels##_baseline; \
    static const kernels *chosen_kernels(void) { return &kernels##_baseline; }
#endif

#define CS_TEXT_(name) #name
#define CS_TEXT(name) CS_TEXT_(name)

#endif
