/* Dynamic scheduling: each thread takes the next task when it has finished one. If the largest tasks
 * come first, no thread begins a long one when the others have finished. */
#ifndef CS_SHARE_H
#define CS_SHARE_H

#include <stdint.h>

typedef struct cs_tasks {
    int64_t count;
    const int64_t *order; /* (count): the order in which tasks begin */
    void (*work)(void *context, int64_t task, int thread);
    /* Thread 0 calls this repeatedly after its last task, while others still work: only thread 0 may
     * call the caller's functions. NULL: tasks are too short to ask anything meanwhile. */
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
