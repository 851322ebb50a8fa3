/* Lemke's method for box bounds: each bound becomes one complementarity condition.
 *
 *     lo only      z = x - lo                         w = w+
 *     hi only      z = hi - x                         w = w-
 *     both         z = x - lo, and a second row:      0 <= hi - lo - z  _|_  w- >= 0
 *     neither      z = x, a free row
 *     equal        x is known; the row is replaced by z = 0
 *
 * z is scaled by 1 / sqrt(A_ii), so that the units of a row do not influence the pivots.
 *
 * The method does not need A to be definite: if A is semidefinite it still ends, in a solution or in a ray.
 * It cannot start from an index set. */
#include "core/error.h"
#include "mlcp/lemke.h"
#include "mlcp/pivoting.h"

#include <math.h>
#include <string.h>

/* The LCP of one island. */
typedef struct translation {
    cs_lemke lemke;
    unsigned char *free; /* (LCP rows): whether the row is free */
    int64_t *upper;      /* (island rows): the second LCP row if both bounds are finite, or -1 */
    double *unit;        /* (island rows): change of x per z; negative if z = hi - x */
} translation;

/* Whether z counts from the upper bound. */
static int is_mirrored(const cs_island *s, int64_t i)
{
    return !isfinite(s->lo[i]) && isfinite(s->hi[i]);
}

/* The value of x at z = 0. */
static double origin(const cs_island *s, int64_t i)
{
    return isfinite(s->lo[i]) ? s->lo[i] : isfinite(s->hi[i]) ? s->hi[i] : 0;
}

/* Allocates the LCP. */
static int take_translation(translation *t, const cs_island *s, cs_arena *arena)
{
    int64_t rows = s->rows;
    t->upper = cs_arena_take(arena, s->rows, sizeof(int64_t));
    t->unit = cs_arena_take(arena, s->rows, sizeof(double));
    if (cs_arena_failed(arena)) return -1;
    for (int64_t i = 0; i < s->rows; i++)
        t->upper[i] = isfinite(s->lo[i]) && isfinite(s->hi[i]) && !cs_is_fixed(s, i) ? rows++ : -1;
    t->free = cs_arena_take(arena, rows, 1);
    t->lemke.free = t->free;
    return t->free ? cs_lemke_take(&t->lemke, rows, arena) : -1;
}

/* Writes the LCP of the island. */
static void translate(translation *t, cs_island *s)
{
    int64_t n = t->lemke.rows;
    double *matrix = t->lemke.matrix;

    /* The origin and the unit of each z; w at the origin is q. */
    for (int64_t i = 0; i < s->rows; i++) {
        s->x[i] = origin(s, i);
        t->unit[i] = s->diagonal[i] > 0 ? 1 / sqrt(s->diagonal[i]) : 1;
        if (is_mirrored(s, i)) t->unit[i] = -t->unit[i];
    }
    cs_pivot_evaluate(s);

    for (int64_t i = 0; i < s->rows; i++) {
        if (cs_is_fixed(s, i)) { /* decoupled from the others: w = z + 1, so z = 0 */
            matrix[i * n + i] = t->lemke.q[i] = 1;
            continue;
        }
        t->lemke.q[i] = t->unit[i] * s->w[i];
        t->free[i] = !isfinite(s->lo[i]) && !isfinite(s->hi[i]);
        for (int64_t e = s->start[i]; e < s->start[i + 1]; e++) {
            int64_t j = s->column[e];
            if (cs_is_fixed(s, j)) continue;
            matrix[i * n + j] = t->unit[i] * t->unit[j] * s->value[e];
        }

        /* Two finite bounds: the second row limits z, and its multiplier w- acts on row i. */
        if (t->upper[i] < 0) continue;
        matrix[i * n + t->upper[i]] = 1;
        matrix[t->upper[i] * n + i] = -1;
        t->lemke.q[t->upper[i]] = (s->hi[i] - s->lo[i]) / t->unit[i];
    }
}

/* The island's x, index set and w <- the solution of the LCP. */
static void translate_back(const translation *t, cs_island *s)
{
    for (int64_t i = 0; i < s->rows; i++) s->x[i] = origin(s, i) + t->unit[i] * t->lemke.z[i];

    /* The index set: tight at the bound that z counts from, free if z is basic. */
    for (int64_t i = 0; i < s->rows; i++)
        s->state[i] = t->free[i] ? CS_INDEX_FREE : is_mirrored(s, i) ? CS_INDEX_HIGH : CS_INDEX_LOW;
    for (int64_t k = 0; k < t->lemke.rows; k++) {
        int64_t variable = t->lemke.basic[k] - t->lemke.rows;
        if (variable >= 0 && variable < s->rows) s->state[variable] = CS_INDEX_FREE;
    }

    /* Tight at the upper bound if its multiplier is basic. */
    for (int64_t i = 0; i < s->rows; i++) {
        if (t->upper[i] < 0) continue;
        for (int64_t k = 0; k < t->lemke.rows; k++)
            if (t->lemke.basic[k] == t->lemke.rows + t->upper[i] && !cs_is_fixed(s, i))
                s->state[i] = CS_INDEX_HIGH;
    }

    /* Set tight rows exactly to their bounds. */
    for (int64_t i = 0; i < s->rows; i++) {
        if (s->state[i] < 0) s->x[i] = s->lo[i];
        if (s->state[i] > 0) s->x[i] = s->hi[i];
    }
    cs_pivot_evaluate(s);
}

