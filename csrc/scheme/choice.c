/* scheme="auto" chooses the scheme whose sweeps take less time. The time of a sweep is estimated from
 *
 *     matrix       visits, and blocks of A (Corollary 3.2 counts them without building A)
 *     factorized   visits, and multiplications of J w and w += M^-1 J^T (S1 Table 3.1). In batches,
 *                  slots count instead of visits, because an empty lane costs as much as a full one
 *
 * and from the bytes that a sweep reads, if they do not fit the cache. Each scheme is laid out on trial, which
 * finds the batches and the forms of the factors that it would use. Costs are nanoseconds on the machine of the
 * measurements (core/costs.h); only their ratios matter. benchmarks/sweeps/scheme_choice.py shows how far the choice is from
 * the best one. */
#include "core/costs.h"
#include "core/error.h"
#include "scheme/compressed.h"
#include "scheme/rows.h"
#include "scheme/wide.h"

/* The costs of sweeps over rows of A. */
static cs_row_costs row_costs_of(const cs_packed *packed)
{
    if (!packed->row_kernels) return CS_COST_ROWS;
    return cs_uniform_rows(packed->problem) == 1 ? CS_COST_NUMBERS_IN_VECTORS
                                                 : CS_COST_ROWS_IN_VECTORS;
}

/* The cost of reading that many bytes in each sweep. */
static double memory_cost(double bytes)
{
    return bytes > CS_CACHE_BYTES ? CS_COST_BYTE * bytes : 0;
}

/* Whether the schedule is that of Jacobi, or begins like it. */
static int is_simultaneous(const cs_packed *packed)
{
    return packed->schedule->stages && packed->schedule->stage[0].kind == CS_SIMULTANEOUS;
}

/* The cost of a sweep of `factorized`. `moved` (bodies) is scratch. */
static double factorized_cost(const cs_packed *packed, int64_t *moved)
{
    const cs_problem *problem = packed->problem;
    int simultaneous = is_simultaneous(packed);
    double cost = 0, bytes = 0, size = (double)cs_stored_size(packed->dtype);
    for (int g = 0; g < problem->block_groups; g++) {
        /* Each number of G is multiplied twice: by u, and by the change of lambda. */
        const cs_packed_group *group = &packed->group[g];
        double slots = (double)group->slots, batches = slots / group->lanes;
        int width = cs_form_width(group->factors.form, group->rows, group->column[group->partners]);
        if (group->lanes == 1) cost += slots * (CS_COST_VISIT + 2 * CS_COST_MULTIPLY * width);
        else cost += batches * (CS_COST_BATCH + CS_COST_VECTOR * 2 * width);

        /* Add the sums of Jacobi, and the bytes of factors and places. */
        if (simultaneous)
            cost += slots * group->partners * (group->lanes == 1 ? CS_COST_SIDE : CS_COST_SIDE_IN_VECTORS);
        bytes += slots * (width * size + (double)group->partners * sizeof(int64_t));
    }

    /* Jacobi reads the factors twice. */
    if (simultaneous)
        cost += (double)cs_moved_bodies(problem, moved) * CS_COST_BODY + memory_cost(bytes);
    return cost + memory_cost(bytes);
}

/* The cost of a sweep of `matrix` with `blocks` blocks of A. A block has m^2 multiplications, where m is the mean
 * of the blocks' rows. */
static double matrix_cost(const cs_packed *packed, double blocks)
{
    const cs_problem *problem = packed->problem;
    cs_row_costs costs = row_costs_of(packed);
    double count = (double)problem->blocks, rows = (double)problem->rows / count;
    double bytes = blocks * (rows * rows * (double)cs_stored_size(packed->dtype) + sizeof(int32_t));
    double cost = count * costs.visit + memory_cost(bytes);
    cost += blocks * (costs.block + costs.multiply * rows * rows);
    return is_simultaneous(packed) ? cost + count * CS_COST_COPY : cost;
}

/* packed <- `wanted`, with the groups laid out by `scheme` with its default options. */
static cs_status lay_out(const cs_packed *wanted, const cs_scheme *scheme, const cs_local *local,
                         cs_arena *scratch, cs_packed *packed, cs_error *error)
{
    cs_setting own[CS_MAX_OWN_OPTIONS];
    cs_status status = cs_scheme_settle(scheme, NULL, 0, own, error);
    if (status) return status;
    *packed = *wanted;
    packed->scheme = scheme;
    packed->setting = own;
    status = cs_describe_groups(packed, scratch, error);
    if (!status) status = scheme->lay_out(packed, local, scratch, error);
    packed->setting = NULL; /* `own` ends here */
    return status;
}

cs_status cs_scheme_choose(const cs_packed *wanted, const cs_local *local, const cs_scheme **scheme,
                           cs_error *error)
{
    /* A given A has no factors. */
    const cs_scheme *matrix = cs_scheme_find("matrix"), *factorized = cs_scheme_find("factorized");
    const cs_problem *problem = wanted->problem;
    cs_arena scratch = {0};
    cs_packed packed;
    *scheme = matrix;
    if (problem->matrix || !problem->blocks) return CS_OK;

    /* Estimate `factorized`. */
    cs_status status = lay_out(wanted, factorized, local, &scratch, &packed, error);
    int64_t *moved = cs_arena_take_unset(&scratch, problem->bodies, sizeof(int64_t));
    if (!status && !moved) status = cs_no_memory(error, "the scheme");
    double cost = status ? 0 : factorized_cost(&packed, moved);
    cs_arena_clear(&scratch);

    /* Estimate `matrix`. The count stops once its blocks alone cost more than `factorized`. */
    if (!status) status = lay_out(wanted, matrix, local, &scratch, &packed, error);
    double most = cost / row_costs_of(&packed).block;
    int64_t blocks = status ? 0 : cs_count_blocks_up_to(problem, 0, (int64_t)most);
    if (blocks < 0) status = cs_no_memory(error, "counting blocks of A");
    if (!(matrix_cost(&packed, (double)blocks) < cost)) *scheme = factorized;
    cs_arena_clear(&scratch);
    return status;
}
