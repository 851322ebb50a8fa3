/* scheme="auto": the scheme whose sweeps take less time, by what will run.
 *
 *     matrix       visits + blocks of A (Corollary 3.2 counts them without building A)
 *     factorized   visits + multiplications of J w and w += M^-1 J^T (S1 Table 3.1), one after
 *                  another or in batches: by slots, so that lanes left empty cost as full ones
 *
 * and the bytes of either where they do not stay in cache. Batches and forms are found by laying out
 * as the scheme itself would. The costs are those of core/costs.h. benchmarks/sweeps/scheme_choice.py
 * shows how far the choice is from the best. */
#include "core/costs.h"
#include "core/error.h"
#include "scheme/compressed.h"
#include "scheme/rows.h"
#include "scheme/wide.h"

static cs_row_costs row_costs_of(const cs_packed *packed)
{
    if (!packed->row_kernels) return CS_COST_ROWS;
    return cs_uniform_rows(packed->problem) == 1 ? CS_COST_NUMBERS_IN_VECTORS
                                                 : CS_COST_ROWS_IN_VECTORS;
}

/* What does not stay in cache is read from memory. */
static double reading(double bytes) { return bytes > CS_CACHE_BYTES ? CS_COST_BYTE * bytes : 0; }

static int is_simultaneous(const cs_packed *packed)
{
    return packed->schedule->stages && packed->schedule->stage[0].kind == CS_SIMULTANEOUS;
}

/* `moved` (bodies): scratch. */
static double factorized_cost(const cs_packed *packed, int64_t *moved)
{
    const cs_problem *problem = packed->problem;
    int simultaneous = is_simultaneous(packed);
    double cost = 0, bytes = 0, size = (double)cs_stored_size(packed->dtype);
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_packed_group *group = &packed->group[g];
        double slots = (double)group->slots, batches = slots / group->lanes;
        int width = cs_form_width(group->factors.form, group->rows, group->dof[0] + group->dof[1]);
        if (group->lanes == 1) cost += slots * (CS_COST_VISIT + 2 * CS_COST_MULTIPLY * width);
        else cost += batches * (CS_COST_BATCH + CS_COST_VECTOR * 2 * width);
        if (simultaneous)
            cost += slots * 2 * (group->lanes == 1 ? CS_COST_SIDE : CS_COST_SIDE_IN_VECTORS);
        bytes += slots * (width * size + 2 * sizeof(int64_t));
    }
    if (simultaneous)
        cost += (double)cs_moved_bodies(problem, moved) * CS_COST_BODY + reading(bytes);
    return cost + reading(bytes);
}

/* m^2 multiplications a block of A. Blocks of several sizes are counted with the mean of m. */
static double matrix_cost(const cs_packed *packed, double blocks)
{
    const cs_problem *problem = packed->problem;
    cs_row_costs costs = row_costs_of(packed);
    double count = (double)problem->blocks, rows = (double)problem->rows / count;
    double bytes = blocks * (rows * rows * (double)cs_stored_size(packed->dtype) + sizeof(int32_t));
    double cost = count * costs.visit + reading(bytes);
    cost += blocks * (costs.block + costs.multiply * rows * rows);
    return is_simultaneous(packed) ? cost + count * CS_COST_COPY : cost;
}

/* The groups as a scheme would lay them out. */
static cs_status lay_out(const cs_packed *wanted, const cs_scheme *scheme, const cs_local *local,
                         cs_arena *scratch, cs_packed *packed, cs_error *error)
{
    *packed = *wanted;
    packed->scheme = scheme;
    cs_describe_groups(packed);
    return scheme->lay_out(packed, local, scratch, error);
}

cs_status cs_scheme_choose(const cs_packed *wanted, const cs_local *local, const cs_scheme **scheme,
                           cs_error *error)
{
    const cs_scheme *matrix = cs_scheme_find("matrix"), *factorized = cs_scheme_find("factorized");
    const cs_problem *problem = wanted->problem;
    cs_arena scratch = {0};
    cs_packed packed;
    *scheme = matrix;
    if (problem->matrix || !problem->blocks) return CS_OK;
    cs_status status = lay_out(wanted, factorized, local, &scratch, &packed, error);
    int64_t *moved = cs_arena_take_unset(&scratch, problem->bodies, sizeof(int64_t));
    if (!status && !moved) status = cs_no_memory(error, "the scheme");
    double cost = status ? 0 : factorized_cost(&packed, moved);
    cs_arena_clear(&scratch);
    if (!status) status = lay_out(wanted, matrix, local, &scratch, &packed, error);
    double most = cost / row_costs_of(&packed).block;
    int64_t blocks = status ? 0 : cs_count_blocks_up_to(problem, 0, (int64_t)most);
    if (blocks < 0) status = cs_no_memory(error, "counting blocks of A");
    if (!(matrix_cost(&packed, (double)blocks) < cost)) *scheme = factorized;
    cs_arena_clear(&scratch);
    return status;
}
