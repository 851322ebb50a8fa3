/* Rules that keep x within its bounds and drive one row after another to where it belongs.
 *
 *     row r, tight with w_r of the wrong sign:  x_r moves, x_F follows so that w_F = 0
 *         w_r = 0               -> r becomes free; done
 *         x_r at its other bound -> tight there; done
 *         x_i of a free row at a bound -> tight there; on with r
 *         w_i of a tight row that is where it belongs = 0 -> free; on with r   (Dantzig only)
 *
 * Keller's method (1973) takes the row that is farthest off; the energy falls with every row, so that
 * no index set comes twice. Cottle and Dantzig's (1968; Baraff 1994) takes the next one and holds all
 * rows that are where they belong: where several would leave at once it may go round in circles, and
 * Murty's rule ends the work. Both begin with the rows of the initial index set that are within their
 * bounds when the others are not. */
#include "mlcp/pivoting.h"

#include <math.h>

/* How far a drive goes, and what ends it. */
typedef struct event {
    double reach;
    int64_t row;       /* whose index changes */
    signed char index; /* to what */
} event;

/* x and w for s->state, after free rows that are out of bounds have become tight there. */
static cs_status make_feasible(cs_pivot_run *run, cs_error *error)
{
    cs_island *s = run->island;
    for (;;) {
        int64_t dropped = 0;
        cs_status status = cs_pivot_candidate(run, error);
        if (status) return status;
        for (int64_t i = 0; i < s->rows; i++)
            s->next[i] = s->state[i] == CS_INDEX_FREE ? cs_pivot_wanted(run, i) : s->state[i];
        for (int64_t i = 0; i < s->rows; i++) {
            dropped += s->next[i] != s->state[i];
            s->state[i] = s->next[i];
        }
        if (!dropped) return CS_OK;
        run->steps++;
        status = cs_pivot_step(run, dropped, dropped, error);
        if (status || run->stopped) return status;
    }
}

/* step <- how x moves with x_r; slope <- how w moves. */
static void find_direction(cs_island *s, int64_t r, double sign)
{
    for (int64_t i = 0; i < s->rows; i++) s->step[i] = 0;
    for (int64_t e = s->start[r]; e < s->start[r + 1]; e++)
        if (s->state[s->column[e]] == CS_INDEX_FREE) s->step[s->column[e]] = -sign * s->value[e];
    s->engine->solve(s, s->step);
    s->step[r] = sign;
    for (int64_t i = 0; i < s->rows; i++) {
        double sum = 0;
        for (int64_t e = s->start[i]; e < s->start[i + 1]; e++)
            sum += s->value[e] * s->step[s->column[e]];
        s->slope[i] = sum;
    }
}

static void consider(event *first, double reach, int64_t row, signed char index)
{
    if (!(reach < first->reach)) return; /* of equal ones the first row */
    *first = (event){reach > 0 ? reach : 0, row, index};
}

/* s->next marks the rows that are held where they belong (Dantzig's). */
static event find_event(const cs_island *s, int64_t r, double sign, int holds)
{
    event first = {INFINITY, r, CS_INDEX_FREE};
    for (int64_t i = 0; i < s->rows; i++) {
        double step = s->step[i], slope = s->slope[i];
        if (i == r) continue;
        if (s->state[i] == CS_INDEX_FREE) {
            if (step > 0) consider(&first, (s->hi[i] - s->x[i]) / step, i, CS_INDEX_HIGH);
            if (step < 0) consider(&first, (s->lo[i] - s->x[i]) / step, i, CS_INDEX_LOW);
        } else if (holds && s->next[i] && !cs_is_fixed(s, i)) {
            int towards = s->state[i] < 0 ? slope < 0 : slope > 0;
            if (towards) consider(&first, -s->w[i] / slope, i, CS_INDEX_FREE);
        }
    }
    double room = sign > 0 ? s->hi[r] - s->x[r] : s->x[r] - s->lo[r];
    if (room <= first.reach) first = (event){room, r, sign > 0 ? CS_INDEX_HIGH : CS_INDEX_LOW};
    double arrival = -s->w[r] / s->slope[r];
    if (!(arrival > first.reach)) first = (event){arrival > 0 ? arrival : 0, r, CS_INDEX_FREE};
    return first;
}

/* Drives row r; `in_time` is cleared where there is no end to it. */
static cs_status drive(cs_pivot_run *run, int64_t r, int holds, int *in_time, cs_error *error)
{
    cs_island *s = run->island;
    double sign = s->state[r] < 0 ? 1 : -1;
    for (int64_t k = 0; k <= 3 * s->rows + 10; k++) {
        cs_status status = cs_pivot_factor(run, error);
        if (status) return status;
        find_direction(s, r, sign);
        event end = find_event(s, r, sign, holds);
        for (int64_t i = 0; i < s->rows; i++) {
            s->x[i] += end.reach * s->step[i];
            s->w[i] += end.reach * s->slope[i];
        }
        s->state[end.row] = end.index;
        if (end.index < 0) s->x[end.row] = s->lo[end.row];
        if (end.index > 0) s->x[end.row] = s->hi[end.row];
        if (end.index == CS_INDEX_FREE) s->w[end.row] = 0;
        else s->next[end.row] = 1;
        run->steps++;
        run->single_steps++;
        status = cs_pivot_step(run, 1, 1, error);
        if (status || run->stopped || end.row == r) return status;
    }
    *in_time = 0;
    return CS_OK;
}

/* The row to drive, or -1; s->next <- whether a row is where it belongs. */
static int64_t choose(cs_pivot_run *run, int farthest)
{
    cs_island *s = run->island;
    double most = -1;
    int64_t chosen = -1;
    for (int64_t i = 0; i < s->rows; i++) {
        s->next[i] = cs_pivot_wanted(run, i) == s->state[i];
        if (s->next[i]) continue;
        double gain = s->w[i] * s->w[i] / s->diagonal[i];
        if (chosen >= 0 && (!farthest || gain <= most)) continue;
        most = gain;
        chosen = i;
    }
    return chosen;
}

static cs_status active(cs_pivot_run *run, int holds, cs_error *error)
{
    cs_island *s = run->island;
    cs_circle visits = {0};
    int in_time = 1;
    for (;;) {
        cs_status status = make_feasible(run, error);
        if (status) return status;
        int64_t r = choose(run, !holds);
        if (r < 0) break;
        run->outcome = run->stopped ? CS_MLCP_STOPPED : CS_MLCP_MAX_PIVOTS;
        if (run->stopped || run->steps >= run->max_steps) return CS_OK;
        int again = cs_pivot_comes_again(&visits, s);
        if (again) cs_pivot_be_lenient(run, &visits);
        if (!in_time || again) return cs_pivot_blocks(run, 0, 0, error);
        status = drive(run, r, holds, &in_time, error);
        if (status) return status;
    }
    run->outcome = CS_MLCP_CONVERGED;
    return cs_pivot_step(run, 0, 0, error);
}

cs_status cs_pivot_keller(cs_pivot_run *run, cs_error *error) { return active(run, 0, error); }

static cs_status dantzig(cs_pivot_run *run, cs_error *error) { return active(run, 1, error); }

const cs_rule cs_rule_keller = {
    .name = "keller",
    .summary = "x within its bounds, always the row that is farthest off (Keller)",
    .single = 1,
    .solve = cs_pivot_keller,
};

const cs_rule cs_rule_dantzig = {
    .name = "dantzig",
    .summary = "row after row, those that are where they belong held there (Cottle and Dantzig)",
    .single = 1,
    .solve = dantzig,
};
