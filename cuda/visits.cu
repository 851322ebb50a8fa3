/* The kernels of cuda/visits.inc. */
#include "cuda/kernels.h"

#define CS_MIXED_TOO
#define CS_TEMPLATE "cuda/visits.inc"
#include "core/each_precision.h"
