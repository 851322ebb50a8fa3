/* The kernels of cuda/batches.inc in mixed precision. */
#include "cuda/kernels.h"

#define CS_ONLY_MIXED
#define CS_TEMPLATE "cuda/batches.inc"
#include "core/each_precision.h"
