#include "bvh/counts.h"

/* Fibonacci hashing: the upper bits of the product.  Knuth, TAOCP 3, section 6.4 */
static int64_t place_of(const cs_counts *counts, uint64_t pair)
{
    uint64_t mixed = (pair ^ pair >> 32) * 0x9e3779b97f4a7c15u;
    return (int64_t)(mixed >> 20 & (uint64_t)(counts->size - 1));
}

int cs_counts_reset(cs_counts *counts, int64_t most)
{
    int64_t size = 16;
    while (size < 2 * most) size *= 2;
    cs_count *place = cs_buffer_room(&counts->place, size, sizeof *place);
    counts->size = counts->used = 0;
    if (!place) return -1;
    for (int64_t i = 0; i < size; i++) place[i].pair = CS_NO_PAIR;
    counts->size = size;
    return 0;
}

void cs_counts_clear(cs_counts *counts)
{
    cs_buffer_clear(&counts->place);
    counts->size = counts->used = 0;
}

void cs_counts_add(cs_counts *counts, uint64_t pair, int64_t tests)
{
    cs_count *place = counts->place.data;
    int64_t at = place_of(counts, pair);
    while (place[at].pair != CS_NO_PAIR) at = (at + 1) & (counts->size - 1);
    place[at] = (cs_count){pair, tests};
    counts->used++;
}

int64_t cs_counts_find(const cs_counts *counts, uint64_t pair)
{
    const cs_count *place = counts->place.data;
    if (!counts->size) return 0;
    for (int64_t at = place_of(counts, pair);; at = (at + 1) & (counts->size - 1)) {
        if (place[at].pair == pair) return place[at].tests;
        if (place[at].pair == CS_NO_PAIR) return 0;
    }
}
