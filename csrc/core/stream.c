#include "core/stream.h"

#include "core/clock.h"
#include "core/memory.h"

/* Eight sums hide the latency of additions. */
static double sum_of(const double *values, int64_t count)
{
    double sum[8] = {0}, total = 0;
    for (int64_t i = 0; i + 7 < count; i += 8)
        for (int k = 0; k < 8; k++) sum[k] += values[i + k];
    for (int k = 0; k < 8; k++) total += sum[k];
    return total;
}

double cs_stream_read(int64_t bytes)
{
    int64_t count = bytes / (int64_t)sizeof(double);
    double *values = cs_allocate(count, sizeof(double)), least = -1;
    volatile double total = 0; /* so that nothing is left out */
    if (!values) return least;
    for (int i = 0; i < 3; i++) {
        double start = cs_clock();
        total = total + sum_of(values, count);
        double seconds = cs_clock() - start;
        if (i == 0 || seconds < least) least = seconds;
    }
    cs_release(values);
    return least;
}
