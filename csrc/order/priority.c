#include "order/priority.h"

#include "core/error.h"
#include "core/splitmix.h"

const char *const cs_priority_words[] = {"natural", "hash", NULL};

uint64_t cs_contact_hash(int64_t number)
{
    uint64_t state = (uint64_t)number;
    return cs_splitmix(&state);
}

/* A hash, and the index of its contact. */
typedef struct hashed {
    uint64_t hash;
    int64_t index;
} hashed;

/* A digit of a radix sort. */
enum { DIGIT_BITS = 11, DIGITS = 6, DIGIT_VALUES = 1 << DIGIT_BITS };
static int64_t digit_of(uint64_t hash, int digit)
{
    return (int64_t)(hash >> (DIGIT_BITS * digit) & (DIGIT_VALUES - 1));
}

/* to <- the items sorted stably by one digit. */
static void sort_by_digit(const hashed *from, int64_t count, int digit, hashed *to)
{
    int64_t start[DIGIT_VALUES + 1] = {0};
    for (int64_t i = 0; i < count; i++) start[digit_of(from[i].hash, digit) + 1]++;
    for (int v = 0; v < DIGIT_VALUES; v++) start[v + 1] += start[v];
    for (int64_t i = 0; i < count; i++) to[start[digit_of(from[i].hash, digit)]++] = from[i];
}

cs_status cs_sort_by_hash(const int64_t *number, int64_t count, int64_t *sequence,
                          cs_arena *scratch, cs_error *error)
{
    hashed *from = cs_arena_take_unset(scratch, count, sizeof *from);
    hashed *to = cs_arena_take_unset(scratch, count, sizeof *to);
    if (cs_arena_failed(scratch))
        return cs_no_memory(error, "the priorities of %lld contacts", (long long)count);

    /* Sort by digits, the lowest first. */
    for (int64_t i = 0; i < count; i++)
        from[i] = (hashed){cs_contact_hash(number ? number[i] : i), i};
    for (int digit = 0; digit < DIGITS; digit++) {
        sort_by_digit(from, count, digit, to);
        hashed *swap = from;
        from = to;
        to = swap;
    }
    for (int64_t i = 0; i < count; i++) sequence[i] = from[i].index;
    return CS_OK;
}
