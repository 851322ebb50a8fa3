/* The loops of sparse/block_kernels.h for one instruction set. */
#include "core/compiler.h"
#include "sparse/block_kernels.h"

#define CS_MIXED_TOO
#define CS_TEMPLATE "sparse/block_products.inc"
#include "core/each_precision.h"

#define CS_MIXED_TOO
#define CS_TEMPLATE "sparse/block_ssor.inc"
#include "core/each_precision.h"

#define CS_TEMPLATE "sparse/block_vectors.inc"
#include "core/each_precision.h"

#define FORMS(name)                                                        \
    {                                                                      \
        CS_BUILD(name##_f64), CS_BUILD(name##_f32), CS_BUILD(name##_mixed) \
    }
#define BOTH(name)                                 \
    {                                              \
        CS_BUILD(name##_f64), CS_BUILD(name##_f32) \
    }

extern const cs_block_kernels CS_BUILD(cs_block_kernels);
const cs_block_kernels CS_BUILD(cs_block_kernels) = {
    .name = CS_TEXT(CS_KERNEL_BUILD),
    .multiply = FORMS(multiply_part),
    .ssor = FORMS(ssor_part),
    .backward = FORMS(backward_part),
    .forward = FORMS(forward_part),
    .reduce = FORMS(reduce_part),
    .expand = FORMS(expand_part),
    .add_scaled = FORMS(add_scaled_part),
    .step = BOTH(step_numbers),
    .turn = BOTH(turn_numbers),
    .dot = BOTH(dot_numbers),
    .replace = BOTH(replace_numbers),
    .take = BOTH(take_vertices),
    .give = BOTH(give_vertices),
};
