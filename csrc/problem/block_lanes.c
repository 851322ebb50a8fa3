#include "problem/block_lanes.h"

#include "core/instructions.h"

#define CS_INSTRUCTIONS(name, summary) \
    extern const cs_block_lanes_kernels cs_block_lanes_kernels_##name;
#include "core/instructions.def"
#undef CS_INSTRUCTIONS

static const cs_block_lanes_kernels *const builds[] = {
#define CS_INSTRUCTIONS(name, summary) &cs_block_lanes_kernels_##name,
#include "core/instructions.def"
#undef CS_INSTRUCTIONS
};

const cs_block_lanes_kernels *cs_block_lanes_widest(void)
{
    return builds[cs_instructions_widest()];
}

/* The number of doubles in L of one body. */
static int64_t root_size(const cs_body_group *owner)
{
    return owner->dof * (owner->diagonal ? 1 : owner->dof);
}

int cs_block_lanes_fit(const cs_problem *problem, const cs_block_group *group)
{
    int spatial = cs_has_pairs_of(group, 6) && (group->rows == 3 || group->rows == 4);
    int planar = cs_has_pairs_of(group, 3) && group->rows == 2;

    /* The shape. */
    if (problem->body_groups != 1 || !problem->bodies ||
        problem->body_group[0].dof != group->dof[0])
        return 0;
    if (!spatial && !planar) return 0;

    /* The range of cs_block_lanes.place and .body, which are 32 bits wide. */
    return group->count * cs_jacobian_numbers(group) <= INT32_MAX &&
           problem->bodies * root_size(&problem->body_group[0]) <= INT32_MAX;
}

void cs_block_lanes_find(const cs_problem *problem, const cs_block_group *group,
                         const int64_t index[CS_BLOCK_LANES], cs_block_lanes *lanes)
{
    const cs_body_group *owner = &problem->body_group[0];
    int64_t size = cs_jacobian_numbers(group), root = root_size(owner);

    /* What all eight share. */
    lanes->rows = group->rows;
    lanes->dof = group->dof[0];
    lanes->diagonal = owner->diagonal;
    lanes->frames = group->frame != NULL;
    lanes->jacobian = cs_stored_jacobian(group, 0);
    lanes->root = owner->root;
    lanes->twofold = 0;

    /* Each lane's block. An immovable partner reads the L of body 0; the kernels discard the result. */
    for (int l = 0; l < CS_BLOCK_LANES; l++) {
        lanes->place[l] = (int32_t)(index[l] * size);
        lanes->twofold |=
            cs_partner_body(group, index[l], 0) == cs_partner_body(group, index[l], 1);
        for (int side = 0; side < 2; side++) {
            int moves = cs_partner_moves(group, index[l], side);
            lanes->body[side][l] =
                moves ? (int32_t)(cs_partner_body(group, index[l], side) * root) : 0;
            lanes->moving[side][l] = moves;
        }
    }
}
