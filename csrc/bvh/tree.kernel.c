/* The loops of bvh/tree_kernels.h for one instruction set. */
#include "bvh/tree_kernels.h"
#include "core/compiler.h"

#include <float.h>
#include <math.h>
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define CS_TEMPLATE "bvh/fours.inc"
#include "core/each_precision.h"

#define CS_TEMPLATE "bvh/boxes.inc"
#include "core/each_precision.h"

#define CS_TEMPLATE "bvh/overlap.inc"
#include "core/each_precision.h"

/* ---- vertices that leaves share ------------------------------------------------------------------------ */

CS_INLINE unsigned share(const int32_t *v, const int32_t *w, int corners_v, int corners_w,
                         int arity)
{
#if defined(__AVX512F__)
    if (arity == 4) {
        /* All 16 pairs in a vector, as in bvh/overlap.inc. */
        const __m512i spread = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
        __mmask16 found = 0;
        for (int n = 0; n < corners_v; n++) {
            __m128i own = _mm_loadu_si128((const __m128i *)(v + 4 * n));
            __m512i of_v = _mm512_permutexvar_epi32(spread, _mm512_castsi128_si512(own));
            for (int m = 0; m < corners_w; m++) {
                __m128i other = _mm_loadu_si128((const __m128i *)(w + 4 * m));
                found |= _mm512_cmpeq_epi32_mask(of_v, _mm512_broadcast_i32x4(other));
            }
        }
        return found;
    }
#endif
    unsigned found = 0;
    for (int i = 0; i < arity; i++)
        for (int j = 0; j < arity; j++) {
            int shared = 0;
            for (int n = 0; n < corners_v; n++)
                for (int m = 0; m < corners_w; m++) shared |= v[arity * n + i] == w[arity * m + j];
            found |= (unsigned)shared << (arity * i + j);
        }
    return found;
}

#define SHARING(corners_v, corners_w, arity)                                             \
    static unsigned CS_BUILD(sharing_##corners_v##corners_w##_##arity)(const int32_t *v, \
                                                                       const int32_t *w) \
    {                                                                                    \
        return share(v, w, corners_v, corners_w, arity);                                 \
    }

SHARING(1, 3, 4)
SHARING(2, 2, 4)
SHARING(3, 3, 4)
SHARING(1, 3, 2)
SHARING(2, 2, 2)
SHARING(3, 3, 2)

/* Vertices with faces, edges with edges, or faces with faces. */
static cs_tree_sharing CS_BUILD(find_sharing)(int corners_v, int arity)
{
    static const cs_tree_sharing table[2][3] = {
        {CS_BUILD(sharing_13_2), CS_BUILD(sharing_22_2), CS_BUILD(sharing_33_2)},
        {CS_BUILD(sharing_13_4), CS_BUILD(sharing_22_4), CS_BUILD(sharing_33_4)},
    };
    return table[arity == 4][corners_v - 1];
}

#define BOTH(name)                                 \
    {                                              \
        CS_BUILD(name##_f64), CS_BUILD(name##_f32) \
    }

extern const cs_tree_kernels CS_BUILD(cs_tree_kernels);
const cs_tree_kernels CS_BUILD(cs_tree_kernels) = {
    .name = CS_TEXT(CS_KERNEL_BUILD),
    .overlap = BOTH(find_overlap),
    .sharing = CS_BUILD(find_sharing),
    .fill_vertices = BOTH(fill_vertices),
    .fill_leaves = BOTH(fill_leaves),
    .fill_branches = BOTH(fill_branches),
    .face_extents = BOTH(face_extents),
};
