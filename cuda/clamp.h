/* The prox of a disc in single precision by sums of two floats, with the bits of T(cs_clamp_radially) in prox/dispatch.inc,
 * which takes a root and a quotient in double precision. */
#ifndef CS_CUDA_CLAMP_H
#define CS_CUDA_CLAMP_H

#include "cuda/gpu.h"

/* About 1 / sqrt(x): within 2^-22.9 of it for x > 2^-126. */
#if defined(__CUDA_ARCH__)
CS_GPU float cs_over_root(float x)
{
    float root;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(x));
    return root;
}
#else
/* With errors as large as a GPU's, of either sign. */
CS_BOTH float cs_over_root(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return 1 / sqrtf(x) * (bits % 2 ? 1 + 0x1p-23F : 1 - 0x1p-23F);
}
#endif

/* z (2) <- radius z / |z| where |z| > radius >= 0. Returns whether that is certain: z then has the bits that double precision
 * gives, which rounds the same number. It is not certain next to the middle between two floats, one time in 10^4, nor where a
 * contact slides and digits might be lost below the least number.
 *
 * With S = |z|^2 and some y < 1 / sqrt(S) close to it, e = 1 - S y^2 is about 2^-20, and
 *
 *     radius / sqrt(S) = radius y (1 + e / 2) (1 + d),    0 <= d < 2^-40 */
CS_BOTH bool cs_clamp_by_pairs(float *z, float radius)
{
    /* y, and S = square + rest; the larger number first, so that first - square is exact. */
    float y = cs_over_root(fmaf(z[0], z[0], fmaf(z[1], z[1], 0x1p-104F)) * (1 + 0x1p-20F));
    float large = fmaxf(fabsf(z[0]), fabsf(z[1])), small = fminf(fabsf(z[0]), fabsf(z[1]));
    float first = large * large, square = fmaf(small, small, first);
    float rest = fmaf(large, large, -first) + fmaf(small, small, first - square);

    /* e, and the quotient: scale + more. */
    float inverse = y * y, e = fmaf(-square, inverse, 1);
    e = fmaf(-rest, inverse, e);
    e = fmaf(-square, fmaf(y, y, -inverse), e);
    float scale = radius * y, more = fmaf(0.5F * scale, e, fmaf(radius, y, -scale));

    /* The least and the largest product that it may be. `more` is positive, so that zeros keep their sign. */
    float least[2], most[2], quotient = scale + more;
    float below = fmaf(scale, -0x1p-39F, more), above = fmaf(scale, 0x1p-39F, more);
    CS_UNROLL for (int i = 0; i < 2; i++)
    {
        least[i] = fmaf(z[i], scale, z[i] * below);
        most[i] = fmaf(z[i], scale, z[i] * above);
    }
    bool same = (least[0] == most[0]) & (least[1] == most[1]);

    /* Far inside the disc, and without any radius, digits do not matter. A scale of 0 says that no number is NaN. */
    bool inside = scale > 2, open = (scale == 0) & (radius == 0);

    /* Products that lose no digits; zeros have none to lose. */
    bool whole = ((large >= 0x1p-40F) | (large == 0)) & (large <= 0x1p40F);
    whole = whole & ((small >= 0x1p-70F) | (small == 0));
    whole = whole & ((scale >= 0x1p-30F) | (radius == 0));
    CS_UNROLL for (int i = 0; i < 2; i++) z[i] = (quotient >= 1) | inside ? z[i] : least[i];
    return ((large <= 0x1p40F) & (inside | open)) | (whole & (same | (quotient > 1)));
}

#endif
