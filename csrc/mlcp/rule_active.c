/* Active-set rules: x stays within its bounds, and one row after another is driven to feasibility.
 *
 *     row r, tight with w_r of the wrong sign:  x_r moves, x_F follows so that w_F = 0
 *         w_r = 0                       -> r becomes free; done
 *         x_r at its other bound        -> r becomes tight there; done
 *         x_i of a free row at a bound  -> i becomes tight there; continue with r
 *         w_i = 0 of a feasible tight i -> i becomes free; continue with r   (Dantzig only)
 *
 * Keller's method (1973) drives the row that violates its conditions most; the energy decreases with each
 * row, so that no index set repeats. The method of Cottle and Dantzig (1968; Baraff 1994) drives the first
 * infeasible row and keeps all feasible rows feasible. If several of them would change at once, it may
 * cycle; Murty's rule then finishes. Both methods start from the initial index set, after free rows that
 * violate their bounds have become tight. */
#include "mlcp/pivoting.h"

#include <math.h>

/* How far x_r can move, and the change of index that stops it. */
typedef struct event {
    double reach;
    int64_t row;       /* whose index changes */
    signed char index; /* to what */
} event;

/* Computes x and w for s->state; free rows beyond a bound become tight there, until none is left. */
static cs_status make_feasible(cs_pivot_run *run, cs_error *error)
{
    cs_island *s = run->island;
    for (;;) {
        int64_t dropped = 0;
        /* The candidate, and the rows that are beyond a bound. */
        cs_status status = cs_pivot_candidate(run, error);
        if (status) return status;
        for (int64_t i = 0; i < s->rows; i++)
            s->next[i] = s->state[i] == CS_INDEX_FREE ? cs_pivot_wanted(run, i) : s->state[i];
        for (int64_t i = 0; i < s->rows; i++) {
            dropped += s->next[i] != s->state[i];
            s->state[i] = s->next[i];
        }

        /* Repeat with these rows tight. */
        if (!dropped) return CS_OK;
        run->steps++;
        status = cs_pivot_step(run, dropped, dropped, error);
        if (status || run->stopped) return status;
    }
}

/* `step`, `slope` <- the derivatives of x and w with respect to the distance that x_r moves. */
static void find_direction(cs_island *s, int64_t r, double sign)
{
    for (int64_t i = 0; i < s->rows; i++) s->step[i] = 0;
    for (int64_t e = s->start[r]; e < s->start[r + 1]; e++)
        if (s->state[s->column[e]] == CS_INDEX_FREE) s->step[s->column[e]] = -sign * s->value[e];
    s->engine->solve(s, s->step);
    s->step[r] = sign;

    /* w changes by A times the change of x. */
    for (int64_t i = 0; i < s->rows; i++) {
        double sum = 0;
        for (int64_t e = s->start[i]; e < s->start[i + 1]; e++)
            sum += s->value[e] * s->step[s->column[e]];
        s->slope[i] = sum;
    }
}

/* first <- this event, if it comes earlier. */
static void update_first(event *first, double reach, int64_t row, signed char index)
{
    if (!(reach < first->reach)) return; /* ties: the first row wins */
    *first = (event){reach > 0 ? reach : 0, row, index};
}

/* The first change of index along the step. If `keeps_feasible` (Dantzig), rows marked in s->next stay
 * feasible. */
static event find_event(const cs_island *s, int64_t r, double sign, int keeps_feasible)
{
    event first = {INFINITY, r, CS_INDEX_FREE};

    /* Another row: a free one reaches a bound, or w of a feasible tight one reaches zero. */
    for (int64_t i = 0; i < s->rows; i++) {
        double step = s->step[i], slope = s->slope[i];
        if (i == r) continue;
        if (s->state[i] == CS_INDEX_FREE) {
            if (step > 0) update_first(&first, (s->hi[i] - s->x[i]) / step, i, CS_INDEX_HIGH);
            if (step < 0) update_first(&first, (s->lo[i] - s->x[i]) / step, i, CS_INDEX_LOW);
        } else if (keeps_feasible && s->next[i] && !cs_is_fixed(s, i)) {
            int towards = s->state[i] < 0 ? slope < 0 : slope > 0;
            if (towards) update_first(&first, -s->w[i] / slope, i, CS_INDEX_FREE);
        }
    }

    /* Row r itself: x_r reaches its other bound, or w_r reaches zero. */
    double room = sign > 0 ? s->hi[r] - s->x[r] : s->x[r] - s->lo[r];
    if (room <= first.reach) first = (event){room, r, sign > 0 ? CS_INDEX_HIGH : CS_INDEX_LOW};
    double arrival = -s->w[r] / s->slope[r];
    if (!(arrival > first.reach)) first = (event){arrival > 0 ? arrival : 0, r, CS_INDEX_FREE};
    return first;
}

