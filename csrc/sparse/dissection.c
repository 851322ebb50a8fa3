#include "sparse/dissection.h"

#include "core/error.h"

/* Pieces of so many vertices are not divided any further. */
enum { SMALL_PIECE = 128 };

/* Vertices that lie between begin and end of the order, and are not yet in their final places, are those of one piece:
 * piece[v] is `begin` of that piece. */
typedef struct dissection {
    const cs_block_system *system;
    int64_t *start, *column; /* the graph, without diagonal */
    int64_t *order, *piece;
    int64_t *level, *queue;
    int64_t *small_start, *small_column,
        *small_order; /* the graph of a small piece, and its order */
    int failed;       /* no memory for an order */
} dissection;

/* ---- the graph --------------------------------------------------------------------------------------------- */

/* Both ends of all couplings: counted, or listed from end[vertex] on. */
static void visit_couplings(const cs_block_system *s, int64_t *end, int64_t *column)
{
    for (int64_t p = 0; p < s->parts; p++)
        for (int64_t i = s->first[p]; i < s->first[p + 1]; i++) {
            for (int64_t e = s->local.start[i] + 1; e < s->local.start[i + 1]; e++) {
                int64_t j = s->local.column[e];
                if (column) {
                    column[end[i]] = j;
                    column[end[j]] = i;
                }
                end[i]++;
                end[j]++;
            }
            for (int64_t e = s->outer.start[i]; e < s->outer.start[i + 1]; e++) {
                if (column)
                    column[end[i]] = s->outer_vertex[s->outer_first[p] + s->outer.column[e]];
                end[i]++;
            }
        }
}

static void list_couplings(dissection *d)
{
    int64_t n = d->system->vertices, *end = d->queue;
    for (int64_t i = n; i-- > 0;) d->start[i + 1] = d->start[i];
    d->start[0] = 0;
    for (int64_t i = 0; i < n; i++) d->start[i + 1] += d->start[i];
    for (int64_t i = 0; i < n; i++) end[i] = d->start[i];
    visit_couplings(d->system, end, d->column);
}

/* ---- levels -------------------------------------------------------------------------------------------------- */

/* level <- the distance from a root within its piece; -1: out of reach. queue <- the vertices by level. Returns how many
 * there are. */
static int64_t search(dissection *d, int64_t begin, int64_t end, int64_t root)
{
    int64_t count = 0;
    for (int64_t k = begin; k < end; k++) d->level[d->order[k]] = -1;
    d->level[root] = 0;
    d->queue[count++] = root;
    for (int64_t done = 0; done < count; done++) {
        int64_t i = d->queue[done];
        for (int64_t e = d->start[i]; e < d->start[i + 1]; e++) {
            int64_t j = d->column[e];
            if (d->piece[j] != begin || d->level[j] >= 0) continue;
            d->level[j] = d->level[i] + 1;
            d->queue[count++] = j;
        }
    }
    return count;
}

/* Levels from a vertex that is far from another one. */
static int64_t search_from_rim(dissection *d, int64_t begin, int64_t end)
{
    int64_t root = d->order[begin], depth = -1;
    for (;;) {
        int64_t count = search(d, begin, end, root), last = d->queue[count - 1];
        if (d->level[last] <= depth) return count;
        depth = d->level[last];
        root = last;
    }
}

/* ---- pieces -------------------------------------------------------------------------------------------------- */

/* Whether a vertex of the middle level has a neighbour behind it: otherwise it belongs to the first half. */
static int has_behind(const dissection *d, int64_t begin, int64_t i)
{
    for (int64_t e = d->start[i]; e < d->start[i + 1]; e++)
        if (d->piece[d->column[e]] == begin && d->level[d->column[e]] > d->level[i]) return 1;
    return 0;
}

/* The vertices of the queue, `count` of them, the rest of a piece behind them. */
static void move_front(dissection *d, int64_t begin, int64_t end, int64_t count)
{
    int64_t to = end;
    for (int64_t k = end; k-- > begin;)
        if (d->level[d->order[k]] < 0) d->order[--to] = d->order[k];
    for (int64_t k = 0; k < count; k++) d->order[begin + k] = d->queue[k];
}

/* Vertices before, behind and on the middle level, in this order. The level of a vertex becomes its kind. Returns how many
 * there are of the first two kinds in sizes. */
static void split(dissection *d, int64_t begin, int64_t count, int64_t *sizes)
{
    int64_t middle = d->level[d->queue[count / 2]], at[3] = {0, 0, 0}, number[3] = {0};
    for (int64_t k = 0; k < count; k++) {
        int64_t i = d->queue[k];
        int on = d->level[i] == middle && has_behind(d, begin, i);
        int kind = on ? 2 : d->level[i] > middle;
        d->order[begin + k] = kind;
        number[kind]++;
    }
    at[1] = number[0];
    at[2] = number[0] + number[1];
    for (int64_t k = 0; k < count; k++) d->level[d->queue[k]] = d->order[begin + k];
    for (int64_t k = 0; k < count; k++) {
        int64_t i = d->queue[k];
        d->order[begin + at[d->level[i]]++] = i;
    }
    sizes[0] = number[0];
    sizes[1] = number[1];
}

