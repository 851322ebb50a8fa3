/* The kernels of cuda/regions.inc in mixed precision. */
#include "cuda/device.h"

#define CS_ONLY_MIXED
#define CS_TEMPLATE "cuda/regions.inc"
#include "core/each_precision.h"
