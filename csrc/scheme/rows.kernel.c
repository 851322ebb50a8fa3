/* The kernels of scheme/row_kernels.h for one instruction set. */
#include "scheme/row_kernels.h"

#define CS_TEMPLATE "scheme/row_kernels.inc"
#define CS_MIXED_TOO
#include "core/each_precision.h"

extern const cs_row_kernels CS_BUILD(cs_row_kernels);
const cs_row_kernels CS_BUILD(cs_row_kernels) = {
    .name = CS_TEXT(CS_KERNEL_BUILD),
    .visit = {CS_BUILD(visit_in_vectors_f32), CS_BUILD(visit_in_vectors_f64),
              CS_BUILD(visit_in_vectors_mixed)},
};
