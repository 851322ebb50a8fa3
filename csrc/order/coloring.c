#include "order/coloring.h"

#include "core/error.h"
#include "problem/adjacency.h"

#include <string.h>

/* The blocks in conflict with one, as one or two lists of entries. */
typedef struct conflicts {
    const cs_problem *problem;
    cs_adjacency adjacency;        /* of bodies; unused for a given A */
    const int64_t *start, *column; /* of a given A: its pattern together with its transpose's */
} conflicts;

typedef struct conflict_list {
    const int64_t *entry;
    int64_t count;
    int shift;    /* entry >> shift is a block */
    int64_t body; /* that the blocks share; -1 for a row of A */
} conflict_list;

static int lists_of(const conflicts *c, int64_t block, conflict_list *list)
{
    if (c->problem->matrix) {
        *list = (conflict_list){c->column + c->start[block], c->start[block + 1] - c->start[block],
                                0, -1};
        return 1;
    }
    int lists = 0;
    const int64_t *body = c->adjacency.body + 2 * block;
    for (int side = 0; side < 2; side++) {
        if (body[side] < 0 || (side && body[1] == body[0])) continue;
        int64_t first = c->adjacency.start[body[side]];
        list[lists++] = (conflict_list){c->adjacency.entry + first,
                                        c->adjacency.start[body[side] + 1] - first, 1, body[side]};
    }
    return lists;
}

static int has_block(const cs_block_matrix *matrix, int64_t row, int64_t column)
{
    int64_t low = matrix->start[row], high = matrix->start[row + 1];
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (matrix->column[middle] < column) low = middle + 1;
        else high = middle;
    }
    return low < matrix->start[row + 1] && matrix->column[low] == column;
}

cs_status cs_symmetric_pattern(const cs_block_matrix *matrix, cs_arena *scratch,
                               const int64_t **pattern_start, const int64_t **pattern_column,
                               cs_error *error)
{
    int64_t *start = cs_arena_take(scratch, matrix->blocks + 2, sizeof(int64_t));
    if (!start) goto no_memory;
    int64_t *next = start + 1;
    for (int64_t k = 0; k < matrix->blocks; k++) {
        next[k + 1] += matrix->start[k + 1] - matrix->start[k];
        for (int64_t e = matrix->start[k]; e < matrix->start[k + 1]; e++)
            next[matrix->column[e] + 1] += !has_block(matrix, matrix->column[e], k);
    }
    for (int64_t k = 0; k < matrix->blocks; k++) next[k + 1] += next[k];
    int64_t *column = cs_arena_take(scratch, next[matrix->blocks], sizeof(int64_t));
    if (!column) goto no_memory;
    for (int64_t k = 0; k < matrix->blocks; k++)
        for (int64_t e = matrix->start[k]; e < matrix->start[k + 1]; e++) {
            int64_t other = matrix->column[e];
            column[next[k]++] = other;
            if (!has_block(matrix, other, k)) column[next[other]++] = k;
        }
    *pattern_start = start;
    *pattern_column = column;
    return CS_OK;
no_memory:
    return cs_fail(error, CS_NO_MEMORY, "out of memory for the conflicts of %lld contacts",
                   (long long)matrix->blocks);
}

/* Bodies with more blocks than this keep the set of their colours, in place of a walk over their
 * blocks for each of them, which would be quadratic. */
enum { HUB = 128 };

typedef struct painter {
    conflicts conflict;
    cs_coloring *coloring;
    int64_t capacity;  /* colours there can be at most */
    int64_t *met;      /* (capacity): block (+ 1) that met the colour among its conflicts last */
    int64_t words;     /* of a hub's set */
    uint64_t *hub;     /* (hubs, words) */
    int64_t *hub_of;   /* (bodies): its hub, or -1 */
    int64_t *hub_full; /* (hubs): all colours below are taken there */
} painter;

/* Highest number of blocks that one conflicts with: S1's edge degree, eq. 4.1. */
static int64_t highest_degree(const conflicts *c)
{
    int64_t highest = 0;
    for (int64_t block = 0; block < c->problem->blocks; block++) {
        conflict_list list[2];
        int64_t degree = 0;
        int lists = lists_of(c, block, list);
        for (int i = 0; i < lists; i++) degree += list[i].count - 1;
        if (degree > highest) highest = degree;
    }
    return highest;
}

