/* Factors all rows once. Forces mu act on the tight rows so that their x is zero:
 *
 *     A x = r + E_T mu,  x_T = 0   =>   S mu = -(A^-1 r)_T,   S = (A^-1)_TT,   x = A^-1 (r + E_T mu)
 *
 * A column of A^-1 is computed when its row first becomes tight. If A is badly conditioned and A_FF is
 * not, digits are lost: iterative refinement recovers them. */
#include "mlcp/pivoting.h"

#include <string.h>

typedef struct schur_data {
    cs_panels whole, tight; /* factors of A and of S */
    int have_whole;
    int64_t count;       /* tight rows of S, in s->list */
    double *inverse;     /* (rows, rows): columns of A^-1 */
    unsigned char *have; /* (rows): whether the column has been computed */
    int64_t *zeros;      /* (rows): first columns of S, which is a full matrix */
    double *force;       /* (rows): mu */
} schur_data;

/* Allocates the factors and the columns of A^-1. */
static int take(cs_island *s, cs_arena *arena)
{
    schur_data *data = s->factor = cs_arena_take(arena, 1, sizeof *data);
    if (!data) return -1;
    data->zeros = cs_arena_take(arena, s->rows, sizeof(int64_t));
    data->have = cs_arena_take(arena, s->rows, 1);
    data->force = cs_arena_take(arena, s->rows, sizeof(double));
    data->inverse = cs_arena_take(arena, s->rows * s->rows, sizeof(double));
    if (cs_arena_failed(arena)) return -1;
    if (cs_panels_take(&data->whole, s->rows, s->first, arena)) return -1;
    return cs_panels_take(&data->tight, s->rows, data->zeros, arena);
}

/* Factors A. */
static void factor_whole(cs_island *s, cs_breakdown *breakdown)
{
    schur_data *data = s->factor;
    memset(data->have, 0, (size_t)s->rows);
    cs_panels_shape(&data->whole, s->rows, s->first);
    for (int64_t i = 0; i < s->rows; i++)
        for (int64_t e = s->start[i]; e < s->start[i + 1] && s->column[e] <= i; e++)
            *cs_panels_entry(&data->whole, i, s->column[e]) = s->value[e];
    cs_panels_factor(&data->whole, s->cancellation, breakdown);
    data->have_whole = breakdown->row < 0;
}

/* Column i of A^-1, computed at its first use. */
static double *inverse_column(cs_island *s, int64_t i)
{
    schur_data *data = s->factor;
    double *column = data->inverse + i * s->rows;
    if (data->have[i]) return column;
    memset(column, 0, sizeof(double) * (size_t)s->rows);
    column[i] = 1;
    cs_panels_solve(&data->whole, column);
    data->have[i] = 1;
    return column;
}

/* Computes the factor of S for the current index set. */
static void factor(cs_island *s, cs_breakdown *breakdown)
{
    /* Factor A, if that has not been done. */
    schur_data *data = s->factor;
    *breakdown = (cs_breakdown){.row = -1};
    if (!data->have_whole) factor_whole(s, breakdown);
    if (breakdown->row >= 0) return;

    /* S: the columns of A^-1 of the tight rows, restricted to these. */
    data->count = 0;
    for (int64_t i = 0; i < s->rows; i++)
        if (s->state[i] != CS_INDEX_FREE) s->list[data->count++] = i;
    cs_panels_shape(&data->tight, data->count, data->zeros);
    for (int64_t b = 0; b < data->count; b++) {
        const double *column = inverse_column(s, s->list[b]);
        if (cs_is_cancelled(s->cancellation,
                            (double)(data->whole.start[data->whole.count] + s->rows))) {
            *breakdown = (cs_breakdown){.row = s->list[b], .cancelled = 1};
            return;
        }
        for (int64_t a = b; a < data->count; a++)
            *cs_panels_entry(&data->tight, a, b) = column[s->list[a]];
    }

    /* Factor S. */
    cs_panels_factor(&data->tight, s->cancellation, breakdown);
    if (breakdown->row >= 0) breakdown->row = s->list[breakdown->row];
}

/* r <- A_FF^-1 r, which is zero on the tight rows. */
static void solve(cs_island *s, double *r)
{
    /* x without forces. */
    schur_data *data = s->factor;
    cs_panels_solve(&data->whole, r);

    /* The forces that bring x of the tight rows to zero. */
    for (int64_t a = 0; a < data->count; a++) data->force[a] = -r[s->list[a]];
    cs_panels_solve(&data->tight, data->force);

    /* Add their effect on all rows. */
    for (int64_t a = 0; a < data->count; a++) {
        const double *column = data->inverse + s->list[a] * s->rows;
        for (int64_t i = 0; i < s->rows; i++) r[i] += data->force[a] * column[i];
    }
    for (int64_t a = 0; a < data->count; a++) r[s->list[a]] = 0;
}

static void forget(cs_island *s)
{
    schur_data *data = s->factor;
    data->have_whole = 0;
}

static double work(const cs_island *s, double changed, double tight)
{
    double entries = 0;
    for (int64_t i = 0; i < s->rows; i++) entries += (double)(i - s->first[i]);
    return 2 * changed * entries + tight * tight * tight / 6 + tight * (double)s->rows;
}

const cs_engine cs_engine_schur = {
    .name = "schur",
    .summary = "one factor of A; forces on the tight rows from the Schur complement of the others",
    .order = CS_FILL_RCM,
    .take = take,
    .factor = factor,
    .solve = solve,
    .forget = forget,
    .weight = CS_COST_IN_PANELS,
    .work = work,
};
