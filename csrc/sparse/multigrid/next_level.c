/* The pattern of the next level's matrix P^T A P, its layout in parts, and how it is computed.
 *
 * Each part of the next level computes the rows of its aggregates: from all rows of A whose product with P has one of them,
 * those of its halo, some of which other parts compute, too. Threads write to no place of another, and sums are in the order
 * of the rows. */
#include "core/ascending.h"
#include "core/error.h"
#include "core/share.h"
#include "sparse/multigrid/grid.h"

/* A part of a coarse level has so many vertices, at least, if there are several. */
enum { LEAST_PART = 1024 };

/* Lists of numbers, one after another. */
typedef struct lists {
    int64_t *start;
    int32_t *number;
} lists;

/* What is known while the pattern is laid out. */
typedef struct layout {
    cs_grid *grid;
    cs_block_system *next;
    lists row;       /* the aggregates in each row of A P, as they come */
    lists support;   /* the vertices of each aggregate's column of P */
    lists coupled;   /* the aggregates coupled with each, ascending */
    int64_t *marked; /* (aggregates), below `mark` */
    int64_t *end;    /* (aggregates) */
    int32_t *owner;  /* (aggregates): their part in the next level */
    int64_t mark;
} layout;

/* ---- patterns of products ---------------------------------------------------------------------------- */

/* list <- the aggregates in row i of A P, in the order in which product.inc meets them; NULL: counts. */
static int64_t find_row(layout *l, int64_t i, int32_t *list)
{
    const cs_grid *g = l->grid;
    int64_t count = 0;
    l->mark++;
    for (int64_t e = g->rows.start[i]; e < g->rows.start[i + 1]; e++) {
        int64_t j = g->rows.column[e];
        for (int64_t f = g->start[j]; f < g->start[j + 1]; f++) {
            if (l->marked[g->target[f]] == l->mark) continue;
            l->marked[g->target[f]] = l->mark;
            if (list) list[count] = g->target[f];
            count++;
        }
    }
    return count;
}

static cs_status find_rows(layout *l, cs_arena *scratch, cs_error *error)
{
    cs_grid *g = l->grid;
    int64_t vertices = g->system->vertices;
    l->row.start = cs_arena_take(scratch, vertices + 1, sizeof *l->row.start);
    cs_status status = cs_arena_status(scratch, error, "%lld rows", (long long)vertices);
    if (status) return status;
    g->widest = 0;
    for (int64_t i = 0; i < vertices; i++) {
        int64_t count = find_row(l, i, NULL);
        if (count > g->widest) g->widest = count;
        l->row.start[i + 1] = l->row.start[i] + count;
    }
    int64_t blocks = l->row.start[vertices];
    l->row.number = cs_arena_take_unset(scratch, blocks, sizeof *l->row.number);
    status = cs_arena_status(scratch, error, "%lld blocks", (long long)blocks);
    for (int64_t i = 0; i < vertices && !status; i++)
        find_row(l, i, l->row.number + l->row.start[i]);
    return status;
}

static cs_status find_supports(layout *l, cs_arena *scratch, cs_error *error)
{
    const cs_grid *g = l->grid;
    int64_t vertices = g->system->vertices, blocks = g->start[vertices];
    l->support.start = cs_arena_take(scratch, g->aggregates + 1, sizeof *l->support.start);
    l->support.number = cs_arena_take_unset(scratch, blocks, sizeof *l->support.number);
    cs_status status = cs_arena_status(scratch, error, "%lld blocks", (long long)blocks);
    if (status) return status;
    for (int64_t f = 0; f < blocks; f++) l->support.start[g->target[f] + 1]++;
    for (int64_t a = 0; a < g->aggregates; a++) {
        l->support.start[a + 1] += l->support.start[a];
        l->end[a] = l->support.start[a];
    }
    for (int64_t i = 0; i < vertices; i++)
        for (int64_t f = g->start[i]; f < g->start[i + 1]; f++)
            l->support.number[l->end[g->target[f]]++] = (int32_t)i;
    return CS_OK;
}

/* The aggregates coupled with aggregate a; NULL: counts. */
static int64_t find_coupled(layout *l, int64_t a, int32_t *list)
{
    int64_t count = 0;
    l->mark++;
    for (int64_t n = l->support.start[a]; n < l->support.start[a + 1]; n++) {
        int64_t i = l->support.number[n];
        for (int64_t m = l->row.start[i]; m < l->row.start[i + 1]; m++) {
            int32_t b = l->row.number[m];
            if (l->marked[b] == l->mark) continue;
            l->marked[b] = l->mark;
            if (list) list[count] = b;
            count++;
        }
    }
    if (list) cs_sort_32(list, count);
    return count;
}