/* Drives row r until it is feasible; `in_time` <- 0 if that takes too many changes. */
static cs_status drive(cs_pivot_run *run, int64_t r, int keeps_feasible, int *in_time,
                       cs_error *error)
{
    cs_island *s = run->island;
    double sign = s->state[r] < 0 ? 1 : -1;
    for (int64_t k = 0; k <= 3 * s->rows + 10; k++) {
        cs_status status = cs_pivot_factor(run, error);
        if (status) return status;

        /* Move up to the first change of index. */
        find_direction(s, r, sign);
        event end = find_event(s, r, sign, keeps_feasible);
        for (int64_t i = 0; i < s->rows; i++) {
            s->x[i] += end.reach * s->step[i];
            s->w[i] += end.reach * s->slope[i];
        }

        /* Change the index; set the value that is then known exactly. */
        s->state[end.row] = end.index;
        if (end.index < 0) s->x[end.row] = s->lo[end.row];
        if (end.index > 0) s->x[end.row] = s->hi[end.row];
        if (end.index == CS_INDEX_FREE) s->w[end.row] = 0;
        else s->next[end.row] = 1;

        /* Count the step; it ends with an event of row r. */
        run->steps++;
        run->single_steps++;
        status = cs_pivot_step(run, 1, 1, error);
        if (status || run->stopped || end.row == r) return status;
    }
    *in_time = 0;
    return CS_OK;
}

/* The row to drive, or -1 if all are feasible; s->next <- whether each row is. `farthest`: the row with
 * the largest w^2 / A_ii; otherwise the first. */
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

/* Keller's rule, or with `keeps_feasible` Cottle and Dantzig's. */
static cs_status solve_active(cs_pivot_run *run, int keeps_feasible, cs_error *error)
{
    cs_island *s = run->island;
    cs_cycle_check visits = {0};
    int in_time = 1;
    for (;;) {
        /* Choose the row to drive. */
        cs_status status = make_feasible(run, error);
        if (status) return status;
        int64_t r = choose(run, !keeps_feasible);
        if (r < 0) break;

        /* Stop if asked, or if the steps are used up. */
        run->outcome = run->stopped ? CS_MLCP_STOPPED : CS_MLCP_MAX_PIVOTS;
        if (run->stopped || run->steps >= run->max_steps) return CS_OK;

        /* After a cycle, or a drive that did not end, Murty's rule finishes. */
        int again = cs_pivot_is_cycling(&visits, s);
        if (again) cs_pivot_raise_tolerance(run, &visits);
        if (!in_time || again) return cs_pivot_blocks(run, 0, 0, error);

        /* Drive the row. */
        status = drive(run, r, keeps_feasible, &in_time, error);
        if (status) return status;
    }
    run->outcome = CS_MLCP_CONVERGED;
    return cs_pivot_step(run, 0, 0, error);
}

cs_status cs_pivot_keller(cs_pivot_run *run, cs_error *error)
{
    return solve_active(run, 0, error);
}

static cs_status dantzig(cs_pivot_run *run, cs_error *error) { return solve_active(run, 1, error); }

const cs_rule cs_rule_keller = {
    .name = "keller",
    .summary =
        "x stays within its bounds; each step moves the row with the largest violation (Keller)",
    .single = 1,
    .solve = cs_pivot_keller,
};

const cs_rule cs_rule_dantzig = {
    .name = "dantzig",
    .summary =
        "one row after another becomes feasible, and feasible rows stay so (Cottle and Dantzig)",
    .single = 1,
    .solve = dantzig,
};
