/* The kernels of scheme/wide.h for one instruction set. */
#include "scheme/compressed.h"
#include "scheme/wide.h"

#define CS_TEMPLATE "scheme/wide.inc"
#include "core/both.h"

#define CS_TEXT_(name) #name
#define CS_TEXT(name) CS_TEXT_(name)

extern const cs_wide_kernels CS_BUILD(cs_wide_kernels);
const cs_wide_kernels CS_BUILD(cs_wide_kernels) = {
    .name = CS_TEXT(CS_KERNEL_BUILD),
    .lanes = {wide_lanes_f32, wide_lanes_f64},
    .visit = {CS_BUILD(wide_visit_f32), CS_BUILD(wide_visit_f64)},
};
