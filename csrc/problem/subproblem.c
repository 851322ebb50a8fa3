#include "problem/subproblem.h"

#include "core/ascending.h"
#include "core/error.h"

#include <string.h>

typedef struct extraction {
    const cs_problem *problem;
    const int64_t *block; /* (count), ascending */
    int64_t count;
    int64_t *body; /* (bodies), ascending: the movable bodies of these blocks */
    int64_t bodies;
    cs_arena scratch;
    cs_problem *part;
} extraction;

/* The index of the first of the ascending `values` that is not below `value`. */
static int64_t find(const int64_t *values, int64_t count, int64_t value)
{
    int64_t low = 0, high = count;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (values[middle] < value) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The blocks of the part that belong to one group: first <- the index of the first of them in c->block.
 * Returns their number. */
static int64_t blocks_of_group(const extraction *c, const cs_block_group *group, int64_t *first)
{
    *first = find(c->block, c->count, group->first_block);
    return find(c->block, c->count, group->first_block + group->count) - *first;
}

/* A copy of the `width` numbers of each of these blocks, in scratch memory; NULL if memory runs out. */
static double *gather(extraction *c, const cs_block_group *group, const double *values,
                      int64_t width)
{
    int64_t first, count = blocks_of_group(c, group, &first);
    double *part = cs_arena_take(&c->scratch, count * width, sizeof(double));
    for (int64_t i = 0; i < count && part && width; i++)
        memcpy(part + i * width, values + (c->block[first + i] - group->first_block) * width,
               sizeof(double) * (size_t)width);
    return part;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

/* body <- the movable bodies of the part's blocks, ascending, each once. */
static cs_status find_bodies(extraction *c, cs_error *error)
{
    int64_t found = 0;
    c->body = cs_arena_take(&c->scratch, CS_MAX_PARTNERS * c->count, sizeof(int64_t));
    if (!c->body) return cs_no_memory(error, "a part of the problem");

    /* Collect the movable partners of all blocks. */
    for (int g = 0; g < c->problem->block_groups; g++) {
        const cs_block_group *group = &c->problem->block_group[g];
        int64_t first, count = blocks_of_group(c, group, &first);
        for (int64_t i = 0; i < count; i++) {
            int64_t index = c->block[first + i] - group->first_block;
            for (int s = 0; s < group->partners; s++)
                if (cs_partner_moves(group, index, s))
                    c->body[found++] = cs_partner_body(group, index, s);
        }
    }

    /* Sort them and remove repetitions. */
    cs_sort_64(c->body, found);
    for (int64_t i = 0; i < found; i++)
        if (i == 0 || c->body[i] != c->body[i - 1]) c->body[c->bodies++] = c->body[i];
    return CS_OK;
}

/* Adds the bodies, with as many groups as the whole problem has. */
static cs_status add_bodies(extraction *c, cs_error *error)
{
    for (int g = 0; g < c->problem->body_groups; g++) {
        const cs_body_group *group = &c->problem->body_group[g];
        int64_t first = find(c->body, c->bodies, group->first_body);
        int64_t count = find(c->body, c->bodies, group->first_body + group->count) - first;
        int64_t size = group->dof * (group->diagonal ? 1 : group->dof);
        cs_arena_mark before = cs_arena_position(&c->scratch);
        double *inverse = cs_arena_take(&c->scratch, count * size, sizeof(double));
        if (!inverse) return cs_no_memory(error, "a part of the problem");
        for (int64_t i = 0; i < count; i++)
            memcpy(inverse + i * size,
                   group->inverse_mass + (c->body[first + i] - group->first_body) * size,
                   sizeof(double) * (size_t)size);
        cs_bodies bodies = {count, group->dof, group->diagonal, inverse};
        cs_status status = cs_problem_add_bodies(c->part, &bodies, error);
        if (status) return status;
        cs_arena_rewind(&c->scratch, before); /* the part has its own copy */
    }
    return CS_OK;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* bodies (count, p) <- the body numbers of the blocks of a group, as the part numbers its bodies. */
static int64_t *number_bodies(extraction *c, const cs_block_group *group)
{
    int64_t first, count = blocks_of_group(c, group, &first);
    int partners = group->partners;
    int64_t *bodies = cs_arena_take(&c->scratch, partners * count, sizeof(int64_t));
    for (int64_t i = 0; i < partners * count && bodies; i++) {
        int64_t index = c->block[first + i / partners] - group->first_block;
        int64_t body = cs_partner_body(group, index, (int)(i % partners));
        int moves = cs_partner_moves(group, index, (int)(i % partners));
        bodies[i] = moves ? find(c->body, c->bodies, body) : -1;
    }
    return bodies;
}

/* Adds the part's blocks of one group. */
static cs_status add_blocks(extraction *c, const cs_block_group *group, cs_error *error)
{
    int64_t first;
    cs_arena_mark before = cs_arena_position(&c->scratch);
    cs_blocks blocks = {
        .count = blocks_of_group(c, group, &first),
        .rows = group->rows,
        .b = gather(c, group, group->b, group->rows),
        .set = group->set->name,
        .parameters = gather(c, group, group->parameter, group->parameters),
        .parameters_each = group->parameters,
    };
    cs_describe_partners(group, &blocks);
    if (group->jacobian)
        blocks.jacobian = gather(c, group, group->jacobian, cs_jacobian_size(group));
    if (group->frame) blocks.frame = gather(c, group, group->frame, CS_FRAME_NUMBERS);
    if (cs_has_jacobians(group)) blocks.bodies = number_bodies(c, group);
    if (group->compliance) blocks.compliance = gather(c, group, group->compliance, group->rows);
    if (group->included) blocks.included = gather(c, group, group->included, group->rows);
    cs_status status = cs_arena_status(&c->scratch, error, "a part of the problem");
    if (!status) status = cs_problem_add_blocks(c->part, &blocks, error);
    cs_arena_rewind(&c->scratch, before); /* the part has its own copy */
    return status;
}

/* Copies the part's block rows of a given A. All their columns belong to the part. */
static cs_status cut_matrix(extraction *c, cs_error *error)
{
    const cs_block_matrix *all = c->problem->matrix;
    cs_block_matrix *matrix = cs_block_matrix_new(&c->part->arena, c->count);
    if (!matrix) return cs_no_memory(error, "a part of the problem");

    /* Where the block rows begin. */
    for (int64_t i = 0; i < c->count; i++) {
        int64_t k = c->block[i];
        matrix->start[i + 1] = matrix->start[i] + all->start[k + 1] - all->start[k];
        matrix->first[i + 1] = matrix->first[i] + all->first[k + 1] - all->first[k];
    }
    if (cs_block_matrix_take(&c->part->arena, matrix))
        return cs_no_memory(error, "a part of the problem");

    /* Columns, renumbered, and values. */
    for (int64_t i = 0; i < c->count; i++) {
        int64_t k = c->block[i], columns = all->start[k + 1] - all->start[k];
        for (int64_t e = 0; e < columns; e++)
            matrix->column[matrix->start[i] + e] =
                find(c->block, c->count, all->column[all->start[k] + e]);
        memcpy(matrix->value + matrix->first[i], all->value + all->first[k],
               sizeof(double) * (size_t)(all->first[k + 1] - all->first[k]));
    }
    matrix->asymmetry = all->asymmetry;
    c->part->matrix = matrix;
    return CS_OK;
}

cs_status cs_subproblem(const cs_problem *problem, const int64_t *block, int64_t count,
                        cs_problem **part, cs_error *error)
{
    extraction c = {.problem = problem, .block = block, .count = count};
    cs_status status = cs_problem_create(&c.part, error);
    if (!status) c.part->threads = 1; /* threads share the parts */
    if (!status && !problem->matrix) status = find_bodies(&c, error);
    if (!status) status = add_bodies(&c, error);
    for (int g = 0; g < problem->block_groups && !status; g++)
        status = add_blocks(&c, &problem->block_group[g], error);
    if (!status && problem->matrix) status = cut_matrix(&c, error);
    cs_arena_clear(&c.scratch);
    if (status) {
        cs_problem_destroy(c.part);
        c.part = NULL;
    }
    *part = c.part;
    return status;
}
