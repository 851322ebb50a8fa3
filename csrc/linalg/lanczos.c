/* Lanczos' iteration: A V = V T + beta v e^T with V^T V = 1 and a small tridiagonal T. The extreme eigenvalues of T
 * converge to those of A first, and |beta e^T s| bounds the error of a Ritz value with eigenvector s.
 * (Golub, Van Loan: Matrix Computations, chapter 10) */
#include "linalg/lanczos.h"

#include "core/loop.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct lanczos {
    int64_t n;
    const cs_vector_sums *sums; /* the caller's; or NULL */
    int threads;
    int size;      /* of T */
    double *basis; /* (size + 1, n) */
    double alpha[CS_LANCZOS_STEPS], beta[CS_LANCZOS_STEPS];
} lanczos;

/* ---- vectors, piece by piece ------------------------------------------------------------------- */

typedef struct vectors {
    const double *x, *from;
    double *y;
    double factor, sum[CS_LOOP_PIECES];
} vectors;

static void dot_piece(void *context, int64_t piece, int64_t begin, int64_t end)
{
    vectors *v = context;
    double sum = 0;
    for (int64_t i = begin; i < end; i++) sum += v->x[i] * v->from[i];
    v->sum[piece] = sum;
}

/* x . y, the sums of the pieces in their order */
static double dot(const lanczos *l, const double *x, const double *y)
{
    if (l->sums) return l->sums->dot(l->sums->context, x, y);
    vectors v = {.x = x, .from = y};
    cs_loop(l->threads, l->n, dot_piece, &v);
    double sum = 0;
    for (int64_t piece = 0; piece < cs_loop_pieces(l->n); piece++) sum += v.sum[piece];
    return sum;
}

static void add_piece(void *context, int64_t piece, int64_t begin, int64_t end)
{
    const vectors *v = context;
    (void)piece;
    for (int64_t i = begin; i < end; i++) v->y[i] += v->factor * v->x[i];
}

/* y += factor x */
static void add_multiple(const lanczos *l, double factor, const double *x, double *y)
{
    cs_loop(l->threads, l->n, add_piece, &(vectors){.x = x, .y = y, .factor = factor});
}

static void divide_piece(void *context, int64_t piece, int64_t begin, int64_t end)
{
    const vectors *v = context;
    (void)piece;
    for (int64_t i = begin; i < end; i++) v->y[i] = v->x[i] / v->factor;
}

/* y <- x / divisor; they may be the same */
static void divide(const lanczos *l, double divisor, const double *x, double *y)
{
    cs_loop(l->threads, l->n, divide_piece, &(vectors){.x = x, .y = y, .factor = divisor});
}

/* ---- the tridiagonal matrix ---------------------------------------------------------------------- */

/* The number of eigenvalues of T below x, which is the number of negative pivots of T - x (Sturm). */
static int count_below(const lanczos *l, double x, double tiny)
{
    int count = 0;
    double pivot = 1;
    for (int i = 0; i < l->size; i++) {
        double off = i ? l->beta[i - 1] : 0;
        pivot = l->alpha[i] - x - off * off / pivot;
        if (fabs(pivot) < tiny) pivot = -tiny;
        count += pivot < 0;
    }
    return count;
}

/* The eigenvalue of T that has `below` smaller ones, by bisection to rounding. */
static double eigenvalue(const lanczos *l, int below)
{
    /* Gershgorin's interval contains all eigenvalues. */
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < l->size; i++) {
        double radius = (i ? l->beta[i - 1] : 0) + (i + 1 < l->size ? l->beta[i] : 0);
        low = fmin(low, l->alpha[i] - radius);
        high = fmax(high, l->alpha[i] + radius);
    }

    /* Bisect. */
    double size = fmax(fabs(low), fabs(high)), tiny = DBL_MIN + DBL_EPSILON * DBL_EPSILON * size;
    while (high - low > 2 * DBL_EPSILON * size) {
        double middle = low + 0.5 * (high - low);
        if (middle <= low || middle >= high) break;
        if (count_below(l, middle, tiny) > below) high = middle;
        else low = middle;
    }
    return low + 0.5 * (high - low);
}

