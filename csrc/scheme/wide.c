#include "scheme/compressed.h"
#include "scheme/row_kernels.h"
#include "scheme/wide.h"

#include "core/costs.h"
#include "core/error.h"
#include "core/instructions.h"
#include "order/vectorizable.h"

#include <stdio.h>
#include <string.h>

#define CS_INSTRUCTIONS(name, summary) extern const cs_wide_kernels cs_wide_kernels_##name;
#include "core/instructions.def"
#undef CS_INSTRUCTIONS

static const cs_wide_kernels *const builds[] = {
#define CS_INSTRUCTIONS(name, summary) &cs_wide_kernels_##name,
#include "core/instructions.def"
#undef CS_INSTRUCTIONS
};

/* ---- tests whether batches are possible ------------------------------------------------------- */

/* Whether a kernel can visit the contacts of a group. */
static int has_kernel(const cs_packed *packed, int g, cs_local local)
{
    return !cs_solves_block(local) && cs_fits_lanes(&packed->problem->block_group[g]);
}

/* Whether the stages can be visited in batches. A simultaneous stage can if it is the only one. */
static int stages_fit(const cs_schedule *schedule)
{
    if (schedule->stages == 1) return 1;
    for (int64_t s = 0; s < schedule->stages; s++)
        if (schedule->stage[s].kind == CS_SIMULTANEOUS) return 0;
    return 1;
}

/* Whether 32 bits can index all velocities. */
static int velocities_fit(const cs_packed *packed)
{
    /* Spare velocities and velocities of bodies. */
    const cs_problem *problem = packed->problem;
    double length = (double)(packed->schedule->most_parts + 1) * CS_MAX_DOF;
    for (int g = 0; g < problem->body_groups; g++) {
        const cs_body_group *bodies = &problem->body_group[g];
        length += (double)bodies->count * cs_velocity_stride(bodies->dof);
    }

    /* Copies of parts in concurrent stages: at most two bodies per contact. */
    length += 2.0 * (double)problem->blocks * CS_MAX_DOF;
    return length < (double)INT32_MAX;
}

/* ---- batches --------------------------------------------------------------------------------- */

/* The state of a walk through the visits of one group, which puts them into batches. */
typedef struct batch_layout {
    const cs_packed *packed;
    int group, lanes;
    int64_t *touched;    /* (bodies): the last batch (+ 1) that a body is in */
    int64_t slots;       /* slots so far */
    int64_t *slot;       /* (count): the slot of each visit; NULL to count only */
    unsigned char *used; /* (batches): lanes that have a visit */
} batch_layout;

/* Ends the current batch. */
static void next_batch(batch_layout *l)
{
    l->slots = (l->slots + l->lanes - 1) / l->lanes * l->lanes;
}

/* Whether a block shares a moving body with the current batch. If it does not, the block joins the batch. */
static int conflicts(batch_layout *l, int64_t index)
{
    const cs_block_group *blocks = &l->packed->problem->block_group[l->group];
    int64_t batch = l->slots / l->lanes + 1;
    for (int side = 0; side < cs_block_partners(blocks); side++)
        if (cs_partner_moves(blocks, index, side) &&
            l->touched[cs_partner_body(blocks, index, side)] == batch)
            return 1;
    for (int side = 0; side < cs_block_partners(blocks); side++)
        if (cs_partner_moves(blocks, index, side))
            l->touched[cs_partner_body(blocks, index, side)] = batch;
    return 0;
}

/* Puts the visits of a range into batches. */
static void lay_range(batch_layout *l, cs_stage_kind kind, const cs_range *range)
{
    const int64_t *visit = l->packed->schedule->visit[l->group];
    int free = kind == CS_INDEPENDENT || kind == CS_SIMULTANEOUS;
    next_batch(l);
    for (int64_t v = range->first; v < range->first + range->count; v++) {
        /* A conflict ends the batch, and the block joins the next one. */
        if (!free && conflicts(l, visit[v])) {
            next_batch(l);
            conflicts(l, visit[v]);
        }

        /* Take the next slot. */
        if (l->slot) {
            l->slot[v] = l->slots;
            l->used[l->slots / l->lanes]++;
        }
        l->slots++;
    }
}

