/* A linear system with the factor of an earlier matrix: conjugate gradients, which it preconditions.
 *
 *     x <- A0^-1 r,  then  p = A0^-1 r + beta p,  x += alpha p   until  r = -w_F  is rounding
 *
 * Where A has changed little, A0^-1 A is close to the identity and a few steps do; where they go too
 * slowly to end in time, they are given up and A is factored. S3 leaves this as future work (section 4.1);
 * Golub and Van Loan 2013, Algorithm 11.5.1 */
#include "mlcp/pivoting.h"

#include <float.h>
#include <math.h>

/* Steps after which their rate tells. */
enum { KNOWN = 3 };

/* direction <- A0^-1 r + beta direction; `product` is r A0^-1 r, from the last one to this. */
static void turn(cs_island *s, double *product, int first)
{
    double now = 0;
    for (int64_t i = 0; i < s->rows; i++) s->step[i] = s->state[i] ? 0 : -s->w[i];
    s->engine->solve(s, s->step);
    for (int64_t i = 0; i < s->rows; i++) now -= s->state[i] ? 0 : s->step[i] * s->w[i];
    double beta = first ? 0 : now / *product;
    for (int64_t i = 0; i < s->rows; i++)
        s->direction[i] = s->step[i] + (first ? 0 : beta * s->direction[i]);
    *product = now;
}

/* image <- A direction; returns direction A direction. */
static double bend(cs_island *s)
{
    double sum = 0;
    for (int64_t i = 0; i < s->rows; i++) {
        double here = 0;
        for (int64_t e = s->start[i]; e < s->start[i + 1]; e++)
            here += s->value[e] * s->direction[s->column[e]];
        s->image[i] = here;
        sum += here * s->direction[i];
    }
    return sum;
}

/* Along `direction`; w follows, and is had exactly where it seems to be rounding. */
static double go(cs_island *s, double length)
{
    for (int64_t i = 0; i < s->rows; i++) {
        s->x[i] += length * s->direction[i];
        s->w[i] += length * s->image[i];
    }
    double worst = cs_pivot_residual(s);
    if (worst > CS_PIVOT_REFINE) return worst;
    cs_pivot_evaluate(s);
    return cs_pivot_residual(s);
}

/* Whether steps at the pace so far end within so many. */
static int is_in_time(double first, double worst, int64_t steps, int64_t most)
{
    if (steps < KNOWN) return 1;
    return log(first / worst) * (double)most >= log(first / CS_PIVOT_REFINE) * (double)steps;
}

static int solve(cs_pivot_run *run)
{
    cs_island *s = run->island;
    double product = 0;
    cs_pivot_right_side(s);
    cs_pivot_add_step(s);
    double worst = cs_pivot_residual(s), first = worst;
    int64_t most = run->options->reuse;
    for (int64_t k = 0; worst > CS_PIVOT_REFINE; k++) {
        if (k == most || !is_in_time(first, worst, k, most)) return 0;
        run->reuse.steps++;
        turn(s, &product, k == 0);
        double curvature = bend(s);
        if (!(curvature > 0 && product > 0)) return 0;
        worst = go(s, product / curvature);
    }
    return worst <= CS_PIVOT_REFINE; /* which what is no number is not */
}

int cs_pivot_reuse(cs_pivot_run *run)
{
    const cs_island *s = run->island;
    if (!s->is_stale || !run->options->reuse || !cs_pivot_has_rows(s)) return 0;
    int solved = solve(run);
    run->reuse.solves += solved;
    run->reuse.failed += !solved;
    return solved;
}
