/* The kernels of cuda/dataflow.inc in double precision. */
#include "cuda/device.h"

#define CS_ONLY_F64
#define CS_TEMPLATE "cuda/dataflow.inc"
#include "core/each_precision.h"
