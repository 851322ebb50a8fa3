#include "sparse/block_system.h"

#include "core/ascending.h"
#include "core/error.h"
#include "core/instructions.h"
#include "core/loop.h"
#include "core/share.h"
#include "sparse/block_kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CS_INSTRUCTIONS(name, summary) extern const cs_block_kernels cs_block_kernels_##name;
#include "core/instructions.def"
#undef CS_INSTRUCTIONS

static const cs_block_kernels *const builds[] = {
#define CS_INSTRUCTIONS(name, summary) &cs_block_kernels_##name,
#include "core/instructions.def"
#undef CS_INSTRUCTIONS
};

const cs_block_kernels *cs_block_kernels_here(void) { return builds[cs_instructions_widest()]; }

const char *cs_block_system_kernel(void) { return cs_block_kernels_here()->name; }

cs_status cs_block_slices(const cs_graph *graph, int64_t parts, int64_t *label, cs_error *error)
{
    cs_arena scratch = {0};
    int64_t *order = cs_arena_take_unset(&scratch, graph->count, sizeof *order);
    int64_t *more = cs_arena_take_unset(&scratch, 3 * graph->count, sizeof *more);
    cs_status status =
        cs_arena_status(&scratch, error, "an order of %lld vertices", (long long)graph->count);
    if (!status) {
        cs_reverse_cuthill_mckee(graph, order, more);
        for (int64_t i = 0; i < graph->count; i++) label[order[i]] = i * parts / graph->count;
    }
    cs_arena_clear(&scratch);
    return status;
}

/* ---- the layout ---------------------------------------------------------------------------------- */

/* What is known of the vertices while a system is laid out. */
typedef struct layout {
    const cs_graph *graph;
    const int64_t *label;
    int64_t *place; /* (vertices): old number -> new number */
    int64_t *order; /* (vertices): Cuthill-McKee of the graph without edges between parts */
    int64_t *start, *column;    /* that graph */
    int64_t *scratch;           /* (3 vertices) */
    unsigned char *is_boundary; /* (vertices) */
} layout;

static cs_status take_layout(layout *l, cs_arena *scratch, cs_error *error)
{
    int64_t count = l->graph->count, edges = l->graph->start[count];
    l->place = cs_arena_take_unset(scratch, count, sizeof *l->place);
    l->order = cs_arena_take_unset(scratch, count, sizeof *l->order);
    l->start = cs_arena_take(scratch, count + 1, sizeof *l->start);
    l->column = cs_arena_take_unset(scratch, edges, sizeof *l->column);
    l->scratch = cs_arena_take_unset(scratch, 3 * count, sizeof *l->scratch);
    l->is_boundary = cs_arena_take(scratch, count, sizeof *l->is_boundary);
    return cs_arena_status(scratch, error, "the layout of %lld vertices", (long long)count);
}

/* The graph within the parts, and which vertices have neighbours in others. */
static void cut_graph(layout *l)
{
    const cs_graph *graph = l->graph;
    int64_t end = 0;
    for (int64_t i = 0; i < graph->count; i++) {
        for (int64_t e = graph->start[i]; e < graph->start[i + 1]; e++) {
            int64_t j = graph->column[e];
            if (l->label[j] == l->label[i]) l->column[end++] = j;
            else l->is_boundary[i] = 1;
        }
        l->start[i + 1] = end;
    }
}

/* Numbers the vertices: part by part, interior ones first, in the order of Cuthill and McKee. */
static void number_vertices(cs_block_system *s, const layout *l)
{
    /* How many there are of each kind. */
    int64_t count = s->vertices, *kind = s->task; /* interior vertices of each part, for now */
    memset(kind, 0, sizeof *kind * (size_t)s->parts);
    for (int64_t i = 0; i < count; i++) {
        s->first[l->label[i] + 1]++;
        kind[l->label[i]] += !l->is_boundary[i];
    }
    for (int64_t p = 0; p < s->parts; p++) s->first[p + 1] += s->first[p];

    /* The next places of interior vertices and of others. */
    int64_t *inside = kind, *outside = s->boundary;
    for (int64_t p = 0; p < s->parts; p++) {
        outside[p] = s->first[p] + kind[p];
        inside[p] = s->first[p];
    }
    for (int64_t n = 0; n < count; n++) {
        int64_t i = l->order[n], p = l->label[i];
        int64_t *next = l->is_boundary[i] ? &outside[p] : &inside[p];
        l->place[i] = *next;
        s->old[(*next)++] = i;
    }
    memcpy(s->boundary, inside, sizeof *inside * (size_t)s->parts);
}

