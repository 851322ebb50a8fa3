#include "core/counting_sort.h"

#include "core/error.h"
#include "core/parallel.h"
#include "core/phases.h"

#include <string.h>

enum { COUNT, TOTAL, SUM, PLACE, PHASES };

typedef struct sorting {
    const cs_counting_sort *sort;
    int64_t pieces;
    int64_t *
        place; /* (pieces, keys): how often each piece has a key, then where its next item with it goes */
    int64_t total[CS_MOST_PIECES]; /* items in each piece of the keys */
} sorting;

static int64_t item_of(const cs_counting_sort *sort, int64_t i)
{
    return sort->item ? sort->item[i] : i;
}

/* Counts the keys of the items first ... end - 1. */
static void count_keys(const cs_counting_sort *sort, int64_t *place, int64_t first, int64_t end)
{
    memset(place, 0, sizeof *place * (size_t)sort->keys);
    for (int64_t i = first; i < end; i++) {
        int64_t key = sort->key[item_of(sort, i)];
        if (key >= 0) place[key]++;
    }
}

/* The number of items with the keys first ... end - 1. */
static int64_t total_of(const sorting *s, int64_t first, int64_t end)
{
    int64_t total = 0;
    for (int64_t p = 0; p < s->pieces; p++)
        for (int64_t key = first; key < end; key++) total += s->place[p * s->sort->keys + key];
    return total;
}

/* Replaces the counts of these keys by places, which begin behind the `at` items of lower keys. */
static void sum_counts(const sorting *s, int64_t at, int64_t first, int64_t end)
{
    for (int64_t key = first; key < end; key++) {
        if (s->sort->start) s->sort->start[key] = at;
        for (int64_t p = 0; p < s->pieces; p++) {
            int64_t *place = &s->place[p * s->sort->keys + key], count = *place;
            *place = at;
            at += count;
        }
    }
    if (s->sort->start && end == s->sort->keys) s->sort->start[end] = at;
}

static void run(void *context, int64_t phase, int64_t piece)
{
    sorting *s = context;
    const cs_counting_sort *sort = s->sort;
    int64_t *place = s->place + piece * sort->keys, before = 0;
    int64_t items = phase == COUNT || phase == PLACE ? sort->count : sort->keys;
    int64_t first = items * piece / s->pieces, end = items * (piece + 1) / s->pieces;
    switch (phase) {
    case COUNT: count_keys(sort, place, first, end); break;
    case TOTAL: s->total[piece] = total_of(s, first, end); break;
    case SUM:
        for (int64_t p = 0; p < piece; p++) before += s->total[p];
        sum_counts(s, before, first, end);
        break;
    case PLACE:
        for (int64_t i = first; i < end; i++) {
            int64_t item = item_of(sort, i);
            if (sort->key[item] >= 0) sort->sorted[place[sort->key[item]]++] = item;
        }
    }
}

cs_status cs_sort_by_key(const cs_counting_sort *sort, cs_arena *scratch, cs_error *error)
{
    /* Each piece has its own counts: several pieces pay if these are not many more than the items. */
    sorting s = {.sort = sort, .pieces = cs_pieces(sort->threads, sort->count)};
    if (!sort->keys || s.pieces * sort->keys > 8 * sort->count) s.pieces = 1;
    s.place = cs_arena_take_unset(scratch, s.pieces * sort->keys, sizeof(int64_t));
    if (!s.place) return cs_no_memory(error, "sorting %lld contacts", (long long)sort->count);

    cs_phase phase[PHASES] = {0};
    for (int p = 0; p < PHASES; p++) phase[p].tasks = s.pieces;
    cs_phases_run(&(cs_phases){PHASES, phase, run, &s}, (int)s.pieces);
    return CS_OK;
}
