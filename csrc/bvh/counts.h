/* How many tests a query made below each pair of nodes: the estimate of the next one (S5 section 5.2). */
#ifndef CS_COUNTS_H
#define CS_COUNTS_H

#include "core/buffer.h"

typedef struct cs_count {
    uint64_t pair; /* cs_pair_of; CS_NO_PAIR: an empty place */
    int64_t tests;
} cs_count;

#define CS_NO_PAIR UINT64_MAX

/* A hash table with open addressing. */
typedef struct cs_counts {
    cs_buffer place; /* of cs_count */
    int64_t size;    /* a power of two; 0: nothing is known */
    int64_t used;
} cs_counts;

static inline uint64_t cs_pair_of(int64_t a, int64_t b) { return (uint64_t)a << 32 | (uint64_t)b; }

/* Forgets everything and makes room for `most` pairs. Returns -1 if memory runs out. */
int cs_counts_reset(cs_counts *counts, int64_t most);
void cs_counts_clear(cs_counts *counts);

/* Adds a pair that is not there. */
void cs_counts_add(cs_counts *counts, uint64_t pair, int64_t tests);

/* The tests below a pair; 0 if it is not there. */
int64_t cs_counts_find(const cs_counts *counts, uint64_t pair);

#endif
