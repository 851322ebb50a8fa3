/* The verdict from outside: on the matrix as given, whatever the rule computed with. */
#include "solver/pivoting/pivoting.h"

#include <math.h>

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

cs_mlcp_verdict cs_mlcp_judge(const cs_mlcp *mlcp, const double *b, const double *lo,
                              const double *hi, const double *x, double *w)
{
    cs_mlcp_verdict verdict = {.worst = -1};
    double largest = 0;
    multiply(mlcp, b, x, w);
    for (int64_t i = 0; i < mlcp->rows; i++) largest = fmax(largest, fabs(b[i]));
    for (int64_t i = 0; i < mlcp->rows; i++) {
        double rho = mlcp->diagonal[i] > 0 ? 1 / mlcp->diagonal[i] : 1;
        double defect = fabs(x[i] - clamp(x[i] - rho * w[i], lo[i], hi[i]));
        double scale = fabs(x[i]) + rho * largest, scaled = defect > 0 ? defect / scale : 0;
        double gap = fmin(fabs(x[i] - lo[i]), fabs(hi[i] - x[i]));
        if (w[i] > 0) gap = x[i] - lo[i];
        if (w[i] < 0) gap = hi[i] - x[i];
        double product = w[i] == 0 ? 0 : fabs(w[i] * gap);
        if (!isfinite(defect) || !isfinite(x[i])) return (cs_mlcp_verdict){NAN, NAN, NAN, i};
        verdict.residual = fmax(verdict.residual, defect);
        if (scaled > verdict.scaled || verdict.worst < 0) verdict.worst = i;
        verdict.scaled = fmax(verdict.scaled, scaled);
        /* An infinite bound allows no force: what is left of w is the residual's to tell. */
        if (isfinite(product)) verdict.complementarity = fmax(verdict.complementarity, product);
    }
    return verdict;
}
