/* Pairs that threads have found in any order, sorted: by a counting sort of the first index, then row by row. Pairs are
 * different, so that the result does not depend on the order in which they were found. */
#include "bvh/traverse.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/phases.h"

#include <stdlib.h>
#include <string.h>

enum { COUNT, SUM, PLACE, ROWS, PHASES, LONG_ROW = 32, MOST_PIECES = 8 };

/* Pairs for which memory is kept until the next query. */
enum { KEPT_PAIRS = 1 << 23 };

/* Pairs begin ... end - 1 of one worker. */
typedef struct piece {
    const cs_found *found;
    int64_t begin, end;
} piece;

typedef struct sorting {
    piece *piece; /* (pieces) */
    int64_t pieces, rows_pieces, keys;
    int64_t *
        place; /* (pieces, keys + 1): counts, then where the next pair of a piece with this first index goes */
    uint32_t *second;
    int64_t *pairs; /* (count, 2): out */
} sorting;

static void count_firsts(const sorting *s, int64_t n)
{
    int64_t *place = s->place + n * (s->keys + 1);
    memset(place, 0, sizeof *place * (size_t)(s->keys + 1));
    const piece *p = &s->piece[n];
    for (int64_t i = p->begin; i < p->end; i++) place[p->found[i].first]++;
}

static void sum_counts(const sorting *s)
{
    int64_t at = 0;
    for (int64_t key = 0; key <= s->keys; key++)
        for (int64_t n = 0; n < s->pieces; n++) {
            int64_t *place = s->place + n * (s->keys + 1) + key, count = *place;
            *place = at;
            at += count;
        }
}

static void place_seconds(const sorting *s, int64_t n)
{
    int64_t *place = s->place + n * (s->keys + 1);
    const piece *p = &s->piece[n];
    for (int64_t i = p->begin; i < p->end; i++)
        s->second[place[p->found[i].first]++] = p->found[i].second;
}

static int compare(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void sort_row(uint32_t *second, int64_t count)
{
    if (count > LONG_ROW) {
        qsort(second, (size_t)count, sizeof *second, compare);
        return;
    }
    for (int64_t i = 1; i < count; i++) {
        uint32_t own = second[i];
        int64_t at = i;
        for (; at > 0 && second[at - 1] > own; at--) second[at] = second[at - 1];
        second[at] = own;
    }
}

/* After the pairs are placed, the last piece's place of a key is the end of its row. */
static void write_rows(const sorting *s, int64_t n)
{
    const int64_t *end = s->place + (s->pieces - 1) * (s->keys + 1);
    int64_t first = s->keys * n / s->rows_pieces, last = s->keys * (n + 1) / s->rows_pieces;
    for (int64_t key = first; key < last; key++) {
        int64_t begin = key ? end[key - 1] : 0;
        sort_row(s->second + begin, end[key] - begin);
        for (int64_t i = begin; i < end[key]; i++) {
            s->pairs[2 * i] = key;
            s->pairs[2 * i + 1] = s->second[i];
        }
    }
}

static void run(void *context, int64_t phase, int64_t task)
{
    const sorting *s = context;
    switch (phase) {
    case COUNT: count_firsts(s, task); break;
    case SUM: sum_counts(s); break;
    case PLACE: place_seconds(s, task); break;
    case ROWS: write_rows(s, task);
    }
}

/* The workers' pairs in about as many pieces of equal size as threads. Returns their number. */
static int64_t cut(const cs_query *query, int64_t size, piece *pieces)
{
    int64_t count = 0;
    for (int n = 0; n < query->workers; n++) {
        const cs_query_worker *w = &query->worker[n];
        int64_t parts = w->stored / size + 1;
        for (int64_t k = 0; w->stored && k < parts; k++)
            pieces[count++] =
                (piece){w->found.data, w->stored * k / parts, w->stored * (k + 1) / parts};
    }
    return count;
}

/* Gives the memory of an unusually large query back. */
static void release_large(cs_query *query)
{
    for (int n = 0; n < query->workers; n++)
        if (query->worker[n].found.capacity > KEPT_PAIRS) cs_buffer_clear(&query->worker[n].found);
    if (query->second.capacity > KEPT_PAIRS) cs_buffer_clear(&query->second);
}

cs_status cs_query_write(cs_query *query, int64_t *pairs, cs_error *error)
{
    int64_t count = query->report.pairs;
    if (!count) return CS_OK;
    int wanted = query->report.threads < MOST_PIECES ? query->report.threads : MOST_PIECES;
    if (wanted > cs_pieces(wanted, count)) wanted = cs_pieces(wanted, count);
    cs_arena scratch = {0};
    piece *pieces = cs_arena_take(&scratch, query->workers + wanted + 1, sizeof *pieces);
    if (!pieces) return cs_no_memory(error, "sorting %lld pairs", (long long)count);
    sorting s = {.piece = pieces, .keys = query->first_keys, .pairs = pairs};
    s.pieces = cut(query, (count + wanted - 1) / wanted, pieces);
    s.rows_pieces = wanted > 1 ? 4 * wanted : 1;
    s.place = cs_buffer_room(&query->place, s.pieces * (s.keys + 1), sizeof *s.place);
    s.second = cs_buffer_room(&query->second, count, sizeof *s.second);
    if (s.place && s.second) {
        const cs_phase phase[PHASES] = {{.tasks = s.pieces},
                                        {.tasks = 1, .brief = 1},
                                        {.tasks = s.pieces},
                                        {.tasks = s.rows_pieces}};
        cs_phases_run(&(cs_phases){PHASES, phase, run, &s}, wanted);
    }
    cs_arena_clear(&scratch);
    int is_sorted = s.place && s.second;
    release_large(query);
    return is_sorted ? CS_OK : cs_no_memory(error, "sorting %lld pairs", (long long)count);
}
