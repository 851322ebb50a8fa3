/* Solves a linear system by conjugate gradients, preconditioned with the factor of an earlier matrix A0.
 *
 *     x <- A0^-1 r,  then  p = A0^-1 r + beta p,  x += alpha p   until  r = -w_F  is rounding
 *
 * If A has changed little, A0^-1 A is close to the identity and a few steps suffice. If they converge
 * too slowly, the iteration is abandoned and A is factored. S3 leaves this as future work
 * (section 4.1). */
#include "linalg/krylov.h"
#include "mlcp/pivoting.h"

#include <float.h>
#include <math.h>

/* The convergence rate is judged after this many steps. */
enum { MIN_STEPS = 3 };

/* Computes the next search direction from the residual of the free rows, r = -w_F, and A0^-1 r. Returns 0
 * if A0 is not positive definite. */
static int next_direction(cs_island *s, cs_conjugate *steps)
{
    double *r = s->slope, *z = s->step;
    for (int64_t i = 0; i < s->rows; i++) r[i] = z[i] = s->state[i] ? 0 : -s->w[i];
    s->engine->solve(s, z);
    return cs_conjugate_direction(steps, r, z);
}

/* image <- A direction */
static void multiply(cs_island *s)
{
    for (int64_t i = 0; i < s->rows; i++) {
        double sum = 0;
        for (int64_t e = s->start[i]; e < s->start[i + 1]; e++)
            sum += s->value[e] * s->direction[s->column[e]];
        s->image[i] = sum;
    }
}

/* x += length direction, w += length image. If w is then as small as rounding errors, it is evaluated from
 * x. Returns the residual. */
static double take_step(cs_island *s, double length)
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

/* Whether `steps` steps from `first` to `worst` predict convergence within `most` steps. */
static int will_converge(double first, double worst, int64_t steps, int64_t most)
{
    if (steps < MIN_STEPS) return 1;
    return log(first / worst) * (double)most >= log(first / CS_PIVOT_REFINE) * (double)steps;
}

/* Solves for x_F by conjugate gradients. Returns 0 if they converge too slowly. */
static int solve(cs_pivot_run *run)
{
    cs_island *s = run->island;
    cs_conjugate steps = {.count = s->rows, .direction = s->direction};

    /* The first iterate: x_F = A0^-1 times the right-hand side. */
    cs_pivot_right_side(s);
    cs_pivot_add_step(s);
    double worst = cs_pivot_residual(s), first = worst;

    /* Conjugate gradient steps until the residual is rounding. */
    int64_t most = run->options->reuse;
    for (int64_t k = 0; worst > CS_PIVOT_REFINE; k++) {
        if (k == most || !will_converge(first, worst, k, most)) return 0;
        run->reuse.steps++;
        if (!next_direction(s, &steps)) return 0;
        multiply(s);
        double length = cs_conjugate_length(&steps, s->image);
        if (!(length > 0)) return 0;
        worst = take_step(s, length);
    }
    return worst <= CS_PIVOT_REFINE; /* false if it is NaN */
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
