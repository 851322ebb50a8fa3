/* The kernels of cuda/batches.inc in double precision. */
#include "cuda/kernels.h"

#define CS_ONLY_F64
#define CS_TEMPLATE "cuda/batches.inc"
#include "core/each_precision.h"
