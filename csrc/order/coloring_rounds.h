/* Speculative parallel colouring in rounds (S1 section 4.3, after Bozdag et al. 2005). The blocks are cut into
 * contiguous ranges. Each round has three steps:
 *
 *     colour   each range gives its uncoloured blocks tentative colours; it respects its own colours and all
 *              settled ones, and ignores the tentative colours of other ranges
 *     compare  a block loses its colour if a conflicting block of an earlier range has the same one
 *     settle   all other tentative colours become final; blocks without a colour wait for the next round
 *
 * The first range never loses a colour, the second one loses none after the first has settled, and so on, so
 * that there are at most as many rounds as ranges. With a single range this is S1's sequential colouring.
 * During a step a range reads nothing that another range writes, so that threads may run ranges at once. */
#ifndef CS_COLORING_ROUNDS_H
#define CS_COLORING_ROUNDS_H

#include "order/color_set.h"
#include "order/coloring.h"
#include "order/conflicts.h"

/* A body with very many blocks is a hub and stores the set of its colours.
 *
 * A range's view of a hub: the tentative colours of its own blocks there in this round. */
typedef struct cs_hub_view {
    cs_color_set own;
    int64_t taken_below; /* all colours below are taken, by own or settled blocks */
    int64_t round;       /* the round that this view belongs to */
} cs_hub_view;

/* How often each colour of a balanced colouring is used, from the view of one range. */
typedef struct cs_color_usage {
    int64_t *count; /* (target number of colours): uses of each colour */
    int64_t least;  /* uses of the least used colour */
    int64_t above;  /* number of colours with more uses */
    int64_t first;  /* all colours below have more uses */
} cs_color_usage;

/* A contiguous range of blocks, which one thread colours at a time. */
typedef struct cs_color_range {
    int64_t first, end; /* blocks */
    int64_t
        uncolored; /* blocks without a settled colour: queue[first] ... queue[first + uncolored - 1] */
    cs_hub_view *hub; /* (hubs) */
    cs_color_usage used;
    cs_arena arena; /* of its own, because threads run ranges at once */
} cs_color_range;

/* The scratch memory of one thread. */
typedef struct cs_color_marks {
    int64_t *found_by; /* (capacity): the last visit that found the colour at a conflicting block */
    int64_t visits;    /* blocks that this thread has visited so far */
} cs_color_marks;

/* All data of one colouring. */
typedef struct cs_coloring_state {
    cs_conflicts conflict;
    cs_coloring *coloring;
    cs_arena *scratch;
    int threads;
    int64_t worth_threads; /* number of uncoloured blocks from which threads save time */
    int64_t capacity;      /* upper bound of the number of colours */
    int64_t pages;         /* pages of a colour set */
    int64_t target; /* target number of colours of a balanced colouring; 0 for a greedy one */
    int64_t round;
    int64_t ranges;
    cs_color_range *range;
    cs_color_marks *marks; /* (threads) */
    int64_t *sequence;     /* (blocks): of a single range, in place of the natural one; or NULL */
    int64_t *tentative;    /* (blocks): tentative or settled colour; -1 without one */
    int64_t *queue;        /* (blocks): uncoloured blocks of each range; see cs_color_range */
    unsigned char *lost;   /* (blocks): whether the block loses its tentative colour */
    int64_t hubs;
    int64_t *hub_of;        /* (bodies): the number of the hub that the body is, or -1 */
    cs_color_set *settled;  /* (hubs): colours of settled blocks; unused with a single range */
    int64_t *settled_below; /* (hubs): all colours below are settled */
} cs_coloring_state;

/* Makes all blocks uncoloured. */
void cs_coloring_reset(cs_coloring_state *state);

/* Colours all blocks. Returns 0, or -1 if memory runs out. */
int cs_color_in_rounds(cs_coloring_state *state);

#endif
