/* The factors R: how far a block moves along its residual velocity.
 *
 *     local   one scalar for each coupled set, 1 / max diag(A_ss)  (S2 eqs. 4.42, 4.43), over
 *             max(1, lambda_max(R^1/2 A_kk R^1/2)) so that a block alone never overshoots
 *     block   1 / lambda_max(A_kk) on every row
 *     balanced  local ones, which then follow the residuals (solver/balance.c)
 *     global  the same on every row, from the eigenvalues of A (solver/global_factor.c)
 *     number  the same on every row
 *     exact   A_kk^-1, for free blocks
 *     inner   1 / lambda_max(A_ss), for blocks whose own problem is solved set after set
 *
 * Different factors inside one coupled set would converge to a wrong answer. */
#include "core/error.h"
#include "linalg/small.h"
#include "solver/method.h"

#include <math.h>
#include <string.h>

/* lambda_max(R^1/2 A_kk R^1/2) */
static double overshoot(int rows, const double *diagonal, const double *r)
{
    double scaled[CS_MAX_ROWS * CS_MAX_ROWS];
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++)
            scaled[i * rows + j] = sqrt(r[i]) * sqrt(r[j]) * diagonal[i * rows + j];
    return cs_largest_eigenvalue(rows, scaled);
}

static void local_factors(int rows, const double *diagonal, const double *rho, double *r)
{
    double scale = fmax(1, overshoot(rows, diagonal, rho));
    for (int i = 0; i < rows; i++) r[i] = rho[i] / scale;
}

static void block_factors(int rows, const double *diagonal, const double *rho, double *r)
{
    double largest = cs_largest_eigenvalue(rows, diagonal);
    for (int i = 0; i < rows; i++) r[i] = rho[i] > 0 && largest > 0 ? 1 / largest : 0;
}

/* 1 / lambda_max(A_ss) for every row of its set: the steps inside a block's own problem. */
static void inner_factors(const cs_block_group *group, const double *diagonal, const double *rho,
                          double *r)
{
    double part[CS_MAX_ROWS * CS_MAX_ROWS];
    for (int s = 0; s <= group->coupled_set[group->rows - 1]; s++) {
        int row[CS_MAX_ROWS], count = 0;
        for (int i = 0; i < group->rows; i++)
            if (group->coupled_set[i] == s) row[count++] = i;
        for (int i = 0; i < count; i++)
            for (int j = 0; j < count; j++)
                part[i * count + j] = diagonal[row[i] * group->rows + row[j]];
        double largest = cs_largest_eigenvalue(count, part);
        for (int i = 0; i < count; i++) r[row[i]] = rho[row[i]] > 0 ? 1 / largest : 0;
    }
}

static void number_factors(int rows, double value, const double *rho, double *r)
{
    for (int i = 0; i < rows; i++) r[i] = rho[i] > 0 ? value : 0;
}

/* A_kk^-1, or the diagonal factors where there is none. Returns whether it was singular. */
static int exact_step(int rows, const double *diagonal, const double *r, double *step)
{
    if (cs_invert(rows, diagonal, step) == 0) return 0;
    memset(step, 0, sizeof(double) * (size_t)(rows * rows));
    for (int i = 0; i < rows; i++) step[i * rows + i] = r[i];
    return 1;
}

static int is_zero(int count, const double *values)
{
    for (int i = 0; i < count; i++)
        if (values[i] != 0) return 0;
    return 1;
}

static void choose_factors(const cs_options *options, const cs_block_group *group, cs_local local,
                           const double *diagonal, const double *rho, double *r)
{
    int rows = group->rows;
    if (local == CS_BLOCK) inner_factors(group, diagonal, rho, r);
    else if (!options->r_factor) number_factors(rows, options->r_value, rho, r);
    else if (strcmp(options->r_factor, "block") == 0) block_factors(rows, diagonal, rho, r);
    else local_factors(rows, diagonal, rho, r);
    for (int i = 0; i < rows; i++) r[i] *= options->relaxation;
}

/* Whether sweeps can hold a number and one over it: neither infinite nor flushed to zero. */
static int is_invertible(cs_dtype dtype, double value)
{
    if (dtype == CS_F64) return isnormal(value) && isnormal(1 / value);
    return isnormal((float)value) && isnormal((float)(1 / value));
}

