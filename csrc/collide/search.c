/* The pairs of shapes that may touch: by the grid of each level, between levels, and with the shapes that have no grid.
 * Threads search from pieces of the records and list what they find; the lists are then sorted by slots. */
#include "collide/sort.h"
#include "collide/state.h"
#include "core/vector.h"
#include "core/error.h"

#include <string.h>

/* A shape that every record is compared with: its box, or the half-space. */
typedef struct loose {
    double box[2][3];
    double normal[3], offset;
    cs_tag tag;
    int is_half_space;
} loose;

typedef struct search {
    cs_collider *collider;
    double margin;
    const cs_level *level; /* whose records are searched from */
    cs_buffer loose;       /* the collider's */
    int64_t loose_count;
    int64_t piece_offset[CS_LOOP_PIECES + 1];
} search;

/* ---- lists of pairs ------------------------------------------------------------------------------ */

static void box_of(const cs_collider *collider, int32_t slot, double box[2][3])
{
    const cs_instance *instance = cs_instance_at(collider, slot);
    if (!cs_is_ball(instance->kind)) {
        memcpy(box, (double(*)[2][3])collider->box.data + slot, sizeof(double[2][3]));
        return;
    }
    for (int i = 0; i < 3; i++) {
        box[0][i] = instance->center[i] - instance->bound;
        box[1][i] = instance->center[i] + instance->bound;
    }
}

/* Shapes of the plane have no width along z, by which a negative margin could be met. */
static int boxes_meet(int dimension, double a[2][3], double b[2][3], double margin)
{
    for (int i = 0; i < dimension; i++)
        if (a[0][i] - b[1][i] > margin || b[0][i] - a[1][i] > margin) return 0;
    return 1;
}

/* Lists a pair whose bounding spheres meet, if its boxes do and the owners differ. */
static void list_pair(const search *s, int64_t piece, cs_tag a, cs_tag b, int compare_boxes)
{
    cs_collider *collider = s->collider;
    if (a.owner == b.owner || collider->found_count[piece] < 0) return;
    if (compare_boxes) {
        double box[2][2][3];
        box_of(collider, a.slot, box[0]);
        box_of(collider, b.slot, box[1]);
        if (!boxes_meet(collider->dimension, box[0], box[1], s->margin)) return;
    }

    int64_t *count = &collider->found_count[piece];
    cs_buffer *found = &collider->found[piece];
    if (*count == found->capacity &&
        cs_buffer_reserve(found, *count + 1, *count, sizeof(cs_pair_slots)) < 0) {
        *count = -1;
        return;
    }
    int first = a.slot < b.slot;
    ((cs_pair_slots *)found->data)[(*count)++] =
        (cs_pair_slots){{first ? a.slot : b.slot, first ? b.slot : a.slot}};
}

/* ---- neighbours in grids ------------------------------------------------------------------------- */

/* A record that is compared with others, and the margin in its bound. */
typedef struct probe {
    double x, y, z, bound;
    cs_tag tag;
} probe;

static probe probe_of(const search *s, int64_t i)
{
    const cs_record *record = (const cs_record *)s->collider->record.data + i;
    const double *x = record->center;
    return (probe){x[0], x[1], x[2], record->bound + s->margin,
                   ((const cs_tag *)s->collider->tag.data)[i]};
}

/* Compares a record with the records begin ... end - 1. */
static inline void compare(const search *s, int64_t piece, const probe *p, int64_t begin,
                           int64_t end)
{
    const cs_record *record = s->collider->record.data;
    for (int64_t j = begin; j < end; j++) {
        double dx = record[j].center[0] - p->x, dy = record[j].center[1] - p->y;
        double dz = record[j].center[2] - p->z, reach = p->bound + record[j].bound;
        if (dx * dx + dy * dy + dz * dz <= reach * reach * (1 + 1e-12) && reach >= 0)
            list_pair(s, piece, p->tag, ((const cs_tag *)s->collider->tag.data)[j],
                      !s->collider->only_round);
    }
}

/* Compares a record with those in the cells x - 1, x, x + 1 of a row of a level's grid. */
static inline void compare_row(const search *s, int64_t piece, const cs_level *level,
                               const probe *p, int64_t x, int64_t row)
{
    const int32_t *start =
        (const int32_t *)s->collider->start.data + level->first_cell + row * level->dims[0];
    int64_t first = level->first, last = level->dims[0] - 1;
    if (x > 0 && x < last) {
        compare(s, piece, p, first + start[x - 1], first + start[x + 2]);
        return;
    }
    for (int64_t d = -1; d <= 1; d++) {
        int64_t at = x + d < 0 ? last : x + d > last ? 0 : x + d;
        compare(s, piece, p, first + start[at], first + start[at + 1]);
    }
}

