/* Numbers in ascending order: columns of a row, neighbours of a vertex. */
#ifndef CS_ASCENDING_H
#define CS_ASCENDING_H

#include <stdint.h>

void cs_sort_64(int64_t *values, int64_t count);
void cs_sort_32(int32_t *values, int64_t count);

/* The comparison functions of qsort and bsearch. */
int cs_compare_64(const void *a, const void *b);
int cs_compare_32(const void *a, const void *b);

/* Sorts, keeps each number once, and returns how many are left. */
int64_t cs_sort_distinct_64(int64_t *values, int64_t count);
int64_t cs_sort_distinct_32(int32_t *values, int64_t count);

#endif
