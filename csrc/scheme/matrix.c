/* The scheme `matrix`: A is assembled, or was given, and a visit multiplies one row of blocks. */
#include "scheme/row_kernels.h"
#include "scheme/rows.h"

#define CS_TEMPLATE "scheme/matrix.inc"
#define CS_MIXED_TOO
#include "core/each_precision.h"

/* Whether visits can read the entries of A without a copy: in double precision, in natural order, and by the scalar
 * loop, which reads blocks row by row. */
static int may_share(const cs_packed *packed)
{
    int scalar = 0;
    for (int g = 0; g < packed->problem->block_groups; g++)
        scalar |= !packed->group[g].matrix.in_vectors;
    return scalar && packed->dtype == CS_F64 && packed->schedule->natural;
}

static cs_status pack(cs_packed *packed, cs_arena *arena, const cs_control *control,
                      cs_error *error)
{
    cs_arena scratch = {0};
    cs_places places;
    const cs_block_matrix *matrix = NULL;
    int share = may_share(packed);
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
    .lay_out = cs_rows_lay_out,
    .pack = pack,
    .refresh = {matrix_refresh_f32, matrix_refresh_f64, matrix_refresh_mixed},
    .subtract_products = subtract_rows_mixed,
    .weighs = 1,
    .tasks = cs_rows_tasks,
    .run = {rows_run_f32, rows_run_f64, rows_run_mixed},
};
