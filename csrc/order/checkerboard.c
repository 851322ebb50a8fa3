/* The checkerboard: visits the border of a partition part by part. Parts are coloured like the fields of a
 * checkerboard, and parts of one colour are swept in parallel. S1 section 4.2: batches of border and inner
 * points. */
#include "core/counting_sort.h"
#include "core/error.h"
#include "core/loop.h"
#include "order/graph_partition.h"

#include <string.h>

/* A body with more contacts than this is a hub. Its border contacts go to its own part. Otherwise many parts
 * would own contacts with the hub, and each of these parts would need a colour of its own. */
enum { HUB = 128 };

typedef struct checkerboard {
    const cs_graph *graph;
    const cs_parts *parts;
    int64_t *owner;       /* (blocks): the part that visits a border block; -1 for other blocks */
    int64_t *start;       /* (parts + 1): where the border blocks of each part begin in `block` */
    int64_t *block;       /* the border, sorted by owner */
    int64_t *color;       /* (parts): the colour of a part; -1 before it has one */
    int64_t *taken_for;   /* (parts + 1): the last part (+ 1) for which the colour is taken */
    int64_t *visited_for; /* (vertices): the last part (+ 1) for which the vertex was visited */
} checkerboard;

/* The part that visits a border block. If some of its bodies are hubs and others are not, the lowest part of a hub;
 * otherwise the lowest of all its parts. */
static int64_t owner_of(const checkerboard *b, int64_t block)
{
    const cs_graph *graph = b->graph;
    const int64_t *label = b->parts->label;
    if (graph->column) return label[block];
    int64_t end[CS_MAX_PARTNERS], of_hubs = INT64_MAX, of_others = INT64_MAX;
    int ends = cs_graph_ends(graph, block, end);
    for (int i = 0; i < ends; i++) {
        int64_t *lowest = cs_graph_degree(graph, end[i]) > HUB ? &of_hubs : &of_others;
        if (label[end[i]] < *lowest) *lowest = label[end[i]];
    }
    return of_hubs != INT64_MAX ? of_hubs : of_others;
}

/* Marks the colours of all parts that own a border block on a vertex of the border blocks of `part`. */
static void mark_taken_colors(checkerboard *b, int64_t part)
{
    const cs_graph *graph = b->graph;
    for (int64_t i = b->start[part]; i < b->start[part + 1]; i++) {
        /* Look at all blocks at the vertices of this block, once for each vertex. */
        int64_t end[CS_MAX_PARTNERS];
        int ends = cs_graph_ends(graph, b->block[i], end);
        for (int side = 0; side < ends; side++) {
            if (b->visited_for[end[side]] == part + 1) continue;
            b->visited_for[end[side]] = part + 1;
            for (int64_t e = graph->start[end[side]]; e < graph->start[end[side] + 1]; e++) {
                int64_t other = b->owner[cs_graph_block(graph, e)];
                if (other >= 0 && b->color[other] >= 0) b->taken_for[b->color[other]] = part + 1;
            }
        }
    }
}

/* Colours the parts greedily, lowest free colour first. Returns the number of colours. */
static int64_t color_parts(checkerboard *b)
{
    int64_t colors = 0;
    for (int64_t part = 0; part < b->parts->count; part++) b->color[part] = -1;

    /* Parts without border blocks need no colour. */
    for (int64_t part = 0; part < b->parts->count; part++) {
        if (b->start[part] == b->start[part + 1]) continue;
        mark_taken_colors(b, part);
        int64_t color = 0;
        while (b->taken_for[color] == part + 1) color++;
        b->color[part] = color;
        if (color >= colors) colors = color + 1;
    }
    return colors;
}

/* The border, whose owners threads find. */
typedef struct owning {
    checkerboard *board;
    const int64_t *border;
} owning;

static void clear_owners(void *context, int64_t piece, int64_t first, int64_t end)
{
    (void)piece;
    const owning *o = context;
    for (int64_t block = first; block < end; block++) o->board->owner[block] = -1;
}

static void find_owners(void *context, int64_t piece, int64_t first, int64_t end)
{
    (void)piece;
    const owning *o = context;
    for (int64_t i = first; i < end; i++)
        o->board->owner[o->border[i]] = owner_of(o->board, o->border[i]);
}

/* b->block <- the `count` blocks of the border, sorted by owner, stably. */
static cs_status sort_by_owner(checkerboard *b, const int64_t *border, int64_t count,
                               cs_arena *scratch, cs_error *error)
{
    const cs_graph *graph = b->graph;
    owning o = {b, border};
    cs_loop(graph->threads, graph->problem->blocks, clear_owners, &o);
    cs_loop(graph->threads, count, find_owners, &o);
    cs_counting_sort sort = {
        .threads = graph->threads,
        .count = count,
        .item = border,
        .key = b->owner,
        .keys = b->parts->count,
        .sorted = b->block,
        .start = b->start,
    };
    return cs_sort_by_key(&sort, scratch, error);
}

cs_status cs_plan_checkerboard(const cs_graph *graph, const cs_parts *parts, int64_t first,
                               cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    /* Allocate. */
    int64_t blocks = graph->problem->blocks, at = first;
    checkerboard b = {.graph = graph, .parts = parts};
    b.owner = cs_arena_take_unset(scratch, blocks, sizeof(int64_t));
    b.start = cs_arena_take(scratch, parts->count + 1, sizeof(int64_t));
    b.block = cs_arena_take_unset(scratch, blocks - first, sizeof(int64_t));
    b.color = cs_arena_take(scratch, parts->count, sizeof(int64_t));
    b.taken_for = cs_arena_take(scratch, parts->count + 1, sizeof(int64_t));
    b.visited_for = cs_arena_take(scratch, graph->vertices, sizeof(int64_t));
    if (cs_arena_failed(scratch)) return cs_no_memory(error, "the border of the parts");

    /* Assign the border blocks to parts, and colour the parts. */
    cs_status status = sort_by_owner(&b, plan->block + first, blocks - first, scratch, error);
    if (status) return status;
    int64_t colors = color_parts(&b);

    plan->visitor = b.owner;

    /* Make each colour a disjoint stage. Each part of the partition is a part of that stage. */
    for (int64_t color = 0; color < colors; color++) {
        for (int64_t p = 0; p < parts->count; p++) {
            if (b.color[p] != color) continue;
            int64_t count = b.start[p + 1] - b.start[p];
            memcpy(plan->block + at, b.block + b.start[p], sizeof(int64_t) * (size_t)count);
            plan->cut[at] = 1;
            cs_plan_add_to_color(plan, color, count);
            at += count;
        }
        cs_plan_close(plan, CS_DISJOINT, at);
    }
    return CS_OK;
}
