/* Vectors of `real`: the operations that wide kernels are made of, for the instruction set that the
 * file is compiled for (`*.kernel.c`, KERNEL_BUILDS in setup.py).
 *
 *                     AVX-512     AVX2 + FMA     otherwise
 *     lanes, f64      8           4              2
 *     lanes, f32      16          8              4
 *
 * Sums, differences, products and quotients are written with the operators of C, which GCC and
 * Clang apply lane by lane; T(fma) rounds once where the machine can, twice elsewhere. "Otherwise"
 * is the compilers' generic vectors of 16 bytes: SSE2, NEON and their like.
 *
 * Bodies are read in pieces of 16 bytes, by plain loads for each lane and a transpose in registers:
 * instructions that gather were measured 1.3 to 2.4 times slower.
 *
 * With CS_SIMT (cuda/gpu.h) a vector is spread over the 32 threads of a warp: each thread holds its own lane, a `vec` is
 * one number, and the same bodies run on a GPU. Tests between lanes, T(any), then concern the own lane only, and sums
 * and maxima over lanes are those of one lane; kernels combine them.
 *
 *     place[0] -> x0 y0      out[0] = x0 x1 x2 x3
 *     place[1] -> x1 y1      out[1] = y0 y1 y2 y3
 *     ...
 *
 * Included once for each precision, below core/each_precision.h; hence without an include guard. */
#ifndef real
#define real double
#define stored double
#define CS_STORED_IS_DOUBLE 1
#define T(name) name##_f64
#define CS_REAL_IS_DOUBLE 1
#include "core/compiler.h"
#endif

#include <stdint.h>

#undef CS_LANES
#undef CS_PIECE
#undef CS_OP
#undef CS_COMPARE
#undef CS_JOIN

#define CS_PIECE (16 / (int)sizeof(real)) /* numbers read at once for a lane */

#if defined(CS_SIMT)
#define CS_LANES 32
typedef real T(vec);
typedef int T(mask);

#elif defined(__AVX512F__)
#include <immintrin.h>
#define CS_LANES (64 / (int)sizeof(real))
#if CS_REAL_IS_DOUBLE
#define CS_OP(name) CS_CAT(_mm512_##name, _pd)
#define CS_COMPARE _mm512_cmp_pd_mask
typedef __m512d T(vec);
typedef __mmask8 T(mask);
#else
#define CS_OP(name) CS_CAT(_mm512_##name, _ps)
#define CS_COMPARE _mm512_cmp_ps_mask
typedef __m512 T(vec);
typedef __mmask16 T(mask);
#endif

#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define CS_LANES (32 / (int)sizeof(real))
#if CS_REAL_IS_DOUBLE
#define CS_OP(name) CS_CAT(_mm256_##name, _pd)
typedef __m256d T(vec);
#else
#define CS_OP(name) CS_CAT(_mm256_##name, _ps)
typedef __m256 T(vec);
#endif
typedef T(vec) T(mask);

#else
#define CS_LANES CS_PIECE
typedef real T(vec) __attribute__((vector_size(16), may_alias));
#if CS_REAL_IS_DOUBLE
typedef int64_t T(mask) __attribute__((vector_size(16)));
#else
typedef int32_t T(mask) __attribute__((vector_size(16)));
#endif
#endif

/* ---- lane by lane ---------------------------------------------------------------------------- */

#if defined(CS_SIMT)

CS_INLINE T(vec) T(load)(const real *from) { return from[cs_lane()]; }
CS_INLINE void T(store)(real *to, T(vec) a) { to[cs_lane()] = a; }
CS_INLINE T(vec) T(all)(real value) { return value; }
CS_INLINE T(vec) T(fma)(T(vec) a, T(vec) b, T(vec) c) { return (real)fma(a, b, c); }
CS_INLINE T(vec) T(fnma)(T(vec) a, T(vec) b, T(vec) c) { return (real)fma(-a, b, c); }
CS_INLINE T(vec) T(root)(T(vec) a) { return (real)sqrt(a); }
CS_INLINE T(vec) T(over_root)(T(vec) a, T(vec) b) { return a / T(root)(b); }
CS_INLINE T(mask) T(less)(T(vec) a, T(vec) b) { return a < b; }
CS_INLINE T(mask) T(both)(T(mask) a, T(mask) b) { return a && b; }
CS_INLINE T(mask) T(either)(T(mask) a, T(mask) b) { return a || b; }
CS_INLINE int T(any)(T(mask) where) { return where; }
CS_INLINE T(vec) T(choose)(T(mask) where, T(vec) a, T(vec) b) { return where ? a : b; }
CS_INLINE T(vec) T(larger)(T(vec) a, T(vec) b) { return a > b ? a : b; }
CS_INLINE T(vec) T(smaller)(T(vec) a, T(vec) b) { return a < b ? a : b; }

