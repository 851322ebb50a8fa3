/* The kernels of cuda/regions.inc in float. */
#include "cuda/device.h"

#define CS_ONLY_F32
#define CS_TEMPLATE "cuda/regions.inc"
#include "core/each_precision.h"
