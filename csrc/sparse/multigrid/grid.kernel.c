/* The loops of sparse/multigrid/grid.h for one instruction set. */
#include "core/compiler.h"
#include "sparse/multigrid/grid.h"

#include <string.h>

#define CS_TEMPLATE "sparse/multigrid/cycle.inc"
#include "core/each_precision.h"

/* Products are in double precision, of blocks in either. */
#define CS_ONLY_F64
#define CS_MIXED_TOO
#define CS_TEMPLATE "sparse/multigrid/product.inc"
#include "core/each_precision.h"

#define BOTH(name)                                 \
    {                                              \
        CS_BUILD(name##_f64), CS_BUILD(name##_f32) \
    }
#define STORED(name)                                 \
    {                                                \
        CS_BUILD(name##_f64), CS_BUILD(name##_mixed) \
    }

extern const cs_grid_kernels CS_BUILD(cs_grid_kernels);
const cs_grid_kernels CS_BUILD(cs_grid_kernels) = {
    .name = CS_TEXT(CS_KERNEL_BUILD),
    .collect = BOTH(collect_part),
    .restricts = BOTH(restrict_part),
    .copy = BOTH(copy_part),
    .prolong = BOTH(prolong_part),
    .backward = BOTH(backward_part),
    .smooth = STORED(smooth_part),
    .multiply = STORED(multiply_part),
    .scale = STORED(scale_part),
};
