/* The kernels of cuda/visits.inc in float. */
#include "cuda/kernels.h"

#define CS_ONLY_F32
#define CS_TEMPLATE "cuda/visits.inc"
#include "core/each_precision.h"
