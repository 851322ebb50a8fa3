#include "scheme/row_kernels.h"
#include "scheme/rows.h"

#include "core/instructions.h"

#include <stdio.h>

#define CS_INSTRUCTIONS(name, summary) extern const cs_row_kernels cs_row_kernels_##name;
#include "core/instructions.def"
#undef CS_INSTRUCTIONS

static const cs_row_kernels *const builds[] = {
#define CS_INSTRUCTIONS(name, summary) &cs_row_kernels_##name,
#include "core/instructions.def"
#undef CS_INSTRUCTIONS
};

/* Whether all blocks have one size, and 32 bits can index lambda and its copy from before the stage. */
static int problem_fits(const cs_problem *problem)
{
    return cs_uniform_rows(problem) > 0 && problem->rows < INT32_MAX / 2;
}

cs_status cs_rows_lay_out(cs_packed *packed, const cs_local *local, cs_arena *arena,
                          cs_error *error)
{
    (void)arena, (void)error;
    int asked = packed->instructions;
    if (asked == CS_INSTRUCTIONS_SCALAR || packed->device_kernels) return CS_OK;
    if (!problem_fits(packed->problem)) return CS_OK;
    const cs_row_kernels *kernels = builds[asked >= 0 ? asked : (int)cs_instructions_widest()];
    for (int g = 0; g < packed->problem->block_groups; g++) {
        if (cs_solves_block(local[g])) continue;
        packed->group[g].matrix.in_vectors = 1;
        packed->row_kernels = kernels;
    }
    return CS_OK;
}

void cs_rows_kernel(const cs_packed *packed, char *text, size_t size)
{
    int groups = packed->problem->block_groups, wide = 0;
    for (int g = 0; g < groups; g++) wide += packed->group[g].matrix.in_vectors;
    int used = snprintf(text, size, "wide rows, %s", packed->row_kernels->name);
    if (wide < groups && used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, " in %d of %d groups", wide, groups);
}
