/* The kernels of cuda/dataflow.inc in mixed precision. */
#include "cuda/device.h"

#define CS_ONLY_MIXED
#define CS_TEMPLATE "cuda/dataflow.inc"
#include "core/each_precision.h"
