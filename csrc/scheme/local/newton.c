#include "prox/slope.h"
#include "scheme/local/local.h"

#include <math.h>
#include <string.h>

enum { NEWTON_STEPS = 40, HALVINGS = 6 };

/* p <- prox(z), slope <- an element of its Jacobian, of zeros. */
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
    int open = !(z[0] > 0);
    out[0] = open ? 0 : z[0];
    slope[0] = !open;
    if (open && !p->fixed) return;
    for (int i = 0; i < p->balls; i++)
        cs_slope_of_ball(rows, p->first[i], p->first[i + 1] - p->first[i], p->reach[i],
                         p->fixed ? p->normal : out[0], !p->fixed, z, out, slope);
}

/* The row with the largest entry of a column, each row measured by its largest entry. */
static int pivot_row(int n, const double *a, const double *size, int column)
{
    int best = column;
    for (int i = column + 1; i < n; i++)
        if (fabs(a[i * n + column]) * size[best] > fabs(a[best * n + column]) * size[i]) best = i;
    return best;
}

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
    double size[CS_MAX_ROWS] = {0};
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) size[i] = fmax(size[i], fabs(a[i * n + j]));
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
    for (int k = n - 1; k >= 0; k--) {
        for (int j = k + 1; j < n; j++) b[k] -= a[k * n + j] * b[j];
        b[k] = a[k * n + k] != 0 ? b[k] / a[k * n + k] : 0;
    }
}

/* One point: F = z - prox(z - r v), how large it is, and what Newton's method needs of it. */
typedef struct point {
    double F[CS_MAX_ROWS], projected[CS_MAX_ROWS], slope[CS_MAX_ROWS * CS_MAX_ROWS];
    double merit;  /* |F|^2, rows of different units weighed by 1/r */
    double defect; /* as cs_local_defect has it */
} point;

static void look(const cs_local_problem *p, const double *z, point *at)
{
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
    prox_slope(p, y, at->projected, at->slope);
    at->merit = 0;
    for (int i = 0; i < rows; i++) {
        at->F[i] = z[i] - at->projected[i];
        at->merit += at->F[i] * at->F[i] / p->r[i];
    }
    /* A coupled set, whose rows share one r, is as large as the largest of its rows. */
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
    look(p, z, &here);
    return here.defect;
}

/* d <- -(1 - S (1 - r W))^-1 F */
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

/* z <- z + t d with the first t of 1, 1/2, ... that makes F smaller. Returns whether there is one. */
static int descend(const cs_local_problem *p, const double *d, double *z, point *here)
{
    double t = 1, trial[CS_MAX_ROWS];
    for (int n = 0; n < HALVINGS; n++, t /= 2) {
        point there;
        for (int i = 0; i < p->rows; i++) trial[i] = z[i] + t * d[i];
        look(p, trial, &there);
        if (!(there.merit < here->merit)) continue;
        memcpy(z, trial, sizeof(double) * (size_t)p->rows);
        *here = there;
        return 1;
    }
    return 0;
}

double cs_local_newton(const cs_local_problem *p, double *z)
{
    double d[CS_MAX_ROWS], kept[CS_MAX_ROWS];
    point here, last;
    look(p, z, &here);
    for (int n = 0; n < NEWTON_STEPS && here.defect > 2 * DBL_EPSILON; n++) {
        direction(p, &here, d);
        if (!descend(p, d, z, &here)) break;
    }
    /* What comes out of a prox is within the set. */
    memcpy(kept, here.projected, sizeof kept);
    look(p, kept, &last);
    if (last.defect <= fmax(here.defect, CS_LOCAL_TOLERANCE / 4)) {
        memcpy(z, kept, sizeof(double) * (size_t)p->rows);
        return last.defect;
    }
    return here.defect;
}
