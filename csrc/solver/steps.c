/* The factors R: how far a block moves along its residual velocity.
 *
 *     local   one scalar for each coupled set, 1 / max diag(A_ss)  (S2 eqs. 4.42, 4.43), over
 *             max(1, lambda_max(R^1/2 A_kk R^1/2)) so that a block alone never overshoots
 *     block   1 / lambda_max(A_kk) on every row
 *     number  the same on every row
 *     exact   A_kk^-1, for free blocks
 *
 * Different factors inside one coupled set would converge to a wrong answer. */
#include "core/error.h"
#include "linalg/small.h"
#include "solver/method.h"

#include <math.h>
#include <string.h>

/* 1 / max diag(A_ss) for every row of its set; 0 where an impulse moves nothing. */
static void set_scales(const cs_block_group *group, const double *diagonal, double *rho)
{
    double largest[CS_MAX_ROWS] = {0};
    for (int i = 0; i < group->rows; i++) {
        double entry = diagonal[i * group->rows + i];
        int set = group->coupled_set[i];
        if (entry > largest[set]) largest[set] = entry;
    }
    for (int i = 0; i < group->rows; i++) {
        double inverse = 1 / largest[group->coupled_set[i]];
        rho[i] = isfinite(inverse) ? inverse : 0;
    }
}

/* lambda_max(R^1/2 A_kk R^1/2) */
static double overshoot(int rows, const double *diagonal, const double *r)
{
    double scaled[CS_MAX_ROWS * CS_MAX_ROWS];
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++)
            scaled[i * rows + j] = sqrt(r[i] * r[j]) * diagonal[i * rows + j];
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

static void choose_group(cs_solver *solver, int g, int exact)
{
    const cs_options *options = &solver->options;
    const cs_block_group *group = &solver->problem->block_group[g];
    int rows = group->rows;
    for (int64_t k = 0; k < group->count; k++) {
        double diagonal[CS_MAX_ROWS * CS_MAX_ROWS];
        double *rho = solver->rho + group->first_row + k * rows;
        double *r = solver->r + group->first_row + k * rows;
        cs_diagonal_block(solver->problem, group, k, diagonal);
        set_scales(group, diagonal, rho);
        if (!options->r_factor) number_factors(rows, options->r_value, rho, r);
        else if (strcmp(options->r_factor, "block") == 0) block_factors(rows, diagonal, rho, r);
        else local_factors(rows, diagonal, rho, r);
        int immovable = is_zero(rows, rho);
        solver->immovable_blocks += immovable;
        if (exact) {
            double *step = solver->step[g] + k * rows * rows;
            solver->singular_blocks += exact_step(rows, diagonal, r, step) && !immovable;
            for (int i = 0; i < rows * rows; i++) step[i] *= options->relaxation;
        }
        for (int i = 0; i < rows; i++) r[i] *= options->relaxation;
    }
}

cs_status cs_choose_steps(cs_solver *solver, unsigned char *exact, cs_error *error)
{
    const cs_problem *problem = solver->problem;
    int projected = strcmp(solver->options.local, "projected") == 0;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        exact[g] = group->set->bilateral && !projected;
        if (exact[g]) {
            int64_t entries = group->count * group->rows * group->rows;
            solver->step[g] = cs_arena_take(&solver->arena, entries, sizeof(double));
            if (!solver->step[g])
                return cs_fail(error, CS_NO_MEMORY, "out of memory for exact local solves");
        }
        choose_group(solver, g, exact[g]);
    }
    return CS_OK;
}
