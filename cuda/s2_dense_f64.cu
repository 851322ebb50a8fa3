/* The kernels of cuda/s2_dense.inc in double. */
#include "cuda/s2_dense.h"

#define CS_ONLY_F64
#define CS_TEMPLATE "cuda/s2_dense.inc"
#include "core/each_precision.h"
