/* The kernels of scheme/dense.h for one instruction set. */
#include "scheme/dense.h"

#define CS_TEMPLATE "scheme/dense_kernel.inc"
#include "core/each_precision.h"

extern const cs_dense_kernels CS_BUILD(cs_dense_kernels);
const cs_dense_kernels CS_BUILD(cs_dense_kernels) = {
    .name = CS_TEXT(CS_KERNEL_BUILD),
    .multiply = {CS_BUILD(multiply_f32), CS_BUILD(multiply_f64)},
};
