/* The loops of core/stream.h for one instruction set. */
#include "core/simd.h"
#include "core/stream.h"

enum {
    SUMS = 16,    /* independent sums hide the latency of an addition */
    AHEAD = 256,  /* numbers: prefetch distance, for processors without a hardware prefetcher */
    LINE = 64 / 8 /* numbers */
};

/* Each round reads SUMS vectors: SUMS / places at each place. */
CS_INLINE double sum_at(int places, const double *values, int64_t count)
{
    vec_f64 sum[SUMS], all = all_f64(0);
    int64_t part = count / places;
    int each = SUMS / places;
    CS_UNROLL for (int k = 0; k < SUMS; k++) sum[k] = all;
    for (int64_t i = 0; i < part; i += each * CS_LANES) CS_UNROLL for (int p = 0; p < places; p++)
        {
            const double *from = values + p * part + i;
            for (int k = 0; k < each * CS_LANES; k += LINE) __builtin_prefetch(from + AHEAD + k);
            CS_UNROLL for (int k = 0; k < each; k++) sum[p * each + k] =
                sum[p * each + k] + load_f64(from + k * CS_LANES);
        }
    CS_UNROLL for (int k = 0; k < SUMS; k++) all = all + sum[k];
    sums_f64 total = (sums_f64)all;
    return total_f64(&total);
}

static double CS_BUILD(sum_one)(const double *values, int64_t count)
{
    return sum_at(1, values, count);
}

static double CS_BUILD(sum_four)(const double *values, int64_t count)
{
    return sum_at(4, values, count);
}

static double CS_BUILD(sum_eight)(const double *values, int64_t count)
{
    return sum_at(8, values, count);
}

/* Enough independent chains to hide the latency of an operation, and few enough for the registers. */
static double CS_BUILD(multiply)(int64_t rounds, double *operations)
{
    enum { CHAINS = 12 };
    vec_f64 chain[CHAINS], factor = all_f64(0.5), term = all_f64(1);
    CS_UNROLL for (int k = 0; k < CHAINS; k++) chain[k] = all_f64(k);
    for (int64_t i = 0; i < rounds; i++)
        CS_UNROLL for (int k = 0; k < CHAINS; k++) chain[k] = fma_f64(factor, chain[k], term);
    CS_UNROLL for (int k = 1; k < CHAINS; k++) chain[0] = chain[0] + chain[k];
    sums_f64 total = (sums_f64)chain[0];
    *operations = 2.0 * CHAINS * CS_LANES * (double)rounds;
    return total_f64(&total);
}

extern const cs_stream_kernels CS_BUILD(cs_stream_kernels);
const cs_stream_kernels CS_BUILD(cs_stream_kernels) = {
    .sum = {CS_BUILD(sum_one), CS_BUILD(sum_four), CS_BUILD(sum_eight)},
    .multiply = CS_BUILD(multiply),
};