#elif defined(CS_OP)

/* Vectors in memory are aligned to their size. */
CS_INLINE T(vec) T(load)(const real *from) { return CS_OP(load)(from); }
CS_INLINE void T(store)(real *to, T(vec) a) { CS_OP(store)(to, a); }
CS_INLINE T(vec) T(all)(real value) { return CS_OP(set1)(value); }
/* a b + c, and c - a b */
CS_INLINE T(vec) T(fma)(T(vec) a, T(vec) b, T(vec) c) { return CS_OP(fmadd)(a, b, c); }
CS_INLINE T(vec) T(fnma)(T(vec) a, T(vec) b, T(vec) c) { return CS_OP(fnmadd)(a, b, c); }
CS_INLINE T(vec) T(root)(T(vec) a) { return CS_OP(sqrt)(a); }
/* a / sqrt(b) for normal b, up to a few rounding units. */
CS_INLINE T(vec) T(over_root)(T(vec) a, T(vec) b)
{
#if defined(__AVX512F__)
    T(vec) y = CS_OP(rsqrt14)(b), half = T(all)((real)-0.5) * b, most = T(all)((real)1.5);
    for (int i = 0; i < 1 + CS_REAL_IS_DOUBLE; i++) y *= T(fma)(half * y, y, most);
    return a * y;
#elif !CS_REAL_IS_DOUBLE
    T(vec) y = CS_OP(rsqrt)(b), half = T(all)(-0.5F) * b;
    return a * (y * T(fma)(half * y, y, T(all)(1.5F)));
#else
    return a / T(root)(b);
#endif
}
/* The larger, or the smaller; b where one is not a number. */
CS_INLINE T(vec) T(larger)(T(vec) a, T(vec) b) { return CS_OP(max)(a, b); }
CS_INLINE T(vec) T(smaller)(T(vec) a, T(vec) b) { return CS_OP(min)(a, b); }

#if defined(__AVX512F__)
/* Where a < b; not where one is not a number. */
CS_INLINE T(mask) T(less)(T(vec) a, T(vec) b) { return CS_COMPARE(a, b, _CMP_LT_OQ); }
CS_INLINE T(mask) T(both)(T(mask) a, T(mask) b) { return (T(mask))(a & b); }
CS_INLINE T(mask) T(either)(T(mask) a, T(mask) b) { return (T(mask))(a | b); }
CS_INLINE int T(any)(T(mask) where) { return where != 0; }
/* a where the mask holds, else b */
CS_INLINE T(vec) T(choose)(T(mask) where, T(vec) a, T(vec) b)
{
    return CS_OP(mask_blend)(where, b, a);
}
#else
CS_INLINE T(mask) T(less)(T(vec) a, T(vec) b) { return CS_OP(cmp)(a, b, _CMP_LT_OQ); }
CS_INLINE T(mask) T(both)(T(mask) a, T(mask) b) { return CS_OP(and)(a, b); }
CS_INLINE T(mask) T(either)(T(mask) a, T(mask) b) { return CS_OP(or)(a, b); }
CS_INLINE int T(any)(T(mask) where) { return CS_OP(movemask)(where) != 0; }
CS_INLINE T(vec) T(choose)(T(mask) where, T(vec) a, T(vec) b) { return CS_OP(blendv)(b, a, where); }
#endif

#else

CS_INLINE T(vec) T(load)(const real *from) { return *(const T(vec) *)from; }
CS_INLINE void T(store)(real *to, T(vec) a) { *(T(vec) *)to = a; }
CS_INLINE T(vec) T(all)(real value) { return value - (T(vec)){0}; }
CS_INLINE T(vec) T(fma)(T(vec) a, T(vec) b, T(vec) c) { return a * b + c; }
CS_INLINE T(vec) T(fnma)(T(vec) a, T(vec) b, T(vec) c) { return c - a * b; }

