/* The scheme `matrix`: A is built, or given, and a visit multiplies one row of blocks. */
#include "core/error.h"
#include "scheme/scheme.h"

enum { MATRIX_KEEP, MATRIX_VISIT, MATRIX_PHASES };

static int64_t tasks(const cs_packed *packed, const cs_stage *stage, int phase)
{
    (void)packed;
    int hides = stage->kind == CS_SIMULTANEOUS || stage->kind == CS_CONCURRENT;
    if (phase == MATRIX_PHASES) return -1;
    return phase == MATRIX_KEEP && !hides ? 0 : stage->parts;
}

#define CS_TEMPLATE "scheme/matrix.inc"
#include "core/both.h"

/* Whether every block of the problem has the same number of rows. */
static int is_uniform(const cs_problem *problem)
{
    for (int g = 1; g < problem->block_groups; g++)
        if (problem->block_group[g].rows != problem->block_group[0].rows) return 0;
    return 1;
}

static cs_status no_memory(cs_error *error)
{
    return cs_fail(error, CS_NO_MEMORY, "out of memory for A in the order of the sweep");
}

/* Columns of one visited row of blocks; returns the number of its values. */
static int64_t pack_row(const cs_packed *packed, const cs_block_matrix *matrix,
                        cs_packed_group *group, int64_t visit, int64_t block)
{
    int64_t at = group->start[visit], values = 0;
    for (int64_t e = matrix->start[block]; e < matrix->start[block + 1]; e++, at++) {
        int width = cs_block_group_of(packed->problem, matrix->column[e])->rows;
        group->column[at] = cs_block_row(packed->problem, matrix->column[e]);
        if (group->width) group->width[at] = (unsigned char)width;
        values += group->rows * width;
    }
    return values;
}

/* One group's rows of blocks in the order of its visits. Values are shared with `matrix` where
 * they are in place already: double precision, natural order. */
static cs_status pack_group(cs_packed *packed, int g, const cs_block_matrix *matrix, int share,
                            cs_arena *arena, cs_error *error)
{
    const cs_block_group *blocks = &packed->problem->block_group[g];
    cs_packed_group *group = &packed->group[g];
    int64_t begin = matrix->start[blocks->first_block];
    int64_t end = matrix->start[blocks->first_block + blocks->count];
    group->start = cs_arena_take(arena, group->count + 1, sizeof(int64_t));
    group->first = cs_arena_take(arena, group->count + 1, sizeof(int64_t));
    group->column = cs_arena_take(arena, end - begin, sizeof(int64_t));
    if (!group->start || !group->first || !group->column) return no_memory(error);
    if (!is_uniform(packed->problem)) {
        group->width = cs_arena_take(arena, end - begin, 1);
        if (!group->width) return no_memory(error);
    }
    int64_t first_value = matrix->first[blocks->first_block];
    int64_t values = matrix->first[blocks->first_block + blocks->count] - first_value;
    group->value = share ? matrix->value + first_value
                         : cs_arena_take(arena, values, cs_real_size(packed->dtype));
    if (!group->value) return no_memory(error);
    for (int64_t v = 0; v < group->count; v++) {
        int64_t block = blocks->first_block + packed->schedule->visit[g][v];
        int64_t in_row = pack_row(packed, matrix, group, v, block);
        group->start[v + 1] = group->start[v] + matrix->start[block + 1] - matrix->start[block];
        group->first[v + 1] = group->first[v] + in_row;
        if (share) continue;
        cs_convert(packed->dtype, group->value, group->first[v],
                   matrix->value + matrix->first[block], in_row);
    }
    return CS_OK;
}

/* For one stage: which part of it visits a block. */
typedef struct hiding {
    cs_packed *packed;
    const cs_stage *stage;
    int64_t *part;     /* (blocks): the part (+ 1) that visits the block, in the stage at hand */
    int64_t *stage_of; /* (blocks): the stage (+ 1) in which part holds */
    const cs_block_matrix *matrix;
    int64_t number; /* of the stage */
} hiding;

static int64_t block_of(const cs_packed *packed, int group, int64_t visit)
{
    return packed->problem->block_group[group].first_block + packed->schedule->visit[group][visit];
}

static void note_part(void *context, int group, int64_t visit, int64_t part)
{
    hiding *h = context;
    int64_t block = block_of(h->packed, group, visit);
    h->part[block] = part;
    h->stage_of[block] = h->number + 1;
}

/* Lets the columns of one visit that it may not see point to the values from before the stage. */
static void hide_others(void *context, int group, int64_t visit, int64_t part)
{
    hiding *h = context;
    cs_packed_group *packed = &h->packed->group[group];
    int64_t at = packed->start[visit], block = block_of(h->packed, group, visit);
    for (int64_t e = h->matrix->start[block]; e < h->matrix->start[block + 1]; e++, at++) {
        int64_t other = h->matrix->column[e];
        int here = h->stage_of[other] == h->number + 1;
        if (here && (h->stage->kind == CS_SIMULTANEOUS || h->part[other] != part))
            packed->column[at] += h->packed->impulses;
    }
}

static cs_status hide_stages(cs_packed *packed, const cs_block_matrix *matrix, cs_arena *scratch,
                             cs_error *error)
{
    const cs_schedule *schedule = packed->schedule;
    hiding h = {.packed = packed, .matrix = matrix};
    h.part = cs_arena_take(scratch, packed->problem->blocks, sizeof(int64_t));
    h.stage_of = cs_arena_take(scratch, packed->problem->blocks, sizeof(int64_t));
    if (!h.part || !h.stage_of) return no_memory(error);
    for (int64_t s = 0; s < schedule->stages; s++) {
        h.stage = &schedule->stage[s];
        h.number = s;
        if (h.stage->kind != CS_SIMULTANEOUS && h.stage->kind != CS_CONCURRENT) continue;
        cs_each_visit(schedule, h.stage, note_part, &h);
        cs_each_visit(schedule, h.stage, hide_others, &h);
    }
    return CS_OK;
}

static cs_status pack(cs_packed *packed, cs_arena *arena, const cs_control *control,
                      cs_error *error)
{
    cs_arena scratch = {0};
    cs_block_matrix *matrix = packed->problem->matrix;
    int share = packed->dtype == CS_F64 && packed->schedule->natural;
    cs_status status = CS_OK;
    if (!matrix)
        status = cs_assemble(packed->problem, share ? arena : &scratch, control, &matrix, error);
    for (int g = 0; g < packed->problem->block_groups && !status; g++)
        status = pack_group(packed, g, matrix, share, arena, error);
    if (!status) packed->matrix_blocks = matrix->start[matrix->blocks];
    if (!status) status = hide_stages(packed, matrix, &scratch, error);
    cs_arena_clear(&scratch);
    return status;
}

const cs_scheme cs_scheme_matrix = {
    .name = "matrix",
    .summary = "rows of A, built or given (S1 section 3.3)",
    .pack = pack,
    .refresh = {matrix_refresh_f32, matrix_refresh_f64},
    .tasks = tasks,
    .run = {matrix_run_f32, matrix_run_f64},
};
