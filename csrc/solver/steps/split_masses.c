/* Diagonal blocks of A, from which R follows, as if each body's mass were divided: among its contacts
 * (methods/sweeps/mass_splitting.c), or, for the contacts of a border, among the parts that visit it
 * (order/touching_parts.c). */
#include "core/error.h"
#include "solver/solver.h"

#include <string.h>

cs_status cs_count_touching(cs_solver *solver, cs_error *error)
{
    const cs_problem *problem = solver->problem;
    solver->factors.touching = cs_arena_take(&solver->arena, problem->bodies, sizeof(double));
    if (!solver->factors.touching) return cs_no_memory(error, "counting contacts of bodies");
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        for (int64_t k = 0; k < group->count; k++)
            for (int s = 0; s < cs_block_partners(group); s++) {
                /* A block that has one body as several partners counts once for it. */
                int64_t body = cs_partner_body(group, k, s);
                int again = 0;
                for (int other = 0; other < s; other++)
                    again |= cs_partner_body(group, k, other) == body;
                if (body >= 0 && !again) solver->factors.touching[body]++;
            }
    }
    return CS_OK;
}

cs_status cs_take_border(cs_solver *solver, cs_error *error)
{
    /* The blocks of concurrent stages. */
    const cs_problem *problem = solver->problem;
    const cs_schedule *schedule = &solver->schedule;
    unsigned char *border = cs_arena_take(&solver->arena, problem->blocks, 1);
    if (!border) return cs_no_memory(error, "the contacts between parts");
    for (int64_t s = 0; s < schedule->stages; s++) {
        const cs_stage *stage = &schedule->stage[s];
        if (stage->kind != CS_CONCURRENT) continue;
        for (int64_t r = schedule->part[stage->first_part];
             r < schedule->part[stage->first_part + stage->parts]; r++) {
            const cs_range *range = &schedule->range[r];
            const int64_t *visit = schedule->visit[range->group];
            int64_t first = problem->block_group[range->group].first_block;
            for (int64_t v = range->first; v < range->first + range->count; v++)
                border[first + visit[v]] = 1;
        }
    }
    solver->factors.touching = schedule->touching_parts;
    solver->factors.of_border = border;
    return CS_OK;
}

int cs_sees_split_masses(const cs_solver *solver, int64_t block)
{
    if (!solver->factors.touching) return 0;
    return !solver->factors.of_border || solver->factors.of_border[block];
}

void cs_split_diagonal(const cs_solver *solver, const cs_block_group *group, int64_t index,
                       double *diagonal)
{
    /* sum over all sides of n G G^T, where 1/n of a body's mass is n times its M^-1. */
    int rows = group->rows;
    double scaled[CS_MAX_JACOBIAN];
    cs_scaled_jacobian(solver->problem, group, index, scaled);
    memset(diagonal, 0, sizeof(double) * (size_t)(rows * rows));
    for (int s = 0; s < cs_block_partners(group); s++) {
        const double *side = scaled + cs_partner_offset(group, s);
        int64_t body = cs_partner_body(group, index, s);
        double count = body >= 0 ? solver->factors.touching[body] : 0;
        int dof = group->dof[s];
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < rows; j++)
                for (int c = 0; c < dof; c++)
                    diagonal[i * rows + j] += count * side[i * dof + c] * side[j * dof + c];
    }

    /* Compliance belongs to the contact alone. */
    if (group->compliance)
        for (int i = 0; i < rows; i++)
            diagonal[i * rows + i] += group->compliance[index * rows + i];
}
