/* The kernels of cuda/parts_threads.inc, but for mixed precision. */
#include "cuda/kernels.h"

#define CS_TEMPLATE "cuda/parts_threads.inc"
#include "core/each_precision.h"
