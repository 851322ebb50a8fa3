/* The kernels of cuda/visits.inc in double precision. */
#include "cuda/kernels.h"

#define CS_ONLY_F64
#define CS_TEMPLATE "cuda/visits.inc"
#include "core/each_precision.h"
