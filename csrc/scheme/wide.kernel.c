/* The kernels of scheme/wide.h for one instruction set. */
#include "scheme/compressed.h"
#include "scheme/wide.h"

#define CS_TEMPLATE "scheme/wide.inc"
#define CS_MIXED_TOO
#include "core/each_precision.h"

extern const cs_wide_kernels CS_BUILD(cs_wide_kernels);
const cs_wide_kernels CS_BUILD(cs_wide_kernels) = {
    .name = CS_TEXT(CS_KERNEL_BUILD),
    .lanes = {wide_lanes_f32, wide_lanes_f64, wide_lanes_mixed},
    .visit = {CS_BUILD(wide_visit_f32), CS_BUILD(wide_visit_f64), CS_BUILD(wide_visit_mixed)},
    .measure = CS_BUILD(wide_measure_f64),
    .subtract = CS_BUILD(wide_subtract_mixed),
};