static cs_status find_all_coupled(layout *l, cs_arena *scratch, cs_error *error)
{
    int64_t count = l->grid->aggregates;
    l->coupled.start = cs_arena_take(scratch, count + 1, sizeof *l->coupled.start);
    cs_status status = cs_arena_status(scratch, error, "%lld aggregates", (long long)count);
    for (int64_t a = 0; a < count && !status; a++)
        l->coupled.start[a + 1] = l->coupled.start[a] + find_coupled(l, a, NULL);
    if (status) return status;
    int64_t pairs = l->coupled.start[count];
    l->coupled.number = cs_arena_take_unset(scratch, pairs, sizeof *l->coupled.number);
    status = cs_arena_status(scratch, error, "%lld pairs of aggregates", (long long)pairs);
    for (int64_t a = 0; a < count && !status; a++)
        find_coupled(l, a, l->coupled.number + l->coupled.start[a]);
    return status;
}

/* ---- parts -------------------------------------------------------------------------------------------- */

/* Parts of the next level: as many, or neighbouring ones together if they would be small. */
static void divide(layout *l)
{
    const cs_grid *g = l->grid;
    int64_t vertices = g->width * g->aggregates, part = 0;
    for (int64_t a = 0; a < g->aggregates; a++) {
        while (g->group * g->root[a] >= g->system->first[part + 1]) part++;
        l->owner[a] = (int32_t)(part * l->next->parts / g->system->parts);
        l->next->first[l->owner[a] + 1] += g->width;
    }
    for (int64_t q = 0; q < l->next->parts; q++) {
        l->next->first[q + 1] += l->next->first[q];
        l->next->task[q] = q;
    }
    for (int64_t i = 0; i < vertices; i++) l->next->old[i] = i;
}

static cs_status take_parts(layout *l, cs_arena *arena, cs_error *error)
{
    const cs_grid *g = l->grid;
    cs_block_system *next = l->next;
    int64_t vertices = g->width * g->aggregates, parts = vertices / LEAST_PART;
    if (parts > g->system->parts) parts = g->system->parts;
    if (parts < 1) parts = 1;
    *next = (cs_block_system){.vertices = vertices, .parts = parts, .single = g->system->single};
    next->first = cs_arena_take(arena, parts + 1, sizeof *next->first);
    next->task = cs_arena_take(arena, parts, sizeof *next->task);
    next->outer_first = cs_arena_take(arena, parts + 1, sizeof *next->outer_first);
    next->old = cs_arena_take(arena, vertices, sizeof *next->old);
    next->local.start = cs_arena_take(arena, vertices + 1, sizeof *next->local.start);
    next->outer.start = cs_arena_take(arena, vertices + 1, sizeof *next->outer.start);
    cs_status status = cs_arena_status(arena, error, "%lld aggregates", (long long)g->aggregates);
    if (!status) divide(l);
    return status;
}

/* ---- the matrix ---------------------------------------------------------------------------------------- */

/* Blocks of A_loc and A_ext in the rows of each aggregate's vertices. */
static void count_blocks(layout *l)
{
    cs_block_system *next = l->next;
    int64_t width = l->grid->width;
    for (int64_t i = 0; i < next->vertices; i++) {
        int64_t a = i / width, local = width - i % width, outer = 0;
        for (int64_t n = l->coupled.start[a]; n < l->coupled.start[a + 1]; n++) {
            int32_t b = l->coupled.number[n];
            if (l->owner[b] != l->owner[a]) outer += width;
            else if (b > a) local += width;
        }
        next->local.start[i + 1] = next->local.start[i] + local;
        next->outer.start[i + 1] = next->outer.start[i] + outer;
    }
    next->local.blocks = next->local.start[next->vertices];
    next->outer.blocks = next->outer.start[next->vertices];
}

static cs_status take_rows(cs_block_rows *rows, int single, cs_arena *arena, cs_error *error)
{
    size_t number = cs_number_size(single);
    rows->column = cs_arena_take_unset(arena, rows->blocks, sizeof *rows->column);
    rows->value = cs_arena_take(arena, CS_BLOCK_SIZE * rows->blocks + CS_BLOCK_STRIDE, number);
    return cs_arena_status(arena, error, "%lld blocks", (long long)rows->blocks);
}

/* The same matrix in double precision, if it is not that already. */
static cs_status take_exact(cs_grid *next, cs_arena *arena, cs_error *error)
{
    cs_block_system *exact = &next->exact;
    next->values = next->own.single ? exact : &next->own;
    *exact = (cs_block_system){0};
    if (!next->own.single) return CS_OK;
    *exact = next->own;
    exact->single = 0;
    cs_block_rows *rows[] = {&exact->local, &exact->outer};
    for (int r = 0; r < 2; r++)
        rows[r]->value =
            cs_arena_take(arena, CS_BLOCK_SIZE * rows[r]->blocks + CS_BLOCK_STRIDE, sizeof(double));
    return cs_arena_status(arena, error, "%lld blocks", (long long)exact->local.blocks);
}

