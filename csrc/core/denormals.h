/* Impulses that decay to zero pass through denormal numbers, where each operation traps into
 * microcode: this slows sweeps down by 40 to 60 %. A solve flushes denormals to zero and restores the
 * caller's mode at its end. The mode belongs to a thread: every worker sets its own. While the
 * library calls back into the caller's code, it keeps denormals. */
#ifndef CS_DENORMALS_H
#define CS_DENORMALS_H

#include <stdint.h>

#if defined(__SSE2__)
#include <immintrin.h>
typedef uint32_t cs_float_mode;
static inline cs_float_mode cs_flush_denormals(void)
{
    cs_float_mode saved = _mm_getcsr();
    _mm_setcsr(saved | 0x8040u); /* flush to zero, denormals are zero */
    return saved;
}
static inline cs_float_mode cs_keep_denormals(void)
{
    cs_float_mode saved = _mm_getcsr();
    _mm_setcsr(saved & ~0x8040u);
    return saved;
}
static inline void cs_restore_denormals(cs_float_mode saved) { _mm_setcsr(saved); }
static inline cs_float_mode cs_float_mode_here(void) { return _mm_getcsr(); }
#elif defined(__aarch64__)
typedef uint64_t cs_float_mode;
static inline cs_float_mode cs_flush_denormals(void)
{
    cs_float_mode saved;
    __asm__ volatile("mrs %0, fpcr" : "=r"(saved));
    __asm__ volatile("msr fpcr, %0" : : "r"(saved | (1ull << 24)));
    return saved;
}
static inline cs_float_mode cs_keep_denormals(void)
{
    cs_float_mode saved;
    __asm__ volatile("mrs %0, fpcr" : "=r"(saved));
    __asm__ volatile("msr fpcr, %0" : : "r"(saved & ~(1ull << 24)));
    return saved;
}
static inline void cs_restore_denormals(cs_float_mode saved)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(saved));
}
static inline cs_float_mode cs_float_mode_here(void)
{
    cs_float_mode mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}
#else
typedef int cs_float_mode;
static inline cs_float_mode cs_flush_denormals(void) { return 0; }
static inline cs_float_mode cs_keep_denormals(void) { return 0; }
static inline void cs_restore_denormals(cs_float_mode saved) { (void)saved; }
static inline cs_float_mode cs_float_mode_here(void) { return 0; }
#endif

/* Takes the mode of another thread; returns the own one, to be restored. */
static inline cs_float_mode cs_take_float_mode(cs_float_mode other)
{
    cs_float_mode own = cs_float_mode_here();
    cs_restore_denormals(other);
    return own;
}

#endif
