#include "order/greedy_palette.h"

#include "core/error.h"

#include <string.h>

enum { BITS = 64 }; /* colours that a vertex stores as bits */

cs_status cs_greedy_palette_new(const cs_graph *graph, int64_t most, cs_arena *scratch,
                                cs_greedy_palette *palette, cs_error *error)
{
    int64_t vertices = graph->vertices, blocks = graph->problem->blocks;
    *palette = (cs_greedy_palette){.graph = graph};
    palette->color = cs_arena_take_unset(scratch, most, sizeof(int64_t));
    palette->end = cs_arena_take_unset(scratch, most + 1, sizeof(int64_t));
    palette->sorted = cs_arena_take_unset(scratch, most, sizeof(int64_t));
    if (graph->column) {
        palette->round_of = cs_arena_take(scratch, blocks, sizeof(int64_t));
        palette->color_of = cs_arena_take(scratch, blocks, sizeof(int64_t));
        palette->taken_for = cs_arena_take(scratch, most + 1, sizeof(int64_t));
    } else palette->vertex = cs_arena_take(scratch, vertices, sizeof *palette->vertex);
    return cs_arena_status(scratch, error, "colouring %lld contacts", (long long)blocks);
}

/* Takes the lowest colour that is free at both bodies of a block, and returns it. */
static int64_t color_of_bodies(cs_greedy_palette *p, int64_t block)
{
    int64_t end[CS_MAX_PARTNERS], color = BITS;
    int ends = cs_graph_ends(p->graph, block, end);
    uint64_t taken = 0;

    /* Combine the taken colours of both bodies, which begin each colouring with none. */
    for (int i = 0; i < ends; i++) {
        cs_vertex_colors *vertex = &p->vertex[end[i]];
        if (vertex->round != p->round) *vertex = (cs_vertex_colors){p->round, 0, BITS};
        taken |= vertex->taken;
        if (vertex->next > color) color = vertex->next;
    }

    /* Choose the lowest free bit; without one, the first colour above all taken ones. */
    if (taken != UINT64_MAX) color = __builtin_ctzll(~taken);

    /* Take the colour at both bodies. */
    for (int i = 0; i < ends; i++) {
        if (color < BITS) p->vertex[end[i]].taken |= (uint64_t)1 << color;
        else p->vertex[end[i]].next = color + 1;
    }
    return color;
}

/* Takes the lowest colour that no coupled block of a given A has in this colouring, and returns it. */
static int64_t color_of_row(cs_greedy_palette *p, int64_t block)
{
    /* Mark the colours of the coupled blocks. */
    const cs_graph *graph = p->graph;
    int64_t color = 0;
    for (int64_t e = graph->start[block]; e < graph->start[block + 1]; e++) {
        int64_t other = graph->column[e];
        if (p->round_of[other] == p->round) p->taken_for[p->color_of[other]] = block + 1;
    }

    /* Take the lowest one that is not marked. */
    while (p->taken_for[color] == block + 1) color++;
    p->round_of[block] = p->round;
    p->color_of[block] = color;
    return color;
}

int64_t cs_greedy_palette_color(cs_greedy_palette *p, const int64_t *block, int64_t count)
{
    /* Begin a new colouring, which makes the values of earlier ones invalid. */
    int64_t colors = 0;
    p->round++;
    if (p->taken_for) memset(p->taken_for, 0, sizeof(int64_t) * (size_t)(count + 1));

    /* Colour the blocks and count each colour. */
    for (int64_t i = 0; i < count; i++) {
        p->color[i] = p->graph->column ? color_of_row(p, block[i]) : color_of_bodies(p, block[i]);
        for (; colors <= p->color[i]; colors++) p->end[colors] = 0;
        p->end[p->color[i]]++;
    }

    /* Sum the counts: where each colour ends. */
    for (int64_t c = 1; c < colors; c++) p->end[c] += p->end[c - 1];
    return colors;
}

int64_t cs_greedy_palette_sort(cs_greedy_palette *p, int64_t *block, int64_t count)
{
    int64_t colors = cs_greedy_palette_color(p, block, count);

    /* Counting sort from the back, which is stable; it turns `end` into the begin of each colour. */
    for (int64_t i = count - 1; i >= 0; i--) p->sorted[--p->end[p->color[i]]] = block[i];

    /* Restore the ends. */
    for (int64_t c = 0; c < colors; c++) p->end[c] = c + 1 < colors ? p->end[c + 1] : count;
    memcpy(block, p->sorted, sizeof(int64_t) * (size_t)count);
    return colors;
}