/* The columns of row i, those of A_ext as aggregates and vertices of the whole level. */
static void fill_row(layout *l, int64_t i)
{
    cs_block_system *next = l->next;
    int64_t width = l->grid->width, a = i / width;
    int64_t local = next->local.start[i], outer = next->outer.start[i];
    for (int64_t j = i; j < width * (a + 1); j++) next->local.column[local++] = (int32_t)j;
    for (int64_t n = l->coupled.start[a]; n < l->coupled.start[a + 1]; n++) {
        int32_t b = l->coupled.number[n];
        int is_outer = l->owner[b] != l->owner[a];
        for (int64_t t = 0; t < width && (is_outer || b > a); t++) {
            int32_t column = (int32_t)(width * b + t);
            if (is_outer) next->outer.column[outer++] = column;
            else next->local.column[local++] = column;
        }
    }
}

/* outer_vertex <- the columns of A_ext of each part, each once; columns <- their numbers there. place (vertices): scratch,
 * -1 before and after. */
static void renumber_outer(cs_block_system *next, int32_t *place)
{
    for (int64_t q = 0; q < next->parts; q++) {
        int64_t *own = next->outer_vertex + next->outer_first[q], count = 0;
        int64_t begin = next->outer.start[next->first[q]];
        int64_t end = next->outer.start[next->first[q + 1]];
        for (int64_t e = begin; e < end; e++) {
            int32_t column = next->outer.column[e];
            if (place[column] < 0) {
                place[column] = (int32_t)count;
                own[count++] = column;
            }
            next->outer.column[e] = place[column];
        }
        next->outer_first[q + 1] = next->outer_first[q] + count;
        for (int64_t n = 0; n < count; n++) place[own[n]] = -1;
    }
}

static cs_status lay_matrix(layout *l, cs_arena *arena, cs_arena *scratch, cs_error *error)
{
    cs_block_system *next = l->next;
    count_blocks(l);
    int32_t *place = cs_arena_take_unset(scratch, next->vertices, sizeof *place);
    cs_status status = cs_arena_status(scratch, error, "%lld vertices", (long long)next->vertices);
    next->outer_vertex = cs_arena_take(arena, next->outer.blocks, sizeof *next->outer_vertex);
    if (!status) status = take_rows(&next->local, next->single, arena, error);
    if (!status) status = take_rows(&next->outer, next->single, arena, error);
    if (status) return status;
    for (int64_t i = 0; i < next->vertices; i++) fill_row(l, i);
    for (int64_t i = 0; i < next->vertices; i++) place[i] = -1;
    renumber_outer(next, place);
    return CS_OK;
}

/* ---- pairs of aggregates ----------------------------------------------------------------------------------- */

static int is_pair(const layout *l, int64_t a, int64_t b)
{
    return b >= a || l->owner[b] != l->owner[a];
}

static cs_status list_pairs(layout *l, cs_arena *arena, cs_error *error)
{
    cs_grid *g = l->grid;
    int64_t count = 0, most = l->coupled.start[g->aggregates];
    g->pair_start = cs_arena_take(arena, g->aggregates + 1, sizeof *g->pair_start);
    g->pair_column = cs_arena_take_unset(arena, most, sizeof *g->pair_column);
    cs_status status = cs_arena_status(arena, error, "%lld pairs", (long long)most);
    for (int64_t a = 0; a < g->aggregates && !status; a++) {
        for (int64_t n = l->coupled.start[a]; n < l->coupled.start[a + 1]; n++)
            if (is_pair(l, a, l->coupled.number[n])) g->pair_column[count++] = l->coupled.number[n];
        g->pair_start[a + 1] = count;
    }
    return status;
}

static int64_t find_pair(const cs_grid *g, int64_t a, int32_t b)
{
    int64_t low = g->pair_start[a], high = g->pair_start[a + 1];
    while (low + 1 < high) {
        int64_t middle = (low + high) / 2;
        if (g->pair_column[middle] <= b) low = middle;
        else high = middle;
    }
    return low;
}

/* Which parts of the next level read a row of A: those of its aggregates, each once. */
static int first_of_part(const layout *l, int64_t i, int64_t f)
{
    const cs_grid *g = l->grid;
    for (int64_t e = g->start[i]; e < f; e++)
        if (l->owner[g->target[e]] == l->owner[g->target[f]]) return 0;
    return 1;
}

