#include "system/pattern.h"

#include "core/ascending.h"
#include "problem/adjacency.h"

/* Cost of ordering a node or an entry of the graph, in multiplications. */
enum { ORDER_WORK = 100 };

/* ---- the graph ------------------------------------------------------------------------------- */

/* Bodies and the contacts between them. Non-zero: no memory. */
static int join_bodies(cs_pattern *p, cs_arena *arena, int64_t **starts, int64_t **columns)
{
    int64_t bodies = p->problem->bodies, at = 0;
    cs_adjacency adjacency;
    if (cs_adjacency_build(p->problem, arena, 0, &adjacency, NULL)) return -1;
    p->body = adjacency.body;
    p->shift = adjacency.shift;
    int64_t *start = *starts = cs_arena_take(arena, bodies + 1, sizeof(int64_t));
    int partners = cs_adjacency_partners(&adjacency);
    int64_t *column = *columns = cs_arena_take_unset(
        arena, partners * (partners - 1) * p->problem->blocks, sizeof(int64_t));
    if (cs_arena_failed(arena)) return -1;
    for (int64_t body = 0; body < bodies; body++) {
        for (int64_t e = adjacency.start[body]; e < adjacency.start[body + 1]; e++)
            for (int s = 1; s < partners; s++) {
                int64_t other = cs_adjacency_other(&adjacency, adjacency.entry[e], s);
                if (other >= 0) column[at++] = other;
            }
        start[body + 1] = at;
    }
    return 0;
}

/* Blocks, by the pattern of A + A^T. Non-zero: no memory. */
static int join_blocks(const cs_pattern *p, cs_arena *arena, int64_t **starts, int64_t **columns)
{
    const cs_block_matrix *A = p->matrix;
    int64_t *start = *starts = cs_arena_take(arena, A->blocks + 2, sizeof(int64_t));
    int64_t *column = *columns =
        cs_arena_take_unset(arena, 2 * A->start[A->blocks], sizeof(int64_t));
    if (cs_arena_failed(arena)) return -1;

    /* Count the entries of each row. `next` is `start` shifted by one place, see problem/adjacency.c. */
    int64_t *next = start + 1;
    for (int64_t k = 0; k < A->blocks; k++)
        for (int64_t e = A->start[k]; e < A->start[k + 1]; e++) {
            next[k + 1]++;
            next[A->column[e] + 1]++;
        }
    for (int64_t k = 0; k < A->blocks; k++) next[k + 1] += next[k];

    /* Each block (k, l) is an entry of row k and of row l. */
    for (int64_t k = 0; k < A->blocks; k++)
        for (int64_t e = A->start[k]; e < A->start[k + 1]; e++) {
            column[next[k]++] = A->column[e];
            column[next[A->column[e]]++] = k;
        }
    return 0;
}

/* Leaves each neighbour once, ascending, and takes out the diagonal. */
static void simplify(int64_t nodes, int64_t *start, int64_t *column)
{
    int64_t from = 0, kept = 0;
    for (int64_t i = 0; i < nodes; i++) {
        int64_t to = start[i + 1];
        cs_sort_64(column + from, to - from);
        start[i] = kept;
        for (int64_t e = from; e < to; e++)
            if (column[e] != i && (e == from || column[e] != column[e - 1]))
                column[kept++] = column[e];
        from = to;
    }
    start[nodes] = kept;
}

/* ---- the order ------------------------------------------------------------------------------- */

static int64_t width_of(const cs_pattern *p, int64_t node)
{
    if (p->matrix) return cs_block_group_of(p->problem, node)->rows;
    const cs_body_group *group = cs_body_group_of(p->problem, node);
    return group->immovable[node - group->first_body] ? 0 : group->dof;
}

/* The order of the nodes, and where their unknowns begin. Non-zero: no memory, or cancelled. */
static int find_places(cs_pattern *p, cs_fill_order order, cs_cancellation *cancellation,
                       cs_arena *arena)
{
    int64_t nodes = p->graph.count;
    p->scratch = cs_arena_take_unset(arena, 3 * nodes, sizeof(int64_t));
    p->order = cs_arena_take(arena, nodes, sizeof(int64_t));
    p->place = cs_arena_take(arena, nodes, sizeof(int64_t));
    p->begin = cs_arena_take(arena, nodes + 1, sizeof(int64_t));
    if (cs_arena_failed(arena)) return -1;
    if (cs_find_order(&p->graph, order, p->order, p->scratch, cancellation)) return -1;
    for (int64_t i = 0; i < nodes; i++) {
        p->place[p->order[i]] = i;
        p->begin[i + 1] = p->begin[i] + width_of(p, p->order[i]);
    }
    p->unknowns = p->begin[nodes];
    return 0;
}

