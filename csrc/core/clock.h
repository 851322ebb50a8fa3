/* A monotonic clock, in seconds. Only differences of two readings have a meaning. */
#ifndef CS_CLOCK_H
#define CS_CLOCK_H

#include <time.h>

static inline double cs_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
