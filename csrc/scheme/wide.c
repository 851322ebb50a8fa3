#include "scheme/compressed.h"
#include "scheme/row_kernels.h"
#include "scheme/wide.h"

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

/* Batches that are emptier, or vectors that are narrower, gain nothing over visits one after
 * another. */
#define WORTH_FILL 0.75
enum { WORTH_LANES = 4 };

/* ---- what fits ------------------------------------------------------------------------------- */

static int has_kernel(const cs_packed *packed, int g, cs_local local)
{
    return !cs_solves_block(local) && cs_fits_lanes(&packed->problem->block_group[g]);
}

/* Simultaneous stages are visited in batches where they are the whole sweep. */
static int stages_fit(const cs_schedule *schedule)
{
    if (schedule->stages == 1) return 1;
    for (int64_t s = 0; s < schedule->stages; s++)
        if (schedule->stage[s].kind == CS_SIMULTANEOUS) return 0;
    return 1;
}

/* Places are kept in 32 bits. */
static int velocities_fit(const cs_packed *packed)
{
    const cs_problem *problem = packed->problem;
    double length = (double)(packed->schedule->most_parts + 1) * CS_MAX_DOF;
    for (int g = 0; g < problem->body_groups; g++) {
        const cs_body_group *bodies = &problem->body_group[g];
        length += (double)bodies->count * cs_velocity_stride(bodies->dof);
    }
    /* Parts of concurrent stages have copies of what they touch: two bodies a contact at most. */
    length += 2.0 * (double)problem->blocks * CS_MAX_DOF;
    return length < (double)INT32_MAX;
}

/* ---- batches --------------------------------------------------------------------------------- */

typedef struct laying {
    const cs_packed *packed;
    int group, lanes;
    int64_t *touched; /* (bodies): the last batch (+ 1) that a body is in */
    int64_t slots;    /* so far */
    int64_t *slot;    /* of each visit; NULL to count only */
    unsigned char *used;
} laying;

static void next_batch(laying *l) { l->slots = (l->slots + l->lanes - 1) / l->lanes * l->lanes; }

/* Whether a block shares a moving body with the batch at hand; if not, it is in it from now on. */
static int conflicts(laying *l, int64_t index)
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

static void lay_range(laying *l, cs_stage_kind kind, const cs_range *range)
{
    const int64_t *visit = l->packed->schedule->visit[l->group];
    int free = kind == CS_INDEPENDENT || kind == CS_SIMULTANEOUS;
    next_batch(l);
    for (int64_t v = range->first; v < range->first + range->count; v++) {
        if (!free && conflicts(l, visit[v])) {
            next_batch(l);
            conflicts(l, visit[v]);
        }
        if (l->slot) {
            l->slot[v] = l->slots;
            l->used[l->slots / l->lanes]++;
        }
        l->slots++;
    }
}

/* Puts the visits of a group into batches; returns how many slots that takes. */
static int64_t lay_group(laying *l)
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

/* Slots of all groups with a kernel, and how many of them would be used. */
static double fill_of(const cs_packed *packed, const cs_local *local, int lanes, int64_t *touched)
{
    double slots = 0, visits = 0;
    for (int g = 0; g < packed->problem->block_groups; g++) {
        laying l = {.packed = packed, .group = g, .lanes = lanes, .touched = touched};
        if (!has_kernel(packed, g, local[g])) continue;
        slots += (double)lay_group(&l);
        visits += (double)packed->group[g].count;
    }
    return slots > 0 ? visits / slots : 0;
}

/* What was asked for, or the widest vectors that are well filled; NULL for none. */
static const cs_wide_kernels *choose(const cs_packed *packed, const cs_local *local,
                                     int64_t *touched)
{
    if (packed->instructions >= 0) return builds[packed->instructions];
    for (int i = CS_INSTRUCTION_SETS - 1; i >= 0; i--) {
        int lanes = builds[i]->lanes[packed->dtype];
        if (cs_instructions_run(i) && lanes >= WORTH_LANES &&
            fill_of(packed, local, lanes, touched) >= WORTH_FILL)
            return builds[i];
    }
    return NULL;
}