static cs_status find_hubs(painter *p, cs_arena *scratch, cs_error *error)
{
    const cs_problem *problem = p->conflict.problem;
    int64_t hubs = 0;
    p->hub_of = cs_arena_take(scratch, problem->bodies, sizeof(int64_t));
    if (!p->hub_of) goto no_memory;
    for (int64_t body = 0; body < problem->bodies; body++) {
        const int64_t *start = p->conflict.adjacency.start;
        int many = !problem->matrix && start[body + 1] - start[body] > HUB;
        p->hub_of[body] = many ? hubs++ : -1;
    }
    p->words = (p->capacity + 63) / 64;
    p->hub = cs_arena_take(scratch, hubs * p->words, sizeof(uint64_t));
    p->hub_full = cs_arena_take(scratch, hubs, sizeof(int64_t));
    p->met = cs_arena_take(scratch, p->capacity, sizeof(int64_t));
    if (p->hub && p->hub_full && p->met) return CS_OK;
no_memory:
    return cs_fail(error, CS_NO_MEMORY, "out of memory for colouring %lld contacts",
                   (long long)problem->blocks);
}

/* The hubs among a block's bodies, and the colours of its other conflicts marked in `met`. */
static int meet(painter *p, int64_t block, int64_t *hubs)
{
    conflict_list list[2];
    int lists = lists_of(&p->conflict, block, list), count = 0;
    for (int i = 0; i < lists; i++) {
        int64_t hub = list[i].body >= 0 ? p->hub_of[list[i].body] : -1;
        if (hub >= 0) {
            hubs[count++] = hub;
            continue;
        }
        for (int64_t e = 0; e < list[i].count; e++) {
            int64_t color = p->coloring->color[list[i].entry[e] >> list[i].shift];
            if (color >= 0) p->met[color] = block + 1;
        }
    }
    return count;
}

static int is_free(const painter *p, int64_t block, const int64_t *hubs, int count, int64_t color)
{
    if (p->met[color] == block + 1) return 0;
    for (int h = 0; h < count; h++)
        if (p->hub[hubs[h] * p->words + color / 64] >> (color % 64) & 1) return 0;
    return 1;
}

static void paint(painter *p, int64_t block, const int64_t *hubs, int count, int64_t color)
{
    p->coloring->color[block] = color;
    p->coloring->size[color]++;
    if (color >= p->coloring->colors) p->coloring->colors = color + 1;
    for (int h = 0; h < count; h++) {
        uint64_t *set = p->hub + hubs[h] * p->words;
        int64_t *full = &p->hub_full[hubs[h]];
        set[color / 64] |= (uint64_t)1 << (color % 64);
        while (*full < p->capacity && (set[*full / 64] >> (*full % 64) & 1)) ++*full;
    }
}

/* The lowest colour that no conflict has. */
static int64_t lowest_free(const painter *p, int64_t block, const int64_t *hubs, int count)
{
    int64_t color = 0;
    for (int h = 0; h < count; h++)
        if (p->hub_full[hubs[h]] > color) color = p->hub_full[hubs[h]];
    while (!is_free(p, block, hubs, count, color)) color++;
    return color;
}

/* The least used of `colors` colours that no conflict has, the lowest of them on a tie; a new one
 * when all are taken. `least` is a lower bound of all uses. */
static int64_t least_used(const painter *p, int64_t block, const int64_t *hubs, int count,
                          int64_t colors, int64_t least)
{
    int64_t best = -1;
    const int64_t *size = p->coloring->size;
    for (int64_t color = 0; color < colors; color++) {
        if (best >= 0 && size[color] >= size[best]) continue;
        if (!is_free(p, block, hubs, count, color)) continue;
        best = color;
        if (size[color] == least) break;
    }
    if (best >= 0) return best;
    best = colors;
    while (!is_free(p, block, hubs, count, best)) best++;
    return best;
}

static void color_greedily(painter *p)
{
    for (int64_t block = 0; block < p->conflict.problem->blocks; block++) {
        int64_t hubs[2];
        int count = meet(p, block, hubs);
        paint(p, block, hubs, count, lowest_free(p, block, hubs, count));
    }
}