CS_INLINE T(vec) T(root)(T(vec) a)
{
#if CS_REAL_IS_DOUBLE
    for (int l = 0; l < CS_LANES; l++) a[l] = __builtin_sqrt(a[l]);
#else
    for (int l = 0; l < CS_LANES; l++) a[l] = __builtin_sqrtf(a[l]);
#endif
    return a;
}

CS_INLINE T(vec) T(over_root)(T(vec) a, T(vec) b) { return a / T(root)(b); }

CS_INLINE T(mask) T(less)(T(vec) a, T(vec) b) { return (T(mask))(a < b); }
CS_INLINE T(mask) T(both)(T(mask) a, T(mask) b) { return a & b; }
CS_INLINE T(mask) T(either)(T(mask) a, T(mask) b) { return a | b; }

CS_INLINE int T(any)(T(mask) where)
{
    int found = 0;
    for (int l = 0; l < CS_LANES; l++) found |= where[l] != 0;
    return found;
}

CS_INLINE T(vec) T(choose)(T(mask) where, T(vec) a, T(vec) b)
{
    return (T(vec))(((T(mask))a & where) | ((T(mask))b & ~where));
}

CS_INLINE T(vec) T(larger)(T(vec) a, T(vec) b) { return T(choose)(T(less)(b, a), a, b); }
CS_INLINE T(vec) T(smaller)(T(vec) a, T(vec) b) { return T(choose)(T(less)(a, b), a, b); }

#endif

/* Numbers in the precision of what is stored. */
CS_INLINE T(vec) T(load_stored)(const stored *from)
{
#if defined(CS_SIMT)
    return (real)from[cs_lane()];
#elif CS_REAL_IS_DOUBLE == CS_STORED_IS_DOUBLE
    return T(load)(from);
#elif defined(__AVX512F__)
    return _mm512_cvtps_pd(_mm256_load_ps(from));
#elif defined(CS_OP)
    return _mm256_cvtps_pd(_mm_load_ps(from));
#else
    T(vec) wide = T(all)(0);
    for (int l = 0; l < CS_LANES; l++) wide[l] = (real)from[l];
    return wide;
#endif
}

CS_INLINE T(vec) T(size)(T(vec) a)
{
#ifdef CS_OP
    return CS_OP(andnot)(T(all)((real)-0.0), a);
#else
    return T(larger)(-a, a);
#endif
}

/* ---- across lanes ---------------------------------------------------------------------------- */

#if defined(CS_SIMT)

CS_INLINE real T(largest)(T(vec) a) { return a; }

typedef double T(sums);

CS_INLINE void T(add_squares)(T(sums) * sums, T(vec) a)
{
#if CS_REAL_IS_DOUBLE
    *sums = fma(a, a, *sums);
#else
    *sums += (double)a * (double)a;
#endif
}

CS_INLINE double T(total)(const T(sums) * sums) { return *sums; }

#else

CS_INLINE real T(largest)(T(vec) a)
{
    real lane[CS_LANES] __attribute__((aligned(64))), most;
    T(store)(lane, a);
    most = lane[0];
    for (int l = 1; l < CS_LANES; l++)
        if (lane[l] > most) most = lane[l];
    return most;
}

/* Sums in double precision, lane by lane. */
typedef double T(sums) __attribute__((vector_size(8 * CS_LANES)));

/* sums += a^2 */
CS_INLINE void T(add_squares)(T(sums) * sums, T(vec) a)
{
#if CS_REAL_IS_DOUBLE
    *sums = (T(sums))T(fma)(a, a, (T(vec)) * sums);
#else
    T(sums) wide = __builtin_convertvector(a, T(sums));
    *sums += wide * wide;
#endif
}

CS_INLINE double T(total)(const T(sums) * sums)
{
    double total = 0;
    for (int l = 0; l < CS_LANES; l++) total += (*sums)[l];
    return total;
}

#endif

/* ---- bodies ---------------------------------------------------------------------------------- */

#if defined(CS_SIMT)

/* out[i] <- base[place[lane] + i] for `count` numbers: whole pieces. A lane without a body has the place -1, and
 * reads zeros. */