/* Puts all visits of a group into batches. Returns the number of slots. */
static int64_t lay_group(batch_layout *l)
{
    const cs_schedule *schedule = l->packed->schedule;
    memset(l->touched, 0, sizeof(int64_t) * (size_t)l->packed->problem->bodies);
    l->slots = 0;
    for (int64_t s = 0; s < schedule->stages; s++) {
        const cs_stage *stage = &schedule->stage[s];
        int64_t first = schedule->part[stage->first_part];
        int64_t end = schedule->part[stage->first_part + stage->parts];
        for (int64_t r = first; r < end; r++)
            if (schedule->range[r].group == l->group)
                lay_range(l, stage->kind, &schedule->range[r]);
    }
    next_batch(l);
    return l->slots;
}

/* The fraction of slots with a visit, over all groups with a kernel. */
static double filled_fraction(const cs_packed *packed, const cs_local *local, int lanes,
                              int64_t *touched)
{
    double slots = 0, visits = 0;
    for (int g = 0; g < packed->problem->block_groups; g++) {
        batch_layout l = {.packed = packed, .group = g, .lanes = lanes, .touched = touched};
        if (!has_kernel(packed, g, local[g])) continue;
        slots += (double)lay_group(&l);
        visits += (double)packed->group[g].count;
    }
    return slots > 0 ? visits / slots : 0;
}

/* The kernels of the instruction set that the user asked for, or those with the widest vectors that are well filled;
 * NULL if there are none. */
static const cs_wide_kernels *choose_kernels(const cs_packed *packed, const cs_local *local,
                                             int64_t *touched)
{
    if (packed->instructions >= 0) return builds[packed->instructions];
    for (int i = CS_INSTRUCTION_SETS - 1; i >= 0; i--) {
        int lanes = builds[i]->lanes[packed->dtype];
        if (cs_instructions_run(i) && lanes >= CS_WORTH_LANES &&
            filled_fraction(packed, local, lanes, touched) >= CS_WORTH_FILL)
            return builds[i];
    }
    return NULL;
}

/* Puts the visits of a group into batches, and chooses the form of its factors. */
static cs_status lay_out_group(cs_packed *packed, int g, int64_t *touched, cs_arena *arena,
                               cs_error *error)
{
    cs_packed_group *group = &packed->group[g];
    batch_layout l = {.packed = packed, .group = g, .touched = touched};
    l.lanes = packed->wide->lanes[packed->dtype];

    /* Count the slots, then assign them. */
    int64_t slots = lay_group(&l);
    l.slot = cs_arena_take_unset(arena, group->count, sizeof(int64_t));
    l.used = cs_arena_take(arena, slots / l.lanes, 1);
    if (cs_arena_failed(arena)) return cs_no_memory(error, "batches of contacts");
    group->slots = lay_group(&l);

    /* Describe the batches. */
    group->lanes = l.lanes;
    group->keeps = 1;
    group->slot = l.slot;
    group->used = l.used;
    group->factors.handedness = 1;
    if (!packed->general)
        cs_choose_form(packed, g, &group->factors.form, &group->factors.handedness);
    return CS_OK;
}

cs_status cs_wide_lay_out(cs_packed *packed, const cs_local *local, cs_arena *arena,
                          cs_error *error)
{
    /* Nothing to do if no group fits, or the stages do not. */
    cs_arena scratch = {0};
    cs_status status = CS_OK;
    int fitting = 0;
    for (int g = 0; g < packed->problem->block_groups; g++)
        fitting += has_kernel(packed, g, local[g]);
    if (!fitting || packed->instructions == CS_INSTRUCTIONS_SCALAR) return CS_OK;
    if (!stages_fit(packed->schedule) || !velocities_fit(packed)) return CS_OK;

    /* Batches can update u after each visit or recompute it, but not add or accumulate changes. */
    cs_velocities velocities = cs_velocities_of(packed);
    if (velocities == CS_ADD || velocities == CS_ACCUMULATE) return CS_OK;

    /* Choose the kernels, and lay out each group that they can visit. */
    int64_t *touched = cs_arena_take(&scratch, packed->problem->bodies, sizeof(int64_t));
    if (!touched) return cs_no_memory(error, "batches of contacts");
    packed->wide = choose_kernels(packed, local, touched);
    for (int g = 0; g < packed->problem->block_groups && packed->wide && !status; g++)
        if (has_kernel(packed, g, local[g]))
            status = lay_out_group(packed, g, touched, arena, error);
    cs_arena_clear(&scratch);
    return status;
}

