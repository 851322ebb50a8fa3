/* Vectors of four numbers for products within one block: a column of a block times a number.
 *
 *     sum[0..3] += column[0..3] factor          blocks column by column: no sum across lanes
 *
 * A load of a column with fewer than four numbers also reads what follows it in memory; nothing uses
 * those lanes. Four numbers must therefore be readable beyond the last column.
 *
 *                     AVX2 + FMA and more     otherwise
 *     f64             one vector              two vectors of 16 bytes
 *     f32             one vector              one vector
 *     mixed           as f64; a column in memory is float
 *
 * Included once for each precision, below core/each_precision.h; hence without an include guard. */
#ifndef real
#define real double
#define stored double
#define T(name) name##_f64
#define CS_REAL_IS_DOUBLE 1
#define CS_STORED_IS_DOUBLE 1
#include "core/compiler.h"
#endif

#undef CS_QUAD_WIDTH
#undef CS_QUAD_PIECES

#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define CS_QUAD_PIECES 1
#if CS_REAL_IS_DOUBLE
typedef __m256d T(quad_piece);
#else
typedef __m128 T(quad_piece);
#endif
#else
#define CS_QUAD_PIECES (4 * (int)sizeof(real) / 16)
typedef real T(quad_piece) __attribute__((vector_size(16), may_alias));
#endif
#define CS_QUAD_WIDTH (4 / CS_QUAD_PIECES)

typedef struct T(quad) {
    T(quad_piece) piece[CS_QUAD_PIECES];
} T(quad);

/* The same type in memory, aligned as a single number. */
typedef T(quad_piece) T(quad_numbers) __attribute__((aligned(sizeof(real))));

/* Four numbers of a column, those of the p-th piece. */
CS_INLINE T(quad_piece) T(quad_read)(const stored *column, int p)
{
#if CS_REAL_IS_DOUBLE == CS_STORED_IS_DOUBLE
    return *(const T(quad_numbers) *)(column + p * CS_QUAD_WIDTH);
#elif defined(__AVX2__) && defined(__FMA__)
    (void)p;
    return _mm256_cvtps_pd(_mm_loadu_ps(column));
#else
    return (T(quad_piece)){(real)column[2 * p], (real)column[2 * p + 1]};
#endif
}

/* sum += column factor; fused if the instruction set has it. */
CS_INLINE void T(quad_add)(T(quad) * sum, const stored *column, const real *factor)
{
#if defined(__AVX2__) && defined(__FMA__) && CS_REAL_IS_DOUBLE
    sum->piece[0] =
        _mm256_fmadd_pd(T(quad_read)(column, 0), _mm256_broadcast_sd(factor), sum->piece[0]);
#elif defined(__AVX2__) && defined(__FMA__)
    sum->piece[0] = _mm_fmadd_ps(T(quad_read)(column, 0), _mm_broadcast_ss(factor), sum->piece[0]);
#else
    for (int p = 0; p < CS_QUAD_PIECES; p++) sum->piece[p] += T(quad_read)(column, p) * *factor;
#endif
}

CS_INLINE void T(quad_join)(T(quad) * sum, const T(quad) * other)
{
    for (int p = 0; p < CS_QUAD_PIECES; p++) sum->piece[p] += other->piece[p];
}

/* to[0..2] += from[0..2]; to[3] <- 0. */
CS_INLINE void T(quad_finish)(real *to, const T(quad) * from)
{
#if defined(__AVX2__) && defined(__FMA__) && CS_REAL_IS_DOUBLE
    __m256d sum = _mm256_add_pd(_mm256_loadu_pd(to), from->piece[0]);
    _mm256_storeu_pd(to, _mm256_blend_pd(sum, _mm256_setzero_pd(), 8));
#elif defined(__AVX2__) && defined(__FMA__)
    __m128 sum = _mm_add_ps(_mm_loadu_ps(to), from->piece[0]);
    _mm_storeu_ps(to, _mm_blend_ps(sum, _mm_setzero_ps(), 8));
#else
    for (int k = 0; k < 3; k++) to[k] += from->piece[k / CS_QUAD_WIDTH][k % CS_QUAD_WIDTH];
    to[3] = 0;
#endif
}

