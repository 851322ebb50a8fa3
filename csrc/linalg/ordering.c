#include "linalg/ordering.h"

#include <string.h>

int64_t cs_components(const cs_graph *graph, int64_t *part, int64_t *stack)
{
    int64_t parts = 0;
    for (int64_t i = 0; i < graph->count; i++) part[i] = -1;
    for (int64_t root = 0; root < graph->count; root++) {
        if (part[root] >= 0) continue;
        int64_t depth = 0;
        stack[depth++] = root;
        part[root] = parts;
        while (depth) {
            int64_t i = stack[--depth];
            for (int64_t e = graph->start[i]; e < graph->start[i + 1]; e++) {
                int64_t j = graph->column[e];
                if (part[j] >= 0) continue;
                part[j] = parts;
                stack[depth++] = j;
            }
        }
        parts++;
    }
    return parts;
}

/* ---- reverse Cuthill-McKee ------------------------------------------------------------------- */

static int64_t degree(const cs_graph *graph, int64_t i)
{
    return graph->start[i + 1] - graph->start[i];
}

/* Breadth-first search from a root: queue <- the nodes, level by level, marked in `mark`. Returns their number.
 * levels <- the number of levels, last <- where the last level begins. */
static int64_t breadth_first(const cs_graph *graph, int64_t root, int64_t *queue, int64_t *mark,
                             int64_t seen, int64_t *levels, int64_t *last)
{
    int64_t count = 0, level_end;
    queue[count++] = root;
    mark[root] = seen;
    *levels = 0;
    *last = 0;
    for (int64_t done = 0; done < count; ++*levels) {
        *last = done;
        for (level_end = count; done < level_end; done++)
            for (int64_t e = graph->start[queue[done]]; e < graph->start[queue[done] + 1]; e++) {
                int64_t j = graph->column[e];
                if (mark[j] == seen || mark[j] == INT64_MAX) continue;
                mark[j] = seen;
                queue[count++] = j;
            }
    }
    return count;
}

/* A pseudo-peripheral node: restarts from the node of least degree in the last level, as long as the
 * number of levels increases. */
static int64_t peripheral_node(const cs_graph *graph, int64_t root, int64_t *queue, int64_t *mark,
                               int64_t *seen)
{
    int64_t levels, last, deeper;
    int64_t count = breadth_first(graph, root, queue, mark, ++*seen, &levels, &last);
    for (;;) {
        int64_t thinnest = queue[last];
        for (int64_t i = last; i < count; i++)
            if (degree(graph, queue[i]) < degree(graph, thinnest)) thinnest = queue[i];
        breadth_first(graph, thinnest, queue, mark, ++*seen, &deeper, &last);
        if (deeper <= levels) return thinnest;
        levels = deeper;
    }
}

/* Sorts queue[from .. to) by degree, ascending and stably. */
static void sort_by_degree(const cs_graph *graph, int64_t *queue, int64_t from, int64_t to)
{
    for (int64_t i = from + 1; i < to; i++) {
        int64_t node = queue[i], j = i;
        for (; j > from && degree(graph, queue[j - 1]) > degree(graph, node); j--)
            queue[j] = queue[j - 1];
        queue[j] = node;
    }
}

/* Cuthill-McKee from a root: appends the new neighbours of each node, lower degrees first. */
static int64_t number_part(const cs_graph *graph, int64_t root, int64_t *order, int64_t *mark)
{
    int64_t count = 0;
    order[count++] = root;
    mark[root] = INT64_MAX;
    for (int64_t done = 0; done < count; done++) {
        int64_t from = count;
        for (int64_t e = graph->start[order[done]]; e < graph->start[order[done] + 1]; e++) {
            int64_t j = graph->column[e];
            if (mark[j] == INT64_MAX) continue;
            mark[j] = INT64_MAX;
            order[count++] = j;
        }
        sort_by_degree(graph, order, from, count);
    }
    return count;
}

static void reverse(int64_t *values, int64_t count)
{
    for (int64_t i = 0; i < count / 2; i++) {
        int64_t value = values[i];
        values[i] = values[count - 1 - i];
        values[count - 1 - i] = value;
    }
}

void cs_reverse_cuthill_mckee(const cs_graph *graph, int64_t *order, int64_t *scratch)
{
    int64_t *mark = scratch, *queue = scratch + graph->count, seen = 0, numbered = 0;
    memset(mark, 0, sizeof(int64_t) * (size_t)graph->count);
    for (int64_t i = 0; i < graph->count; i++) {
        if (mark[i] == INT64_MAX) continue;
        int64_t root = peripheral_node(graph, i, queue, mark, &seen);
        int64_t count = number_part(graph, root, order + numbered, mark);
        reverse(order + numbered, count);
        numbered += count;
    }
}