int cs_pattern_find(cs_pattern *p, const cs_problem *problem, const cs_block_matrix *matrix,
                    cs_fill_order order, cs_cancellation *cancellation, cs_arena *arena)
{
    int64_t *start = NULL, *column = NULL, nodes = matrix ? problem->blocks : problem->bodies;
    *p = (cs_pattern){.problem = problem, .matrix = matrix, .shift = 1};
    if (matrix ? join_blocks(p, arena, &start, &column) : join_bodies(p, arena, &start, &column))
        return -1;
    if (order == CS_FILL_MINIMUM_DEGREE) simplify(nodes, start, column);
    p->graph = (cs_graph){nodes, start, column};

    /* Whoever cancels is asked before and after the order is computed. */
    double work = ORDER_WORK * ((double)nodes + (double)start[nodes]);
    if (cs_is_cancelled(cancellation, work)) return -1;
    if (find_places(p, order, cancellation, arena)) return -1;
    return cs_is_cancelled(cancellation, work);
}

/* ---- patterns of unknowns -------------------------------------------------------------------- */

int64_t *cs_pattern_envelope(const cs_pattern *p, cs_arena *arena)
{
    int64_t *first = cs_arena_take_unset(arena, p->unknowns, sizeof(int64_t)), *node = p->scratch;
    if (!first) return NULL;

    /* The first node of each row of nodes; then the first unknown of each row of unknowns. */
    cs_envelope(&p->graph, p->order, p->place, node);
    for (int64_t i = 0; i < p->graph.count; i++)
        for (int64_t row = p->begin[i]; row < p->begin[i + 1]; row++)
            first[row] = p->begin[node[i]];
    return first;
}

/* list <- the nodes at or before node i that share entries with it, ascending, by new numbers; returns
 * their number. */
static int64_t list_lower(const cs_pattern *p, int64_t i, int64_t *list)
{
    int64_t count = 0, old = p->order[i];
    for (int64_t e = p->graph.start[old]; e < p->graph.start[old + 1]; e++) {
        int64_t other = p->place[p->graph.column[e]];
        if (other < i) list[count++] = other;
    }
    cs_sort_64(list, count);
    list[count++] = i;
    return count;
}

/* Entries of the lower triangle, with whole diagonal blocks. */
static int64_t count_lower(const cs_pattern *p)
{
    int64_t entries = 0;
    for (int64_t i = 0; i < p->graph.count; i++) {
        int64_t old = p->order[i], width = p->begin[i + 1] - p->begin[i], columns = width;
        for (int64_t e = p->graph.start[old]; e < p->graph.start[old + 1]; e++) {
            int64_t other = p->place[p->graph.column[e]];
            if (other < i) columns += p->begin[other + 1] - p->begin[other];
        }
        entries += width * columns;
    }
    return entries;
}

int cs_pattern_lower(const cs_pattern *p, cs_arena *arena, cs_graph *lower)
{
    int64_t at = 0, *list = p->scratch;
    int64_t *start = cs_arena_take(arena, p->unknowns + 1, sizeof(int64_t));
    int64_t *column = cs_arena_take_unset(arena, count_lower(p), sizeof(int64_t));
    if (cs_arena_failed(arena)) return -1;
    for (int64_t i = 0; i < p->graph.count; i++) {
        int64_t count = list_lower(p, i, list);
        for (int64_t row = p->begin[i]; row < p->begin[i + 1]; row++) {
            for (int64_t n = 0; n < count; n++)
                for (int64_t j = p->begin[list[n]]; j < p->begin[list[n] + 1]; j++)
                    column[at++] = j;
            start[row + 1] = at;
        }
    }
    *lower = (cs_graph){p->unknowns, start, column};
    return 0;
}