/* The last entry of the normalised eigenvector of T for the eigenvalue `value`, by two steps of inverse iteration. */
static double last_entry(const lanczos *l, double value)
{
    int n = l->size;
    double x[CS_LANCZOS_STEPS], size = fabs(value);
    for (int i = 0; i < n; i++) {
        x[i] = 1;
        size = fmax(size, fabs(l->alpha[i]));
    }
    for (int round = 0; round < 2; round++) {
        /* T - value with its diagonal a, and the first and second superdiagonals b and c. */
        double a[CS_LANCZOS_STEPS], b[CS_LANCZOS_STEPS] = {0}, c[CS_LANCZOS_STEPS] = {0};
        double norm = 0;
        for (int i = 0; i < n; i++) {
            a[i] = l->alpha[i] - value;
            b[i] = i + 1 < n ? l->beta[i] : 0;
        }

        /* Eliminate with row exchanges. */
        for (int i = 0; i + 1 < n; i++) {
            double below = l->beta[i];
            if (fabs(below) > fabs(a[i])) { /* exchange rows i and i + 1 */
                double factor = a[i] / below, next = a[i + 1], swap = x[i];
                a[i] = below;
                a[i + 1] = b[i] - factor * next;
                c[i] = b[i + 1];
                b[i] = next;
                b[i + 1] = -factor * c[i];
                x[i] = x[i + 1];
                x[i + 1] = swap - factor * x[i];
            } else if (a[i] != 0) {
                double factor = below / a[i];
                a[i + 1] -= factor * b[i];
                x[i + 1] -= factor * x[i];
            }
        }

        /* Substitute backwards, and normalise. */
        for (int i = n - 1; i >= 0; i--) {
            double sum = x[i];
            if (i + 1 < n) sum -= b[i] * x[i + 1];
            if (i + 2 < n) sum -= c[i] * x[i + 2];
            double pivot = fabs(a[i]) > DBL_EPSILON * size ? a[i] : DBL_EPSILON * size + DBL_MIN;
            x[i] = sum / pivot;
            norm += x[i] * x[i];
        }
        for (int i = 0; i < n; i++) x[i] /= sqrt(norm);
    }
    return fabs(x[n - 1]);
}

/* Computes the extreme Ritz values and their error bounds. */
static void find_spectrum(const lanczos *l, double beta, cs_spectrum *spectrum)
{
    spectrum->steps = l->size;
    spectrum->smallest = eigenvalue(l, 0);
    spectrum->largest = eigenvalue(l, l->size - 1);
    spectrum->smallest_error = beta * last_entry(l, spectrum->smallest);
    spectrum->largest_error = beta * last_entry(l, spectrum->largest);
}

/* Whether both values are accurate enough to stop. */
static int has_converged(const cs_spectrum *spectrum)
{
    return spectrum->largest_error <= CS_LANCZOS_LARGEST * spectrum->largest &&
           spectrum->smallest_error <= CS_LANCZOS_SMALLEST * spectrum->smallest;
}

/* ---- the iteration ------------------------------------------------------------------------------- */

/* One step: computes alpha and the next basis vector, which is not normalised. Returns its length beta. */
static double extend(lanczos *l, cs_product product, void *context)
{
    int k = l->size++;
    double *v = l->basis + k * l->n, *next = v + l->n;
    product(context, v, next);
    l->alpha[k] = dot(l, v, next);

    /* Orthogonalise twice: once would lose digits, and twice is enough (Kahan). */
    for (int twice = 0; twice < 2; twice++)
        for (int i = 0; i <= k; i++) {
            const double *earlier = l->basis + i * l->n;
            add_multiple(l, -dot(l, earlier, next), earlier, next);
        }
    double beta = sqrt(dot(l, next, next));
    l->beta[k] = beta;
    return beta;
}

int cs_lanczos(int64_t n, int threads, cs_product product, void *context, double *start,
               cs_spectrum *spectrum)
{
    return cs_lanczos_with(n, threads, NULL, product, context, start, spectrum);
}

int cs_lanczos_with(int64_t n, int threads, const cs_vector_sums *sums, cs_product product,
                    void *context, double *start, cs_spectrum *spectrum)
{
    /* Begin with the normalised start vector. */
    lanczos l = {.n = n, .threads = threads, .sums = sums};
    *spectrum = (cs_spectrum){0};
    double norm = sqrt(dot(&l, start, start));
    if (!(norm > 0)) return 0;
    int64_t all = sums ? sums->all : n, steps = all < CS_LANCZOS_STEPS ? all : CS_LANCZOS_STEPS;
    l.basis = cs_allocate((steps + 1) * n, sizeof(double));
    if (!l.basis) return -1;
    divide(&l, norm, start, l.basis);

    /* Extend the basis; test for convergence every eight steps. */
    double scale = 0;
    while (l.size < steps) {
        double beta = extend(&l, product, context);
        scale = fmax(scale, fmax(fabs(l.alpha[l.size - 1]), beta));
        int complete = !(beta > 64 * DBL_EPSILON * scale); /* the subspace is invariant */
        if (complete) beta = 0;
        if (complete || l.size == steps || l.size % 8 == 0) find_spectrum(&l, beta, spectrum);
        if (complete || (l.size % 8 == 0 && has_converged(spectrum))) break;
        double *next = l.basis + l.size * n;
        divide(&l, beta, next, next);
    }
    cs_release(l.basis);
    return 0;
}
