/* Computes a sparse factor of A_FF for each index set, in an order of approximate minimum degree
 * (linalg/sparse.h). */
#include "mlcp/pivoting.h"

#include "linalg/sparse.h"

static int take(cs_island *s, cs_arena *arena)
{
    cs_sparse_factor *data = s->factor = cs_arena_take(arena, 1, sizeof *data);
    cs_graph graph = {s->rows, s->start, s->column};
    return data ? cs_sparse_take(data, &graph, s->cancellation, arena) : -1;
}

static void factor(cs_island *s, cs_breakdown *breakdown)
{
    cs_sparse_factorize(s->factor, s->value, s->state, s->cancellation, breakdown);
}

static void solve(cs_island *s, double *r) { cs_sparse_solve(s->factor, s->state, r); }

/* The multiplications of a factor, if tight rows are spread evenly. */
static double work(const cs_island *s, double changed, double tight)
{
    (void)changed;
    const cs_sparse_factor *data = s->factor;
    double sum = 0, part = 1 - tight / (double)s->rows;
    for (int64_t i = 0; i < s->rows; i++) {
        double width = part * (double)(data->start[i + 1] - data->start[i]);
        sum += width * width / 2;
    }
    return part * sum;
}

const cs_engine cs_engine_sparse = {
    .name = "sparse",
    .summary = "a sparse factor of A_FF (minimum degree) at every pivot",
    .order = CS_FILL_MINIMUM_DEGREE,
    .take = take,
    .factor = factor,
    .solve = solve,
    .anew = 1,
    .weight = CS_COST_SPARSE,
    .work = work,
};