/* A block of a row while it is sorted. */
typedef struct entry {
    int64_t column, source;
} entry;

static int compare_entries(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    return (x->column > y->column) - (x->column < y->column);
}

/* Counts the blocks of both matrices by row, from their starts on. */
static void count_blocks(cs_block_system *s, const layout *l)
{
    for (int64_t i = 0; i < s->vertices; i++) {
        int64_t old = s->old[i];
        s->local.start[i + 1] = s->local.start[i] + 1; /* the diagonal, given or not */
        s->outer.start[i + 1] = s->outer.start[i];
        for (int64_t e = l->graph->start[old]; e < l->graph->start[old + 1]; e++) {
            int64_t j = l->graph->column[e];
            if (l->label[j] != l->label[old]) s->outer.start[i + 1]++;
            else s->local.start[i + 1] += l->place[j] > i;
        }
    }
    s->local.blocks = s->local.start[s->vertices];
    s->outer.blocks = s->outer.start[s->vertices];
}

static cs_status take_rows(cs_block_rows *rows, int single, cs_arena *arena, cs_error *error)
{
    size_t number = cs_number_size(single);
    rows->column = cs_arena_take(arena, rows->blocks, sizeof *rows->column);
    rows->source = cs_arena_take(arena, rows->blocks, sizeof *rows->source);
    rows->value = cs_arena_take(arena, CS_BLOCK_SIZE * rows->blocks + CS_BLOCK_STRIDE, number);
    return cs_arena_status(arena, error, "%lld blocks", (long long)rows->blocks);
}

/* Fills the columns of row i. `entries`: room for a row. A_ext has new numbers, until they are renumbered. */
static void fill_row(cs_block_system *s, const layout *l, int64_t i, entry *entries, int64_t *outer)
{
    int64_t old = s->old[i], count = 0, out = s->outer.start[i];
    int64_t end = s->local.start[i];
    s->local.column[end] = (int32_t)i;
    s->local.source[end++] = -1;
    for (int64_t e = l->graph->start[old]; e < l->graph->start[old + 1]; e++) {
        int64_t j = l->place[l->graph->column[e]];
        int same = l->label[l->graph->column[e]] == l->label[old];
        if (j == i) s->local.source[end - 1] = e;
        else if (!same || j > i) entries[count++] = (entry){same ? j : -1 - j, e};
    }

    /* Neighbours in other parts have negative columns here. */
    qsort(entries, (size_t)count, sizeof *entries, compare_entries);
    for (int64_t n = 0; n < count; n++) {
        if (entries[n].column >= 0) {
            s->local.column[end] = (int32_t)entries[n].column;
            s->local.source[end++] = entries[n].source;
        } else {
            outer[out] = -1 - entries[n].column;
            s->outer.source[out++] = entries[n].source;
        }
    }
}

/* outer_vertex <- the neighbours of each part in others, ascending; columns of A_ext <- their numbers there. */
static void renumber_outer(cs_block_system *s, const int64_t *outer)
{
    for (int64_t p = 0; p < s->parts; p++) {
        /* Each of them once. */
        int64_t begin = s->outer.start[s->first[p]], end = s->outer.start[s->first[p + 1]];
        int64_t *own = s->outer_vertex + s->outer_first[p];
        memcpy(own, outer + begin, sizeof *own * (size_t)(end - begin));
        int64_t count = cs_sort_distinct_64(own, end - begin);
        s->outer_first[p + 1] = s->outer_first[p] + count;

        for (int64_t e = begin; e < end; e++) {
            const int64_t *found =
                bsearch(&outer[e], own, (size_t)count, sizeof *own, cs_compare_64);
            s->outer.column[e] = (int32_t)(found - own);
        }
    }
}

