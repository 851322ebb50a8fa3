#include "problem/eight.h"

#include "core/instructions.h"

#define CS_INSTRUCTIONS(name, summary) extern const cs_eight_kernels cs_eight_kernels_##name;
#include "core/instructions.def"
#undef CS_INSTRUCTIONS

static const cs_eight_kernels *const builds[] = {
#define CS_INSTRUCTIONS(name, summary) &cs_eight_kernels_##name,
#include "core/instructions.def"
#undef CS_INSTRUCTIONS
};

const cs_eight_kernels *cs_eight_widest(void) { return builds[cs_instructions_widest()]; }

static int64_t root_size(const cs_body_group *owner)
{
    return owner->dof * (owner->diagonal ? 1 : owner->dof);
}

/* Places are kept in 32 bits. */
int cs_eight_fits(const cs_problem *problem, const cs_block_group *group)
{
    int spatial = group->dof[0] == 6 && (group->rows == 3 || group->rows == 4);
    int planar = group->dof[0] == 3 && group->rows == 2;
    if (problem->body_groups != 1 || !problem->bodies ||
        problem->body_group[0].dof != group->dof[0])
        return 0;
    if ((!spatial && !planar) || group->dof[0] != group->dof[1]) return 0;
    return group->count * cs_jacobian_size(group) <= INT32_MAX &&
           problem->bodies * root_size(&problem->body_group[0]) <= INT32_MAX;
}

void cs_eight_find(const cs_problem *problem, const cs_block_group *group,
                   const int64_t index[CS_EIGHT], cs_eight *eight)
{
    const cs_body_group *owner = &problem->body_group[0];
    int64_t size = cs_jacobian_size(group), root = root_size(owner);
    eight->rows = group->rows;
    eight->dof = group->dof[0];
    eight->diagonal = owner->diagonal;
    eight->jacobian = group->jacobian;
    eight->root = owner->root;
    eight->twofold = 0;
    for (int l = 0; l < CS_EIGHT; l++) {
        eight->place[l] = (int32_t)(index[l] * size);
        eight->twofold |=
            cs_partner_body(group, index[l], 0) == cs_partner_body(group, index[l], 1);
        for (int side = 0; side < 2; side++) {
            int moves = cs_partner_moves(group, index[l], side);
            eight->body[side][l] =
                moves ? (int32_t)(cs_partner_body(group, index[l], side) * root) : 0;
            eight->moving[side][l] = moves;
        }
    }
}