/* ---- minimum degree -------------------------------------------------------------------------- */

/* The quotient graph: an eliminated node becomes an element, the set of its neighbours. The neighbours
 * of a node are its remaining nodes and the members of its elements. */
typedef struct quotient {
    const cs_graph *graph;
    int64_t *node_start, *node_count; /* (count): into `node` */
    int64_t *node;                    /* neighbours that are not eliminated */
    int64_t *element_start, *element_count;
    int64_t *element; /* elements that a node belongs to; it joins one for each neighbour at most */
    int64_t *member_start, *member_count;
    int64_t *member; /* of each element */
    int64_t used, room;
    int64_t *degree, *mark, *found, seen;
    int64_t *outside, *counted; /* (count) of each element: members not in the newest; when */
    unsigned char *removed;     /* eliminated nodes, and elements absorbed by others */
} quotient;

static int take_quotient(quotient *q, const cs_graph *graph, cs_arena *arena)
{
    int64_t n = graph->count, entries = graph->start[n];
    int64_t **per_node[] = {&q->node_start,    &q->node_count,   &q->element_start,
                            &q->element_count, &q->member_start, &q->member_count,
                            &q->degree,        &q->mark,         &q->found,
                            &q->outside,       &q->counted};
    for (size_t i = 0; i < sizeof per_node / sizeof *per_node; i++)
        *per_node[i] = cs_arena_take(arena, n, sizeof(int64_t));
    q->graph = graph;
    q->node = cs_arena_take(arena, entries, sizeof(int64_t));
    q->element = cs_arena_take(arena, entries, sizeof(int64_t));
    q->removed = cs_arena_take(arena, n, 1);
    return cs_arena_failed(arena) ? -1 : 0;
}

static void begin_quotient(quotient *q)
{
    const cs_graph *graph = q->graph;
    for (int64_t i = 0; i < graph->count; i++) {
        q->node_start[i] = q->element_start[i] = graph->start[i];
        for (int64_t e = graph->start[i]; e < graph->start[i + 1]; e++)
            if (graph->column[e] != i)
                q->node[q->node_start[i] + q->node_count[i]++] = graph->column[e];
        q->degree[i] = q->node_count[i];
    }
}

/* `found` <- all neighbours of node i, once each; returns their number. */
static int64_t neighbours(quotient *q, int64_t i)
{
    int64_t count = 0;
    q->mark[i] = ++q->seen;
    for (int64_t e = 0; e < q->node_count[i]; e++) {
        int64_t j = q->node[q->node_start[i] + e];
        if (q->removed[j] || q->mark[j] == q->seen) continue;
        q->mark[j] = q->seen;
        q->found[count++] = j;
    }
    for (int64_t e = 0; e < q->element_count[i]; e++) {
        int64_t element = q->element[q->element_start[i] + e];
        for (int64_t k = 0; k < q->member_count[element]; k++) {
            int64_t j = q->member[q->member_start[element] + k];
            if (q->removed[j] || q->mark[j] == q->seen) continue;
            q->mark[j] = q->seen;
            q->found[count++] = j;
        }
    }
    return count;
}

/* Removes from the lists of node j what the new element `pivot` contains: its marked nodes, and the elements that the
 * pivot belonged to. Adds the new element. */
static void absorb_pivot(quotient *q, int64_t j, int64_t pivot)
{
    int64_t *node = q->node + q->node_start[j], kept = 0;
    for (int64_t e = 0; e < q->node_count[j]; e++)
        if (!q->removed[node[e]] && q->mark[node[e]] != q->seen) node[kept++] = node[e];
    q->node_count[j] = kept;
    int64_t *element = q->element + q->element_start[j];
    kept = 0;
    for (int64_t e = 0; e < q->element_count[j]; e++)
        if (q->member_count[element[e]] >= 0) element[kept++] = element[e];
    element[kept++] = pivot;
    q->element_count[j] = kept;
}

/* Counts, for every element of node j, the members that are not in the newest element, to which j belongs. */
static void count_outside(quotient *q, int64_t j)
{
    for (int64_t e = 0; e < q->element_count[j]; e++) {
        int64_t element = q->element[q->element_start[j] + e];
        if (q->counted[element] != q->seen) q->outside[element] = q->member_count[element];
        q->counted[element] = q->seen;
        q->outside[element]--;
    }
}

