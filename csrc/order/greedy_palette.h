/* Colouring a few blocks at a time: a chunk, a border, one block of each contact set.
 *
 * S1's greedy rule (section 4.3) as in coloring.h, with the taken colours kept at the vertices, so
 * that the work is linear in the blocks coloured, however few they are. A vertex keeps 64 colours as
 * bits; above these it takes only colours beyond the last one it has. */
#ifndef CS_GREEDY_PALETTE_H
#define CS_GREEDY_PALETTE_H

#include "order/graph.h"

typedef struct cs_greedy_palette {
    const cs_graph *graph;
    int64_t round;   /* colourings so far */
    int64_t *seen;   /* (vertices): the round that what follows belongs to */
    uint64_t *taken; /* (vertices): bits of the first 64 colours */
    int64_t *next;   /* (vertices): the first colour of 64 and more that may be taken */
    int64_t *has;    /* given A, (blocks): the colour of a block seen in this round */
    int64_t *met;    /* given A, (blocks): block (+ 1) that met the colour last */
    int64_t *color;  /* of the blocks coloured last */
    int64_t *end;    /* and how many of them have this colour or a lower one */
    int64_t *sorted; /* (blocks): scratch */
} cs_greedy_palette;

cs_status cs_greedy_palette_new(const cs_graph *graph, cs_arena *scratch,
                                cs_greedy_palette *palette, cs_error *error);

/* Colours `count` different blocks in the order given, whatever others have. Fills palette->color
 * and palette->end; returns the number of colours. */
int64_t cs_greedy_palette_color(cs_greedy_palette *palette, const int64_t *block, int64_t count);

/* The same, and sorts the blocks by colour. */
int64_t cs_greedy_palette_sort(cs_greedy_palette *palette, int64_t *block, int64_t count);

/* How many of the blocks coloured last have this colour. */
static inline int64_t cs_greedy_palette_size(const cs_greedy_palette *palette, int64_t color)
{
    return palette->end[color] - (color ? palette->end[color - 1] : 0);
}

#endif