/* Large parts begin first. */
static cs_status sort_tasks(cs_block_system *s, cs_arena *scratch, cs_error *error)
{
    int64_t most = 0, *size = cs_arena_take(scratch, s->parts, sizeof *size);
    int64_t *place = NULL;
    for (int64_t p = 0; size && p < s->parts; p++) {
        size[p] = s->first[p + 1] - s->first[p];
        if (size[p] > most) most = size[p];
    }
    place = cs_arena_take(scratch, most + 2, sizeof *place);
    cs_status status = cs_arena_status(scratch, error, "%lld parts", (long long)s->parts);
    if (!status) cs_sort_largest_first(s->parts, size, most, place, s->task);
    return status;
}

/* Takes what depends on the number of vertices and parts. */
static cs_status take_system(cs_block_system *s, cs_arena *arena, cs_error *error)
{
    s->first = cs_arena_take(arena, s->parts + 1, sizeof *s->first);
    s->boundary = cs_arena_take(arena, s->parts, sizeof *s->boundary);
    s->outer_first = cs_arena_take(arena, s->parts + 1, sizeof *s->outer_first);
    s->task = cs_arena_take(arena, s->parts, sizeof *s->task);
    s->old = cs_arena_take(arena, s->vertices, sizeof *s->old);
    s->local.start = cs_arena_take(arena, s->vertices + 1, sizeof *s->local.start);
    s->outer.start = cs_arena_take(arena, s->vertices + 1, sizeof *s->outer.start);
    return cs_arena_status(arena, error, "a system of %lld vertices", (long long)s->vertices);
}

/* Takes and fills the rows of both matrices. */
static cs_status lay_rows(cs_block_system *s, const layout *l, cs_arena *arena, cs_arena *scratch,
                          cs_error *error)
{
    /* Take. */
    int64_t longest = 0;
    count_blocks(s, l);
    for (int64_t i = 0; i < s->vertices; i++) {
        int64_t length = l->graph->start[i + 1] - l->graph->start[i];
        if (length > longest) longest = length;
    }
    entry *entries = cs_arena_take(scratch, longest, sizeof *entries);
    int64_t *outer = cs_arena_take_unset(scratch, s->outer.blocks, sizeof *outer);
    s->outer_vertex = cs_arena_take(arena, s->outer.blocks, sizeof *s->outer_vertex);
    cs_status status = take_rows(&s->local, s->single, arena, error);
    if (!status) status = take_rows(&s->outer, s->single, arena, error);
    if (!status)
        status = cs_arena_status(scratch, error, "a row of %lld blocks", (long long)longest);
    if (status) return status;

    /* Fill. */
    for (int64_t i = 0; i < s->vertices; i++) fill_row(s, l, i, entries, outer);
    renumber_outer(s, outer);
    return CS_OK;
}

cs_status cs_block_product_take(const cs_block_system *s, cs_block_product *product,
                                cs_arena *arena, cs_error *error)
{
    size_t number = cs_number_size(s->single);
    product->x = cs_arena_take(arena, CS_BLOCK_STRIDE * s->vertices, number);
    product->y = cs_arena_take(arena, CS_BLOCK_STRIDE * s->vertices, number);
    product->x_outer = cs_arena_take(arena, CS_BLOCK_STRIDE * s->outer_first[s->parts], number);
    return cs_arena_status(arena, error, "vectors of %lld vertices", (long long)s->vertices);
}

