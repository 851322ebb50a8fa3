/* The products of sparse/block_system.h for one instruction set. */
#include "core/compiler.h"
#include "sparse/block_system.h"

#define CS_TEMPLATE "sparse/block_products.inc"
#include "core/each_precision.h"

extern const cs_block_kernels CS_BUILD(cs_block_kernels);
const cs_block_kernels CS_BUILD(cs_block_kernels) = {
    .name = CS_TEXT(CS_KERNEL_BUILD),
    .multiply = {CS_BUILD(multiply_part_f64), CS_BUILD(multiply_part_f32)},
};
