/* Projected Newton steps, for problems on which block pivots jump between index sets without progress.
 *
 *     q(x) = x A x / 2 + b x       is minimal, within the bounds, at the solution
 *
 * A row is tight if x is at a bound and w holds it there. The step of the other rows is Newton's, to
 * w_F = 0, projected onto the bounds and halved until q decreases enough. Every step changes many rows,
 * as a block pivot does, and no index set repeats.  Bertsekas 1982, section 1.5 */
#include "mlcp/pivoting.h"

#include <math.h>
#include <string.h>

enum { MAX_STEPS = 30, MAX_HALVINGS = 30 };

/* The fraction of the linear decrease that a step must achieve (Armijo). */
#define ENOUGH 1e-4

/* The value, limited to the bounds of row i. */
static double clamp(const cs_island *s, int64_t i, double value)
{
    return value < s->lo[i] ? s->lo[i] : value > s->hi[i] ? s->hi[i] : value;
}

/* s->state <- the index set of x and w: tight if w holds x at its bound. Returns how many changed. */
static int64_t read_state(cs_island *s)
{
    int64_t changed = 0;
    for (int64_t i = 0; i < s->rows; i++) {
        signed char before = s->state[i];
        s->state[i] = CS_INDEX_FREE;
        if (s->x[i] <= s->lo[i] && s->w[i] > 0) s->state[i] = CS_INDEX_LOW;
        if (s->x[i] >= s->hi[i] && s->w[i] < 0) s->state[i] = CS_INDEX_HIGH;
        if (cs_is_fixed(s, i)) s->state[i] = CS_INDEX_LOW;
        changed += s->state[i] != before;
    }
    return changed;
}

/* `move` <- the change of x after `fraction` of the step, projected onto the bounds; `slope` <- the linear
 * change of q. Returns the change of q. */
static double change_of_energy(const cs_island *s, double fraction, double *move, double *slope)
{
    double energy = 0;
    *slope = 0;
    for (int64_t i = 0; i < s->rows; i++)
        move[i] = s->state[i] ? 0 : clamp(s, i, s->x[i] + fraction * s->step[i]) - s->x[i];
    for (int64_t i = 0; i < s->rows; i++) {
        double product = 0;
        if (move[i] == 0) continue;
        for (int64_t e = s->start[i]; e < s->start[i + 1]; e++)
            product += s->value[e] * move[s->column[e]];
        *slope += s->w[i] * move[i];
        energy += move[i] * (s->w[i] + product / 2);
    }
    return energy;
}

/* Line search: moves x along the step until q decreases enough; returns 0 if it does not. `whole` <-
 * whether the full step was taken and no bound cut it. */
static int line_search(cs_island *s, int *whole)
{
    double fraction = 1, slope;
    *whole = 0;
    for (int k = 0; k < MAX_HALVINGS; k++, fraction /= 2) {
        double energy = change_of_energy(s, fraction, s->slope, &slope);
        if (!(slope < 0) || !(energy <= ENOUGH * slope)) continue;

        /* Accepted: move x. */
        *whole = k == 0;
        for (int64_t i = 0; i < s->rows; i++) {
            double x = s->x[i] + s->slope[i];
            *whole &= s->state[i] || s->x[i] + s->step[i] == x;
            s->x[i] = clamp(s, i, x);
        }
        return 1;
    }
    return 0;
}

cs_status cs_pivot_descend(cs_pivot_run *run, cs_error *error)
{
    cs_island *s = run->island;
    int whole = 0;
    for (int64_t i = 0; i < s->rows; i++) s->x[i] = clamp(s, i, s->x[i]);

    for (int k = 0; k < MAX_STEPS && run->steps < run->max_steps; k++) {
        /* A full step that leaves the index set unchanged has reached the solution. */
        cs_pivot_evaluate(s);
        int64_t changed = read_state(s);
        if (whole && !changed) break;

        /* Newton's step on the free rows. */
        cs_status status = cs_pivot_factor(run, error);
        if (status) return status;
        for (int64_t i = 0; i < s->rows; i++) s->step[i] = s->state[i] ? 0 : -s->w[i];
        s->engine->solve(s, s->step);

        int moved = line_search(s, &whole);
        run->steps++;
        status = cs_pivot_step(run, changed, changed, error);
        if (status || run->stopped || !moved) return status;
    }
    return CS_OK;
}
