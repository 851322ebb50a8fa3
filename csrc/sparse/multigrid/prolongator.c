/* The pattern of the prolongator, and where its products go. */
#include "core/error.h"
#include "sparse/multigrid/grid.h"

#include <string.h>

/* Appends to a list what is not marked yet. */
static int64_t add_once(int32_t number, int64_t mark, int64_t *marked, int32_t *list, int64_t count)
{
    if (marked[number] == mark) return count;
    marked[number] = mark;
    list[count] = number;
    return count + 1;
}

static void sort_ascending(int32_t *list, int64_t count)
{
    for (int64_t n = 1; n < count; n++) {
        int32_t number = list[n];
        int64_t m = n;
        for (; m > 0 && list[m - 1] > number; m--) list[m] = list[m - 1];
        list[m] = number;
    }
}

/* list <- the aggregates of a row's columns, ascending. `marked` (aggregates): below `mark`. Returns their number. */
static int64_t find_targets(const cs_grid *grid, int64_t i, int64_t mark, int64_t *marked,
                            int32_t *list)
{
    int64_t count = 0;
    for (int64_t e = grid->rows.start[i]; e < grid->rows.start[i + 1]; e++)
        count = add_once(grid->aggregate[grid->rows.column[e] / grid->group], mark, marked, list,
                         count);
    sort_ascending(list, count);
    return count;
}

static cs_status find_pattern(cs_grid *grid, int64_t *marked, int32_t *list, cs_arena *arena,
                              cs_error *error)
{
    const cs_block_system *s = grid->system;
    grid->start = cs_arena_take(arena, s->vertices + 1, sizeof *grid->start);
    cs_status status = cs_arena_status(arena, error, "%lld rows", (long long)s->vertices);
    if (status) return status;
    for (int64_t i = 0; i < s->vertices; i++)
        grid->start[i + 1] = grid->start[i] + find_targets(grid, i, i + 1, marked, list);

    int64_t blocks = grid->start[s->vertices];
    size_t number = cs_number_size(s->single);
    grid->target = cs_arena_take_unset(arena, blocks, sizeof *grid->target);
    grid->slot = cs_arena_take_unset(arena, blocks, sizeof *grid->slot);
    grid->value =
        cs_arena_take(arena, CS_BLOCK_SIZE * grid->width * blocks + CS_BLOCK_STRIDE, number);
    status = cs_arena_status(arena, error, "%lld blocks", (long long)blocks);
    if (status) return status;
    for (int64_t i = 0; i < s->vertices; i++)
        find_targets(grid, i, s->vertices + i + 1, marked, grid->target + grid->start[i]);
    return CS_OK;
}

/* The aggregates that each part reaches: numbered as they come. `place` (aggregates): -1 before and after. gather_start
 * counts them. */
static void number_slots(cs_grid *grid, int32_t *place, int32_t *list)
{
    const cs_block_system *s = grid->system;
    for (int64_t p = 0; p < s->parts; p++) {
        int32_t count = 0;
        for (int64_t e = grid->start[s->first[p]]; e < grid->start[s->first[p + 1]]; e++) {
            int32_t target = grid->target[e];
            if (place[target] < 0) {
                list[count] = target;
                place[target] = count++;
                grid->gather_start[target + 1]++;
            }
            grid->slot[e] = place[target];
        }
        grid->slot_first[p + 1] = grid->slot_first[p] + count;
        for (int32_t n = 0; n < count; n++) place[list[n]] = -1;
    }
}

/* The slots of each aggregate, by ascending parts. end (aggregates): scratch. */
static void list_slots(cs_grid *grid, int64_t *end)
{
    const cs_block_system *s = grid->system;
    for (int64_t a = 0; a < grid->aggregates; a++)
        grid->gather_start[a + 1] += grid->gather_start[a];
    for (int64_t a = 0; a < grid->aggregates; a++) end[a] = grid->gather_start[a];
    for (int64_t p = 0; p < s->parts; p++) {
        /* Each slot once: they are numbered as they come. */
        int32_t next = 0;
        for (int64_t e = grid->start[s->first[p]]; e < grid->start[s->first[p + 1]]; e++) {
            if (grid->slot[e] != next) continue;
            grid->gather[end[grid->target[e]]++] = (int32_t)(grid->slot_first[p] + next++);
        }
    }
}

static cs_status find_slots(cs_grid *grid, int32_t *place, int64_t *end, int32_t *list,
                            cs_arena *arena, cs_error *error)
{
    const cs_block_system *s = grid->system;
    size_t number = cs_number_size(s->single);
    grid->slot_first = cs_arena_take(arena, s->parts + 1, sizeof *grid->slot_first);
    grid->gather_start = cs_arena_take(arena, grid->aggregates + 1, sizeof *grid->gather_start);
    cs_status status = cs_arena_status(arena, error, "%lld parts", (long long)s->parts);
    if (status) return status;
    number_slots(grid, place, list);
    int64_t slots = grid->slot_first[s->parts];
    grid->gather = cs_arena_take(arena, slots, sizeof *grid->gather);
    grid->partial = cs_arena_take(arena, CS_BLOCK_STRIDE * grid->width * slots, number);
    status = cs_arena_status(arena, error, "%lld sums", (long long)slots);
    if (!status) list_slots(grid, end);
    return status;
}

cs_status cs_grid_take_room(cs_grid *grid, const cs_grid *finer, cs_arena *arena, cs_error *error)
{
    int64_t block = CS_BLOCK_ROWS * CS_BLOCK_STRIDE * grid->width;
    int64_t wide = block * grid->start[grid->system->vertices];
    int64_t pairs = block * grid->width * grid->pair_start[grid->aggregates];
    int has_wide = finer && finer->wide_room >= wide,
        has_pairs = finer && finer->pairs_room >= pairs;
    grid->wide = has_wide ? finer->wide : cs_arena_take_unset(arena, wide, sizeof(double));
    grid->pairs = has_pairs ? finer->pairs : cs_arena_take_unset(arena, pairs, sizeof(double));
    grid->wide_room = has_wide ? finer->wide_room : wide;
    grid->pairs_room = has_pairs ? finer->pairs_room : pairs;
    return cs_arena_status(arena, error, "room for %lld products", (long long)(wide + pairs));
}

cs_status cs_grid_lay_out(cs_grid *grid, cs_arena *arena, cs_error *error)
{
    cs_arena scratch = {0};
    int64_t *marked = cs_arena_take(&scratch, grid->aggregates, sizeof *marked);
    int32_t *list = cs_arena_take(&scratch, grid->aggregates, sizeof *list);
    int32_t *place = cs_arena_take(&scratch, grid->aggregates, sizeof *place);
    cs_status status =
        cs_arena_status(&scratch, error, "%lld aggregates", (long long)grid->aggregates);
    if (!status) status = find_pattern(grid, marked, list, arena, error);
    if (!status) {
        for (int64_t a = 0; a < grid->aggregates; a++) place[a] = -1;
        status = find_slots(grid, place, marked, list, arena, error);
    }
    cs_arena_clear(&scratch);
    return status;
}
