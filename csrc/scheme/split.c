#include "scheme/split.h"

#include "core/error.h"

#include <math.h>

/* values[at] *= factor, in the precision of the array. */
static void multiply(cs_dtype precision, void *values, int64_t at, double factor)
{
    if (precision == CS_F64) ((double *)values)[at] *= factor;
    else ((float *)values)[at] *= (float)factor;
}

/* sqrt(n) of one partner of a block; 1 if it does not move. */
static double root_of(const cs_packed *packed, const cs_block_group *blocks, int64_t index,
                      int side)
{
    if (!cs_partner_moves(blocks, index, side)) return 1;
    return sqrt(packed->schedule->touching_parts[cs_partner_body(blocks, index, side)]);
}

/* ---- factors --------------------------------------------------------------------------------- */

/* The numbers of one side in a stored visit that are multiplied by the side's root. Those of forms with frames and lever
 * arms are multiplied by the roots of M^-1. */
static void numbers_of_side(const cs_packed_group *group, int side, int *first, int *count)
{
    switch (group->factors.form) {
    case CS_GENERAL:
        *first = group->rows * group->column[side];
        *count = group->rows * group->dof[side];
        return;
    case CS_PLANAR: *first = 2 + 2 * side, *count = 2; return;
    case CS_WEIGHTED: *first = 9 + side, *count = 1; return;
    case CS_SPHERES:
    case CS_SOLIDS: break;
    }
    *first = *count = 0;
}

/* The group whose factors are multiplied. */
typedef struct group_split {
    const cs_packed *packed;
    int g;
} group_split;

static void split_visit(void *context, int g, int64_t visit, int64_t part)
{
    const group_split *split = context;
    const cs_packed *packed = split->packed;
    const cs_packed_group *group = &packed->group[g];
    const cs_block_group *blocks = &packed->problem->block_group[g];
    (void)part;
    if (g != split->g) return;
    int64_t index = packed->schedule->visit[g][visit];
    int width = cs_form_width(group->factors.form, group->rows, group->column[group->partners]);
    for (int side = 0; side < group->partners; side++) {
        int first, count;
        double root = root_of(packed, blocks, index, side);
        numbers_of_side(group, side, &first, &count);
        for (int i = first; i < first + count && root > 1; i++)
            multiply(cs_stored(packed->dtype), group->factors.scaled,
                     cs_packed_place(group, visit, width, i), root);
    }
}

/* Calls `work` for all visits of concurrent stages. */
static void each_border_visit(const cs_schedule *schedule,
                              void (*work)(void *context, int g, int64_t visit, int64_t part),
                              void *context)
{
    for (int64_t s = 0; s < schedule->stages; s++)
        if (schedule->stage[s].kind == CS_CONCURRENT)
            cs_each_visit(schedule, &schedule->stage[s], work, context);
}

void cs_split_factors(const cs_packed *packed, int g)
{
    group_split split = {packed, g};
    if (packed->schedule->touching_parts) each_border_visit(packed->schedule, split_visit, &split);
}

/* ---- copies and terms of u ------------------------------------------------------------------- */

/* packed->copy_scale <- 1 / sqrt(n) of the body of each copy. */
static cs_status scale_copies(cs_packed *packed, cs_arena *arena, cs_error *error)
{
    cs_arena scratch = {0};
    const double *parts = packed->schedule->touching_parts;
    int64_t copies = packed->copy_start[packed->schedule->parts];
    int64_t *body_at = cs_arena_take(&scratch, packed->first_spare, sizeof(int64_t));
    packed->copy_scale = cs_arena_take(arena, copies, sizeof(double));
    if (!body_at || !packed->copy_scale) {
        cs_arena_clear(&scratch);
        return cs_no_memory(error, "split masses");
    }
    for (int64_t i = 0; i < packed->moved_bodies; i++)
        body_at[packed->body_place[packed->moved[i]]] = packed->moved[i];
    for (int64_t i = 0; i < copies; i++)
        packed->copy_scale[i] = 1 / sqrt(parts[body_at[packed->copy[i].shared]]);
    cs_arena_clear(&scratch);
    return CS_OK;
}

/* The visits with multiplied factors. */
typedef struct border_visits {
    unsigned char *marked[CS_MAX_GROUPS]; /* (count) */
} border_visits;

static void mark_visit(void *context, int g, int64_t visit, int64_t part)
{
    (void)part;
    ((border_visits *)context)->marked[g][visit] = 1;
}

/* packed->gather_scale <- 1 / sqrt(n) for terms with multiplied factors, else 1. */
static cs_status scale_terms(cs_packed *packed, cs_arena *arena, cs_error *error)
{
    cs_arena scratch = {0};
    border_visits border = {{0}};
    const cs_problem *problem = packed->problem;
    int64_t terms = packed->gather_start[problem->bodies];
    packed->gather_scale = cs_arena_take(arena, terms, sizeof(double));
    for (int g = 0; g < problem->block_groups; g++)
        border.marked[g] = cs_arena_take(&scratch, packed->group[g].count, 1);
    if (cs_arena_failed(&scratch) || !packed->gather_scale) {
        cs_arena_clear(&scratch);
        return cs_no_memory(error, "split masses");
    }
    each_border_visit(packed->schedule, mark_visit, &border);
    for (int64_t e = 0; e < terms; e++) {
        const cs_velocity_term *term = &packed->gather[e];
        int64_t index = packed->schedule->visit[term->group][term->visit];
        const cs_block_group *blocks = &problem->block_group[term->group];
        packed->gather_scale[e] = border.marked[term->group][term->visit]
                                      ? 1 / root_of(packed, blocks, index, term->side)
                                      : 1;
    }
    cs_arena_clear(&scratch);
    return CS_OK;
}

cs_status cs_pack_splits(cs_packed *packed, cs_arena *arena, cs_error *error)
{
    if (!packed->schedule->touching_parts) return CS_OK;
    cs_status status = scale_copies(packed, arena, error);
    return status ? status : scale_terms(packed, arena, error);
}

void cs_split_roots(const cs_packed *packed)
{
    cs_dtype real = cs_real(packed->dtype);
    int64_t copies = packed->copy_scale ? packed->copy_start[packed->schedule->parts] : 0;
    for (int64_t i = 0; i < copies; i++) {
        const cs_velocity_copy *copy = &packed->copy[i];
        int stride = cs_velocity_stride(copy->dof);
        double root = 1 / packed->copy_scale[i];
        for (int c = copy->dof; c < stride; c++)
            multiply(real, packed->velocity, copy->own + c, root);
        for (int c = 0; c < stride && packed->inertia; c++)
            multiply(real, packed->inertia, copy->own + c, root);
    }
}