/* Upper bound on the degree of j: a node in several of its older elements counts once for each.
 * Amestoy, Davis and Duff 1996 */
static int64_t degree_bound(const quotient *q, int64_t j, int64_t pivot)
{
    int64_t degree = q->node_count[j] + q->member_count[pivot] - 1;
    for (int64_t e = 0; e < q->element_count[j]; e++) {
        int64_t element = q->element[q->element_start[j] + e];
        if (element != pivot) degree += q->outside[element];
    }
    return degree;
}

/* Node `pivot` becomes the element of its neighbours. Non-zero without memory. */
static int eliminate(quotient *q, int64_t pivot, int64_t **pool)
{
    int64_t count = neighbours(q, pivot);

    /* Room for the members of the new element. */
    if (q->used + count > q->room) {
        int64_t room = 2 * (q->used + count);
        int64_t *larger = cs_allocate(room, sizeof(int64_t));
        if (!larger) return -1;
        if (q->used) memcpy(larger, *pool, sizeof(int64_t) * (size_t)q->used);
        cs_release(*pool);
        q->member = *pool = larger;
        q->room = room;
    }

    /* The new element absorbs the elements of the pivot. */
    for (int64_t e = 0; e < q->element_count[pivot]; e++) /* absorbed */
        q->member_count[q->element[q->element_start[pivot] + e]] = -1;
    q->removed[pivot] = 1;
    q->member_start[pivot] = q->used;
    q->member_count[pivot] = count;
    if (count) memcpy(q->member + q->used, q->found, sizeof(int64_t) * (size_t)count);
    q->used += count;

    /* Update its members: their lists, and the bounds on their degrees. */
    const int64_t *members = q->member + q->member_start[pivot];
    for (int64_t e = 0; e < count; e++) count_outside(q, members[e]);
    for (int64_t e = 0; e < count; e++) {
        absorb_pivot(q, members[e], pivot);
        q->degree[members[e]] = degree_bound(q, members[e], pivot);
    }
    return 0;
}

int cs_minimum_degree(const cs_graph *graph, int64_t *order, cs_cancellation *cancellation)
{
    cs_arena arena = {0};
    quotient q = {0};
    int64_t *pool = NULL;
    int failed = take_quotient(&q, graph, &arena);
    if (!failed) begin_quotient(&q);
    for (int64_t k = 0; k < graph->count && !failed; k++) {
        int64_t best = -1;
        for (int64_t i = 0; i < graph->count; i++)
            if (!q.removed[i] && (best < 0 || q.degree[i] < q.degree[best])) best = i;
        order[k] = best;
        failed = eliminate(&q, best, &pool);
        double touched = (double)(q.member_count[best] * q.member_count[best]);
        failed = failed || cs_is_cancelled(cancellation, (double)graph->count + touched);
    }
    cs_release(pool);
    cs_arena_clear(&arena);
    return failed;
}

/* ---- an order by its name -------------------------------------------------------------------- */

int cs_find_order(const cs_graph *graph, cs_fill_order wanted, int64_t *order, int64_t *scratch,
                  cs_cancellation *cancellation)
{
    if (wanted == CS_FILL_MINIMUM_DEGREE) return cs_minimum_degree(graph, order, cancellation);
    if (wanted == CS_FILL_RCM) cs_reverse_cuthill_mckee(graph, order, scratch);
    else
        for (int64_t i = 0; i < graph->count; i++) order[i] = i;
    return 0;
}

/* ---- envelope and elimination tree of an order ----------------------------------------------- */

void cs_envelope(const cs_graph *graph, const int64_t *order, int64_t *place, int64_t *first)
{
    for (int64_t i = 0; i < graph->count; i++) place[order[i]] = i;
    for (int64_t i = 0; i < graph->count; i++) {
        first[i] = i;
        for (int64_t e = graph->start[order[i]]; e < graph->start[order[i] + 1]; e++)
            if (place[graph->column[e]] < first[i]) first[i] = place[graph->column[e]];
    }
}

void cs_elimination_tree(const cs_graph *graph, int64_t *parent, int64_t *scratch)
{
    int64_t *ancestor = scratch;
    for (int64_t i = 0; i < graph->count; i++) {
        parent[i] = ancestor[i] = -1;
        for (int64_t e = graph->start[i]; e < graph->start[i + 1]; e++) {
            int64_t j = graph->column[e];
            while (j >= 0 && j < i) { /* up the tree, with path compression */
                int64_t next = ancestor[j];
                ancestor[j] = i;
                if (next < 0) parent[j] = i;
                j = next;
            }
        }
    }
}