CS_INLINE void T(load_body)(const real *base, const int32_t *place, int count, T(vec) * out)
{
    int32_t own = place[cs_lane()];
    CS_UNROLL for (int c = 0; c < count; c++) out[c] = 0;
    if (own < 0) return;
    CS_UNROLL for (int c = 0; c < count; c += CS_PIECE) cs_load_piece(base + own + c, out + c);
}

/* base[place[lane] + i] += in[i] */
CS_INLINE void T(add_body)(real *base, const int32_t *place, int count, T(vec) * in)
{
    int32_t own = place[cs_lane()];
    if (own < 0) return;
    CS_UNROLL for (int c = 0; c < count; c += CS_PIECE)
    {
        real sum[CS_PIECE];
        cs_load_piece(base + own + c, sum);
        CS_UNROLL for (int i = 0; i < CS_PIECE; i++) sum[i] += in[c + i];
        cs_store_piece(base + own + c, sum);
    }
}

/* base[lane pitch + i] <- in[i] for `count` numbers: whole pieces. */
CS_INLINE void T(store_lanes)(real *base, int pitch, int count, T(vec) * in)
{
    CS_UNROLL for (int c = 0; c < count; c += CS_PIECE)
        cs_store_piece(base + cs_lane() * pitch + c, in + c);
}

#else

/* A row of a transpose: the pieces of lanes 0, CS_PIECE, 2 CS_PIECE ... side by side. */
#ifdef CS_OP

#if CS_REAL_IS_DOUBLE
#define CS_QUARTER(name) CS_CAT(_mm_##name, _pd)
#define CS_WIDEN512 _mm512_castpd128_pd512
#define CS_INSERT512 _mm512_insertf64x2
#define CS_EXTRACT512 _mm512_extractf64x2_pd
#define CS_WIDEN256 _mm256_castpd128_pd256
#define CS_INSERT256 _mm256_insertf128_pd
#define CS_EXTRACT256 _mm256_extractf128_pd
#else
#define CS_QUARTER(name) CS_CAT(_mm_##name, _ps)
#define CS_WIDEN512 _mm512_castps128_ps512
#define CS_INSERT512 _mm512_insertf32x4
#define CS_EXTRACT512 _mm512_extractf32x4_ps
#define CS_WIDEN256 _mm256_castps128_ps256
#define CS_INSERT256 _mm256_insertf128_ps
#define CS_EXTRACT256 _mm256_extractf128_ps
#endif

#if defined(__AVX512F__)

CS_INLINE T(vec) T(load_row)(const real *base, const int32_t *place)
{
    T(vec) row = CS_WIDEN512(CS_QUARTER(load)(base + place[0]));
    row = CS_INSERT512(row, CS_QUARTER(load)(base + place[CS_PIECE]), 1);
    row = CS_INSERT512(row, CS_QUARTER(load)(base + place[2 * CS_PIECE]), 2);
    return CS_INSERT512(row, CS_QUARTER(load)(base + place[3 * CS_PIECE]), 3);
}

CS_INLINE void T(store_row)(real *base, const int32_t *place, T(vec) row)
{
    CS_QUARTER(store)(base + place[0], CS_EXTRACT512(row, 0));
    CS_QUARTER(store)(base + place[CS_PIECE], CS_EXTRACT512(row, 1));
    CS_QUARTER(store)(base + place[2 * CS_PIECE], CS_EXTRACT512(row, 2));
    CS_QUARTER(store)(base + place[3 * CS_PIECE], CS_EXTRACT512(row, 3));
}

#else

CS_INLINE T(vec) T(load_row)(const real *base, const int32_t *place)
{
    T(vec) row = CS_WIDEN256(CS_QUARTER(load)(base + place[0]));
    return CS_INSERT256(row, CS_QUARTER(load)(base + place[CS_PIECE]), 1);
}

CS_INLINE void T(store_row)(real *base, const int32_t *place, T(vec) row)
{
    CS_QUARTER(store)(base + place[0], CS_EXTRACT256(row, 0));
    CS_QUARTER(store)(base + place[CS_PIECE], CS_EXTRACT256(row, 1));
}

#endif

#undef CS_QUARTER
#undef CS_WIDEN512
#undef CS_INSERT512
#undef CS_EXTRACT512
#undef CS_WIDEN256
#undef CS_INSERT256
#undef CS_EXTRACT256

