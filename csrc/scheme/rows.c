#include "scheme/rows.h"
#include "scheme/row_kernels.h"

#include "core/error.h"
#include "core/phases.h"

int64_t cs_rows_tasks(const cs_packed *packed, const cs_stage *stage, int phase)
{
    if (phase == ROWS_PHASES) return -1;
    if (phase == ROWS_WEIGH)
        return stage->kind == CS_CONCURRENT && packed->schedule->weight < 1 ? stage->parts : 0;
    return phase == ROWS_KEEP && !cs_stage_hides(stage->kind) ? 0 : stage->parts;
}

/* ---- when blocks are visited ----------------------------------------------------------------- */

/* The state of a walk through all visits. */
typedef struct place_recorder {
    const cs_packed *packed;
    cs_places *places;
    int64_t stage;  /* the current stage */
    int64_t visits; /* visits so far */
} place_recorder;

/* Records the place of one visit. */
static void record_place(void *context, int group, int64_t visit, int64_t part)
{
    place_recorder *n = context;
    int64_t block = cs_visited_block(n->packed, group, visit);
    n->places->stage[block] = n->stage;
    n->places->part[block] = part;
    n->places->visit[block] = n->visits++;
}

cs_status cs_find_places(const cs_packed *packed, cs_arena *scratch, cs_places *places,
                         cs_error *error)
{
    const cs_schedule *schedule = packed->schedule;
    int64_t blocks = packed->problem->blocks;
    places->schedule = schedule;
    places->stage = cs_arena_take(scratch, blocks, sizeof(int64_t));
    places->part = cs_arena_take(scratch, blocks, sizeof(int64_t));
    places->visit = cs_arena_take(scratch, blocks, sizeof(int64_t));
    if (cs_arena_failed(scratch)) return cs_no_memory(error, "A in the order of the sweep");
    place_recorder n = {.packed = packed, .places = places};
    for (; n.stage < schedule->stages; n.stage++)
        cs_each_visit(schedule, &schedule->stage[n.stage], record_place, &n);
    return CS_OK;
}

/* Whether block k sees block l as it was before the stage that visits both. */
static int is_hidden(const cs_places *places, int64_t k, int64_t l)
{
    if (places->stage[k] != places->stage[l]) return 0;
    cs_stage_kind kind = places->schedule->stage[places->stage[k]].kind;
    return cs_visit_is_hidden(kind, places->part[k] == places->part[l]);
}

int cs_piece_of(const cs_places *places, int64_t k, int64_t l)
{
    if (k == l || is_hidden(places, k, l)) return CS_NEITHER;
    return places->visit[l] < places->visit[k] ? CS_BEFORE : CS_AFTER;
}

/* ---- laying out ------------------------------------------------------------------------------ */

cs_status cs_rows_of(const cs_packed *packed, cs_arena *arena, const cs_control *control,
                     const cs_block_matrix **matrix, cs_error *error)
{
    cs_block_matrix *built = packed->problem->matrix;
    cs_status status = CS_OK;
    if (!built)
        status = cs_assemble(packed->problem, packed->setup_threads, arena, control, &built, error);
    *matrix = built;
    return status;
}

int cs_uniform_rows(const cs_problem *problem)
{
    int rows = 0;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        if (!group->count) continue;
        if (rows && group->rows != rows) return 0;
        rows = group->rows;
    }
    return rows;
}

/* Allocates the rows of one group. */
static cs_status allocate_group(cs_packed *packed, int g, const cs_layout *layout, cs_arena *arena,
                                cs_error *error)
{
    const cs_block_group *blocks = &packed->problem->block_group[g];
    const cs_block_matrix *matrix = layout->matrix;
    cs_packed_group *group = &packed->group[g];
    int64_t begin = blocks->first_block, end = begin + blocks->count;
    int64_t columns = matrix->start[end] - matrix->start[begin];
    int64_t values = matrix->first[end] - matrix->first[begin];
    int share = layout->share && !group->matrix.in_vectors;
    group->matrix.start = cs_arena_take(arena, group->count + 1, sizeof(int64_t));
    group->matrix.first = cs_arena_take(arena, group->count + 1, sizeof(int64_t));
    if (group->matrix.in_vectors)
        group->matrix.short_column = cs_arena_take(arena, columns, sizeof(int32_t));
    else group->matrix.column = cs_arena_take(arena, columns, sizeof(int64_t));
    group->matrix.value =
        share ? matrix->value + matrix->first[begin]
              : cs_arena_take(arena, values + CS_ROW_SLACK, cs_stored_size(packed->dtype));
    if (!cs_uniform_rows(packed->problem)) group->matrix.width = cs_arena_take(arena, columns, 1);
    if (layout->split)
        group->matrix.piece = cs_arena_take(arena, group->count, sizeof *group->matrix.piece);
    return cs_arena_status(arena, error, "A in the order of the sweep");
}

