/* Mass splitting: every body is split into as many as it has contacts, each with its share of the mass;
 * each contact is solved with its own ones, all at once, and then the parts of a body are put together
 * again, with the mean of their velocities. In terms of impulses that is Jacobi's sweep with the R of
 *
 *     D_kk = n_0 G_k0 G_k0^T + n_1 G_k1 G_k1^T + Sigma,   n: contacts of either body
 *
 * in place of A_kk. D - A is positive semi-definite, so that the energy 1/2 lambda^T A lambda +
 * b^T lambda never grows on convex sets.  Tonge, Benevolenski and Voroshilov 2012 */
#include "core/error.h"
#include "solver/method.h"

#include <string.h>

cs_status cs_count_touching(cs_solver *solver, cs_error *error)
{
    const cs_problem *problem = solver->problem;
    solver->touching = cs_arena_take(&solver->arena, problem->bodies, sizeof(double));
    if (!solver->touching)
        return cs_fail(error, CS_NO_MEMORY, "out of memory for counting contacts of bodies");
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t i = 0; i < 2 * group->count; i++)
            if (group->bodies[i] >= 0) solver->touching[group->bodies[i]]++;
    }
    return CS_OK;
}

void cs_split_diagonal(const cs_solver *solver, const cs_block_group *group, int64_t index,
                       double *diagonal)
{
    int rows = group->rows;
    double scaled[CS_MAX_ROWS * 2 * CS_MAX_DOF];
    const double *side = scaled;
    cs_scaled_jacobian(solver->problem, group, index, scaled);
    memset(diagonal, 0, sizeof(double) * (size_t)(rows * rows));
    for (int s = 0; s < 2; s++) {
        int64_t body = group->bodies[2 * index + s];
        double count = body >= 0 ? solver->touching[body] : 0;
        int dof = group->dof[s];
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < rows; j++)
                for (int c = 0; c < dof; c++)
                    diagonal[i * rows + j] += count * side[i * dof + c] * side[j * dof + c];
        side += rows * dof;
    }
    if (group->compliance)
        for (int i = 0; i < rows; i++)
            diagonal[i * rows + i] += group->compliance[index * rows + i];
}

const cs_method cs_method_mass_splitting = {
    .name = "mass_splitting",
    .summary = "all contacts at once, each on its share of the bodies' masses",
    .about = "Jacobi's sweeps with factors R that are small enough to converge by themselves, "
             "whatever the number of contacts on a body: no rollback is needed. Without friction, "
             "and on second-order cones, the energy falls with every sweep.",
    .paper = "Tonge, Benevolenski and Voroshilov 2012",
    .needs = CS_BIT(CS_NEEDS_JACOBIAN),
    .solves = CS_BIT(CS_SOLVES_FRICTIONLESS) | CS_BIT(CS_SOLVES_JOINTS) |
              CS_BIT(CS_SOLVES_ASSOCIATED) | CS_BIT(CS_SOLVES_BOX) | CS_BIT(CS_SOLVES_COULOMB),
    .stage = CS_SIMULTANEOUS,
    .splits = 1,
    .solve = cs_fixed_point,
};
