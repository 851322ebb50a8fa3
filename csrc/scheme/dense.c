#include "scheme/dense.h"
#include "scheme/rows.h"

#include "core/error.h"
#include "core/instructions.h"

#include <stdio.h>
#include <unistd.h>

#define CS_TEMPLATE "scheme/dense.inc"
#include "core/each_precision.h"

/* ---- kernels --------------------------------------------------------------------------------- */

#define CS_INSTRUCTIONS(name, summary) extern const cs_dense_kernels cs_dense_kernels_##name;
#include "core/instructions.def"
#undef CS_INSTRUCTIONS

static const cs_dense_kernels *const builds[] = {
#define CS_INSTRUCTIONS(name, summary) &cs_dense_kernels_##name,
#include "core/instructions.def"
#undef CS_INSTRUCTIONS
};

static cs_status lay_out(cs_packed *packed, const cs_local *local, cs_arena *arena, cs_error *error)
{
    (void)local, (void)arena, (void)error;
    int asked = packed->instructions;
    if (asked == CS_INSTRUCTIONS_SCALAR || packed->device_kernels) return CS_OK;
    packed->dense_kernels = builds[asked >= 0 ? asked : (int)cs_instructions_widest()];
    return CS_OK;
}

void cs_dense_kernel(const cs_packed *packed, char *text, size_t size)
{
    snprintf(text, size, "dense rows, %s", packed->dense_kernels->name);
}

/* ---- packing --------------------------------------------------------------------------------- */

/* Bytes of the machine's memory; 0 if unknown. */
static double machine_memory(void)
{
#if defined(_SC_PHYS_PAGES)
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (double)pages * (double)size : 0;
#else
    return 0;
#endif
}

static cs_status too_large(double bytes, cs_error *error)
{
    return cs_fail(error, CS_NO_MEMORY,
                   "scheme='dense' needs %.0f bytes for its matrix, and the machine has %.0f; the "
                   "schemes 'factorized' and 'matrix' store no zeros",
                   bytes, machine_memory());
}

/* Whether parts of any stage work on copies of lambda. */
static int needs_copies(const cs_schedule *schedule)
{
    int needed = 0;
    for (int64_t s = 0; s < schedule->stages; s++)
        needed |= cs_dense_copies(schedule->stage[s].kind);
    return needed;
}

static cs_status pack(cs_packed *packed, cs_arena *arena, const cs_control *control,
                      cs_error *error)
{
    /* Whether it can be done, before anything is allocated. */
    size_t size = cs_real_size(packed->dtype);
    int64_t whole = 64 / (int64_t)size;
    packed->dense_stride = (packed->impulses + whole - 1) / whole * whole;
    double bytes = (double)packed->impulses * (double)packed->dense_stride * (double)size;
    if (machine_memory() > 0 && bytes > machine_memory()) return too_large(bytes, error);

    packed->matrix_blocks = packed->problem->blocks * packed->problem->blocks;

    /* A, from which T is made when R is written; T and c. */
    cs_status status = cs_rows_of(packed, arena, control, &packed->matrix, error);
    for (int g = 0; g < packed->problem->block_groups && !status; g++) {
        cs_packed_group *group = &packed->group[g];
        int64_t rows = group->count * group->rows;
        group->matrix.value = cs_arena_take(arena, rows * packed->dense_stride, size);
        group->matrix.c = cs_arena_take(arena, rows, size);
        if (cs_arena_failed(arena)) status = too_large(bytes, error);
    }
    if (status || !needs_copies(packed->schedule)) return status;
    packed->dense_copy =
        cs_arena_take_unset(arena, packed->schedule->most_parts * packed->impulses, size);
    return packed->dense_copy ? CS_OK : cs_no_memory(error, "copies of the impulses");
}

static int64_t tasks(const cs_packed *packed, const cs_stage *stage, int phase)
{
    (void)packed;
    if (phase == CS_DENSE_PHASES) return -1;
    return phase == CS_DENSE_TAKE && !cs_dense_writes_behind(stage->kind) ? 0 : stage->parts;
}

const cs_scheme cs_scheme_dense = {
    .name = "dense",
    .summary = "whole rows of T = 1 - R A, with their zeros (S2 section 5.2)",
    .about = "Memory and time grow with the square of the number of rows. For small problems in "
             "which every contact is coupled to most others, for a given dense A, and to compare "
             "with S2.",
    .needs_steps = 1,
    .lay_out = lay_out,
    .pack = pack,
    .refresh = {dense_refresh_f32, dense_refresh_f64},
    .steps_written = {dense_steps_written_f32, dense_steps_written_f64},
    .data_written = {dense_data_written_f32, dense_data_written_f64},
    .step_changed = {dense_step_changed_f32, dense_step_changed_f64},
    .tasks = tasks,
    .run = {dense_run_f32, dense_run_f64},
};
