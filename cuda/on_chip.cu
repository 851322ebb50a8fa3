/* The kernels of cuda/on_chip.inc in single and in double precision. */
#include "cuda/device.h"

#define CS_TEMPLATE "cuda/on_chip.inc"
#include "core/each_precision.h"
