#include "linalg/sparse.h"

#include <math.h>

/* path[from .. rows) <- the columns of row i of L in topological order. Returns `from`. */
static int64_t reach(cs_sparse_factor *factor, int64_t i)
{
    const cs_graph *graph = &factor->graph;
    int64_t from = graph->count;
    factor->mark[i] = i;
    for (int64_t e = graph->start[i]; e < graph->start[i + 1]; e++) {
        int64_t length = 0;
        /* Walk up the tree to the first marked column, and store the columns on the way at the start of `path`. */
        for (int64_t j = graph->column[e]; j < i && factor->mark[j] != i; j = factor->parent[j]) {
            factor->path[length++] = j;
            factor->mark[j] = i;
        }
        while (length) factor->path[--from] = factor->path[--length];
    }
    return from;
}

/* Cost of a step through a tree or a list, in multiplications. */
enum { STEP_WORK = 4 };

int cs_sparse_take(cs_sparse_factor *factor, const cs_graph *graph, cs_cancellation *cancellation,
                   cs_arena *arena)
{
    int64_t n = graph->count;
    factor->graph = *graph;
    factor->parent = cs_arena_take(arena, n, sizeof(int64_t));
    factor->start = cs_arena_take(arena, n + 1, sizeof(int64_t));
    factor->end = cs_arena_take(arena, n, sizeof(int64_t));
    factor->mark = cs_arena_take(arena, n, sizeof(int64_t));
    factor->path = cs_arena_take(arena, n, sizeof(int64_t));
    factor->diagonal = cs_arena_take(arena, n, sizeof(double));
    factor->work = cs_arena_take(arena, n, sizeof(double));
    if (cs_arena_failed(arena)) return -1;

    /* Count the entries of each column of L, row by row. */
    cs_elimination_tree(graph, factor->parent, factor->mark);
    for (int64_t i = 0; i < n; i++) factor->mark[i] = -1;
    for (int64_t i = 0; i < n; i++) {
        int64_t from = reach(factor, i), entries = graph->start[i + 1] - graph->start[i];
        for (int64_t p = from; p < n; p++) factor->start[factor->path[p] + 1]++;
        if (cs_is_cancelled(cancellation, STEP_WORK * (double)(n - from + entries))) return -1;
    }

    /* Counts become starts. */
    for (int64_t i = 0; i < n; i++) factor->start[i + 1] += factor->start[i];
    factor->row = cs_arena_take_unset(arena, factor->start[n], sizeof(int64_t));
    factor->value = cs_arena_take_unset(arena, factor->start[n], sizeof(double));
    return cs_arena_failed(arena) ? -1 : 0;
}

/* Row i of L from row i of the matrix and the rows above; returns the pivot. */
static double factor_row(cs_sparse_factor *factor, const double *value, const signed char *out,
                         int64_t i)
{
    const cs_graph *graph = &factor->graph;
    double *work = factor->work, pivot = 0;

    /* Scatter row i of the matrix. */
    for (int64_t e = graph->start[i]; e < graph->start[i + 1]; e++)
        if (graph->column[e] <= i) work[graph->column[e]] += value[e];
    pivot = work[i];
    work[i] = 0;

    /* Triangular solve with the rows above, along the pattern of row i. */
    for (int64_t p = reach(factor, i); p < graph->count; p++) {
        int64_t j = factor->path[p];
        double l = work[j] / factor->diagonal[j];
        work[j] = 0;
        if (out && out[j]) continue;
        factor->products += (double)(factor->end[j] - factor->start[j]);
        for (int64_t e = factor->start[j]; e < factor->end[j]; e++)
            work[factor->row[e]] -= factor->value[e] * l;
        factor->row[factor->end[j]] = i;
        factor->value[factor->end[j]++] = l;
        pivot -= l * l;
    }
    return pivot;
}

static double diagonal_entry(const cs_graph *graph, const double *value, int64_t i)
{
    double sum = 0;
    for (int64_t e = graph->start[i]; e < graph->start[i + 1]; e++)
        if (graph->column[e] == i) sum += value[e];
    return sum;
}

static void begin(cs_sparse_factor *factor)
{
    factor->products = 0;
    for (int64_t i = 0; i < factor->graph.count; i++) {
        factor->end[i] = factor->start[i];
        factor->mark[i] = -1;
        factor->diagonal[i] = 1;
    }
}

void cs_sparse_factorize(cs_sparse_factor *factor, const double *value, const signed char *out,
                         cs_cancellation *cancellation, cs_breakdown *breakdown)
{
    const cs_graph *graph = &factor->graph;
    double unit = CS_PIVOT_FLOOR * (double)graph->count;
    *breakdown = (cs_breakdown){.row = -1};
    begin(factor);
    for (int64_t i = 0; i < graph->count && breakdown->row < 0; i++) {
        double before = factor->products;
        if (out && out[i]) continue;
        double pivot = factor_row(factor, value, out, i);
        if (!(pivot > unit * diagonal_entry(graph, value, i)))
            *breakdown = (cs_breakdown){.row = i, .pivot = pivot};
        else if (cs_is_cancelled(cancellation, factor->products - before))
            *breakdown = (cs_breakdown){.row = i, .cancelled = 1};
        else factor->diagonal[i] = sqrt(pivot);
    }
}

void cs_sparse_solve(const cs_sparse_factor *factor, const signed char *out, double *x)
{
    int64_t n = factor->graph.count;
    for (int64_t j = 0; j < n; j++) {
        if (out && out[j]) continue;
        x[j] /= factor->diagonal[j];
        for (int64_t e = factor->start[j]; e < factor->end[j]; e++)
            x[factor->row[e]] -= factor->value[e] * x[j];
    }
    for (int64_t j = n - 1; j >= 0; j--) {
        if (out && out[j]) continue;
        double sum = x[j];
        for (int64_t e = factor->start[j]; e < factor->end[j]; e++)
            sum -= factor->value[e] * x[factor->row[e]];
        x[j] = sum / factor->diagonal[j];
    }
}
