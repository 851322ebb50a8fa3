/* Parts of a graph by repeated bisection: the vertices in the order of a breadth-first search are cut into two halves,
 * and each half in the same way. The search begins at an outermost vertex, so that a half is as compact as levels are. */
#include "core/error.h"
#include "order/graph_partition.h"

/* The vertices that become some of the parts: vertex[first] ... vertex[end - 1]. */
typedef struct segment {
    int64_t first, end;
    int64_t label, count; /* the first of its parts, and how many they are */
} segment;

typedef struct bisection {
    const cs_graph *graph;
    cs_parts *parts;
    int64_t *vertex;   /* (vertices with edges): segment by segment */
    int64_t *owner;    /* (vertices): the segment that a vertex is in */
    int64_t *found_in; /* (vertices): the last search that found the vertex */
    int64_t *queue;    /* (vertices): in the order in which a search finds them */
    int64_t searches, segments;
} bisection;

/* Appends to the `count` vertices of the queue all that can be reached from `root` in a segment. Returns their number. */
static int64_t search(bisection *b, int64_t number, int64_t root, int64_t count)
{
    const cs_graph *graph = b->graph;
    b->found_in[root] = b->searches;
    b->queue[count] = root;
    int64_t end = count + 1, others = cs_graph_partners(graph) - 1;
    for (int64_t at = count; at < end; at++) {
        int64_t vertex = b->queue[at];
        for (int64_t i = others * graph->start[vertex]; i < others * graph->start[vertex + 1]; i++) {
            int64_t other = cs_graph_other(graph, i / others, 1 + (int)(i % others));
            if (other < 0 || b->owner[other] != number || b->found_in[other] == b->searches)
                continue;
            b->found_in[other] = b->searches;
            b->queue[end++] = other;
        }
    }
    return end;
}

/* Sorts the vertices of a segment by a breadth-first search, which goes on with the next component if it finds no more. */
static void sort_by_distance(bisection *b, const segment *s, int64_t number)
{
    /* An outermost vertex of the first component: the last one of a search from the last one of another search. */
    int64_t root = b->vertex[s->first];
    for (int i = 0; i < 2; i++) {
        b->searches++;
        root = b->queue[search(b, number, root, 0) - 1];
    }

    /* The components, the first one from this vertex. */
    b->searches++;
    int64_t count = search(b, number, root, 0);
    for (int64_t i = s->first; i < s->end; i++)
        if (b->found_in[b->vertex[i]] != b->searches)
            count = search(b, number, b->vertex[i], count);
    for (int64_t i = 0; i < count; i++) b->vertex[s->first + i] = b->queue[i];
}

/* Where the first half of a segment ends: its weight is to that of the whole as its parts are to all parts. */
static int64_t find_cut(const bisection *b, const segment *s, int64_t half)
{
    double total = 0, before = 0;
    for (int64_t i = s->first; i < s->end; i++)
        total += (double)cs_graph_degree(b->graph, b->vertex[i]);
    double wanted = total * (double)half / (double)s->count;
    int64_t cut = s->first;
    for (; cut < s->end; cut++) {
        double weight = (double)cs_graph_degree(b->graph, b->vertex[cut]);
        if (before + weight / 2 > wanted) break;
        before += weight;
    }
    return cut;
}

/* Labels the vertices of a segment with its parts. The depth of calls is the logarithm of their number. */
static void divide(bisection *b, const segment *s)
{
    if (s->count == 1 || s->end - s->first < 2) {
        for (int64_t i = s->first; i < s->end; i++) b->parts->label[b->vertex[i]] = s->label;
        return;
    }
    int64_t number = ++b->segments, half = s->count / 2;
    for (int64_t i = s->first; i < s->end; i++) b->owner[b->vertex[i]] = number;
    sort_by_distance(b, s, number);
    int64_t cut = find_cut(b, s, half);
    divide(b, &(segment){s->first, cut, s->label, half});
    divide(b, &(segment){cut, s->end, s->label + half, s->count - half});
}

cs_status cs_parts_bisect(const cs_graph *graph, const cs_order_options *options, int64_t count,
                          cs_arena *scratch, cs_parts *parts, cs_error *error)
{
    /* Labels of the caller. */
    if (options->labels)
        return cs_parts_label(graph, options, CS_LABELS_AS_FIT, scratch, parts, error);

    /* Allocate. */
    bisection b = {.graph = graph, .parts = parts};
    parts->label = cs_arena_take(scratch, graph->vertices, sizeof(int64_t));
    b.vertex = cs_arena_take(scratch, graph->vertices, sizeof(int64_t));
    b.owner = cs_arena_take(scratch, graph->vertices, sizeof(int64_t));
    b.found_in = cs_arena_take(scratch, graph->vertices, sizeof(int64_t));
    b.queue = cs_arena_take(scratch, graph->vertices, sizeof(int64_t));
    if (cs_arena_failed(scratch)) return cs_no_memory(error, "the regions of a sweep");

    /* Divide the vertices with edges, into at most as many parts as there are of them. */
    segment all = {.count = count};
    for (int64_t v = 0; v < graph->vertices; v++)
        if (cs_graph_degree(graph, v)) b.vertex[all.end++] = v;
    if (all.count > all.end) all.count = all.end > 0 ? all.end : 1;
    parts->count = all.count;
    divide(&b, &all);
    return CS_OK;
}
