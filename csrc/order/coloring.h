/* Colours all blocks so that no two blocks of one colour share a movable body or, for a given A, are coupled by
 * a non-zero block.  S1 section 4.3 */
#ifndef CS_COLORING_H
#define CS_COLORING_H

#include "order/priority.h"
#include "order/schedule.h"

typedef struct cs_coloring {
    int64_t colors;
    int64_t *color; /* (blocks) */
    int64_t *size;  /* (colors): number of blocks of each colour */
    int64_t rounds; /* rounds that the colouring took; one without `parallel` */
} cs_coloring;

/* How blocks are coloured. */
typedef struct cs_coloring_options {
    int fixed_as_body;    /* contacts with the same immovable body conflict, as in S1 */
    int balanced;         /* choose the least used free colour instead of the lowest one */
    cs_priority priority; /* the sequence in which the blocks are coloured */
    int64_t colors; /* balanced: target number; 0: highest edge degree, -1: as greedy colouring */
    int multiple_of_parts;             /* balanced: round the target up to a multiple of `parts` */
    int parallel;                      /* colour `parts` ranges at once, in rounds; not by hash */
    int parts, threads, exact_threads; /* as in cs_order_options */
} cs_coloring_options;

/* Colours the blocks in the sequence of their priorities: greedily, with the lowest free colour, or balanced, with
 * the least used free colour. With `parallel`, it colours `parts` ranges of blocks at once. The result does not depend
 * on the number of threads. */
cs_status cs_color(const cs_problem *problem, const cs_coloring_options *options, cs_arena *scratch,
                   cs_coloring *coloring, cs_error *error);

/* Appends the blocks of a colour to the `at` visits of the plan. Returns the new number of visits. */
int64_t cs_plan_color(const cs_coloring *coloring, int64_t color, const int64_t *sorted,
                      const int64_t *start, cs_plan *plan, int64_t at);

/* sorted <- the blocks sorted by colour, start <- where each colour begins. Returns 0, or -1 if memory runs
 * out. */
int cs_sort_colors(const cs_problem *problem, const cs_coloring *coloring, cs_arena *scratch,
                   int64_t **sorted, int64_t **start);

#endif
