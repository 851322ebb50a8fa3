/* A counting sort of 32-bit numbers, which threads share. Unlike core/counting_sort.h it takes its memory from buffers
 * that stay from step to step, and carries a value with each key. */
#ifndef CS_SORT_H
#define CS_SORT_H

#include "core/buffer.h"

enum { CS_SORT_PIECES = 16 }; /* at most */

/* Work that is shared in the same pieces. */
typedef void (*cs_sort_work)(void *context, int64_t piece, int64_t pieces);

typedef struct cs_sort {
    int threads;
    int64_t count;
    const int32_t *key;   /* (count): 0 ... keys - 1 */
    const int32_t *value; /* (count): what goes with each key; NULL: the index */
    int64_t keys;
    int32_t *
        sorted; /* (count): out: the values in the order of their keys, equal keys in their order */
    int32_t *start; /* (keys + 1): out: where the values of each key begin */
    /* Before, to make the keys, and after, to use what is sorted: threads need not meet in between. May be NULL. */
    cs_sort_work prepare, finish;
    void *context;
} cs_sort;

/* Sorts; counts < 2^31. Returns -1 if memory is too small. */
int cs_sort_run(const cs_sort *sort, cs_buffer *counts);

#endif
