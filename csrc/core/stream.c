#include "core/stream.h"

#include "core/clock.h"
#include "core/instructions.h"
#include "core/memory.h"
#include "core/parallel.h"

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
    AT_LEAST = 1 << 26, /* bytes that a thread reads between two readings of the clock */
    ROUNDS = 1 << 20
};

/* The memory of one thread, on a cache line of its own. */
typedef struct part {
    _Alignas(64) double *values;
    volatile double total; /* keeps the compiler from removing the loops */
} part;

/* What the threads read: as many numbers each, `passes` times. */
typedef struct reading {
    part *parts;
    int64_t count, passes;
    double (*sum)(const double *values, int64_t count);
} reading;

/* Each thread clears its own part, so that the system places it close to the thread's processor. */
static void allocate_part(void *context, int thread)
{
    const reading *r = context;
    r->parts[thread].values = cs_allocate(r->count, sizeof(double));
}

static void read_part(void *context, int thread)
{
    const reading *r = context;
    part *own = &r->parts[thread];
    for (int64_t i = 0; i < r->passes; i++) own->total = r->sum(own->values, r->count);
}

/* Seconds of one pass of all threads, averaged over enough passes for the clock's resolution: until the
 * last thread has finished. */
static double seconds_of(reading *r, int threads)
{
    double start = cs_clock();
    cs_parallel(threads, read_part, r);
    return (cs_clock() - start) / (double)r->passes;
}

/* The least seconds of all loops, or a negative number if a part has no memory. */
static double least_seconds(reading *r, int threads)
{
    const cs_stream_kernels *kernels = builds[cs_instructions_widest()];
    for (int t = 0; t < threads; t++)
        if (!r->parts[t].values) return -1;

    double least = -1;
    for (int i = 0; i < TIMES; i++)
        for (int k = 0; k < 3; k++) {
            r->sum = kernels->sum[k];
            double seconds = seconds_of(r, threads);
            if (least < 0 || seconds < least) least = seconds;
        }
    return least;
}

double cs_stream_read(int64_t bytes, int threads)
{
    /* Equal parts of whole blocks; what is read beyond `bytes` is taken off the time in proportion. */
    int64_t share = bytes / threads + (bytes % threads != 0);
    int64_t blocks = share / (8 * BLOCK) + (share % (8 * BLOCK) != 0);
    reading r = {.count = blocks * BLOCK, .passes = 1 + AT_LEAST / (8 * BLOCK * blocks)};
    r.parts = cs_allocate(threads, sizeof(part));
    if (!r.parts) return -1;

    cs_parallel(threads, allocate_part, &r);
    double least = least_seconds(&r, threads);

    for (int t = 0; t < threads; t++) cs_release(r.parts[t].values);
    cs_release(r.parts);
    double excess = 8.0 * (double)r.count * threads / (double)bytes;
    return least < 0 ? least : least / excess;
}

static volatile double nowhere; /* keeps the compiler from removing the loop */

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