/* The row beside that of cell `at`, folded. */
static inline int64_t row_beside(const cs_level *level, const int64_t *at, int dy, int dz)
{
    int64_t y = at[1] + dy, z = at[2] + dz;
    y = y < 0 ? level->dims[1] - 1 : y >= level->dims[1] ? 0 : y;
    z = z < 0 ? level->dims[2] - 1 : z >= level->dims[2] ? 0 : z;
    return z * level->dims[1] + y;
}

/* Compares record i of the level with the later ones of its cell `at`, and with the half of the neighbours that follow;
 * the other half compares with it. */
static void compare_within(const search *s, int64_t piece, int64_t i, const int64_t *at)
{
    static const int beside[4][2] = {{1, 0}, {-1, 1}, {0, 1}, {1, 1}}; /* dy, dz */
    const cs_level *level = s->level;
    probe p = probe_of(s, i);
    int64_t row = at[2] * level->dims[1] + at[1], first = level->first;
    const int32_t *start =
        (const int32_t *)s->collider->start.data + level->first_cell + row * level->dims[0];

    int at_end = at[0] == level->dims[0] - 1, rows = s->collider->dimension == 3 ? 4 : 1;
    compare(s, piece, &p, i + 1, first + start[at[0] + (at_end ? 1 : 2)]);
    if (at_end) compare(s, piece, &p, first + start[0], first + start[1]);
    for (int k = 0; k < rows; k++)
        compare_row(s, piece, level, &p, at[0], row_beside(level, at, beside[k][0], beside[k][1]));
}

/* Compares record i with the shapes of a coarser level. */
static void compare_coarser(const search *s, int64_t piece, int64_t i, const cs_level *level)
{
    probe p = probe_of(s, i);
    int64_t at[3];
    int reach = s->collider->dimension == 3 ? 1 : 0;
    cs_cell_of(level, (const double[]){p.x, p.y, p.z}, at);
    for (int dz = -reach; dz <= reach; dz++)
        for (int dy = -1; dy <= 1; dy++)
            compare_row(s, piece, level, &p, at[0], row_beside(level, at, dy, dz));
}

/* ---- shapes without a grid ----------------------------------------------------------------------- */

/* Whether the bounding sphere of a record may touch a loose shape. */
static int meets_loose(const cs_record *record, const loose *l, double margin)
{
    double reach = record->bound + margin, square = 0;
    if (l->is_half_space) return cs_dot(l->normal, record->center) - l->offset <= reach;
    for (int i = 0; i < 3; i++) {
        double beyond =
            fmax(fmax(l->box[0][i] - record->center[i], record->center[i] - l->box[1][i]), 0);
        square += beyond * beyond;
    }
    return reach >= 0 ? square <= reach * reach * (1 + 1e-12) : square == 0;
}

static void compare_loose(const search *s, int64_t piece, int64_t i)
{
    const cs_record *record = (const cs_record *)s->collider->record.data + i;
    cs_tag tag = ((const cs_tag *)s->collider->tag.data)[i];
    const loose *all = s->loose.data;
    for (int64_t k = 0; k < s->loose_count; k++)
        if (meets_loose(record, &all[k], s->margin))
            list_pair(s, piece, tag, all[k].tag, !s->collider->only_round && !all[k].is_half_space);
}

/* Whether two loose shapes may touch. Two half-spaces have no contacts. */
static int loose_meet(const search *s, const loose *a, const loose *b)
{
    if (a->is_half_space && b->is_half_space) return 0;
    if (!a->is_half_space && !b->is_half_space) return 1; /* boxes are compared with the pair */
    const loose *half = a->is_half_space ? a : b, *other = a->is_half_space ? b : a;
    const cs_instance *instance = cs_instance_at(s->collider, other->tag.slot);
    cs_record record = {.bound = instance->bound};
    cs_assign(record.center, instance->center);
    return meets_loose(&record, half, s->margin);
}

