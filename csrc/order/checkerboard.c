/* The checkerboard: visits the border of a partition by whole parts, which are coloured like the fields of a
 * board. S1 section 4.2's batches of border and inner points. */
#include "core/error.h"
#include "order/parts.h"

#include <string.h>

/* A body with more contacts than this is a hub. Its border contacts go to its own part; spread over many
 * parts, they would force each of these parts to have a colour of its own. */
enum { HUB = 128 };

typedef struct board {
    const cs_graph *graph;
    const cs_parts *parts;
    int64_t *owner; /* (blocks): the part that visits a border block; -1 for other blocks */
    int64_t *start; /* (parts + 2): where the border blocks of each part begin in `block` */
    int64_t *block; /* the border, sorted by owner */
    int64_t *color; /* (parts): the colour of a part; -1 before it has one */
    int64_t *met;   /* (parts + 1): the part (+ 1) that last found the colour taken */
    int64_t *seen;  /* (vertices): the part (+ 1) that last visited the vertex */
} board;

/* The part that visits a border block: that of its hub if one of its two bodies is a hub, otherwise the lower
 * one of its two parts. */
static int64_t owner_of(const board *b, int64_t block)
{
    const cs_graph *graph = b->graph;
    const int64_t *label = b->parts->label;
    if (graph->column) return label[block];
    const int64_t *body = cs_adjacency_bodies(&graph->adjacency, block);
    int hub0 = cs_graph_degree(graph, body[0]) > HUB, hub1 = cs_graph_degree(graph, body[1]) > HUB;
    if (hub0 != hub1) return label[body[hub1]];
    return label[body[0]] < label[body[1]] ? label[body[0]] : label[body[1]];
}

/* Marks the colours of all parts that own a border block on a vertex of the border blocks of `part`. */
static void meet(board *b, int64_t part)
{
    const cs_graph *graph = b->graph;
    for (int64_t i = b->start[part]; i < b->start[part + 1]; i++) {
        int64_t end[2];
        int ends = cs_graph_ends(graph, b->block[i], end);
        for (int side = 0; side < ends; side++) {
            if (b->seen[end[side]] == part + 1) continue;
            b->seen[end[side]] = part + 1;
            for (int64_t e = graph->start[end[side]]; e < graph->start[end[side] + 1]; e++) {
                int64_t other = b->owner[cs_graph_block(graph, e)];
                if (other >= 0 && b->color[other] >= 0) b->met[b->color[other]] = part + 1;
            }
        }
    }
}

/* Colours the parts greedily, lowest free colour first. Returns the number of colours. */
static int64_t color_parts(board *b)
{
    int64_t colors = 0;
    for (int64_t part = 0; part < b->parts->count; part++) b->color[part] = -1;
    for (int64_t part = 0; part < b->parts->count; part++) {
        if (b->start[part] == b->start[part + 1]) continue;
        meet(b, part);
        int64_t color = 0;
        while (b->met[color] == part + 1) color++;
        b->color[part] = color;
        if (color >= colors) colors = color + 1;
    }
    return colors;
}

/* b->block <- the `count` blocks of the border, sorted by owner, stably. */
static void share_out(board *b, const int64_t *border, int64_t count)
{
    int64_t *next = b->start + 1;
    for (int64_t block = 0; block < b->graph->problem->blocks; block++) b->owner[block] = -1;
    for (int64_t i = 0; i < count; i++) next[(b->owner[border[i]] = owner_of(b, border[i])) + 1]++;
    for (int64_t p = 0; p < b->parts->count; p++) next[p + 1] += next[p];
    for (int64_t i = 0; i < count; i++) b->block[next[b->owner[border[i]]]++] = border[i];
}

cs_status cs_plan_checkerboard(const cs_graph *graph, const cs_parts *parts, int64_t first,
                               cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    int64_t blocks = graph->problem->blocks, at = first;
    board b = {.graph = graph, .parts = parts};
    b.owner = cs_arena_take(scratch, blocks, sizeof(int64_t));
    b.start = cs_arena_take(scratch, parts->count + 2, sizeof(int64_t));
    b.block = cs_arena_take(scratch, blocks - first, sizeof(int64_t));
    b.color = cs_arena_take(scratch, parts->count, sizeof(int64_t));
    b.met = cs_arena_take(scratch, parts->count + 1, sizeof(int64_t));
    b.seen = cs_arena_take(scratch, graph->vertices, sizeof(int64_t));
    if (cs_arena_failed(scratch)) return cs_no_memory(error, "the border of the parts");

    /* Assign the border to parts, and colour these. */
    share_out(&b, plan->block + first, blocks - first);
    int64_t colors = color_parts(&b);

    /* Make each colour a disjoint stage with one part of the stage per part of the partition. */
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