static void name_piece(dissection *d, int64_t begin, int64_t end, int64_t name)
{
    for (int64_t k = begin; k < end; k++) d->piece[d->order[k]] = name;
}

/* Orders a small piece by minimum degree. */
static void order_small(dissection *d, int64_t begin, int64_t end)
{
    /* The graph within the piece; level: the numbers there. */
    int64_t count = end - begin, entries = 0;
    for (int64_t k = 0; k < count; k++) d->level[d->order[begin + k]] = k;
    for (int64_t k = 0; k < count; k++) {
        int64_t i = d->order[begin + k];
        for (int64_t e = d->start[i]; e < d->start[i + 1]; e++)
            if (d->piece[d->column[e]] == begin)
                d->small_column[entries++] = d->level[d->column[e]];
        d->small_start[k + 1] = entries;
    }
    const cs_graph graph = {count, d->small_start, d->small_column};
    d->failed |= cs_minimum_degree(&graph, d->small_order, NULL);
    for (int64_t k = 0; k < count; k++) d->queue[k] = d->order[begin + d->small_order[k]];
    for (int64_t k = 0; k < count && !d->failed; k++) d->order[begin + k] = d->queue[k];
}

/* Divides the piece from `begin` to `end`: the loop goes on with what is behind the first half, which is divided by a call
 * of its own. As many calls are nested as pieces are halved. */
static void divide(dissection *d, int64_t begin, int64_t end)
{
    while (end - begin > SMALL_PIECE) {
        int64_t sizes[2], count = search_from_rim(d, begin, end);
        move_front(d, begin, end, count);
        if (begin + count < end) {
            /* The rest is not connected with these any more. */
            name_piece(d, begin + count, end, begin + count);
            if (count <= end - begin - count) {
                divide(d, begin, begin + count);
                begin += count;
            } else {
                divide(d, begin + count, end);
                end = begin + count;
            }
            continue;
        }
        split(d, begin, count, sizes);
        int64_t second = begin + sizes[0], third = second + sizes[1];
        if (sizes[0] == 0 || sizes[1] == 0) return;
        name_piece(d, second, third, second);
        name_piece(d, third, end, -1);
        divide(d, second, third);
        end = second;
    }
    if (end - begin > 2 && !d->failed) order_small(d, begin, end);
}

/* order <- the vertices, component by component, each of which is a piece, and divided. */
static void divide_components(dissection *d)
{
    int64_t n = d->system->vertices, end = 0;
    for (int64_t i = 0; i < n; i++) d->piece[i] = -1;
    for (int64_t i = 0; i < n; i++) {
        int64_t begin = end;
        if (d->piece[i] >= 0) continue;
        d->piece[i] = begin;
        d->order[end++] = i;
        for (int64_t done = begin; done < end; done++)
            for (int64_t e = d->start[d->order[done]]; e < d->start[d->order[done] + 1]; e++) {
                if (d->piece[d->column[e]] >= 0) continue;
                d->piece[d->column[e]] = begin;
                d->order[end++] = d->column[e];
            }
    }
    for (int64_t begin = 0; begin < n; begin = end) {
        for (end = begin + 1; end < n && d->piece[d->order[end]] == begin;) end++;
        divide(d, begin, end);
    }
}

cs_status cs_block_dissection(const cs_block_system *system, int64_t *order, cs_error *error)
{
    int64_t n = system->vertices, entries = 2 * system->local.blocks + system->outer.blocks;
    cs_arena scratch = {0};
    dissection d = {.system = system, .order = order};
    d.start = cs_arena_take(&scratch, n + 1, sizeof *d.start);
    d.column = cs_arena_take_unset(&scratch, entries, sizeof *d.column);
    d.piece = cs_arena_take(&scratch, n, sizeof *d.piece);
    d.level = cs_arena_take(&scratch, n, sizeof *d.level);
    d.queue = cs_arena_take(&scratch, n, sizeof *d.queue);
    d.small_start = cs_arena_take(&scratch, SMALL_PIECE + 1, sizeof *d.small_start);
    d.small_column = cs_arena_take_unset(&scratch, entries, sizeof *d.small_column);
    d.small_order = cs_arena_take(&scratch, SMALL_PIECE, sizeof *d.small_order);
    cs_status status = cs_arena_status(&scratch, error, "an order of %lld vertices", (long long)n);
    if (!status) {
        visit_couplings(system, d.start, NULL);
        list_couplings(&d);
        divide_components(&d);
    }
    if (d.failed) status = cs_no_memory(error, "an order of %lld vertices", (long long)n);
    cs_arena_clear(&scratch);
    return status;
}