/* Lists the pairs of loose shapes, at the end of the first piece. */
static void compare_among_loose(const search *s)
{
    const loose *all = s->loose.data;
    for (int64_t a = 0; a < s->loose_count; a++)
        for (int64_t b = a + 1; b < s->loose_count; b++)
            if (loose_meet(s, &all[a], &all[b]))
                list_pair(s, 0, all[a].tag, all[b].tag,
                          !all[a].is_half_space && !all[b].is_half_space);
}

static void add_loose(search *s, int32_t slot)
{
    const cs_collider *collider = s->collider;
    const cs_instance *instance = cs_instance_at(collider, slot);
    loose *l = (loose *)s->loose.data + s->loose_count++;
    *l = (loose){.tag = {slot, instance->owner}};
    l->is_half_space = instance->kind == CS_SHAPE_HALF_SPACE;
    if (!l->is_half_space) {
        box_of(collider, slot, l->box);
        return;
    }
    const cs_solid *solid = cs_solid_at(collider, slot);
    cs_rotate((const double *)collider->turn.data + 9 * (int64_t)slot, solid->normal, l->normal);
    l->offset = solid->offset + cs_dot(l->normal, instance->center);
}

/* Lists the half-spaces, and the shapes of levels without a grid. */
static int find_loose(search *s)
{
    cs_collider *collider = s->collider;
    int64_t most = collider->half_spaces + CS_MOST_LEVELS * CS_FEW_SHAPES;
    if (cs_buffer_reserve(&collider->loose, most, 0, sizeof(loose)) < 0) return -1;
    s->loose = collider->loose;
    const int32_t *half_space = collider->half_space.data, *member = collider->member.data;
    for (int64_t i = 0; i < collider->half_spaces; i++) add_loose(s, half_space[i]);
    for (int64_t i = 0; i < collider->levels; i++) {
        const cs_level *level = &collider->level[i];
        for (int64_t m = 0; !level->has_grid && m < level->count; m++)
            add_loose(s, member[level->first + m]);
    }
    return 0;
}

/* ---- the search ---------------------------------------------------------------------------------- */

/* The cell of the record `i` of the level: the last that begins at or before it. */
static int64_t cell_of_record(const search *s, int64_t i)
{
    const int32_t *start = (const int32_t *)s->collider->start.data + s->level->first_cell;
    int64_t low = 0, high = s->level->dims[0] * s->level->dims[1] * s->level->dims[2];
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (start[middle] <= i) low = middle;
        else high = middle;
    }
    return low;
}

/* Finds the pairs of the records begin ... end - 1 of the level, in the order of cells. */
static void search_piece(void *context, int64_t piece, int64_t begin, int64_t end)
{
    const search *s = context;
    const cs_level *level = s->level;
    const cs_collider *collider = s->collider;
    const int32_t *start = (const int32_t *)collider->start.data + level->first_cell;
    int64_t cell = cell_of_record(s, begin), nx = level->dims[0], ny = level->dims[1];
    int64_t at[3] = {cell % nx, cell / nx % ny, cell / (nx * ny)};
    for (int64_t i = begin; i < end; i++) {
        while (start[cell + 1] <= i) {
            cell++;
            if (++at[0] < nx) continue;
            at[0] = 0;
            if (++at[1] < ny) continue;
            at[1] = 0;
            at[2]++;
        }
        compare_within(s, piece, level->first + i, at);
        for (const cs_level *coarser = level + 1; coarser < collider->level + collider->levels;
             coarser++)
            if (coarser->has_grid) compare_coarser(s, piece, level->first + i, coarser);
        if (s->loose_count) compare_loose(s, piece, level->first + i);
    }
}

static cs_status search_all(search *s, int threads, cs_error *error)
{
    cs_collider *collider = s->collider;
    if (find_loose(s) < 0) return cs_no_memory(error, "pairs of shapes");
    memset(collider->found_count, 0, sizeof collider->found_count);
    for (int64_t i = 0; i < collider->levels; i++) {
        s->level = &collider->level[i];
        if (s->level->has_grid) cs_loop(threads, s->level->count, search_piece, s);
    }
    compare_among_loose(s);

    /* Where each piece's pairs begin among all of them. */
    for (int64_t p = 0; p < CS_LOOP_PIECES; p++) {
        if (collider->found_count[p] < 0) return cs_no_memory(error, "pairs of shapes");
        s->piece_offset[p + 1] = s->piece_offset[p] + collider->found_count[p];
    }
    collider->pairs = s->piece_offset[CS_LOOP_PIECES];
    if (collider->pairs > INT32_MAX)
        return cs_fail(error, CS_UNSUPPORTED, "%lld pairs of shapes may touch: at most %d can",
                       (long long)collider->pairs, INT32_MAX);
    return CS_OK;
}

