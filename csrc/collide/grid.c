/* The grids of a step: each level's shapes, sorted by the cells of their centres.
 *
 * A cell is as wide as the largest distance at which the centres of two members may touch, so that partners lie in
 * neighbouring cells. The grid has at most about twice as many cells as members. Beyond that it folds: the cell of a
 * centre is taken modulo the dimensions. Folding adds candidates, which the test of bounding spheres rejects, and loses
 * none. With at least three cells along each axis, no two neighbours of a cell are the same. */
#include "collide/sort.h"
#include "collide/state.h"
#include "core/vector.h"
#include "core/error.h"

#include <string.h>

typedef struct gridding {
    cs_collider *collider;
    cs_level *level;
    double margin;
    double low[CS_LOOP_PIECES][3], high[CS_LOOP_PIECES][3];
} gridding;

static void bounds_piece(void *context, int64_t piece, int64_t begin, int64_t end)
{
    gridding *g = context;
    const int32_t *member = (const int32_t *)g->collider->member.data + g->level->first;
    double *low = g->low[piece], *high = g->high[piece];
    cs_assign(low, cs_instance_at(g->collider, member[begin])->center);
    cs_assign(high, low);
    for (int64_t m = begin + 1; m < end; m++) {
        const double *x = cs_instance_at(g->collider, member[m])->center;
        for (int i = 0; i < 3; i++) {
            low[i] = x[i] < low[i] ? x[i] : low[i];
            high[i] = x[i] > high[i] ? x[i] : high[i];
        }
    }
}

/* Chooses cells and dimensions for centres in a box. */
static void choose_cells(gridding *g, const double *low, const double *high)
{
    cs_level *level = g->level;
    double width = 0, cells[3];
    for (int i = 0; i < 3; i++) width = fmax(width, high[i] - low[i]);

    /* Slightly wider than needed: rounding must not put partners two cells apart. */
    double cell = (2 * level->bound + fmax(g->margin, 0)) * (1 + 1e-9) + width * 0x1p-40;
    level->inverse_cell = 1 / cell;
    cs_assign(level->low, low);
    for (int i = 0; i < 3; i++) cells[i] = fmax(3, floor((high[i] - low[i]) / cell) + 1);
    if (g->collider->dimension == 2) cells[2] = 1;

    /* Shorten the longest axis while there are too many cells. */
    double most = fmax(27, 2 * (double)level->count);
    for (int turn = 0; cells[0] * cells[1] * cells[2] > most && turn < 6; turn++) {
        int longest = cells[1] > cells[0] ? 1 : 0;
        if (cells[2] > cells[longest]) longest = 2;
        double rest = cells[0] * cells[1] * cells[2] / cells[longest];
        double next = fmax(cells[(longest + 1) % 3], cells[(longest + 2) % 3]);
        cells[longest] = fmax(3, fmax(fmin(next, floor(cbrt(most))), floor(most / rest)));
    }
    for (int i = 0; i < 3; i++) level->dims[i] = (int64_t)cells[i];
}

static int64_t cells_of(const cs_level *level)
{
    return level->dims[0] * level->dims[1] * level->dims[2];
}

static void measure_level(gridding *g, int threads)
{
    cs_loop(threads, g->level->count, bounds_piece, g);
    int64_t pieces = cs_loop_pieces(g->level->count);
    double low[3], high[3];
    cs_assign(low, g->low[0]);
    cs_assign(high, g->high[0]);
    for (int64_t p = 1; p < pieces; p++)
        for (int i = 0; i < 3; i++) {
            low[i] = fmin(low[i], g->low[p][i]);
            high[i] = fmax(high[i], g->high[p][i]);
        }
    choose_cells(g, low, high);
}

static void make_keys(void *context, int64_t piece, int64_t pieces)
{
    const gridding *g = context;
    const cs_level *level = g->level;
    const int32_t *member = (const int32_t *)g->collider->member.data + level->first;
    int32_t *cell = (int32_t *)g->collider->cell.data + level->first;
    int64_t begin = level->count * piece / pieces, end = level->count * (piece + 1) / pieces;
    for (int64_t m = begin; m < end; m++) {
        int64_t at[3];
        cs_cell_of(level, cs_instance_at(g->collider, member[m])->center, at);
        cell[m] = (int32_t)((at[2] * level->dims[1] + at[1]) * level->dims[0] + at[0]);
    }
}

static void make_records(void *context, int64_t piece, int64_t pieces)
{
    const gridding *g = context;
    const cs_collider *collider = g->collider;
    int64_t first = g->level->first;
    const int32_t *order = (const int32_t *)collider->order.data + first;
    cs_record *record = (cs_record *)collider->record.data + first;
    cs_tag *tag = (cs_tag *)collider->tag.data + first;
    int64_t count = g->level->count, begin = count * piece / pieces;
    int64_t end = count * (piece + 1) / pieces;
    for (int64_t i = begin; i < end; i++) {
        int32_t slot = order[i];
        const cs_instance *instance = cs_instance_at(collider, slot);
        cs_assign(record[i].center, instance->center);
        record[i].bound = instance->bound;
        tag[i] = (cs_tag){slot, instance->owner};
    }
}

/* Sorts the members of a level by cells. Returns -1 if memory is too small. */
static int sort_level(gridding *g, int threads)
{
    cs_collider *collider = g->collider;
    cs_level *level = g->level;
    cs_sort sort = {
        .threads = threads,
        .count = level->count,
        .key = (int32_t *)collider->cell.data + level->first,
        .value = (int32_t *)collider->member.data + level->first,
        .keys = cells_of(level),
        .sorted = (int32_t *)collider->order.data + level->first,
        .start = (int32_t *)collider->start.data + level->first_cell,
        .prepare = make_keys,
        .finish = make_records,
        .context = g,
    };
    return cs_sort_run(&sort, &collider->counts);
}

static int reserve_members(cs_collider *collider)
{
    int64_t count = collider->count;
    return cs_buffer_reserve(&collider->cell, count, 0, sizeof(int32_t)) < 0 ||
                   cs_buffer_reserve(&collider->order, count, 0, sizeof(int32_t)) < 0 ||
                   cs_buffer_reserve(&collider->record, count, 0, sizeof(cs_record)) < 0 ||
                   cs_buffer_reserve(&collider->tag, count, 0, sizeof(cs_tag)) < 0
               ? -1
               : 0;
}

cs_status cs_grid_make(cs_collider *collider, double margin, int threads, cs_error *error)
{
    gridding g = {.collider = collider, .margin = margin};
    if (reserve_members(collider) < 0) return cs_no_memory(error, "the grid of shapes");

    /* All grids are measured before the first cell is used. */
    int64_t cells = 0;
    for (int64_t i = 0; i < collider->levels; i++) {
        g.level = &collider->level[i];
        if (!g.level->has_grid) continue;
        measure_level(&g, threads);
        g.level->first_cell = cells;
        cells += cells_of(g.level) + 1;
    }
    if (cs_buffer_reserve(&collider->start, cells, 0, sizeof(int32_t)) < 0)
        return cs_no_memory(error, "the grid of shapes");

    for (int64_t i = 0; i < collider->levels; i++) {
        g.level = &collider->level[i];
        if (g.level->has_grid && sort_level(&g, threads) < 0)
            return cs_no_memory(error, "the grid of shapes");
    }
    return CS_OK;
}