/* The largest residual of the natural map, in units of z. */
static double defect(const translation *t, const cs_island *s)
{
    double worst = 0;
    for (int64_t i = 0; i < s->rows; i++) {
        double rho = t->unit[i] * t->unit[i];
        double mapped = fmin(fmax(s->x[i] - rho * s->w[i], s->lo[i]), s->hi[i]);
        double distance = fabs((s->x[i] - mapped) / t->unit[i]);
        if (!(distance <= worst)) worst = distance;
    }
    return worst;
}

/* Recomputes x_F = -A_FF^-1 (b_F + A_FT x_T), and keeps it if its residual is smaller: z counts from a
 * bound, which may be so far away that x has lost digits.  S3 eq. 2.3 */
static void solve_anew(translation *t, cs_island *s)
{
    int64_t count = 0;
    double before = defect(t, s);

    /* The right-hand side with free rows at zero; the old x is kept in `step`. */
    for (int64_t i = 0; i < s->rows; i++) {
        s->step[i] = s->x[i];
        if (s->state[i] != CS_INDEX_FREE) continue;
        t->lemke.list[count++] = i;
        s->x[i] = 0;
    }
    cs_pivot_evaluate(s);
    for (int64_t i = 0; i < s->rows; i++) t->lemke.q[i] = t->unit[i] * s->w[i];

    /* Solve for the free rows. */
    cs_lemke_solve(&t->lemke, count);
    for (int64_t a = 0; a < count; a++) {
        int64_t i = t->lemke.list[a];
        s->x[i] = t->unit[i] * t->lemke.z[i];
    }
    cs_pivot_evaluate(s);

    /* Restore the old x if it was better. */
    if (defect(t, s) < before) return;
    for (int64_t i = 0; i < s->rows; i++) s->x[i] = s->step[i];
    cs_pivot_evaluate(s);
}

/* Pivots until one attempt ends; `end` <- how. */
static cs_status pivot(cs_pivot_run *run, cs_lemke *lemke, int attempt, cs_lemke_end *end,
                       cs_error *error)
{
    cs_lemke_begin(lemke, attempt);
    for (;;) {
        int ended = cs_lemke_pivot(lemke, end);
        /* A solve ends at the maximum number of steps, or if it is to stop. */
        int limited = !ended && run->steps >= run->max_steps;
        if (*end == CS_LEMKE_CANCELLED) return cs_pivot_interrupted(run, error);
        cs_status status = cs_pivot_step(run, !ended, !ended, error);
        if (status) return status;
        if (limited) *end = CS_LEMKE_MAX_PIVOTS;
        if (ended || limited || run->stopped) return CS_OK;
        run->steps++;
        run->single_steps++;
    }
}

/* The outcome of an island whose attempts ended like this. */
static cs_mlcp_outcome outcome_of(cs_lemke_end end)
{
    switch (end) {
    case CS_LEMKE_SOLVED: return CS_MLCP_CONVERGED;
    case CS_LEMKE_RAY: return CS_MLCP_RAY;
    case CS_LEMKE_LOST: return CS_MLCP_INACCURATE;
    default: return CS_MLCP_MAX_PIVOTS;
    }
}

/* Solves the LCP, and translates the solution back. */
static cs_status run_lemke(cs_pivot_run *run, translation *t, cs_error *error)
{
    cs_lemke_end end = CS_LEMKE_LOST;
    cs_island *s = run->island;

    /* An attempt may end in a basis that is singular to rounding; other coefficients of z0 may then
     * succeed. */
    for (int attempt = 0; attempt < CS_LEMKE_ATTEMPTS && end == CS_LEMKE_LOST; attempt++) {
        cs_status status = pivot(run, &t->lemke, attempt, &end, error);
        if (status) return status;
        if (run->stopped) break;
    }

    /* A ray proves nothing if A is indefinite: try once more from the basis of all z. */
    if (end == CS_LEMKE_RAY && !run->stopped) {
        cs_lemke_end other;
        cs_status status = pivot(run, &t->lemke, CS_LEMKE_FROM_ALL, &other, error);
        if (status) return status;
        if (other == CS_LEMKE_SOLVED) end = other;
    }

    /* Take the solution. */
    run->outcome = outcome_of(end);
    cs_lemke_finish(&t->lemke);
    translate_back(t, s);
    solve_anew(t, s);
    if (run->stopped)
        run->outcome = CS_MLCP_STOPPED; /* the last computations may be cancelled, too */
    return CS_OK;
}

/* The rule: allocates, translates and solves the LCP of the island. */
static cs_status lemke(cs_pivot_run *run, cs_error *error)
{
    cs_island *s = run->island;
    cs_arena arena = {0};
    translation t = {0};
    cs_status status;
    t.lemke.cancellation = s->cancellation;
    if (take_translation(&t, s, &arena))
        status = cs_was_cancelled(s->cancellation)
                     ? cs_pivot_interrupted(run, error)
                     : cs_no_memory(error, "the dictionary of %lld rows", (long long)s->rows);
    else {
        translate(&t, s);
        status = run_lemke(run, &t, error);
    }
    cs_arena_clear(&arena);
    return status;
}

const cs_rule cs_rule_lemke = {
    .name = "lemke",
    .summary = "Lemke's method on a full dictionary; A may be semidefinite",
    .single = 1,
    .no_factors = 1,
    .solve = lemke,
};