static cs_status lay_out_group(cs_packed *packed, int g, int64_t *touched, cs_arena *arena,
                               cs_error *error)
{
    cs_packed_group *group = &packed->group[g];
    laying l = {.packed = packed, .group = g, .touched = touched};
    l.lanes = packed->wide->lanes[packed->dtype];
    int64_t slots = lay_group(&l);
    l.slot = cs_arena_take_unset(arena, group->count, sizeof(int64_t));
    l.used = cs_arena_take(arena, slots / l.lanes, 1);
    if (cs_arena_failed(arena)) return cs_no_memory(error, "batches of contacts");
    group->slots = lay_group(&l);
    group->lanes = l.lanes;
    group->keeps = 1;
    group->slot = l.slot;
    group->used = l.used;
    group->factors.hand = 1;
    if (!packed->general) cs_choose_form(packed, g, &group->factors.form, &group->factors.hand);
    return CS_OK;
}

cs_status cs_wide_lay_out(cs_packed *packed, const cs_local *local, cs_arena *arena,
                          cs_error *error)
{
    cs_arena scratch = {0};
    cs_status status = CS_OK;
    int fitting = 0;
    for (int g = 0; g < packed->problem->block_groups; g++)
        fitting += has_kernel(packed, g, local[g]);
    if (!fitting || packed->instructions == CS_INSTRUCTIONS_SCALAR) return CS_OK;
    if (!stages_fit(packed->schedule) || !velocities_fit(packed)) return CS_OK;
    /* Batches know of adding to u and of recomputing it, body by body. */
    cs_velocities velocities = cs_velocities_of(packed);
    if (velocities == CS_ADD || velocities == CS_ACCUMULATE) return CS_OK;
    int64_t *touched = cs_arena_take(&scratch, packed->problem->bodies, sizeof(int64_t));
    if (!touched) return cs_no_memory(error, "batches of contacts");
    packed->wide = choose(packed, local, touched);
    for (int g = 0; g < packed->problem->block_groups && packed->wide && !status; g++)
        if (has_kernel(packed, g, local[g]))
            status = lay_out_group(packed, g, touched, arena, error);
    cs_arena_clear(&scratch);
    return status;
}

/* ---- roots of M^-1 --------------------------------------------------------------------------- */

/* The numbers of a body's root, to the places behind its velocity or, for CS_SOLIDS, beside it. */
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

/* The same beside the parts' own copies. */
static void copy_roots(const cs_packed *packed)
{
    size_t size = cs_real_size(packed->dtype);
    char *velocity = packed->velocity, *inertia = packed->inertia;
    for (int64_t i = 0; i < packed->local_start[packed->schedule->parts]; i++) {
        const cs_local_velocity *local = &packed->local[i];
        size_t bytes = size * (size_t)cs_velocity_stride(local->dof);
        size_t from = size * (size_t)local->place, to = size * (size_t)local->copy;
        memcpy(velocity + to, velocity + from, bytes);
        if (inertia) memcpy(inertia + to, inertia + from, bytes);
    }
}

cs_status cs_wide_pack_roots(cs_packed *packed, cs_arena *arena, cs_error *error)
{
    for (int g = 0; g < packed->problem->block_groups; g++) {
        cs_form form = packed->group[g].factors.form;
        if (form == CS_GENERAL) continue;
        if (form == CS_SOLIDS && !packed->inertia) {
            packed->inertia = cs_arena_take(arena, packed->velocities, cs_real_size(packed->dtype));
            if (!packed->inertia) return cs_no_memory(error, "batches of contacts");
        }
        put_roots(packed, form);
    }
    copy_roots(packed);
    return CS_OK;
}

/* ---- what is told ---------------------------------------------------------------------------- */

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
