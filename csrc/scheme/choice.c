/* scheme="auto": the scheme whose sweeps take less time, by what will run.
 *
 *     matrix       visits + blocks of A (Corollary 3.2 counts them without building A)
 *     factorized   visits + multiplications of J w and w += M^-1 J^T (S1 Table 3.1), one after
 *                  another or in batches: by slots, so that lanes left empty cost as full ones
 *
 * and the bytes of either where they do not stay in cache. Batches and forms are found by laying out
 * as the scheme itself would. Costs are nanoseconds on the machine that they were measured on; only
 * their ratios matter. benchmarks/sweeps/scheme_choice.py shows how far the choice is from the
 * best. */
#include "core/error.h"
#include "scheme/compressed.h"
#include "scheme/rows.h"
#include "scheme/wide.h"

static const double BYTE = 0.05, CACHE = 2e6; /* what does not stay in this much is read */

/* What a visit and a block of A cost, and what a multiplication in it. */
typedef struct row_costs {
    double visit, block, multiply;
} row_costs;

static const row_costs SCALAR_ROWS = {8, 0.8, 0.23}, VECTOR_ROWS = {11, 0.7, 0.09};
static const row_costs VECTOR_NUMBERS = {6, 0.55, 0}; /* blocks of one number in vectors */
static const double KEEP = 3;                         /* Jacobi: lambda copied */

/* Visits one after another: of one, of a multiplication. */
static const double VISIT = 15, MULTIPLY = 0.17;
/* Visits in batches: of a batch, of a vector of numbers in it. */
static const double BATCH = 24, VECTOR = 0.9;
/* Jacobi's velocities recomputed: a contact's side, a body in contact. */
static const double SIDE = 2.5, BODY = 18, WIDE_SIDE = 2;

static const row_costs *row_costs_of(const cs_packed *packed)
{
    if (!packed->row_kernels) return &SCALAR_ROWS;
    return cs_uniform_rows(packed->problem) == 1 ? &VECTOR_NUMBERS : &VECTOR_ROWS;
}

static double reading(double bytes) { return bytes > CACHE ? BYTE * bytes : 0; }

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
        if (group->lanes == 1) cost += slots * (VISIT + 2 * MULTIPLY * width);
        else cost += batches * (BATCH + VECTOR * 2 * width);
        if (simultaneous) cost += slots * 2 * (group->lanes == 1 ? SIDE : WIDE_SIDE);
        bytes += slots * (width * size + 2 * sizeof(int64_t));
    }
    if (simultaneous) cost += (double)cs_moved_bodies(problem, moved) * BODY + reading(bytes);
    return cost + reading(bytes);
}

/* m^2 multiplications a block of A. Blocks of several sizes are counted with the mean of m. */
static double matrix_cost(const cs_packed *packed, double blocks)
{
    const cs_problem *problem = packed->problem;
    const row_costs *costs = row_costs_of(packed);
    double count = (double)problem->blocks, rows = (double)problem->rows / count;
    double bytes = blocks * (rows * rows * (double)cs_stored_size(packed->dtype) + sizeof(int32_t));
    double cost = count * costs->visit + reading(bytes);
    cost += blocks * (costs->block + costs->multiply * rows * rows);
    return is_simultaneous(packed) ? cost + count * KEEP : cost;
}

/* The groups as a scheme with default options would lay them out. */
static cs_status lay_out(const cs_packed *wanted, const cs_scheme *scheme, const cs_local *local,
                         cs_arena *scratch, cs_packed *packed, cs_error *error)
{
    cs_setting own[CS_MAX_OWN_OPTIONS];
    cs_status status = cs_scheme_settle(scheme, NULL, 0, own, error);
    if (status) return status;
    *packed = *wanted;
    packed->scheme = scheme;
    packed->setting = own;
    cs_describe_groups(packed);
    status = scheme->lay_out(packed, local, scratch, error);
    packed->setting = NULL; /* `own` ends here */
    return status;
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
    double most = cost / row_costs_of(&packed)->block;
    int64_t blocks = status ? 0 : cs_count_blocks_up_to(problem, 0, (int64_t)most);
    if (blocks < 0) status = cs_no_memory(error, "counting blocks of A");
    if (!(matrix_cost(&packed, (double)blocks) < cost)) *scheme = factorized;
    cs_arena_clear(&scratch);
    return status;
}
