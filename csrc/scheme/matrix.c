/* The scheme `matrix`: A is built, or given, and a visit multiplies one row of blocks. */
#include "scheme/rows.h"

#define CS_TEMPLATE "scheme/matrix.inc"
#include "core/both.h"

/* Values are shared with A where they are in place already: double precision, natural order. */
static cs_status pack(cs_packed *packed, cs_arena *arena, const cs_control *control,
                      cs_error *error)
{
    cs_arena scratch = {0};
    cs_places places;
    const cs_block_matrix *matrix = NULL;
    int share = packed->dtype == CS_F64 && packed->schedule->natural;
    cs_status status = cs_rows_of(packed, share ? arena : &scratch, control, &matrix, error);
    if (!status) status = cs_find_places(packed, &scratch, &places, error);
    cs_layout layout = {.matrix = matrix, .places = &places, .share = share};
    if (!status) status = cs_pack_rows(packed, &layout, arena, error);
    cs_arena_clear(&scratch);
    return status;
}

const cs_scheme cs_scheme_matrix = {
    .name = "matrix",
    .summary = "rows of A, built or given (S1 section 3.3)",
    .pack = pack,
    .refresh = {matrix_refresh_f32, matrix_refresh_f64},
    .tasks = cs_rows_tasks,
    .run = {rows_run_f32, rows_run_f64},
};
