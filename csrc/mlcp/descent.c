/* Newton steps that are projected onto the bounds, for problems on which index sets jump about.
 *
 *     q(x) = x A x / 2 + b x       is least, within the bounds, at the solution
 *
 * Rows at a bound that hold x there are tight; the others go for w_F = 0; what would leave its bounds
 * stops there; and steps are halved until q falls enough. Every step changes many rows, as a block
 * step does, and no index set comes twice.  Bertsekas 1982, section 1.5 */
#include "mlcp/pivoting.h"

#include <math.h>
#include <string.h>

enum { MOST_STEPS = 30, MOST_HALVINGS = 30 };

/* The part of the linear decrease that a step has to bring. */
#define ENOUGH 1e-4

static double clamp(const cs_island *s, int64_t i, double value)
{
    return value < s->lo[i] ? s->lo[i] : value > s->hi[i] ? s->hi[i] : value;
}

/* s->state <- what x and w say: tight where w holds x to the bound it is at. */
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

/* `move` <- the change of x by a part of the step, kept within the bounds; returns how q changes, and
 * in `slope` what it would by w alone. */
static double change_of_energy(const cs_island *s, double part, double *move, double *slope)
{
    double energy = 0;
    *slope = 0;
    for (int64_t i = 0; i < s->rows; i++)
        move[i] = s->state[i] ? 0 : clamp(s, i, s->x[i] + part * s->step[i]) - s->x[i];
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

/* Moves x along the step as far as q falls; 0 where it does not. `whole` tells whether nothing was in
 * the way. */
static int search(cs_island *s, int *whole)
{
    double part = 1, slope;
    *whole = 0;
    for (int k = 0; k < MOST_HALVINGS; k++, part /= 2) {
        double energy = change_of_energy(s, part, s->slope, &slope);
        if (!(slope < 0) || !(energy <= ENOUGH * slope)) continue;
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
    for (int k = 0; k < MOST_STEPS && run->steps < run->max_steps; k++) {
        cs_pivot_evaluate(s);
        int64_t changed = read_state(s);
        if (whole && !changed) break;
        cs_status status = cs_pivot_factor(run, error);
        if (status) return status;
        for (int64_t i = 0; i < s->rows; i++) s->step[i] = s->state[i] ? 0 : -s->w[i];
        s->engine->solve(s, s->step);
        int moved = search(s, &whole);
        run->steps++;
        status = cs_pivot_step(run, changed, changed, error);
        if (status || run->stopped || !moved) return status;
    }
    return CS_OK;
}
