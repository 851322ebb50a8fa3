/* The kernels of linalg/panel.h for one instruction set. */
#include "core/compiler.h"
#include "linalg/panel.h"

#include <math.h>

/* A tile is updated in pieces of HIGH vectors by WIDE columns, which fit the registers. */
#if defined(__AVX512F__)
#include <immintrin.h>
typedef __m512d vec;
enum { LANES = 8, HIGH = 1, WIDE = 8 };
CS_INLINE vec all(double value) { return _mm512_set1_pd(value); }
CS_INLINE vec minus_product(vec c, vec a, vec b) { return _mm512_fnmadd_pd(a, b, c); }
#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
typedef __m256d vec;
enum { LANES = 4, HIGH = 2, WIDE = 4 };
CS_INLINE vec all(double value) { return _mm256_set1_pd(value); }
CS_INLINE vec minus_product(vec c, vec a, vec b) { return _mm256_fnmadd_pd(a, b, c); }
#else
typedef double vec __attribute__((vector_size(16), may_alias));
enum { LANES = 2, HIGH = 2, WIDE = 4 };
CS_INLINE vec all(double value) { return (vec){value, value}; }
CS_INLINE vec minus_product(vec c, vec a, vec b) { return c - a * b; }
#endif

enum { VECTORS = CS_PANEL / LANES, TILE = CS_PANEL * CS_PANEL };

CS_INLINE vec load(const double *from) { return *(const vec *)from; }
CS_INLINE void store(double *to, vec a) { *(vec *)to = a; }

/* c (8 x 8) -= sum over k of x_k y_k^T, columns of 8 */
CS_INLINE void subtract_product(int64_t count, const double *x, const double *y, double *c)
{
    for (int row = 0; row < CS_PANEL; row += HIGH * LANES)
        for (int column = 0; column < CS_PANEL; column += WIDE) {
            vec sum[HIGH][WIDE];
            for (int j = 0; j < WIDE; j++)
                for (int i = 0; i < HIGH; i++)
                    sum[i][j] = load(c + (column + j) * CS_PANEL + row + i * LANES);
            for (int64_t k = 0; k < count; k++) {
                vec a[HIGH];
                for (int i = 0; i < HIGH; i++) a[i] = load(x + k * CS_PANEL + row + i * LANES);
                for (int j = 0; j < WIDE; j++) {
                    vec b = all(y[k * CS_PANEL + column + j]);
                    for (int i = 0; i < HIGH; i++) sum[i][j] = minus_product(sum[i][j], a[i], b);
                }
            }
            for (int j = 0; j < WIDE; j++)
                for (int i = 0; i < HIGH; i++)
                    store(c + (column + j) * CS_PANEL + row + i * LANES, sum[i][j]);
        }
}

/* c <- c L^-T for the lower triangular tile L and the inverse of its diagonal. */
CS_INLINE void divide(const double *lower, const double *inverse, double *c)
{
    for (int row = 0; row < CS_PANEL; row += LANES) {
        vec x[CS_PANEL];
        for (int k = 0; k < CS_PANEL; k++) x[k] = load(c + k * CS_PANEL + row);
        for (int k = 0; k < CS_PANEL; k++) {
            x[k] *= all(inverse[k]);
            for (int j = k + 1; j < CS_PANEL; j++)
                x[j] = minus_product(x[j], x[k], all(lower[k * CS_PANEL + j]));
        }
        for (int k = 0; k < CS_PANEL; k++) store(c + k * CS_PANEL + row, x[k]);
    }
}

/* Factors a diagonal tile in place. Returns the row whose pivot is not above its floor, or -1. */
static int CS_BUILD(decompose)(double *tile, const double *floor, double *inverse, double *pivot)
{
    for (int k = 0; k < CS_PANEL; k++) {
        double *column = tile + k * CS_PANEL;
        *pivot = column[k];
        if (!(column[k] > floor[k])) return k;
        inverse[k] = 1 / sqrt(column[k]);
        for (int i = 0; i < k; i++) column[i] = 0;
        for (int i = k; i < CS_PANEL; i++) column[i] *= inverse[k];
        for (int j = k + 1; j < CS_PANEL; j++)
            for (int i = j; i < CS_PANEL; i++) tile[j * CS_PANEL + i] -= column[i] * column[j];
    }
    return -1;
}

static const double *CS_BUILD(diagonal_tile)(const cs_panels *panels, int64_t p)
{
    return panels->value + panels->start[p + 1] - TILE;
}