/* Writes a square block column by column, as the vector kernels read it. at, to: where its column and its entries
 * go. */
static void put_columns(const cs_packed *packed, cs_packed_group *group, int64_t at, int64_t to,
                        int64_t first_row, const double *value)
{
    int rows = group->rows;
    double column[CS_MAX_ROWS * CS_MAX_ROWS];
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++) column[j * rows + i] = value[i * rows + j];
    group->matrix.short_column[at] = (int32_t)first_row;
    cs_convert(cs_stored(packed->dtype), group->matrix.value, to, column, rows * rows);
}

int64_t cs_first_impulse(const cs_packed *packed, int64_t block)
{
    const cs_block_group *group = cs_block_group_of(packed->problem, block);
    const cs_packed_group *p = &packed->group[group - packed->problem->block_group];
    return p->first_impulse + (block - group->first_block) * group->rows;
}

/* Appends columns and entries of one row of blocks; if rows are split, only those of one piece. */
static void pack_piece(const cs_packed *packed, const cs_layout *layout, int piece,
                       cs_packed_group *group, int64_t visit, int64_t block)
{
    const cs_block_matrix *matrix = layout->matrix;
    const double *value = matrix->value + matrix->first[block];
    int64_t *at = &group->matrix.start[visit + 1], *to = &group->matrix.first[visit + 1];
    for (int64_t e = matrix->start[block]; e < matrix->start[block + 1]; e++) {
        int64_t other = matrix->column[e];
        int width = cs_block_group_of(packed->problem, other)->rows, size = group->rows * width;
        if (!layout->split || cs_piece_of(layout->places, block, other) == piece) {
            /* The column of a hidden block is in the copy of lambda, behind all impulses. */
            int64_t hidden = is_hidden(layout->places, block, other) ? packed->impulses : 0;
            int64_t first = cs_first_impulse(packed, other) + hidden;
            if (group->matrix.width) group->matrix.width[*at] = (unsigned char)width;
            if (group->matrix.in_vectors) put_columns(packed, group, *at, *to, first, value);
            else group->matrix.column[*at] = first;
            if (!layout->share && !group->matrix.in_vectors)
                cs_convert(cs_stored(packed->dtype), group->matrix.value, *to, value, size);
            ++*at;
            *to += size;
        }
        value += size;
    }
}

/* Packs one row of blocks, in three pieces if rows are split. */
static void pack_row(const cs_packed *packed, const cs_layout *layout, cs_packed_group *group,
                     int64_t visit, int64_t block)
{
    group->matrix.start[visit + 1] = group->matrix.start[visit];
    group->matrix.first[visit + 1] = group->matrix.first[visit];
    pack_piece(packed, layout, CS_BEFORE, group, visit, block);
    if (!layout->split) return;
    cs_row_pieces *pieces = &group->matrix.piece[visit];
    pieces->neither = group->matrix.start[visit + 1];
    pieces->first_neither = group->matrix.first[visit + 1];
    pack_piece(packed, layout, CS_NEITHER, group, visit, block);
    pieces->after = group->matrix.start[visit + 1];
    pack_piece(packed, layout, CS_AFTER, group, visit, block);
}

cs_status cs_pack_rows(cs_packed *packed, const cs_layout *layout, cs_arena *arena, cs_error *error)
{
    for (int g = 0; g < packed->problem->block_groups; g++) {
        cs_packed_group *group = &packed->group[g];
        cs_status status = allocate_group(packed, g, layout, arena, error);
        if (status) return status;
        for (int64_t v = 0; v < group->count; v++)
            pack_row(packed, layout, group, v, cs_visited_block(packed, g, v));
    }
    packed->matrix_blocks = layout->matrix->start[layout->matrix->blocks];
    return CS_OK;
}

/* ---- making rows ------------------------------------------------------------------------------ */

enum { PIECE = 256 }; /* rows of one task */

/* What threads do with every row of blocks. */
typedef struct row_work {
    cs_packed *packed;
    cs_make_row *make;
} row_work;

/* Makes the rows of a piece; the phase is the group. */
static void make_piece(void *context, int64_t phase, int64_t task)
{
    const row_work *work = context;
    int64_t first = task * PIECE, count = work->packed->group[phase].count;
    int64_t end = count - first < PIECE ? count : first + PIECE;
    for (int64_t v = first; v < end; v++) work->make(work->packed, (int)phase, v, NULL);
}

void cs_make_rows(cs_packed *packed, cs_make_row *make)
{
    row_work work = {packed, make};
    cs_phase pieces[CS_MAX_GROUPS];
    for (int g = 0; g < packed->problem->block_groups; g++)
        pieces[g] = (cs_phase){.tasks = (packed->group[g].count + PIECE - 1) / PIECE};
    cs_phases phases = {packed->problem->block_groups, pieces, make_piece, &work};
    cs_phases_run(&phases, packed->setup_threads);
}
