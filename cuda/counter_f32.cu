/* The kernels of cuda/counter.inc in float. */
#include "cuda/device.h"

#define CS_ONLY_F32
#define CS_TEMPLATE "cuda/counter.inc"
#include "core/each_precision.h"
