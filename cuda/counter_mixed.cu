/* The kernels of cuda/counter.inc in mixed precision. */
#include "cuda/device.h"

#define CS_ONLY_MIXED
#define CS_TEMPLATE "cuda/counter.inc"
#include "core/each_precision.h"
