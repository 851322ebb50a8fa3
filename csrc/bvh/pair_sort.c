/* Pairs that threads have found in any order, sorted: by a counting sort of the first index, then row by row. Pairs are
 * different, so that the result does not depend on the order in which they were found. */
#include "bvh/traverse.h"
#include "core/ascending.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/phases.h"

#include <string.h>

enum { COUNT, SUM, PLACE, ROWS, PHASES, MOST_PIECES = 8 };

/* Pairs for which memory is kept until the next query. */
enum { KEPT_PAIRS = 1 << 23 };

typedef struct sorting {
    const cs_query *query;
    const int64_t *first; /* (workers + 1): numbers of all pairs, worker after worker */
    int64_t count, pieces, rows_pieces, keys;
    int64_t *
        place; /* (pieces, keys + 1): counts, then where the next pair of a piece with this first index goes */
    int32_t *second;
    int64_t *pairs; /* (count, 2): out */
} sorting;

/* Pairs of equal numbers make a piece, of one worker or of several. */
static int64_t piece_begin(const sorting *s, int64_t n) { return s->count * n / s->pieces; }

/* The pairs from number `at` to `end` that one worker has found. length <- how many. */
static const cs_found *found_at(const sorting *s, int64_t at, int64_t end, int64_t *length)
{
    int n = 0;
    while (at >= s->first[n + 1]) n++;
    *length = (end < s->first[n + 1] ? end : s->first[n + 1]) - at;
    const cs_found *found = s->query->worker[n].found.data;
    return found + (at - s->first[n]);
}

static void count_firsts(const sorting *s, int64_t n)
{
    int64_t *place = s->place + n * (s->keys + 1), length;
    memset(place, 0, sizeof *place * (size_t)(s->keys + 1));
    for (int64_t at = piece_begin(s, n), end = piece_begin(s, n + 1); at < end; at += length) {
        const cs_found *found = found_at(s, at, end, &length);
        for (int64_t i = 0; i < length; i++) place[found[i].first]++;
    }
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
    int64_t *place = s->place + n * (s->keys + 1), length;
    for (int64_t at = piece_begin(s, n), end = piece_begin(s, n + 1); at < end; at += length) {
        const cs_found *found = found_at(s, at, end, &length);
        for (int64_t i = 0; i < length; i++)
            s->second[place[found[i].first]++] = (int32_t)found[i].second;
    }
}

/* After the pairs are placed, the last piece's place of a key is the end of its row. */
static void write_rows(const sorting *s, int64_t n)
{
    const int64_t *end = s->place + (s->pieces - 1) * (s->keys + 1);
    int64_t first = s->keys * n / s->rows_pieces, last = s->keys * (n + 1) / s->rows_pieces;
    for (int64_t key = first; key < last; key++) {
        int64_t begin = key ? end[key - 1] : 0;
        cs_sort_32(s->second + begin, end[key] - begin);
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

/* Gives the memory of an unusually large query back. */
static void release_large(cs_query *query)
{
    for (int n = 0; n < query->workers; n++)
        if (query->worker[n].found.capacity > KEPT_PAIRS) cs_buffer_clear(&query->worker[n].found);
    if (query->second.capacity > KEPT_PAIRS) cs_buffer_clear(&query->second);
    if (query->place.capacity > KEPT_PAIRS) cs_buffer_clear(&query->place);
}

/* How many threads share the work: each has a count for each key, so that few pairs of many keys are sorted by one. */
static int threads_for(const cs_query *query, int64_t count)
{
    int threads = query->report.threads < MOST_PIECES ? query->report.threads : MOST_PIECES;
    int64_t worth = 1 + count / (query->first_keys + 1);
    if (threads > worth) threads = (int)worth;
    return threads > 1 ? cs_pieces(threads, count) : 1;
}

cs_status cs_query_write(cs_query *query, int64_t *pairs, cs_error *error)
{
    int64_t count = query->report.pairs;
    if (!count) return CS_OK;
    int threads = threads_for(query, count);
    cs_arena scratch = {0};
    int64_t *first = cs_arena_take(&scratch, query->workers + 1, sizeof *first);
    if (!first) return cs_no_memory(error, "sorting %lld pairs", (long long)count);
    for (int n = 0; n < query->workers; n++) first[n + 1] = first[n] + query->worker[n].stored;

    sorting s = {.query = query,
                 .first = first,
                 .count = count,
                 .pieces = threads,
                 .rows_pieces = threads > 1 ? 4 * threads : 1,
                 .keys = query->first_keys,
                 .pairs = pairs};
    s.place = cs_buffer_room(&query->place, s.pieces * (s.keys + 1), sizeof *s.place);
    s.second = cs_buffer_room(&query->second, count, sizeof *s.second);
    int has_room = s.place && s.second;
    if (has_room) {
        const cs_phase phase[PHASES] = {{.tasks = s.pieces},
                                        {.tasks = 1, .brief = 1},
                                        {.tasks = s.pieces},
                                        {.tasks = s.rows_pieces}};
        cs_phases_run(&(cs_phases){PHASES, phase, run, &s}, threads);
    }
    cs_arena_clear(&scratch);
    release_large(query);
    return has_room ? CS_OK : cs_no_memory(error, "sorting %lld pairs", (long long)count);
}