/* ---- roots of M^-1 --------------------------------------------------------------------------- */

/* Writes the numbers of a body's root: behind its velocity in the same stride, or, for CS_SOLIDS, at the same index
 * of `inertia`. */
static void put_root(const cs_packed *packed, const cs_body_group *owner, int64_t body,
                     cs_form form, int64_t at)
{
    double numbers[7];
    cs_body_root(owner, body, form, numbers);
    if (form == CS_SOLIDS) cs_convert(cs_real(packed->dtype), packed->inertia, at, numbers, 7);
    else if (form == CS_PLANAR)
        cs_convert(cs_real(packed->dtype), packed->velocity, at + 3, numbers, 1);
    else cs_convert(cs_real(packed->dtype), packed->velocity, at + 6, numbers, 2);
}

/* Writes the roots of all bodies with velocities, in a form. */
static void put_roots(const cs_packed *packed, cs_form form)
{
    const cs_problem *problem = packed->problem;
    int dof = form == CS_PLANAR ? 3 : 6;
    for (int g = 0; g < problem->body_groups; g++) {
        const cs_body_group *owner = &problem->body_group[g];
        for (int64_t k = 0; k < owner->count && owner->dof == dof; k++) {
            int64_t at = packed->body_place[owner->first_body + k];
            if (at >= 0) put_root(packed, owner, owner->first_body + k, form, at);
        }
    }
}

/* Copies the roots to the parts' own copies of the velocities. */
static void copy_roots(const cs_packed *packed)
{
    size_t size = cs_real_size(packed->dtype);
    char *velocity = packed->velocity, *inertia = packed->inertia;
    for (int64_t i = 0; i < packed->copy_start[packed->schedule->parts]; i++) {
        const cs_velocity_copy *copy = &packed->copy[i];
        size_t bytes = size * (size_t)cs_velocity_stride(copy->dof);
        size_t from = size * (size_t)copy->shared, to = size * (size_t)copy->own;
        memcpy(velocity + to, velocity + from, bytes);
        if (inertia) memcpy(inertia + to, inertia + from, bytes);
    }
}

void cs_wide_put_roots(cs_packed *packed)
{
    for (int g = 0; g < packed->problem->block_groups; g++)
        if (packed->group[g].factors.form != CS_GENERAL)
            put_roots(packed, packed->group[g].factors.form);
    copy_roots(packed);
}

cs_status cs_wide_pack_roots(cs_packed *packed, cs_arena *arena, cs_error *error)
{
    for (int g = 0; g < packed->problem->block_groups; g++) {
        if (packed->group[g].factors.form != CS_SOLIDS || packed->inertia) continue;
        packed->inertia = cs_arena_take(arena, packed->velocities, cs_real_size(packed->dtype));
        if (!packed->inertia) return cs_no_memory(error, "batches of contacts");
    }
    cs_wide_put_roots(packed);
    return CS_OK;
}

/* ---- report ---------------------------------------------------------------------------------- */

void cs_packed_kernel(const cs_packed *packed, char *text, size_t size)
{
    int groups = packed->problem->block_groups, wide = 0, compressed = 0;
    char some[48] = "";
    for (int g = 0; g < groups; g++) {
        wide += packed->group[g].lanes > 1;
        compressed += packed->group[g].factors.form != CS_GENERAL;
    }
    if (packed->row_kernels) {
        cs_rows_kernel(packed, text, size);
        return;
    }
    if (!wide) {
        snprintf(text, size, "scalar");
        return;
    }
    if (wide < groups) snprintf(some, sizeof some, " in %d of %d groups", wide, groups);
    snprintf(text, size, "wide, %s, %d lanes%s%s", packed->wide->name,
             packed->wide->lanes[packed->dtype], some,
             !compressed         ? ""
             : compressed < wide ? ", some compressed"
                                 : ", compressed");
}
