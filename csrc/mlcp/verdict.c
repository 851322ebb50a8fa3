/* The verdict from outside: on the matrix as given, whatever the rule computed with. */
#include "mlcp/pivoting.h"

#include <float.h>
#include <math.h>

/* Units of rounding in w that count as none. */
enum { FLOOR_UNITS = 4 };

static double clamp(double value, double lo, double hi)
{
    return value < lo ? lo : value > hi ? hi : value;
}

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

/* (|A| |x| + |b|) of row i: what rounding errors of w are made of. */
static double magnitude(const cs_mlcp *mlcp, const double *b, const double *x, int64_t i)
{
    double sum = fabs(b[i]);
    for (int64_t e = mlcp->start[i]; e < mlcp->start[i + 1]; e++)
        sum += fabs(mlcp->value[e] * x[mlcp->column[e]]);
    return sum;
}

/* One over A_ii; of a zero diagonal over the largest entry of the row, 1 where it has none. */
static double scale_of_row(const cs_mlcp *mlcp, int64_t i)
{
    double largest = mlcp->diagonal[i];
    for (int64_t e = mlcp->start[i]; e < mlcp->start[i + 1] && !(mlcp->diagonal[i] > 0); e++)
        largest = fmax(largest, fabs(mlcp->value[e]));
    return largest > 0 ? 1 / largest : 1;
}

/* speed[island] <- the largest residual over rho of P(0), as math.md section 4 has it: what a residual is
 * compared with; what rounding may leave counts as none. `x` and `w` (rows) are scratch. */
static void find_speeds(const cs_mlcp *mlcp, const double *b, const double *lo, const double *hi,
                        double *x, double *w)
{
    for (int64_t i = 0; i < mlcp->rows; i++) x[i] = clamp(0, lo[i], hi[i]);
    multiply(mlcp, b, x, w);
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

/* One row of the answer into the verdict; returns whether it is a number. */
static int judge_row(cs_mlcp_verdict *verdict, int64_t i, double x, double w, double lo, double hi,
                     double rho, double speed)
{
    double step = x - rho * w, nearest = clamp(step, lo, hi);
    double defect = nearest == step ? rho * fabs(w) : fabs(x - nearest);
    double scaled = defect > 0 && speed > 0 ? defect / (rho * speed) : 0; /* else it is P(0) */
    double gap = fmin(fabs(x - lo), fabs(hi - x));
    if (w > 0) gap = x - lo;
    if (w < 0) gap = hi - x;
    double product = w == 0 ? 0 : fabs(w * gap);
    if (!isfinite(defect) || !isfinite(x)) return 0;
    verdict->residual = fmax(verdict->residual, defect);
    if (scaled > verdict->scaled || verdict->worst < 0) verdict->worst = i;
    verdict->scaled = fmax(verdict->scaled, scaled);
    /* An infinite bound allows no force: what is left of w is the residual's to tell. */
    if (isfinite(product)) verdict->complementarity = fmax(verdict->complementarity, product);
    return 1;
}

cs_mlcp_verdict cs_mlcp_judge(const cs_mlcp *mlcp, const double *b, const double *lo,
                              const double *hi, double *x, double *w)
{
    cs_mlcp_verdict verdict = {.worst = -1};
    find_speeds(mlcp, b, lo, hi, mlcp->origin, w);

    /* Islands without speed are solved by P(0), and have it. */
    for (int64_t p = 0; p < mlcp->islands; p++)
        for (int64_t k = 0; k < mlcp->island[p].rows && mlcp->speed[p] == 0; k++)
            x[mlcp->island[p].user[k]] = mlcp->origin[mlcp->island[p].user[k]];
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
