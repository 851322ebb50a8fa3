/* The scheme `iteration_matrix`: z_k = T_row k lambda + c_k with T = 1 - R A and c = -R b, which are computed before
 * the sweeps (S1 section 3.4.1, whose sign of R b in eqs. 3.10, 3.11 is wrong).
 *
 * T contains R. If R changes by a factor, the rows of T are rescaled in place (eq. 3.17). A is stored beside T, but
 * sweeps do not read it: if R is rewritten, and before the next solve after rollbacks, T is computed again from A
 * and has the same bits as in a new solver. */
#include "scheme/row_kernels.h"
#include "scheme/rows.h"

#define CS_TEMPLATE "scheme/iteration_matrix.inc"
#include "core/each_precision.h"

#include "core/error.h"

static cs_status pack(cs_packed *packed, cs_arena *arena, const cs_control *control,
                      cs_error *error)
{
    /* Lay out rows like those of A; T is written into them when R is. */
    cs_arena scratch = {0};
    cs_places places;
    cs_status status = cs_rows_of(packed, arena, control, &packed->matrix, error);
    if (!status) status = cs_find_places(packed, &scratch, &places, error);
    cs_layout layout = {.matrix = packed->matrix, .places = &places};
    if (!status) status = cs_pack_rows(packed, &layout, arena, error);

    /* Allocate c. */
    for (int g = 0; g < packed->problem->block_groups && !status; g++) {
        cs_packed_group *group = &packed->group[g];
        group->matrix.c =
            cs_arena_take(arena, group->count * group->rows, cs_real_size(packed->dtype));
        if (!group->matrix.c) status = cs_no_memory(error, "the iteration matrix");
    }
    cs_arena_clear(&scratch);
    return status;
}

const cs_scheme cs_scheme_iteration_matrix = {
    .name = "iteration_matrix",
    .summary = "rows of T = 1 - R A (S1 section 3.4.1)",
    .needs_steps = 1,
    .lay_out = cs_rows_lay_out,
    .pack = pack,
    .refresh = {iteration_matrix_refresh_f32, iteration_matrix_refresh_f64},
    .steps_written = {iteration_matrix_steps_written_f32, iteration_matrix_steps_written_f64},
    .data_written = {iteration_matrix_data_written_f32, iteration_matrix_data_written_f64},
    .step_changed = {iteration_matrix_step_changed_f32, iteration_matrix_step_changed_f64},
    .weighs = 1,
    .tasks = cs_rows_tasks,
    .run = {rows_run_f32, rows_run_f64},
};