cs_status cs_block_system_make(cs_block_system *system, const cs_graph *graph, int64_t parts,
                               const int64_t *label, int single, cs_arena *arena, cs_error *error)
{
    /* Check. */
    *system = (cs_block_system){.vertices = graph->count, .parts = parts, .single = single};
    if (graph->count >= INT32_MAX)
        return cs_fail(error, CS_INVALID, "A has %lld vertices: fewer than %d are possible",
                       (long long)graph->count, INT32_MAX);
    for (int64_t i = 0; i < graph->count; i++)
        if (label[i] < 0 || label[i] >= parts)
            return cs_fail(error, CS_INVALID, "partition[%lld] is %lld: 0 to %lld is needed",
                           (long long)i, (long long)label[i], (long long)(parts - 1));

    /* Number the vertices, then lay out the rows. */
    cs_arena scratch = {0};
    layout l = {.graph = graph, .label = label};
    cs_status status = take_system(system, arena, error);
    if (!status) status = take_layout(&l, &scratch, error);
    if (!status) {
        cut_graph(&l);
        const cs_graph within = {graph->count, l.start, l.column};
        cs_reverse_cuthill_mckee(&within, l.order, l.scratch);
        number_vertices(system, &l);
        status = lay_rows(system, &l, arena, &scratch, error);
    }
    if (!status) status = sort_tasks(system, &scratch, error);
    cs_arena_clear(&scratch);
    return status;
}

/* ---- values and products ------------------------------------------------------------------------- */

/* What threads share: values that are put, or the vectors of a product. */
typedef struct sharing {
    const cs_block_system *system;
    int single;
    const cs_block_rows *rows;
    const double *given;
    const cs_block_product *product;
    const void *x;
    void *y;
} sharing;

/* Blocks are given row by row. */
static void put_blocks(void *context, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    static const double zero[CS_BLOCK_SIZE];
    const sharing *c = context;
    for (int64_t e = begin; e < end; e++) {
        int64_t source = c->rows->source[e];
        const double *from = source < 0 ? zero : c->given + CS_BLOCK_SIZE * source;
        cs_block_store(c->rows->value, c->system->single, e, from);
    }
}

void cs_block_system_put(cs_block_system *system, const double *value, int threads)
{
    sharing c = {.system = system, .rows = &system->local, .given = value};
    cs_loop(threads, system->local.blocks, put_blocks, &c);
    c.rows = &system->outer;
    cs_loop(threads, system->outer.blocks, put_blocks, &c);
}

/* What threads share while they compare. */
typedef struct comparing {
    const cs_block_pattern *pattern;
    const double *value;
    double *root; /* (vertices): of the largest entry of a diagonal block */
    cs_asymmetry piece[CS_LOOP_PIECES];
} comparing;

static double largest_of(const double *block)
{
    double largest = 0;
    for (int n = 0; n < CS_BLOCK_SIZE; n++)
        if (fabs(block[n]) > largest) largest = fabs(block[n]);
    return largest;
}

/* A diagonal block is its own mirror image. */
static void find_roots(void *context, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    comparing *c = context;
    for (int64_t e = begin; e < end; e++)
        if (c->pattern->mirror[e] == e)
            c->root[c->pattern->column[e]] = sqrt(largest_of(c->value + CS_BLOCK_SIZE * e));
}

static void compare_blocks(void *context, int64_t piece, int64_t begin, int64_t end)
{
    comparing *c = context;
    cs_asymmetry own = {0};
    for (int64_t e = begin; e < end; e++) {
        int64_t image = c->pattern->mirror[e];
        const double *block = c->value + CS_BLOCK_SIZE * e;
        const double *other = c->value + CS_BLOCK_SIZE * image;
        double apart = 0;
        int64_t place = 0;
        for (int n = 0; n < CS_BLOCK_SIZE; n++) {
            int turned = CS_BLOCK_ROWS * (n % CS_BLOCK_ROWS) + n / CS_BLOCK_ROWS;
            double here = fabs(block[n] - other[turned]);
            if (!(here > apart)) continue;
            apart = here;
            place = CS_BLOCK_SIZE * e + n;
        }

        /* Most blocks are symmetric to the last bit. */
        if (apart == 0) continue;
        double scale = c->root[c->pattern->column[e]] * c->root[c->pattern->column[image]];
        scale = fmax(scale, fmax(largest_of(block), largest_of(other)));
        if (apart / scale > own.apart) own = (cs_asymmetry){apart / scale, place};
    }
    c->piece[piece] = own;
}

