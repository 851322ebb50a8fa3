/* The kernels of cuda/dataflow.inc in float. */
#include "cuda/device.h"

#define CS_ONLY_F32
#define CS_TEMPLATE "cuda/dataflow.inc"
#include "core/each_precision.h"
