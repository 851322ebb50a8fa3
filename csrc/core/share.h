/* Tasks shared out among threads, which take them as they come. Where the largest are first, no thread
 * is left with a long one when the others have ended. */
#ifndef CS_SHARE_H
#define CS_SHARE_H

#include <stdint.h>

typedef struct cs_tasks {
    int64_t count;
    const int64_t *order; /* (count): the tasks, as they are to be begun */
    void (*work)(void *context, int64_t task, int thread);
    /* What thread 0, which talks to the caller, does over and over while others still work. */
    void (*wait)(void *context);
    void *context;
} cs_tasks;

/* Returns when all tasks are done. */
void cs_share_out(const cs_tasks *tasks, int threads);

/* order (count): the numbers below `count` by their size, largest first, those of one size ascending.
 * size (count): 0 to `most` each. place (most + 2): scratch. */
void cs_sort_largest_first(int64_t count, const int64_t *size, int64_t most, int64_t *place,
                           int64_t *order);

#endif
