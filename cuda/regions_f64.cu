/* The kernels of cuda/regions.inc in double precision. */
#include "cuda/device.h"

#define CS_ONLY_F64
#define CS_TEMPLATE "cuda/regions.inc"
#include "core/each_precision.h"