/* A block whose A_kk overflows, or nearly vanishes, would pass for an immovable one. */
static cs_status check_diagonal(const cs_solver *solver, const cs_block_group *group, int64_t index,
                                const double *diagonal, cs_error *error)
{
    int rows = group->rows, narrow = solver->packed.dtype == CS_F32, largest[CS_MAX_ROWS];
    for (int i = rows - 1; i >= 0; i--) largest[group->coupled_set[i]] = i;
    for (int i = 0; i < rows; i++) {
        int *row = &largest[group->coupled_set[i]];
        double entry = diagonal[i * rows + i];
        if (!(entry <= diagonal[*row * rows + *row])) *row = i; /* a NaN counts as largest */
    }
    for (int i = 0; i < rows; i++) {
        double entry = diagonal[i * rows + i];
        if (largest[group->coupled_set[i]] != i || entry == 0) continue;
        if (is_invertible(solver->packed.dtype, entry)) continue;
        long long row = (long long)(group->first_row + index * rows + i);
        return cs_fail(error, CS_INVALID, "A[%lld, %lld] of contact %lld is %s, too %s for %s%s",
                       row, row, (long long)(group->first_block + index), cs_number(entry).text,
                       entry < 1 ? "small" : "large", narrow ? "float32" : "float64",
                       narrow ? ": use dtype='float64'" : ": use other units");
    }
    return CS_OK;
}

static cs_status choose_group(cs_solver *solver, int g, cs_local local, cs_error *error)
{
    const cs_options *options = &solver->options;
    const cs_block_group *group = &solver->problem->block_group[g];
    int rows = group->rows;
    for (int64_t k = 0; k < group->count; k++) {
        double diagonal[CS_MAX_ROWS * CS_MAX_ROWS];
        double *rho = solver->rho + group->first_row + k * rows;
        double *r = solver->r + group->first_row + k * rows;
        double *step = solver->step[g] ? solver->step[g] + k * rows * rows : NULL;
        cs_diagonal_block(solver->problem, group, k, diagonal);
        cs_status status = check_diagonal(solver, group, k, diagonal, error);
        if (status) return status;
        cs_set_scales(group, diagonal, rho);
        choose_factors(options, group, local, diagonal, rho, r);
        int immovable = is_zero(rows, rho);
        solver->immovable_blocks += immovable;
        if (local == CS_BLOCK) memcpy(step, diagonal, sizeof(double) * (size_t)(rows * rows));
        if (local != CS_EXACT) continue;
        if (exact_step(rows, diagonal, r, step)) solver->singular_blocks += !immovable;
        else
            for (int i = 0; i < rows * rows; i++) step[i] *= options->relaxation;
    }
    return CS_OK;
}

static cs_local choose_local(const cs_options *options, const cs_block_group *group)
{
    if (strcmp(options->local, "projected") == 0) return CS_PROJECTED;
    if (group->set->bilateral) return CS_EXACT;
    return strcmp(options->local, "block") == 0 ? CS_BLOCK : CS_PROJECTED;
}

int cs_is_global(const cs_options *options)
{
    return options->r_factor && strcmp(options->r_factor, "global") == 0 &&
           strcmp(options->local, "block") != 0;
}

/* Free blocks without an inverse take the factors that were found after them. */
static void relax_singular(cs_solver *solver, int g)
{
    const cs_block_group *group = &solver->problem->block_group[g];
    int rows = group->rows, size = rows * rows;
    for (int64_t k = 0; k < group->count; k++) {
        double diagonal[CS_MAX_ROWS * CS_MAX_ROWS], inverse[CS_MAX_ROWS * CS_MAX_ROWS];
        cs_diagonal_block(solver->problem, group, k, diagonal);
        if (cs_invert(rows, diagonal, inverse) == 0) continue;
        double *step = solver->step[g] + k * size;
        for (int i = 0; i < rows; i++)
            step[i * rows + i] = solver->r[group->first_row + k * rows + i];
    }
}

cs_status cs_choose_steps(cs_solver *solver, cs_local *local, cs_error *error)
{
    const cs_problem *problem = solver->problem;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        local[g] = choose_local(&solver->options, group);
        if (local[g] != CS_PROJECTED) {
            int64_t entries = group->count * group->rows * group->rows;
            solver->step[g] = cs_arena_take(&solver->arena, entries, sizeof(double));
            if (!solver->step[g])
                return cs_fail(error, CS_NO_MEMORY, "out of memory for local solves");
        }
        cs_status status = choose_group(solver, g, local[g], error);
        if (status) return status;
    }
    if (!cs_is_global(&solver->options)) return CS_OK;
    cs_status status = cs_global_factor(solver, error);
    for (int g = 0; g < problem->block_groups && !status; g++)
        if (local[g] == CS_EXACT) relax_singular(solver, g);
    return status;
}
