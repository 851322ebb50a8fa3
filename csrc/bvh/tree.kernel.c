/* The loops of bvh/tree_kernels.h for one instruction set. */
#include "bvh/tree_kernels.h"
#include "core/compiler.h"

#include <math.h>
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define CS_TEMPLATE "bvh/boxes.inc"
#include "core/each_precision.h"

#define CS_TEMPLATE "bvh/overlap.inc"
#include "core/each_precision.h"

#define BOTH(name)                                 \
    {                                              \
        CS_BUILD(name##_f64), CS_BUILD(name##_f32) \
    }

extern const cs_tree_kernels CS_BUILD(cs_tree_kernels);
const cs_tree_kernels CS_BUILD(cs_tree_kernels) = {
    .name = CS_TEXT(CS_KERNEL_BUILD),
    .overlap = BOTH(find_overlap),
    .fill_vertices = BOTH(fill_vertices),
    .fill_leaves = BOTH(fill_leaves),
    .fill_branches = BOTH(fill_branches),
    .face_extents = BOTH(face_extents),
};
