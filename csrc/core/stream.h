/* What a core reads from memory: the yardstick of sweeps that are limited by it. */
#ifndef CS_STREAM_H
#define CS_STREAM_H

#include <stdint.h>

/* Seconds that one thread takes to read `bytes` of memory once, the least of three times; negative
 * without so much memory. */
double cs_stream_read(int64_t bytes);

#endif