/* to[0..2] <- from[0..2] - sum[0..2]; to[3] <- 0. */
CS_INLINE void T(quad_leave)(real *to, const real *from, const T(quad) * sum)
{
#if defined(__AVX2__) && defined(__FMA__) && CS_REAL_IS_DOUBLE
    __m256d rest = _mm256_sub_pd(_mm256_loadu_pd(from), sum->piece[0]);
    _mm256_storeu_pd(to, _mm256_blend_pd(rest, _mm256_setzero_pd(), 8));
#elif defined(__AVX2__) && defined(__FMA__)
    __m128 rest = _mm_sub_ps(_mm_loadu_ps(from), sum->piece[0]);
    _mm_storeu_ps(to, _mm_blend_ps(rest, _mm_setzero_ps(), 8));
#else
    for (int k = 0; k < 3; k++) to[k] = from[k] - sum->piece[k / CS_QUAD_WIDTH][k % CS_QUAD_WIDTH];
    to[3] = 0;
#endif
}

CS_INLINE void T(quad_put)(real *to, const T(quad) * from)
{
    for (int p = 0; p < CS_QUAD_PIECES; p++)
        *(T(quad_numbers) *)(to + p * CS_QUAD_WIDTH) = from->piece[p];
}

/* sum[0..2] += the transpose of a 3 x 3 block, column by column, times factor[0..2]. The fourth number of the sum becomes
 * anything. */
CS_INLINE void T(quad_add_turned)(real *sum, const stored *block, const real *factor)
{
#if defined(__AVX2__) && defined(__FMA__) && CS_REAL_IS_DOUBLE
    /* Rows (a_i0, a_i1, a_i2, any) of the columns a_0, a_1, a_2. */
    __m256d first = T(quad_read)(block, 0), second = T(quad_read)(block + 3, 0);
    __m256d third = T(quad_read)(block + 6, 0);
    __m256d even = _mm256_unpacklo_pd(first, second), odd = _mm256_unpackhi_pd(first, second);
    __m256d row = _mm256_permute2f128_pd(even, third, 0x20);
    __m256d total = _mm256_fmadd_pd(row, _mm256_broadcast_sd(factor), _mm256_loadu_pd(sum));
    row = _mm256_permute2f128_pd(odd, _mm256_permute_pd(third, 5), 0x20);
    total = _mm256_fmadd_pd(row, _mm256_broadcast_sd(factor + 1), total);
    row = _mm256_permute2f128_pd(even, third, 0x31);
    total = _mm256_fmadd_pd(row, _mm256_broadcast_sd(factor + 2), total);
    _mm256_storeu_pd(sum, total);
#elif defined(__AVX2__) && defined(__FMA__)
    __m128 first = T(quad_read)(block, 0), second = T(quad_read)(block + 3, 0);
    __m128 third = T(quad_read)(block + 6, 0);
    __m128 low = _mm_unpacklo_ps(first, second), high = _mm_unpackhi_ps(first, second);
    __m128 row = _mm_shuffle_ps(low, third, _MM_SHUFFLE(0, 0, 1, 0));
    __m128 total = _mm_fmadd_ps(row, _mm_broadcast_ss(factor), _mm_loadu_ps(sum));
    row = _mm_shuffle_ps(low, third, _MM_SHUFFLE(1, 1, 3, 2));
    total = _mm_fmadd_ps(row, _mm_broadcast_ss(factor + 1), total);
    row = _mm_shuffle_ps(high, third, _MM_SHUFFLE(2, 2, 1, 0));
    total = _mm_fmadd_ps(row, _mm_broadcast_ss(factor + 2), total);
    _mm_storeu_ps(sum, total);
#else
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) sum[j] += (real)block[3 * j + i] * factor[i];
#endif
}
