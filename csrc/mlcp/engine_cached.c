/* The factor cache of S3 with a skyline. For each index set, the tight rows are removed from the factor of
 * all rows, one after another in ascending order. The result of each removal is stored (mlcp/cache.h), and
 * the next index set starts with the longest prefix of its tight rows that is stored.  S3 Algorithms 3.1,
 * 3.2
 *
 *     columns   0 ........ 3 ........ 7 .............. n       {3, 7, 8}, where {3, 7} is stored:
 *               whole      {3}        {3, 7}                   only 8 is removed
 *
 * Columns are copied only from the first one on that differs from the factor of the last index set. The
 * numbers agree with those of the engine `skyline` bit by bit. Parts remain valid after a solve, until the
 * matrix changes. */
#include "mlcp/cache.h"
#include "mlcp/pivoting.h"

#include <string.h>

#include "mlcp/engine_downdate.inc"

typedef struct cached_data {
    skyline_data factor; /* first, because mlcp/engine_skyline.inc casts s->factor to it */
    cs_cache cache;
    cs_cache_node **path; /* (rows): the stored parts that begin the factor */
    int64_t *key;         /* (rows): the tight rows of the current factor */
    int64_t count;        /* their number; -1: there is no factor */
} cached_data;

/* Allocates the factor of `skyline`, and an empty cache. */
static int take(cs_island *s, cs_arena *arena)
{
    int failed = take_skyline(s, s->first, 1, arena);
    skyline_data *factor = s->factor;
    cached_data *data = s->factor = failed ? NULL : cs_arena_take(arena, 1, sizeof *data);
    if (!data) return -1;
    data->factor = *factor;
    data->path = cs_arena_take(arena, s->rows, sizeof(cs_cache_node *));
    data->key = cs_arena_take(arena, s->rows, sizeof(int64_t));
    data->count = -1;
    data->cache.limit = s->cache_bytes;
    return cs_arena_failed(arena);
}

/* The first row in which the first `count` entries of s->list differ from the key of the current factor;
 * s->rows if they are equal. */
static int64_t first_difference(const cs_island *s, int64_t count)
{
    const cached_data *data = s->factor;
    int64_t i = 0;
    if (data->count < 0) return 0;
    while (i < count && i < data->count && s->list[i] == data->key[i]) i++;
    int64_t wanted = i < count ? s->list[i] : s->rows;
    int64_t given = i < data->count ? data->key[i] : s->rows;
    return wanted < given ? wanted : given;
}

/* Sets the entries of row i left of the diagonal to zero, from column `first` on. */
static void clear_row(cs_skyline *skyline, int64_t i, int64_t first)
{
    for (int64_t k = i - 1; k >= first && skyline->last[k] >= i; k--)
        skyline->value[skyline->start[k] + i - k] = 0;
}

/* Composes the factor without the first `found` rows of s->list from the stored parts. */
static void compose(cs_island *s, int64_t found)
{
    cached_data *data = s->factor;
    cs_skyline *skyline = &data->factor.skyline;

    /* Skip the columns that are equal in the current factor. */
    int64_t row = first_difference(s, found), first = 0;
    while (first < s->rows && skyline->last[first] < row) first++;

    /* Copy the columns between two removed rows from the part of the first one. */
    for (int64_t j = 0; j <= found; j++) {
        int64_t begin = j ? s->list[j - 1] : 0, end = j < found ? s->list[j] : s->rows;
        const double *part = j ? data->path[j - 1]->value : data->factor.whole.value;
        int64_t from = begin < first ? first : begin, place = skyline->start[from];
        if (from >= end) continue;
        memcpy(skyline->value + place, part + (place - skyline->start[begin]),
               sizeof(double) * (size_t)(skyline->start[end] - place));
    }

    /* A removed row is a row of the identity. */
    for (int64_t j = 0; j < found; j++) clear_row(skyline, s->list[j], first);
}

/* Removes the remaining rows of s->list, and stores the part after each removal as long as there is room.
 * Returns the row at which it was cancelled, or -1. */
static int64_t extend(cs_island *s, int64_t found, int64_t count)
{
    cached_data *data = s->factor;
    cs_skyline *skyline = &data->factor.skyline;
    cs_cache_node *node = found ? data->path[found - 1] : NULL;
    for (int64_t j = found, keeps = 1; j < count; j++) {
        int64_t row = s->list[j], place = skyline->start[row];
        if (remove_row(s, row)) return row;
        if (!keeps) continue;
        node = cs_cache_add(&data->cache, node, row, skyline->value + place,
                            skyline->start[s->rows] - place);
        keeps = node != NULL;
    }
    return -1;
}

/* Computes the factor of the current index set. */
static void factor_cached(cs_island *s, cs_breakdown *breakdown)
{
    cached_data *data = s->factor;
    if (make_whole(s, breakdown)) return;

    /* The key: the tight rows. */
    int64_t count = 0, found;
    for (int64_t i = 0; i < s->rows; i++)
        if (s->state[i] != CS_INDEX_FREE) s->list[count++] = i;

    /* Begin with the stored prefix, and remove the other rows. */
    found = cs_cache_find(&data->cache, s->list, count, data->path);
    data->cache.counts.hits += found;
    data->cache.counts.misses += count - found;
    compose(s, found);
    int64_t last = extend(s, found, count);

    /* Remember the key of the factor, unless it is incomplete. */
    data->count = last < 0 ? count : -1;
    if (last >= 0) *breakdown = (cs_breakdown){.row = last, .cancelled = 1};
    if (count) memcpy(data->key, s->list, sizeof(int64_t) * (size_t)count);
}

static double work(const cs_island *s, double changed, double tight)
{
    (void)changed;
    return removals(s, tight);
}

static void release(cs_island *s)
{
    cached_data *data = s->factor;
    cs_cache_clear(&data->cache);
}

/* Called after a change of the matrix: clears the cache, and marks the factor of all rows as invalid. */
static void forget(cs_island *s)
{
    cached_data *data = s->factor;
    forget_whole(s);
    cs_cache_clear(&data->cache);
    data->count = -1;
}

/* Adds the counts since the last call; `entries` and `bytes` are current. */
static void report_cache(cs_island *s, cs_cache_counts *sum)
{
    cs_cache_counts *own = &((cached_data *)s->factor)->cache.counts;
    sum->hits += own->hits;
    sum->misses += own->misses;
    sum->evictions += own->evictions;
    sum->entries += own->entries;
    sum->bytes += own->bytes;
    sum->most_bytes += own->most_bytes;
    own->hits = own->misses = own->evictions = 0;
    own->most_bytes = own->bytes;
}

const cs_engine cs_engine_cached = {
    .name = "cached",
    .summary = "as skyline; the result of each removal is kept for other index sets (S3 chapter 3)",
    .order = CS_FILL_RCM,
    .take = take,
    .factor = factor_cached,
    .solve = solve,
    .release = release,
    .forget = forget,
    .report_cache = report_cache,
    .weight = CS_COST_BY_COLUMNS,
    .work = work,
};