static void color_evenly(painter *p, int64_t colors)
{
    int64_t least = 0, at_least = 0; /* smallest use of a colour, and how many have it */
    for (int64_t block = 0; block < p->conflict.problem->blocks; block++) {
        int64_t hubs[2];
        int count = meet(p, block, hubs);
        int64_t color = least_used(p, block, hubs, count, colors, least);
        if (color < colors && p->coloring->size[color] == least) at_least++;
        paint(p, block, hubs, count, color);
        if (at_least == colors) {
            at_least = 0;
            least++;
            for (int64_t c = 0; c < colors; c++) at_least += p->coloring->size[c] > least;
        }
    }
}

static void forget(painter *p)
{
    const cs_problem *problem = p->conflict.problem;
    int64_t hubs = 0;
    for (int64_t body = 0; body < problem->bodies; body++) hubs += p->hub_of[body] >= 0;
    for (int64_t block = 0; block < problem->blocks; block++) p->coloring->color[block] = -1;
    memset(p->met, 0, sizeof(int64_t) * (size_t)p->capacity);
    memset(p->hub, 0, sizeof(uint64_t) * (size_t)(hubs * p->words));
    memset(p->hub_full, 0, sizeof(int64_t) * (size_t)hubs);
    memset(p->coloring->size, 0, sizeof(int64_t) * (size_t)p->capacity);
    p->coloring->colors = 0;
}

/* How many colours a balanced colouring aims at (S1 section 4.3). */
static int64_t aim(painter *p, const cs_order_options *options, int64_t degree)
{
    int64_t colors = degree > 0 ? degree : 1, blocks = p->conflict.problem->blocks;
    if (options->colors > 0) colors = options->colors < blocks ? options->colors : blocks;
    if (options->colors < 0) {
        color_greedily(p);
        colors = p->coloring->colors;
        forget(p);
    }
    if (options->multiple_of_parts)
        colors = (colors + options->parts - 1) / options->parts * options->parts;
    return colors;
}

cs_status cs_color(const cs_problem *problem, const cs_order_options *options, cs_arena *scratch,
                   cs_coloring *coloring, cs_error *error)
{
    painter p = {.conflict = {.problem = problem}, .coloring = coloring};
    cs_status status = CS_OK;
    if (problem->matrix)
        status = cs_symmetric_pattern(problem->matrix, scratch, &p.conflict.start,
                                      &p.conflict.column, error);
    else
        status = cs_adjacency_build(problem, scratch, options->fixed_as_body, &p.conflict.adjacency,
                                    error);
    if (status) return status;
    int64_t degree = highest_degree(&p.conflict);
    p.capacity = 2 * degree + 2;
    if (options->colors > 0)
        p.capacity += options->colors < problem->blocks ? options->colors : problem->blocks;
    if (options->multiple_of_parts) p.capacity += options->parts;
    *coloring = (cs_coloring){0};
    coloring->color = cs_arena_take(scratch, problem->blocks, sizeof(int64_t));
    coloring->size = cs_arena_take(scratch, p.capacity, sizeof(int64_t));
    if (!coloring->color || !coloring->size)
        return cs_fail(error, CS_NO_MEMORY, "out of memory for colouring %lld contacts",
                       (long long)problem->blocks);
    status = find_hubs(&p, scratch, error);
    if (status) return status;
    forget(&p);
    if (options->balanced) color_evenly(&p, aim(&p, options, degree));
    else color_greedily(&p);
    return CS_OK;
}

int cs_sort_colors(const cs_problem *problem, const cs_coloring *coloring, cs_arena *scratch,
                   int64_t **sorted, int64_t **start)
{
    *sorted = cs_arena_take(scratch, problem->blocks, sizeof(int64_t));
    *start = cs_arena_take(scratch, coloring->colors + 2, sizeof(int64_t));
    if (!*sorted || !*start) return -1;
    int64_t *next = *start + 1;
    for (int64_t c = 0; c < coloring->colors; c++) next[c + 1] = next[c] + coloring->size[c];
    for (int64_t block = 0; block < problem->blocks; block++)
        (*sorted)[next[coloring->color[block]]++] = block;
    return 0;
}

int64_t cs_plan_color(const cs_coloring *coloring, int64_t color, const int64_t *sorted,
                      const int64_t *start, cs_plan *plan, int64_t at)
{
    memcpy(plan->block + at, sorted + start[color],
           sizeof(int64_t) * (size_t)coloring->size[color]);
    return at + coloring->size[color];
}