/* Factors one panel after all panels before it (left-looking). */
static int CS_BUILD(factor_panel)(cs_panels *panels, int64_t p, double *pivot)
{
    double floor[CS_PANEL], unit = CS_PIVOT_FLOOR * (double)panels->rows;
    double *own = panels->value + panels->start[p], *tile = panels->value + panels->start[p + 1];
    int64_t first = panels->first[p];
    tile -= TILE;
    for (int i = 0; i < CS_PANEL; i++) floor[i] = unit * tile[i * CS_PANEL + i];
    for (int64_t q = first / CS_PANEL; q < p; q++) {
        int64_t from = first > panels->first[q] ? first : panels->first[q];
        const double *other = panels->value + panels->start[q];
        double *c = own + (q * CS_PANEL - first) * CS_PANEL;
        subtract_product(q * CS_PANEL - from, own + (from - first) * CS_PANEL,
                         other + (from - panels->first[q]) * CS_PANEL, c);
        divide(CS_BUILD(diagonal_tile)(panels, q), panels->inverse + q * CS_PANEL, c);
    }
    subtract_product(p * CS_PANEL - first, own, own, tile);
    return CS_BUILD(decompose)(tile, floor, panels->inverse + p * CS_PANEL, pivot);
}

static void CS_BUILD(factor)(cs_panels *panels, int64_t from, int64_t to, cs_breakdown *breakdown)
{
    for (int64_t p = from; p < to; p++) {
        int row = CS_BUILD(factor_panel)(panels, p, &breakdown->pivot);
        if (row < 0) continue;
        breakdown->row = p * CS_PANEL + row;
        return;
    }
}

/* x_p <- L_pp^-1 (x_p - sum over the columns before) */
CS_INLINE void forward(const cs_panels *panels, int64_t p, double *x)
{
    enum {
        CHAINS = 2
    }; /* independent sums, because consecutive additions to one sum wait for each other */
    const double *own = panels->value + panels->start[p],
                 *tile = CS_BUILD(diagonal_tile)(panels, p);
    const double *inverse = panels->inverse + p * CS_PANEL;
    const double *before = x + panels->first[p];
    double *here = x + p * CS_PANEL;
    int64_t columns = p * CS_PANEL - panels->first[p]; /* a multiple of 8 */
    vec sum[CHAINS][VECTORS];
    for (int v = 0; v < VECTORS; v++) {
        sum[0][v] = load(here + v * LANES);
        sum[1][v] = all(0);
    }
    for (int64_t k = 0; k < columns; k += CHAINS)
        for (int s = 0; s < CHAINS; s++) {
            vec b = all(before[k + s]);
            for (int v = 0; v < VECTORS; v++)
                sum[s][v] = minus_product(sum[s][v], load(own + (k + s) * CS_PANEL + v * LANES), b);
        }
    for (int v = 0; v < VECTORS; v++) store(here + v * LANES, sum[0][v] + sum[1][v]);
    for (int k = 0; k < CS_PANEL; k++) {
        here[k] *= inverse[k];
        for (int i = k + 1; i < CS_PANEL; i++) here[i] -= tile[k * CS_PANEL + i] * here[k];
    }
}

/* x_p <- L_pp^-T x_p, then subtracts its products from all earlier x. */
CS_INLINE void backward(const cs_panels *panels, int64_t p, double *x)
{
    const double *own = panels->value + panels->start[p],
                 *tile = CS_BUILD(diagonal_tile)(panels, p);
    const double *inverse = panels->inverse + p * CS_PANEL;
    double *before = x + panels->first[p], *here = x + p * CS_PANEL;
    int64_t columns = p * CS_PANEL - panels->first[p];
    for (int k = CS_PANEL - 1; k >= 0; k--) {
        double sum = here[k];
        for (int i = k + 1; i < CS_PANEL; i++) sum -= tile[k * CS_PANEL + i] * here[i];
        here[k] = sum * inverse[k];
    }
    for (int64_t k = 0; k < columns; k++) {
        const double *c = own + k * CS_PANEL;
        double pairs[4];
        for (int i = 0; i < 4; i++) pairs[i] = c[i] * here[i] + c[i + 4] * here[i + 4];
        before[k] -= (pairs[0] + pairs[2]) + (pairs[1] + pairs[3]);
    }
}

static void CS_BUILD(solve)(const cs_panels *panels, double *x)
{
    for (int64_t p = 0; p < panels->count; p++) forward(panels, p, x);
    for (int64_t p = panels->count - 1; p >= 0; p--) backward(panels, p, x);
}

extern const cs_panel_kernels CS_BUILD(cs_panel_kernels);
const cs_panel_kernels CS_BUILD(cs_panel_kernels) = {
    .name = CS_TEXT(CS_KERNEL_BUILD),
    .factor = CS_BUILD(factor),
    .solve = CS_BUILD(solve),
};
