/* Where the factor of a shifted A has entries: nodes are blocks of A or bodies, two of which touch where A
 * has a block or a contact is between them; by minimum degree they get an order that fills little. */
#include "system/shifted_internal.h"

static int64_t node_size(const cs_shifted *s, int64_t node)
{
    if (s->matrix) return cs_block_group_of(s->problem, node)->rows;
    return cs_body_group_of(s->problem, node)->dof;
}

/* Calls for both directions of every pair of nodes that touch: counts into `start`, or fills. */
static void each_pair(const cs_shifted *s, int64_t *start, int64_t *column)
{
    const cs_block_matrix *A = s->matrix;
    int64_t blocks = s->problem->blocks;
    for (int64_t k = 0; k < blocks; k++) {
        int64_t from = A ? A->start[k] : 0, to = A ? A->start[k + 1] : 1;
        for (int64_t e = from; e < to; e++) {
            int64_t i = A ? k : s->partner[2 * k], j = A ? A->column[e] : s->partner[2 * k + 1];
            if (i < 0 || j < 0 || i == j) continue;
            int64_t at_i = start[i]++, at_j = start[j]++;
            if (!column) continue;
            column[at_i] = j;
            column[at_j] = i;
        }
    }
}

/* The graph of the nodes in their old numbers, without the diagonal, each neighbour once. */
static int find_graph(const cs_shifted *s, cs_arena *scratch, cs_graph *graph)
{
    int64_t n = s->nodes, total = 0, at = 0;
    int64_t *start = cs_arena_take(scratch, n + 1, sizeof(int64_t));
    int64_t *next = cs_arena_take(scratch, n + 1, sizeof(int64_t));
    if (cs_arena_failed(scratch)) return -1;
    each_pair(s, next, NULL);
    for (int64_t i = 0; i < n; i++) {
        int64_t count = next[i];
        start[i] = next[i] = total;
        total += count;
    }
    start[n] = total;
    int64_t *column = cs_arena_take(scratch, total, sizeof(int64_t));
    if (!column) return -1;
    each_pair(s, next, column);
    for (int64_t i = 0; i < n; i++) {
        int64_t from = start[i], to = next[i];
        cs_sort_ascending(column + from, to - from);
        start[i] = at;
        for (int64_t e = from; e < to; e++)
            if (e == from || column[e] != column[e - 1]) column[at++] = column[e];
    }
    start[n] = at;
    *graph = (cs_graph){n, start, column};
    return 0;
}

/* Lower triangle of the nodes in their new order. */
static int find_lower(cs_shifted *s, const cs_graph *old, const int64_t *order, cs_arena *arena)
{
    int64_t n = s->nodes, at = 0;
    s->start = cs_arena_take(arena, n + 1, sizeof(int64_t));
    s->column = cs_arena_take(arena, n + old->start[n] / 2, sizeof(int64_t));
    s->before = cs_arena_take(arena, n + old->start[n] / 2, sizeof(int64_t));
    if (cs_arena_failed(arena)) return -1;
    for (int64_t p = 0; p < n; p++) {
        for (int64_t e = old->start[order[p]]; e < old->start[order[p] + 1]; e++)
            if (s->place[old->column[e]] < p) s->column[at++] = s->place[old->column[e]];
        s->column[at++] = p;
        cs_sort_ascending(s->column + s->start[p], at - s->start[p]);
        for (int64_t e = s->start[p], sum = 0; e < at; e++) {
            int64_t node = s->column[e];
            s->before[e] = sum;
            sum += s->first[node + 1] - s->first[node];
        }
        s->start[p + 1] = at;
    }
    return 0;
}

static int find_unknowns(cs_shifted *s, cs_cancellation *cancellation, cs_arena *arena)
{
    int64_t n = s->first[s->nodes], entries = 0, row = 0, at = 0;
    for (int64_t p = 0; p < s->nodes; p++)
        entries += cs_shifted_width(s, p) * (s->first[p + 1] - s->first[p]);
    int64_t *start = cs_arena_take(arena, n + 1, sizeof(int64_t));
    int64_t *column = cs_arena_take(arena, entries, sizeof(int64_t));
    s->value = cs_arena_take(arena, entries, sizeof(double));
    s->x = cs_arena_take(arena, n, sizeof(double));
    if (cs_arena_failed(arena)) return -1;
    for (int64_t p = 0; p < s->nodes; p++)
        for (int64_t i = s->first[p]; i < s->first[p + 1]; i++) {
            for (int64_t e = s->start[p]; e < s->start[p + 1]; e++)
                for (int64_t j = s->first[s->column[e]]; j < s->first[s->column[e] + 1]; j++)
                    column[at++] = j;
            start[++row] = at;
        }
    s->graph = (cs_graph){n, start, column};
    return cs_sparse_take(&s->factor, &s->graph, cancellation, arena);
}

int cs_shifted_find_pattern(cs_shifted *s, cs_cancellation *cancellation, cs_arena *arena)
{
    cs_arena scratch = {0};
    cs_graph graph;
    int64_t *order = cs_arena_take(&scratch, s->nodes, sizeof(int64_t));
    s->place = cs_arena_take(arena, s->nodes, sizeof(int64_t));
    s->first = cs_arena_take(arena, s->nodes + 1, sizeof(int64_t));
    int failed = !order || !s->place || !s->first || find_graph(s, &scratch, &graph);
    if (!failed) failed = cs_minimum_degree(&graph, order, cancellation);
    for (int64_t p = 0; p < s->nodes && !failed; p++) {
        s->place[order[p]] = p;
        s->first[p + 1] = s->first[p] + node_size(s, order[p]);
    }
    failed = failed || find_lower(s, &graph, order, arena) || find_unknowns(s, cancellation, arena);
    cs_arena_clear(&scratch);
    return failed;
}
