/* Estimates of condition numbers. */
#include "mlcp/pivoting.h"

#include <math.h>

enum { MAX_SOLVES = 5 };

/* |A_FF| in the 1-norm. */
static double norm(const cs_island *s)
{
    double largest = 0;
    for (int64_t i = 0; i < s->rows; i++) {
        double sum = 0;
        if (s->state[i]) continue;
        for (int64_t e = s->start[i]; e < s->start[i + 1]; e++)
            if (!s->state[s->column[e]]) sum += fabs(s->value[e]);
        largest = fmax(largest, sum);
    }
    return largest;
}

/* |step| in the 1-norm, over the free rows. */
static double sum_of(const cs_island *s)
{
    double sum = 0;
    for (int64_t i = 0; i < s->rows; i++) sum += s->state[i] ? 0 : fabs(s->step[i]);
    return sum;
}

/* A lower bound of |A_FF^-1| in the 1-norm, which is usually close. Each iteration solves for a vector,
 * then for the signs of the result, whose largest component selects the next unit vector.  Higham 1988,
 * Algorithm 4.1, for a symmetric matrix */
static double inverse_norm(cs_island *s, int64_t count)
{
    /* Begin with the mean of all unit vectors. */
    double best = 0;
    for (int64_t i = 0; i < s->rows; i++) s->step[i] = s->state[i] ? 0 : 1 / (double)count;
    for (int k = 0; k < MAX_SOLVES; k++) {
        /* The norm of the solution is a bound; stop if it does not increase. */
        s->engine->solve(s, s->step);
        double sum = sum_of(s);
        if (!(sum > best)) break;
        best = sum;

        /* The gradient of the norm selects the next unit vector. */
        for (int64_t i = 0; i < s->rows; i++)
            if (!s->state[i]) s->step[i] = s->step[i] < 0 ? -1 : 1;
        s->engine->solve(s, s->step);
        int64_t largest = -1;
        for (int64_t i = 0; i < s->rows; i++)
            if (!s->state[i] && (largest < 0 || fabs(s->step[i]) > fabs(s->step[largest])))
                largest = i;
        for (int64_t i = 0; i < s->rows; i++) s->step[i] = i == largest;
    }
    return best;
}

double cs_mlcp_condition(cs_mlcp *mlcp)
{
    double largest = mlcp->rule->no_factors ? (double)NAN : 0;
    for (int64_t p = 0; p < mlcp->islands && !mlcp->rule->no_factors; p++) {
        cs_island *s = &mlcp->island[p];
        int64_t count = 0;
        for (int64_t i = 0; i < s->rows; i++) count += s->state[i] == CS_INDEX_FREE;
        if (count) largest = fmax(largest, norm(s) * inverse_norm(s, count));
    }
    return largest;
}
