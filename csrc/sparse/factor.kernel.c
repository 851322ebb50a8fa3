/* The loops of sparse/factor_kernels.h for one instruction set. */
#include "core/compiler.h"
#include "sparse/factor_kernels.h"

#define CS_ONLY_F64
#define CS_TEMPLATE "sparse/factor.inc"
#include "core/each_precision.h"

extern const cs_factor_kernels CS_BUILD(cs_factor_kernels);
const cs_factor_kernels CS_BUILD(cs_factor_kernels) = {
    .name = CS_TEXT(CS_KERNEL_BUILD),
    .subtract = CS_BUILD(subtract_column),
    .solve = CS_BUILD(solve_columns),
};
