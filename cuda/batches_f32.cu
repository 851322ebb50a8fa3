/* The kernels of cuda/batches.inc in float. */
#include "cuda/kernels.h"

#define CS_ONLY_F32
#define CS_TEMPLATE "cuda/batches.inc"
#include "core/each_precision.h"
