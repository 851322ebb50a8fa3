/* The kernels of cuda/counter.inc in double precision. */
#include "cuda/device.h"

#define CS_ONLY_F64
#define CS_TEMPLATE "cuda/counter.inc"
#include "core/each_precision.h"