/* ---- sorting ------------------------------------------------------------------------------------- */

/* Splits the pairs that some of the pieces have found into their first and second slots. */
static void split_pairs(void *context, int64_t piece, int64_t pieces)
{
    const search *s = context;
    cs_collider *collider = s->collider;
    int32_t *first = collider->first.data, *second = collider->second.data;
    int64_t begin = CS_LOOP_PIECES * piece / pieces, end = CS_LOOP_PIECES * (piece + 1) / pieces;
    for (int64_t p = begin; p < end; p++) {
        const cs_pair_slots *found = collider->found[p].data;
        for (int64_t k = 0, at = s->piece_offset[p]; k < collider->found_count[p]; k++, at++) {
            first[at] = found[k].slot[0];
            second[at] = found[k].slot[1];
        }
    }
}

static void sift(int32_t *value, int64_t at, int64_t count)
{
    int32_t moved = value[at];
    for (int64_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && value[child + 1] > value[child]) child++;
        if (value[child] <= moved) break;
        value[at] = value[child];
    }
    value[at] = moved;
}

/* Sorts a row: few values by insertion, many by a heap. */
static void sort_row(int32_t *value, int64_t count)
{
    if (count <= 24) {
        for (int64_t i = 1; i < count; i++) {
            int32_t moved = value[i];
            int64_t at = i;
            for (; at > 0 && value[at - 1] > moved; at--) value[at] = value[at - 1];
            value[at] = moved;
        }
        return;
    }
    for (int64_t i = count / 2; i-- > 0;) sift(value, i, count);
    for (int64_t end = count - 1; end > 0; end--) {
        int32_t largest = value[0];
        value[0] = value[end];
        value[end] = largest;
        sift(value, 0, end);
    }
}

/* Sorts the rows of some of the slots, and joins the slots of their pairs. */
static void join_rows(void *context, int64_t piece, int64_t pieces)
{
    const cs_collider *collider = ((const search *)context)->collider;
    const int32_t *row = collider->row.data;
    int32_t *second = collider->sorted.data;
    cs_pair_slots *pair = collider->pair.data;
    int64_t begin = collider->count * piece / pieces;
    int64_t end = collider->count * (piece + 1) / pieces;
    for (int64_t slot = begin; slot < end; slot++) {
        sort_row(second + row[slot], row[slot + 1] - row[slot]);
        for (int64_t k = row[slot]; k < row[slot + 1]; k++)
            pair[k] = (cs_pair_slots){{(int32_t)slot, second[k]}};
    }
}

static int reserve_pairs(cs_collider *collider)
{
    int64_t pairs = collider->pairs;
    return cs_buffer_reserve(&collider->first, pairs, 0, sizeof(int32_t)) < 0 ||
                   cs_buffer_reserve(&collider->second, pairs, 0, sizeof(int32_t)) < 0 ||
                   cs_buffer_reserve(&collider->sorted, pairs, 0, sizeof(int32_t)) < 0 ||
                   cs_buffer_reserve(&collider->row, collider->count + 1, 0, sizeof(int32_t)) < 0 ||
                   cs_buffer_reserve(&collider->pair, pairs, 0, sizeof(cs_pair_slots)) < 0
               ? -1
               : 0;
}

cs_status cs_grid_find_pairs(cs_collider *collider, double margin, int threads, cs_error *error)
{
    search s = {.collider = collider, .margin = margin};
    cs_status status = search_all(&s, threads, error);
    if (status) return status;

    /* By the first slot of each pair, then by the second. */
    if (reserve_pairs(collider) < 0) return cs_no_memory(error, "pairs of shapes");
    cs_sort sort = {
        .threads = threads,
        .count = collider->pairs,
        .key = collider->first.data,
        .value = collider->second.data,
        .keys = collider->count,
        .sorted = collider->sorted.data,
        .start = collider->row.data,
        .prepare = split_pairs,
        .finish = join_rows,
        .context = &s,
    };
    if (cs_sort_run(&sort, &collider->counts) < 0) return cs_no_memory(error, "pairs of shapes");
    return CS_OK;
}
