#include "collide/sort.h"

#include "core/parallel.h"
#include "core/phases.h"

#include <string.h>

enum { PREPARE, COUNT, TOTAL, SUM, PLACE, FINISH, PHASES };

typedef struct sorting {
    const cs_sort *sort;
    int64_t pieces;
    int32_t *place; /* (pieces, keys): how often a piece has a key, then where its next item goes */
    int64_t total[CS_SORT_PIECES]; /* items of each piece of the keys */
} sorting;

static void count_keys(const cs_sort *sort, int32_t *place, int64_t first, int64_t end)
{
    memset(place, 0, sizeof *place * (size_t)sort->keys);
    for (int64_t i = first; i < end; i++) place[sort->key[i]]++;
}

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
        s->sort->start[key] = (int32_t)at;
        for (int64_t p = 0; p < s->pieces; p++) {
            int32_t *place = &s->place[p * s->sort->keys + key], count = *place;
            *place = (int32_t)at;
            at += count;
        }
    }
    if (end == s->sort->keys) s->sort->start[end] = (int32_t)at;
}

static void place_values(const cs_sort *sort, int32_t *place, int64_t first, int64_t end)
{
    for (int64_t i = first; i < end; i++)
        sort->sorted[place[sort->key[i]]++] = sort->value ? sort->value[i] : (int32_t)i;
}

static void run(void *context, int64_t phase, int64_t piece)
{
    sorting *s = context;
    const cs_sort *sort = s->sort;
    int32_t *place = s->place + piece * sort->keys;
    int64_t items = phase == COUNT || phase == PLACE ? sort->count : sort->keys, before = 0;
    int64_t first = items * piece / s->pieces, end = items * (piece + 1) / s->pieces;
    switch (phase) {
    case PREPARE:
        if (sort->prepare) sort->prepare(sort->context, piece, s->pieces);
        break;
    case COUNT: count_keys(sort, place, first, end); break;
    case TOTAL: s->total[piece] = total_of(s, first, end); break;
    case SUM:
        for (int64_t p = 0; p < piece; p++) before += s->total[p];
        sum_counts(s, before, first, end);
        break;
    case PLACE: place_values(sort, place, first, end); break;
    case FINISH:
        if (sort->finish) sort->finish(sort->context, piece, s->pieces);
    }
}

int cs_sort_run(const cs_sort *sort, cs_buffer *counts)
{
    sorting s = {.sort = sort, .pieces = cs_pieces(sort->threads, sort->count)};
    if (s.pieces > CS_SORT_PIECES) s.pieces = CS_SORT_PIECES;
    if (s.pieces * sort->keys > 8 * sort->count) s.pieces = 1;
    if (cs_buffer_reserve(counts, s.pieces * sort->keys, 0, sizeof(int32_t)) < 0) return -1;
    s.place = counts->data;

    cs_phase phase[PHASES] = {0};
    for (int p = 0; p < PHASES; p++) phase[p].tasks = s.pieces;
    cs_phases_run(&(cs_phases){PHASES, phase, run, &s}, (int)s.pieces);
    return 0;
}
