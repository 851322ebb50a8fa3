/* Momentum over Jacobi's sweeps needs steps that are short enough for a gradient method: lambda_max(R A) <= 1.
 * Otherwise R is divided by that eigenvalue. With R = B B^T, it is the largest eigenvalue of B^T A B, which Lanczos'
 * iteration finds; the bound of the error is added, because the Ritz value may be too small. */
#include "core/error.h"
#include "linalg/small.h"
#include "solver/solver.h"

#include <math.h>
#include <string.h>

/* The matrix B^T A B. */
typedef struct scaled_matrix {
    cs_symmetric_part part; /* A */
    const cs_solver *solver;
    double *root[CS_MAX_GROUPS]; /* (count, m, m): lower B_k of blocks with a full R_k; or NULL */
    double *x, *y;               /* (rows): scratch */
} scaled_matrix;

/* to <- B from, or B^T from if `transposed` (rows). */
static void apply_root(const scaled_matrix *s, int transposed, const double *from, double *to)
{
    /* Rows with a diagonal R: its square root. */
    const cs_problem *problem = s->solver->problem;
    for (int64_t i = 0; i < problem->rows; i++) to[i] = sqrt(s->solver->factors.r[i]) * from[i];

    /* Blocks with a full R_k: B_k. */
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        int m = group->rows;
        for (int64_t k = 0; k < group->count && s->root[g]; k++) {
            const double *root = s->root[g] + k * m * m, *x = from + cs_group_row(group, k);
            double *y = to + cs_group_row(group, k);
            for (int i = 0; i < m; i++) {
                y[i] = 0;
                for (int j = 0; j < m; j++) y[i] += root[transposed ? j * m + i : i * m + j] * x[j];
            }
        }
    }
}

/* y <- B^T A B x (rows) */
static void multiply(void *context, const double *x, double *y)
{
    scaled_matrix *s = context;
    apply_root(s, 0, x, s->x);
    cs_multiply_symmetric(&s->part, s->x, s->y);
    apply_root(s, 1, s->y, y);
}

/* Computes B_k of all blocks with a full R_k. */
static cs_status find_roots(scaled_matrix *s, const cs_local *local, cs_arena *scratch,
                            cs_error *error)
{
    const cs_problem *problem = s->solver->problem;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        int64_t size = group->rows * group->rows;
        if (local[g] != CS_EXACT) continue;
        s->root[g] = cs_arena_take(scratch, group->count * size, sizeof(double));
        if (!s->root[g]) return cs_no_memory(error, "the eigenvalues of R A");
        for (int64_t k = 0; k < group->count; k++)
            cs_semidefinite_cholesky(group->rows, s->solver->factors.step[g] + k * size,
                                     s->root[g] + k * size);
    }
    return CS_OK;
}

/* R <- factor R */
static void scale(cs_solver *solver, const cs_local *local, double factor)
{
    const cs_problem *problem = solver->problem;
    for (int64_t i = 0; i < problem->rows; i++) solver->factors.r[i] *= factor;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        if (local[g] != CS_EXACT) continue;
        for (int64_t i = 0; i < group->count * group->rows * group->rows; i++)
            solver->factors.step[g][i] *= factor;
    }
}

cs_status cs_bound_steps(cs_solver *solver, const cs_local *local, cs_error *error)
{
    /* Only for accelerated Jacobi sweeps. Blocks whose local problems are solved have no R; there, rollbacks have to
     * prevent divergence. */
    const cs_problem *problem = solver->problem;
    if (!solver->method->steps || !cs_is_flat(solver->method, solver->setting)) return CS_OK;
    for (int g = 0; g < problem->block_groups; g++)
        if (cs_solves_block(local[g])) return CS_OK;

    /* The largest eigenvalue of B^T A B. */
    cs_arena scratch = {0};
    cs_spectrum spectrum = {0};
    scaled_matrix s = {
        .part = {.problem = problem,
                 .shared = &solver->products,
                 .velocity = cs_arena_take(&scratch, problem->velocities, sizeof(double))},
        .solver = solver,
        .x = cs_arena_take(&scratch, problem->rows, sizeof(double)),
        .y = cs_arena_take(&scratch, problem->rows, sizeof(double)),
    };
    double *start = cs_arena_take(&scratch, problem->rows, sizeof(double));
    cs_status status = cs_arena_status(&scratch, error, "the eigenvalues of R A");
    if (!status) status = find_roots(&s, local, &scratch, error);
    if (!status && cs_solver_lanczos(solver, multiply, &s, start, &spectrum))
        status = cs_no_memory(error, "the eigenvalues of R A");

    /* Divide R by the eigenvalue of R without the factor `relaxation`, which thus has the same effect as in other
     * methods. */
    solver->factors.bound =
        (spectrum.largest + spectrum.largest_error) / solver->options.relaxation;
    if (!status && solver->factors.bound > 1) scale(solver, local, 1 / solver->factors.bound);
    cs_arena_clear(&scratch);
    return status;
}
