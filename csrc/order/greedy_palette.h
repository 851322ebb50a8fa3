/* Greedy colouring of some blocks of the problem: those of a chunk, of a border, or one of each contact set.
 *
 * Each block gets the lowest colour that no conflicting block has (S1 section 4.3), as in
 * order/coloring.h. Here every vertex stores the colours of its blocks, so that the work is linear in the number of
 * blocks coloured, even if they are a small part of the problem. A vertex stores its first 64 colours as
 * bits; beyond these it only accepts colours above its highest one. */
#ifndef CS_GREEDY_PALETTE_H
#define CS_GREEDY_PALETTE_H

#include "order/graph.h"

/* The colours at a vertex, side by side in memory. */
typedef struct cs_vertex_colors {
    int64_t round;  /* the colouring that the values below belong to */
    uint64_t taken; /* bit c is set if colour c < 64 is taken */
    int64_t next;   /* the lowest colour >= 64 that is still free */
} cs_vertex_colors;

typedef struct cs_greedy_palette {
    const cs_graph *graph;
    int64_t round;            /* number of colourings so far */
    cs_vertex_colors *vertex; /* (vertices); NULL for a given A */
    int64_t *round_of;  /* given A, (blocks): the colouring that the colour of a block belongs to */
    int64_t *color_of;  /* given A, (blocks): the colour of a block in this colouring */
    int64_t *taken_for; /* given A, (count + 1): last block (+ 1) for which the colour is taken */
    int64_t *color;  /* (count): the colours of the last colouring, in the sequence of its blocks */
    int64_t *end;    /* (colors): how many of these blocks have this colour or a lower one */
    int64_t *sorted; /* (count): scratch */
} cs_greedy_palette;

/* Allocates the palette in `scratch`, for colourings of at most `most` blocks. Fails only if memory runs out. */
cs_status cs_greedy_palette_new(const cs_graph *graph, int64_t most, cs_arena *scratch,
                                cs_greedy_palette *palette, cs_error *error);

/* Colours `count` distinct blocks in the sequence given, and ignores all other blocks. Fills palette->color
 * and palette->end. Returns the number of colours. */
int64_t cs_greedy_palette_color(cs_greedy_palette *palette, const int64_t *block, int64_t count);

/* Colours the blocks and sorts them by colour, stably. Returns the number of colours. */
int64_t cs_greedy_palette_sort(cs_greedy_palette *palette, int64_t *block, int64_t count);

/* The number of blocks of this colour in the last colouring. */
static inline int64_t cs_greedy_palette_size(const cs_greedy_palette *palette, int64_t color)
{
    return palette->end[color] - (color ? palette->end[color - 1] : 0);
}

#endif
