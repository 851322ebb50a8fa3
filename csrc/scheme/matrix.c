/* The scheme `matrix`: A is built, or given, and a visit multiplies one row of blocks. */
#include "core/denormals.h"
#include "core/error.h"
#include "core/parallel.h"
#include "scheme/scheme.h"

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
    if (!status) {
        packed->matrix_blocks = matrix->start[matrix->blocks];
        packed->next = cs_arena_take(arena, packed->problem->rows, cs_real_size(packed->dtype));
        if (!packed->next) status = no_memory(error);
    }
    cs_arena_clear(&scratch);
    return status;
}

const cs_scheme cs_scheme_matrix = {
    .name = "matrix",
    .summary = "rows of A, built or given (S1 section 3.3)",
    .pack = pack,
    .refresh = {matrix_refresh_f32, matrix_refresh_f64},
    .sequential = {matrix_sequential_f32, matrix_sequential_f64},
    .simultaneous = {matrix_simultaneous_f32, matrix_simultaneous_f64},
};
