/* Evaluates a result with the given matrix, independently of the rule that computed it. */
#include "mlcp/pivoting.h"

#include <float.h>
#include <math.h>

/* |w| up to this many units of rounding counts as zero. */
enum { FLOOR_UNITS = 4 };

/* The value, limited to [lo, hi]. */
static double clamp(double value, double lo, double hi)
{
    return value < lo ? lo : value > hi ? hi : value;
}

/* w <- A x + b. */
static void multiply(const cs_mlcp *mlcp, const double *b, const double *x, double *w)
{
    for (int64_t i = 0; i < mlcp->rows; i++) {
        double sum = b[i];
        for (int64_t e = mlcp->start[i]; e < mlcp->start[i + 1]; e++) {
            double entry = mlcp->skew ? mlcp->value[e] + mlcp->skew[e] : mlcp->value[e];
            sum += entry * x[mlcp->column[e]];
        }
        w[i] = sum;
    }
}

/* (|A| |x| + |b|) of row i: the scale of rounding errors in w. */
static double magnitude(const cs_mlcp *mlcp, const double *b, const double *x, int64_t i)
{
    double sum = fabs(b[i]);
    for (int64_t e = mlcp->start[i]; e < mlcp->start[i + 1]; e++)
        sum += fabs(mlcp->value[e] * x[mlcp->column[e]]);
    return sum;
}

/* rho of row i: 1 / A_ii; if A_ii is zero, one over the largest entry of the row, or 1 in a zero row. */
static double scale_of_row(const cs_mlcp *mlcp, int64_t i)
{
    double largest = mlcp->diagonal[i];
    for (int64_t e = mlcp->start[i]; e < mlcp->start[i + 1] && !(mlcp->diagonal[i] > 0); e++)
        largest = fmax(largest, fabs(mlcp->value[e]));
    return largest > 0 ? 1 / largest : 1;
}

/* speed[island] <- the largest residual over rho of x = P(0): the reference of scaled residuals. Rows
 * whose w is rounding do not count. `x` <- P(0) (rows); `w` (rows) is scratch. */
static void find_speeds(const cs_mlcp *mlcp, const double *b, const double *lo, const double *hi,
                        double *x, double *w)
{
    /* w at P(0). */
    for (int64_t i = 0; i < mlcp->rows; i++) x[i] = clamp(0, lo[i], hi[i]);
    multiply(mlcp, b, x, w);

    /* Its largest residual on each island. */
    for (int64_t p = 0; p < mlcp->islands; p++) {
        mlcp->speed[p] = 0;
        for (int64_t k = 0; k < mlcp->island[p].rows; k++) {
            int64_t i = mlcp->island[p].user[k];
            double rho = scale_of_row(mlcp, i);
            double defect = fabs(x[i] - clamp(x[i] - rho * w[i], lo[i], hi[i]));
            if (fabs(w[i]) > FLOOR_UNITS * DBL_EPSILON * magnitude(mlcp, b, x, i))
                mlcp->speed[p] = fmax(mlcp->speed[p], defect / rho);
        }
    }
}

/* Adds one row to the verdict; returns 0 if it is not finite. */
static int judge_row(cs_mlcp_verdict *verdict, int64_t i, double x, double w, double lo, double hi,
                     double rho, double speed)
{
    double step = x - rho * w, nearest = clamp(step, lo, hi);
    double defect = nearest == step ? rho * fabs(w) : fabs(x - nearest);
    double scaled = defect > 0 && speed > 0 ? defect / (rho * speed) : 0; /* otherwise x is P(0) */

    /* The product of w and the gap to the bound that it holds x at. */
    double gap = fmin(fabs(x - lo), fabs(hi - x));
    if (w > 0) gap = x - lo;
    if (w < 0) gap = hi - x;
    double product = w == 0 ? 0 : fabs(w * gap);

    /* Update the maxima. */
    if (!isfinite(defect) || !isfinite(x)) return 0;
    verdict->residual = fmax(verdict->residual, defect);
    if (scaled > verdict->scaled || verdict->worst < 0) verdict->worst = i;
    verdict->scaled = fmax(verdict->scaled, scaled);
    /* At an infinite bound w must vanish; the residual already measures that. */
    if (isfinite(product)) verdict->complementarity = fmax(verdict->complementarity, product);
    return 1;
}

cs_mlcp_verdict cs_mlcp_judge(const cs_mlcp *mlcp, const double *b, const double *lo,
                              const double *hi, double *x, double *w)
{
    cs_mlcp_verdict verdict = {.worst = -1};
    find_speeds(mlcp, b, lo, hi, mlcp->origin, w);

    /* On islands whose speed is zero, P(0) is a solution: take it. */
    for (int64_t p = 0; p < mlcp->islands; p++)
        for (int64_t k = 0; k < mlcp->island[p].rows && mlcp->speed[p] == 0; k++)
            x[mlcp->island[p].user[k]] = mlcp->origin[mlcp->island[p].user[k]];

    /* Judge all rows. */
    multiply(mlcp, b, x, w);
    for (int64_t p = 0; p < mlcp->islands; p++)
        for (int64_t k = 0; k < mlcp->island[p].rows; k++) {
            int64_t i = mlcp->island[p].user[k];
            double rho = scale_of_row(mlcp, i);
            if (!judge_row(&verdict, i, x[i], w[i], lo[i], hi[i], rho, mlcp->speed[p]))
                return (cs_mlcp_verdict){NAN, NAN, NAN, i};
        }
    return verdict;
}