cs_status cs_block_asymmetry(const cs_block_pattern *pattern, const double *value, int threads,
                             cs_asymmetry *worst, cs_error *error)
{
    cs_arena scratch = {0};
    comparing c = {.pattern = pattern, .value = value};
    c.root = cs_arena_take(&scratch, pattern->vertices, sizeof *c.root);
    cs_status status =
        cs_arena_status(&scratch, error, "%lld vertices", (long long)pattern->vertices);
    if (status) return status;
    *worst = (cs_asymmetry){0};
    cs_loop(threads, pattern->blocks, find_roots, &c);
    cs_loop(threads, pattern->blocks, compare_blocks, &c);
    for (int64_t n = 0; n < cs_loop_pieces(pattern->blocks); n++)
        if (c.piece[n].apart > worst->apart) *worst = c.piece[n];
    cs_arena_clear(&scratch);
    return CS_OK;
}

void cs_block_system_get(const cs_block_system *system, const cs_block_rows *rows, int64_t e,
                         double *block)
{
    cs_block_load(rows->value, system->single, e, block);
}

double cs_block_system_trace(const cs_block_system *system, const cs_block_rows *rows, int64_t e)
{
    double sum = 0;
    for (int k = 0; k < CS_BLOCK_ROWS; k++)
        sum +=
            cs_number_at(rows->value, system->single, CS_BLOCK_SIZE * e + (CS_BLOCK_ROWS + 1) * k);
    return sum;
}

void cs_block_system_share(const cs_block_system *system, int threads,
                           void (*work)(void *context, int64_t part, int thread), void *context)
{
    const cs_tasks tasks = {system->parts, system->task, work, NULL, context};
    cs_share_out(&tasks, threads);
}

/* Some vertices from the old numbers to the new ones, and back. */
static void take_x(void *context, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    const sharing *c = context;
    cs_block_kernels_here()->take[c->single](c->system->old, c->x, c->y, begin, end);
}

static void give_y(void *context, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    const sharing *c = context;
    cs_block_kernels_here()->give[c->single](c->system->old, c->x, c->y, begin, end);
}

void cs_block_system_take(const cs_block_system *system, int single, const void *x, void *to,
                          int threads)
{
    sharing c = {.system = system, .single = single, .x = x, .y = to};
    cs_loop(threads, system->vertices, take_x, &c);
}

void cs_block_system_give(const cs_block_system *system, int single, const void *from, void *y,
                          int threads)
{
    sharing c = {.system = system, .single = single, .x = from, .y = y};
    cs_loop(threads, system->vertices, give_y, &c);
}

/* x of the neighbours of a part, the product of the part, and its y, to the old numbers. */
static void multiply_part(void *context, int64_t part, int thread)
{
    (void)thread;
    sharing *c = context;
    const cs_block_system *s = c->system;
    const cs_block_product *v = c->product;
    cs_block_kernels_here()->multiply[cs_block_form(s, s->single)](s, part, v->x, v->x_outer, v->y);
    give_y(c, part, s->first[part], s->first[part + 1]);
}

void cs_block_system_multiply(const cs_block_system *system, const cs_block_product *product,
                              const void *x, void *y, int threads)
{
    sharing c = {.system = system, .product = product, .x = product->y, .y = y};
    c.single = system->single;
    cs_block_system_take(system, system->single, x, product->x, threads);
    cs_block_system_share(system, threads, multiply_part, &c);
}

int64_t cs_block_system_bytes(const cs_block_system *system)
{
    size_t number = cs_number_size(system->single);
    int64_t blocks = system->local.blocks + system->outer.blocks;
    return blocks * (int64_t)(CS_BLOCK_SIZE * number + sizeof(int32_t)) +
           2 * (system->vertices + 1) * (int64_t)sizeof(int64_t);
}
