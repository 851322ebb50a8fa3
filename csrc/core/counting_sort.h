/* A stable counting sort, which threads share: each piece of the items counts its keys, the counts are summed by key
 * and piece, and each piece then places its items. The result does not depend on the number of pieces. */
#ifndef CS_COUNTING_SORT_H
#define CS_COUNTING_SORT_H

#include "contactsolve.h"
#include "core/memory.h"

typedef struct cs_counting_sort {
    int threads;
    int64_t count;
    const int64_t *item; /* (count): what is sorted; NULL: 0 ... count - 1 */
    const int64_t
        *key;     /* the key of each item: key[item[i]]; items with a negative one are left out */
    int64_t keys; /* keys are below this */
    int64_t *sorted; /* (count, less those left out): out */
    int64_t *start;  /* (keys + 1): out: where the items of each key begin in `sorted`; or NULL */
} cs_counting_sort;

/* Sorts; takes memory from `scratch`. Fails only if memory runs out. */
cs_status cs_sort_by_key(const cs_counting_sort *sort, cs_arena *scratch, cs_error *error);

#endif
