/* Colouring of blocks: no two of one colour share a moving body (or, for a given A, have a non-zero
 * block of A in common).  S1 section 4.3 */
#ifndef CS_COLORING_H
#define CS_COLORING_H

#include "order/schedule.h"

typedef struct cs_coloring {
    int64_t colors;
    int64_t *color; /* (blocks) */
    int64_t *size;  /* (colors) blocks of each */
    int64_t rounds; /* that it took; without `parallel`, one */
} cs_coloring;

/* How blocks are coloured. */
typedef struct cs_coloring_options {
    int fixed_as_body;     /* immovable bodies of the problem conflict, as in S1 */
    int balanced;          /* the least used free colour, not the lowest */
    int64_t colors;        /* balanced: how many; 0: the highest edge degree, -1: as greedy finds */
    int multiple_of_parts; /* balanced: that number is rounded up */
    int parallel;          /* `parts` ranges are coloured at once, in rounds */
    int parts, threads;    /* as of cs_order_options */
} cs_coloring_options;

/* Colours by `options`: greedy (the lowest free colour), or balanced (the least used free one), each
 * through the blocks in their own order; with `parallel`, in `parts` ranges at once. The result
 * depends on no number of threads. */
cs_status cs_color(const cs_problem *problem, const cs_coloring_options *options, cs_arena *scratch,
                   cs_coloring *coloring, cs_error *error);

/* Puts the blocks of a colour behind `at` visits of the plan; returns the visits then. */
int64_t cs_plan_color(const cs_coloring *coloring, int64_t color, const int64_t *sorted,
                      const int64_t *start, cs_plan *plan, int64_t at);

/* Blocks sorted by colour, and where each colour begins; 0, or -1 without memory. */
int cs_sort_colors(const cs_problem *problem, const cs_coloring *coloring, cs_arena *scratch,
                   int64_t **sorted, int64_t **start);

#endif
