/* The kernels of cuda/visits.inc in mixed precision. */
#include "cuda/kernels.h"

#define CS_ONLY_MIXED
#define CS_TEMPLATE "cuda/visits.inc"
#include "core/each_precision.h"
