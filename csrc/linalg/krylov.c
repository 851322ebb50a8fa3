/* GMRES and conjugate gradients: see linalg/krylov.h. */
#include "linalg/krylov.h"

#include <math.h>
#include <string.h>

/* ---- GMRES ------------------------------------------------------------------------------------- */

/* The Hessenberg matrix, column by column; Givens rotations make each new column triangular. */
typedef struct hessenberg {
    double column[CS_KRYLOV][CS_KRYLOV + 1];
    double cosine[CS_KRYLOV], sine[CS_KRYLOV], right[CS_KRYLOV + 1];
} hessenberg;

/* Applies the earlier rotations to column k, then a new one that removes its last entry. */
static void rotate(hessenberg *h, int k)
{
    double *c = h->column[k];
    for (int i = 0; i < k; i++) {
        double upper = h->cosine[i] * c[i] + h->sine[i] * c[i + 1];
        c[i + 1] = h->cosine[i] * c[i + 1] - h->sine[i] * c[i];
        c[i] = upper;
    }

    /* The new rotation, and its effect on the right-hand side. */
    double length = hypot(c[k], c[k + 1]);
    h->cosine[k] = length > 0 ? c[k] / length : 1;
    h->sine[k] = length > 0 ? c[k + 1] / length : 0;
    c[k] = length;
    h->right[k + 1] = -h->sine[k] * h->right[k];
    h->right[k] *= h->cosine[k];
}

/* d <- the combination of the basis with the least residual, by back substitution. */
static void combine(const hessenberg *h, int steps, int64_t count, const double *basis, double *d)
{
    double part[CS_KRYLOV];
    memset(d, 0, sizeof(double) * (size_t)count);
    for (int i = steps - 1; i >= 0; i--) {
        part[i] = h->right[i];
        for (int j = i + 1; j < steps; j++) part[i] -= h->column[j][i] * part[j];
        part[i] = h->column[i][i] > 0 ? part[i] / h->column[i][i] : 0;
        const double *v = basis + i * count;
        for (int64_t r = 0; r < count; r++) d[r] += part[i] * v[r];
    }
}

/* One Arnoldi step: computes the next vector of the basis, orthogonal to all earlier ones (modified Gram-Schmidt), and
 * column k of the Hessenberg matrix. Returns the length of the vector before it was normalised. */
static double extend(const cs_operator *A, hessenberg *h, int k, double *basis, double *scratch)
{
    int64_t count = A->count;
    double *next = basis + (k + 1) * count;
    memcpy(scratch, basis + k * count, sizeof(double) * (size_t)count);
    A->precondition(A->context, scratch);
    A->multiply(A->context, scratch, next);

    /* Orthogonalise against the basis, then normalise. */
    for (int i = 0; i <= k; i++) {
        const double *v = basis + i * count;
        h->column[k][i] = A->dot(A->context, v, next);
        for (int64_t j = 0; j < count; j++) next[j] -= h->column[k][i] * v[j];
    }
    double rest = sqrt(A->dot(A->context, next, next));
    h->column[k][k + 1] = rest;
    for (int64_t j = 0; j < count && rest > 0; j++) next[j] /= rest;
    return rest;
}

double cs_gmres(const cs_operator *A, const double *r, double most, double *basis, double *d,
                int64_t *made)
{
    hessenberg h;
    double length = sqrt(A->dot(A->context, r, r)), residual = length;
    h.right[0] = length;
    for (int64_t i = 0; i < A->count; i++) basis[i] = r[i] / length;

    /* |h.right[k]| is the residual after k steps. */
    int k = 0;
    while (k < CS_KRYLOV && residual > most) {
        double rest = extend(A, &h, k, basis, d);
        rotate(&h, k);
        residual = fabs(h.right[++k]);
        if (!(rest > 0) || cs_is_cancelled(A->cancellation, A->work)) break;
    }

    /* The solution is M times the best combination of the basis. */
    combine(&h, k, A->count, basis, d);
    A->precondition(A->context, d);
    *made = k;
    return residual;
}

/* ---- conjugate gradients ------------------------------------------------------------------------- */

double cs_conjugate_turn(cs_conjugate *steps, double product)
{
    double beta = steps->product == 0 ? 0 : product / steps->product;
    steps->product = product;
    return beta;
}

double cs_conjugate_advance(const cs_conjugate *steps, double curvature)
{
    return curvature > 0 ? steps->product / curvature : 0;
}

int cs_conjugate_direction(cs_conjugate *steps, const double *r, const double *z)
{
    double now = 0;
    for (int64_t i = 0; i < steps->count; i++) now += z[i] * r[i];
    int first = steps->product == 0;
    double beta = cs_conjugate_turn(steps, now);
    for (int64_t i = 0; i < steps->count; i++)
        steps->direction[i] = z[i] + (first ? 0 : beta * steps->direction[i]);
    return now > 0;
}

double cs_conjugate_length(const cs_conjugate *steps, const double *image)
{
    double curvature = 0;
    for (int64_t i = 0; i < steps->count; i++) curvature += image[i] * steps->direction[i];
    return cs_conjugate_advance(steps, curvature);
}
