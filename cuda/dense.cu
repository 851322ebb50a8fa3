/* The kernels of cuda/dense.inc in single and in double precision. */
#include "cuda/device.h"

#define CS_TEMPLATE "cuda/dense.inc"
#include "core/each_precision.h"
