/* Newton's method on the natural map of one block: F(z) = z - prox(z - r v) = 0 (Alart and Curnier 1991). */
#include "prox/slope.h"
#include "scheme/local/local.h"

#include <math.h>
#include <string.h>

enum { NEWTON_STEPS = 40, HALVINGS = 6 };

/* out <- prox(z), slope <- an element of its generalised Jacobian; both are zero on entry. */
static void prox_slope(const cs_local_problem *p, const double *z, double *out, double *slope)
{
    int rows = p->rows;
    if (p->shape == CS_LOCAL_BOX) {
        cs_slope_of_box(rows, p->low, p->high, z, out, slope);
        return;
    }
    if (p->shape == CS_LOCAL_CONE) {
        cs_slope_of_cone(rows, p->reach[0], z, out, slope);
        return;
    }

    /* The normal row, then each ball. */
    int open = !(z[0] > 0);
    out[0] = open ? 0 : z[0];
    slope[0] = !open;
    if (open && !p->fixed) return;
    for (int i = 0; i < p->balls; i++)
        cs_slope_of_ball(rows, p->first[i], p->first[i + 1] - p->first[i], p->reach[i],
                         p->fixed ? p->normal : out[0], !p->fixed, z, out, slope);
}

/* The pivot row of a column: the largest entry relative to the largest entry of its row (scaled partial pivoting). */
static int pivot_row(int n, const double *a, const double *size, int column)
{
    int best = column;
    for (int i = column + 1; i < n; i++)
        if (fabs(a[i * n + column]) * size[best] > fabs(a[best * n + column]) * size[i]) best = i;
    return best;
}

/* Exchanges two arrays. */
static void swap(int count, double *x, double *y)
{
    for (int i = 0; i < count; i++) {
        double keep = x[i];
        x[i] = y[i];
        y[i] = keep;
    }
}

void cs_local_eliminate(int n, double *a, double *b)
{
    /* size[i]: the largest entry of row i. */
    double size[CS_MAX_ROWS] = {0};
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) size[i] = fmax(size[i], fabs(a[i * n + j]));

    /* Eliminate column by column; a pivot that is zero to rounding becomes zero. */
    for (int k = 0; k < n; k++) {
        int best = pivot_row(n, a, size, k);
        if (best != k) {
            swap(n, a + k * n, a + best * n);
            swap(1, b + k, b + best);
            swap(1, size + k, size + best);
        }
        if (!(fabs(a[k * n + k]) > 16 * DBL_EPSILON * size[k])) a[k * n + k] = 0;
        for (int i = k + 1; i < n && a[k * n + k] != 0; i++) {
            double factor = a[i * n + k] / a[k * n + k];
            for (int j = k + 1; j < n; j++) a[i * n + j] -= factor * a[k * n + j];
            b[i] -= factor * b[k];
        }
    }

    /* Substitute backwards. */
    for (int k = n - 1; k >= 0; k--) {
        for (int j = k + 1; j < n; j++) b[k] -= a[k * n + j] * b[j];
        b[k] = a[k * n + k] != 0 ? b[k] / a[k * n + k] : 0;
    }
}

/* F = z - prox(z - r v) at one point z, its size, and its derivative. */
typedef struct point {
    double F[CS_MAX_ROWS], projected[CS_MAX_ROWS], slope[CS_MAX_ROWS * CS_MAX_ROWS];
    double merit;  /* |F|^2 with rows weighted by 1/r, because their units differ */
    double defect; /* see cs_local_defect */
} point;

/* at <- F at z. */
static void evaluate(const cs_local_problem *p, const double *z, point *at)
{
    /* y = z - r v; size[i]: the sum of the absolute terms of row i. */
    int rows = p->rows;
    double y[CS_MAX_ROWS], size[CS_MAX_ROWS], defect = 0;
    memset(at->slope, 0, sizeof(double) * (size_t)(rows * rows));
    memset(at->projected, 0, sizeof at->projected);
    for (int i = 0; i < rows; i++) {
        double v = p->q[i], terms = fabs(p->q[i]);
        for (int j = 0; j < rows; j++) {
            double term = p->W[i * rows + j] * z[j];
            v += term;
            terms += fabs(term);
        }
        y[i] = z[i] - p->r[i] * v;
        size[i] = fabs(z[i]) + p->r[i] * terms;
    }

    /* F and the merit. */
    prox_slope(p, y, at->projected, at->slope);
    at->merit = 0;
    for (int i = 0; i < rows; i++) {
        at->F[i] = z[i] - at->projected[i];
        at->merit += at->F[i] * at->F[i] / p->r[i];
    }

    /* The defect: each row relative to the largest size in its coupled set. */
    for (int i = 0; i < rows; i++) {
        double most = size[i];
        for (int j = 0; j < rows; j++)
            if (p->set_of[j] == p->set_of[i]) most = fmax(most, size[j]);
        if (at->F[i] != 0 && !(fabs(at->F[i]) <= defect * most)) defect = fabs(at->F[i]) / most;
    }
    at->defect = isfinite(at->merit) ? defect : INFINITY;
}

double cs_local_defect(const cs_local_problem *p, const double *z)
{
    point here;
    evaluate(p, z, &here);
    return here.defect;
}

/* d <- the Newton direction -(1 - S (1 - r W))^-1 F, where S is the slope of the prox. */
static void direction(const cs_local_problem *p, const point *at, double *d)
{
    int rows = p->rows;
    double a[CS_MAX_ROWS * CS_MAX_ROWS];
    for (int i = 0; i < rows; i++) {
        d[i] = -at->F[i];
        for (int j = 0; j < rows; j++) {
            double sum = (i == j) - at->slope[i * rows + j];
            for (int k = 0; k < rows; k++)
                sum += at->slope[i * rows + k] * p->r[k] * p->W[k * rows + j];
            a[i * rows + j] = sum;
        }
    }
    cs_local_eliminate(rows, a, d);
}

/* Line search: z <- z + t d with the first t of 1, 1/2, ... that decreases the merit. Returns whether there is
 * one. */
static int descend(const cs_local_problem *p, const double *d, double *z, point *here)
{
    double t = 1, trial[CS_MAX_ROWS];
    for (int n = 0; n < HALVINGS; n++, t /= 2) {
        point there;
        for (int i = 0; i < p->rows; i++) trial[i] = z[i] + t * d[i];
        evaluate(p, trial, &there);
        if (!(there.merit < here->merit)) continue;
        memcpy(z, trial, sizeof(double) * (size_t)p->rows);
        *here = there;
        return 1;
    }
    return 0;
}

double cs_local_newton(const cs_local_problem *p, double *z)
{
    /* Iterate while the merit decreases. */
    double d[CS_MAX_ROWS], kept[CS_MAX_ROWS];
    point here, last;
    evaluate(p, z, &here);
    for (int n = 0; n < NEWTON_STEPS && here.defect > 2 * DBL_EPSILON; n++) {
        direction(p, &here, d);
        if (!descend(p, d, z, &here)) break;
    }

    /* Prefer prox(z - r v), which is in the set, if it is as good. */
    memcpy(kept, here.projected, sizeof kept);
    evaluate(p, kept, &last);
    if (last.defect <= fmax(here.defect, CS_LOCAL_TOLERANCE / 4)) {
        memcpy(z, kept, sizeof(double) * (size_t)p->rows);
        return last.defect;
    }
    return here.defect;
}
