#include "core/stream.h"

#include "core/clock.h"
#include "core/instructions.h"
#include "core/memory.h"

#define CS_INSTRUCTIONS(name, summary) extern const cs_stream_kernels cs_stream_kernels_##name;
#include "core/instructions.def"
#undef CS_INSTRUCTIONS

static const cs_stream_kernels *const builds[] = {
#define CS_INSTRUCTIONS(name, summary) &cs_stream_kernels_##name,
#include "core/instructions.def"
#undef CS_INSTRUCTIONS
};

enum {
    TIMES = 3,
    BLOCK = 1024,       /* numbers: what the loops read is whole blocks of them */
    AT_LEAST = 1 << 26, /* bytes read between two readings of the clock */
    ROUNDS = 1 << 20
};

static volatile double nowhere; /* keeps the compiler from removing the loops */

/* Seconds of one pass over the values, averaged over enough passes for the clock's resolution. */
static double seconds_of(double (*sum)(const double *, int64_t), const double *values,
                         int64_t count)
{
    int64_t readings = 1 + AT_LEAST / (8 * count);
    double start = cs_clock();
    for (int64_t i = 0; i < readings; i++) nowhere = sum(values, count);
    return (cs_clock() - start) / (double)readings;
}

double cs_stream_read(int64_t bytes)
{
    const cs_stream_kernels *kernels = builds[cs_instructions_widest()];
    int64_t count = (bytes + 8 * BLOCK - 1) / (8 * BLOCK) * BLOCK;
    double *values = cs_allocate(count, sizeof(double)), least = -1;
    if (!values) return least;
    for (int i = 0; i < TIMES; i++)
        for (int k = 0; k < 3; k++) {
            double seconds = seconds_of(kernels->sum[k], values, count);
            if (least < 0 || seconds < least) least = seconds;
        }
    cs_release(values);
    return least * (double)bytes / (8.0 * (double)count);
}

double cs_stream_multiply(void)
{
    const cs_stream_kernels *kernels = builds[cs_instructions_widest()];
    double most = 0, operations;
    for (int i = 0; i < TIMES; i++) {
        double start = cs_clock();
        nowhere = kernels->multiply(ROUNDS, &operations);
        double rate = operations / (cs_clock() - start);
        if (rate > most) most = rate;
    }
    return most;
}