/* Counts the rows and products of each part. */
static void count_halos(layout *l)
{
    cs_grid *g = l->grid;
    for (int64_t i = 0; i < g->system->vertices; i++)
        for (int64_t f = g->start[i]; f < g->start[i + 1]; f++) {
            int32_t a = g->target[f], q = l->owner[a];
            if (first_of_part(l, i, f)) g->halo_start[q + 1]++;
            for (int64_t m = l->row.start[i]; m < l->row.start[i + 1]; m++)
                g->halo_pair[q + 1] += is_pair(l, a, l->row.number[m]);
        }
    for (int64_t q = 0; q < l->next->parts; q++) {
        g->halo_start[q + 1] += g->halo_start[q];
        g->halo_pair[q + 1] += g->halo_pair[q];
    }
}

/* row, product (parts): the ends of what is filled. */
static void fill_halos(layout *l, int64_t *row, int64_t *product)
{
    cs_grid *g = l->grid;
    for (int64_t q = 0; q < l->next->parts; q++) {
        row[q] = g->halo_start[q];
        product[q] = g->halo_pair[q];
    }
    for (int64_t i = 0; i < g->system->vertices; i++)
        for (int64_t f = g->start[i]; f < g->start[i + 1]; f++) {
            int32_t a = g->target[f], q = l->owner[a];
            if (first_of_part(l, i, f)) g->halo[row[q]++] = (int32_t)i;
            for (int64_t m = l->row.start[i]; m < l->row.start[i + 1]; m++) {
                int32_t b = l->row.number[m];
                if (is_pair(l, a, b)) g->pair[product[q]++] = (int32_t)find_pair(g, a, b);
            }
        }
}

static cs_status list_halos(layout *l, cs_arena *arena, cs_arena *scratch, cs_error *error)
{
    cs_grid *g = l->grid;
    int64_t parts = l->next->parts, *row = cs_arena_take(scratch, parts, sizeof *row);
    int64_t *product = cs_arena_take(scratch, parts, sizeof *product);
    g->halo_start = cs_arena_take(arena, parts + 1, sizeof *g->halo_start);
    g->halo_pair = cs_arena_take(arena, parts + 1, sizeof *g->halo_pair);
    cs_status status = cs_arena_status(arena, error, "%lld parts", (long long)parts);
    if (!status) status = cs_arena_status(scratch, error, "%lld parts", (long long)parts);
    if (status) return status;
    count_halos(l);
    g->halo = cs_arena_take_unset(arena, g->halo_start[parts], sizeof *g->halo);
    g->pair = cs_arena_take_unset(arena, g->halo_pair[parts], sizeof *g->pair);
    status = cs_arena_status(arena, error, "%lld products", (long long)g->halo_pair[parts]);
    if (!status) fill_halos(l, row, product);
    return status;
}

/* Multiplications of P, A P and P^T A P. */
static double count_products(const layout *l)
{
    const cs_grid *g = l->grid;
    double smooth = 0, rows = 0;
    for (int64_t i = 0; i < g->system->vertices; i++)
        for (int64_t e = g->rows.start[i]; e < g->rows.start[i + 1]; e++) {
            int64_t j = g->rows.column[e];
            smooth += 1;
            rows += (double)(g->start[j + 1] - g->start[j]);
        }
    double pairs = (double)(g->halo_pair[l->next->parts] * g->width);
    return CS_BLOCK_ROWS * CS_BLOCK_SIZE * (double)g->width * (smooth + rows + pairs);
}

/* ---- all of it ------------------------------------------------------------------------------------------------ */

static cs_status lay_out(layout *l, cs_arena *arena, cs_arena *scratch, cs_error *error)
{
    int64_t count = l->grid->aggregates;
    l->marked = cs_arena_take(scratch, count, sizeof *l->marked);
    l->end = cs_arena_take(scratch, count, sizeof *l->end);
    l->owner = cs_arena_take(scratch, count, sizeof *l->owner);
    cs_status status = cs_arena_status(scratch, error, "%lld aggregates", (long long)count);
    if (!status) status = find_rows(l, scratch, error);
    if (!status) status = find_supports(l, scratch, error);
    if (!status) status = find_all_coupled(l, scratch, error);
    if (!status) status = take_parts(l, arena, error);
    if (!status) status = lay_matrix(l, arena, scratch, error);
    if (!status) status = list_pairs(l, arena, error);
    if (!status) status = list_halos(l, arena, scratch, error);
    return status;
}

cs_status cs_grid_lay_out_next(cs_grid *grid, cs_grid *next, cs_arena *arena, cs_error *error)
{
    cs_arena scratch = {0};
    layout l = {.grid = grid, .next = &next->own};
    cs_status status = lay_out(&l, arena, &scratch, error);
    if (!status) status = take_exact(next, arena, error);
    if (!status) {
        grid->products = count_products(&l);
        next->system = &next->own;
        next->nodes = grid->aggregates;
        next->group = next->width = grid->width;
    }
    cs_arena_clear(&scratch);
    return status;
}
