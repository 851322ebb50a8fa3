/* The kernels of cuda/counter.inc. */
#include "cuda/device.h"

#define CS_MIXED_TOO
#define CS_TEMPLATE "cuda/counter.inc"
#include "core/each_precision.h"
