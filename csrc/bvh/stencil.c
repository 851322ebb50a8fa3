#include "bvh/stencil.h"

#include "core/compiler.h"
#include "core/vector.h"

/* The two vertices whose difference a corner is. */
typedef struct corner {
    int plus, minus;
} corner;

static const corner triangle[] = {{0, 1}, {0, 2}, {0, 3}};
static const corner parallelogram[] = {{0, 2}, {1, 2}, {1, 3}, {0, 3}};

static const corner *corners_of(int corners) { return corners == 3 ? triangle : parallelogram; }

CS_INLINE double larger(double a, double b) { return a > b ? a : b; }

/* Of all coordinates; one chain of comparisons for each axis, since each waits for the one before. */
CS_INLINE double largest(int corners, const cs_polygon *start, const cs_polygon *end)
{
    double most[2][3] = {{0}};
    CS_UNROLL for (int k = 0; k < corners; k++) for (int c = 0; c < 3; c++)
    {
        most[0][c] = larger(fabs(start->at[k][c]), most[0][c]);
        most[1][c] = larger(fabs(end->at[k][c]), most[1][c]);
    }
    for (int c = 0; c < 3; c++) most[0][c] = larger(most[0][c], most[1][c]);
    return larger(larger(most[0][0], most[0][1]), most[0][2]);
}

/* Sizes whose squares of areas, and products of those with rounding errors, are ordinary numbers. */
#define LEAST_SIZE 0x1p-100
#define MOST_SIZE 0x1p100

/* The four positions times 2^-exponent. */
CS_RARE void scale(const double *const *x, int exponent, double to[][3])
{
    for (int i = 0; i < CS_STENCIL_VERTICES; i++)
        for (int c = 0; c < 3; c++) to[i][c] = ldexp(x[i][c], -exponent);
}

CS_INLINE void subtract(const double *const *x, int corners, cs_polygon *polygon)
{
    const corner *pair = corners_of(corners);
    polygon->corners = corners;
    CS_UNROLL for (int k = 0; k < corners; k++)
        cs_subtract(x[pair[k].plus], x[pair[k].minus], polygon->at[k]);
}

CS_INLINE double subtract_both(const double *const *x0, const double *const *x1, int corners,
                               cs_motion *motion)
{
    subtract(x0, corners, &motion->start);
    subtract(x1, corners, &motion->end);
    return largest(corners, &motion->start, &motion->end);
}

/* Tiny differences are exact, as their units are those of the positions: they are scaled themselves. */
CS_RARE void scale_up(double margin, cs_motion *motion)
{
    frexp(motion->size, &motion->exponent);
    cs_polygon *polygon[] = {&motion->start, &motion->end};
    for (int n = 0; n < 2; n++)
        for (int k = 0; k < motion->start.corners; k++)
            for (int c = 0; c < 3; c++)
                polygon[n]->at[k][c] = ldexp(polygon[n]->at[k][c], -motion->exponent);
    motion->size = ldexp(motion->size, -motion->exponent);
    motion->margin = ldexp(margin, -motion->exponent);
}

/* Takes differences in units of 2^exponent; the exponents of x may be such that a difference overflows. */
CS_RARE void load_scaled(const double *const *x0, const double *const *x1, int corners,
                         double margin, cs_motion *motion)
{
    double to[2][CS_STENCIL_VERTICES][3];
    const double *y0[CS_STENCIL_VERTICES], *y1[CS_STENCIL_VERTICES];
    for (int i = 0; i < CS_STENCIL_VERTICES; i++) {
        y0[i] = to[0][i];
        y1[i] = to[1][i];
    }
    int exponent = 0, more = isfinite(motion->size) ? 0 : 2;
    do {
        if (!more) frexp(motion->size, &more);
        exponent += more;
        scale(x0, exponent, to[0]);
        scale(x1, exponent, to[1]);
        motion->size = corners == 3 ? subtract_both(y0, y1, 3, motion)
                                    : subtract_both(y0, y1, CS_MOST_CORNERS, motion);
        more = 0;
    } while (motion->size > MOST_SIZE);
    motion->exponent = exponent;
    motion->margin = ldexp(margin, -exponent);
}

CS_INLINE void load(const double *const *x0, const double *const *x1, int corners, double margin,
                    cs_motion *motion)
{
    motion->exponent = 0;
    motion->margin = margin;
    motion->size = subtract_both(x0, x1, corners, motion);
    if (!(motion->size <= MOST_SIZE)) load_scaled(x0, x1, corners, margin, motion);
    else if (motion->size < LEAST_SIZE && motion->size > 0) scale_up(margin, motion);
}

void cs_motion_load(const cs_stencils *stencils, int64_t i, double margin, cs_motion *motion)
{
    const double *x0[CS_STENCIL_VERTICES], *x1[CS_STENCIL_VERTICES];
    for (int k = 0; k < CS_STENCIL_VERTICES; k++) {
        int64_t at = CS_STENCIL_VERTICES * i + k,
                vertex = stencils->index ? stencils->index[at] : at;
        x0[k] = stencils->start + 3 * vertex;
        x1[k] = stencils->end + 3 * vertex;
    }
    if (stencils->kind == CS_VERTEX_FACE) load(x0, x1, 3, margin, motion);
    else load(x0, x1, 4, margin, motion);
}

static double unscaled(double length, const cs_motion *motion)
{
    return motion->exponent ? ldexp(length, motion->exponent) : length;
}

void cs_stencil_put(const cs_motion *motion, const cs_nearest *nearest, double *distance,
                    double *weight, double *separation)
{
    const corner *pair = corners_of(motion->start.corners);
    if (distance) *distance = unscaled(sqrt(nearest->square), motion);
    if (separation)
        for (int c = 0; c < 3; c++) separation[c] = unscaled(nearest->point[c], motion);
    if (!weight) return;

    for (int i = 0; i < CS_STENCIL_VERTICES; i++) weight[i] = 0;
    for (int k = 0; k < motion->start.corners; k++) {
        weight[pair[k].plus] += nearest->weight[k];
        weight[pair[k].minus] -= nearest->weight[k];
    }
}