#else

CS_INLINE T(vec) T(load_row)(const real *base, const int32_t *place)
{
    return *(const T(vec) *)(base + place[0]);
}

CS_INLINE void T(store_row)(real *base, const int32_t *place, T(vec) row)
{
    *(T(vec) *)(base + place[0]) = row;
}

#endif

/* Within each 128-bit quarter; its own inverse. */
CS_INLINE void T(transpose)(T(vec) * row)
{
#if defined(CS_OP) && CS_REAL_IS_DOUBLE
    T(vec) low = CS_OP(unpacklo)(row[0], row[1]);
    row[1] = CS_OP(unpackhi)(row[0], row[1]);
    row[0] = low;
#elif defined(CS_OP)
    T(vec) a = CS_OP(unpacklo)(row[0], row[1]), b = CS_OP(unpackhi)(row[0], row[1]);
    T(vec) c = CS_OP(unpacklo)(row[2], row[3]), d = CS_OP(unpackhi)(row[2], row[3]);
    row[0] = CS_OP(shuffle)(a, c, 0x44);
    row[1] = CS_OP(shuffle)(a, c, 0xee);
    row[2] = CS_OP(shuffle)(b, d, 0x44);
    row[3] = CS_OP(shuffle)(b, d, 0xee);
#elif CS_REAL_IS_DOUBLE
    T(vec) low = {row[0][0], row[1][0]}, high = {row[0][1], row[1][1]};
    row[0] = low;
    row[1] = high;
#else
    T(vec) a = {row[0][0], row[1][0], row[2][0], row[3][0]};
    T(vec) b = {row[0][1], row[1][1], row[2][1], row[3][1]};
    T(vec) c = {row[0][2], row[1][2], row[2][2], row[3][2]};
    T(vec) d = {row[0][3], row[1][3], row[2][3], row[3][3]};
    row[0] = a, row[1] = b, row[2] = c, row[3] = d;
#endif
}

/* out[i], lane l <- base[place[l] + i], for the CS_PIECE numbers i of a piece. */
CS_INLINE void T(load_piece)(const real *base, const int32_t *place, T(vec) * out)
{
    for (int r = 0; r < CS_PIECE; r++) out[r] = T(load_row)(base, place + r);
    T(transpose)(out);
}

/* base[place[l] + i] <- in[i], lane l. Lanes with the same place must store the same. */
CS_INLINE void T(store_piece)(real *base, const int32_t *place, T(vec) * in)
{
    T(transpose)(in);
    for (int r = 0; r < CS_PIECE; r++) T(store_row)(base, place + r, in[r]);
}

/* base[place[l] + i] += in[i], lane l. Lanes with the same place must add nothing. */
CS_INLINE void T(add_piece)(real *base, const int32_t *place, T(vec) * in)
{
    T(transpose)(in);
    for (int r = 0; r < CS_PIECE; r++)
        T(store_row)(base, place + r, T(load_row)(base, place + r) + in[r]);
}

/* `count` numbers of the body at place[l]: whole pieces. */
CS_INLINE void T(load_body)(const real *base, const int32_t *place, int count, T(vec) * out)
{
    for (int c = 0; c < count; c += CS_PIECE) T(load_piece)(base + c, place, out + c);
}

/* The compiler assumes that what is stored may change the places: it keeps a copy of them in registers. */
CS_INLINE void T(add_body)(real *base, const int32_t *place, int count, T(vec) * in)
{
    int32_t own[CS_LANES];
    CS_UNROLL for (int l = 0; l < CS_LANES; l++) own[l] = place[l];
    CS_UNROLL for (int c = 0; c < count; c += CS_PIECE) T(add_piece)(base + c, own, in + c);
}

/* base[l pitch + i] <- in[i], lane l, for `count` numbers: whole pieces. */
CS_INLINE void T(store_lanes)(real *base, int pitch, int count, T(vec) * in)
{
    int32_t own[CS_LANES];
    CS_UNROLL for (int l = 0; l < CS_LANES; l++) own[l] = l * pitch;
    CS_UNROLL for (int c = 0; c < count; c += CS_PIECE) T(store_piece)(base + c, own, in + c);
}

#endif
