#include "scheme/compressed.h"
#include "scheme/dense.h"
#include "scheme/row_kernels.h"
#include "scheme/split.h"
#include "scheme/wide.h"

#include "core/costs.h"
#include "core/error.h"
#include "core/instructions.h"
#include "core/loop.h"
#include "core/parallel.h"
#include "distributed/ranks.h"
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

/* Whether a kernel can visit the contacts of a group: on several ranks, of which some may have none, by their kind alone. */
static int has_kernel(const cs_packed *packed, int g, cs_local local)
{
    const cs_block_group *blocks = &packed->problem->block_group[g];
    if (packed->device_kernels && blocks->partners != CS_PAIR) return 0;
    int fits = packed->ranks ? cs_shape_fits_lanes(blocks) : cs_fits_lanes(blocks);
    return !cs_solves_block(local) && fits;
}

/* Whether the stages can be visited in batches. A simultaneous stage can if it is the only one. */
static int stages_fit(const cs_packed *packed)
{
    const cs_schedule *schedule = packed->schedule;
    for (int64_t s = 0; s < schedule->stages; s++) {
        cs_stage_kind kind = schedule->stage[s].kind;
        if (kind == CS_SIMULTANEOUS && schedule->stages > 1) return 0;
        /* The warps of a device visit the batches of a stage in any order. */
        if (packed->device_kernels && kind != CS_SIMULTANEOUS && kind != CS_INDEPENDENT) return 0;
    }
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

    /* Copies of parts in concurrent stages: at most one for each partner of a block. */
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *blocks = &problem->block_group[g];
        length += (double)blocks->partners * (double)blocks->count * CS_MAX_DOF;
    }
    return length < (double)INT32_MAX;
}

/* ---- batches --------------------------------------------------------------------------------- */

/* The batches of one group. */
typedef struct batches {
    int64_t *slot;       /* (count): the slot of each visit */
    unsigned char *used; /* (slots / lanes): lanes of each batch that have a visit */
    int64_t slots;
} batches;

/* The walk of one thread through consecutive ranges of a group, which puts their visits into batches. */
typedef struct batch_walk {
    const cs_packed *packed;
    const batches *to;
    int group, lanes;
    int64_t first_range, end_range;
    int32_t
        *touched;  /* (bodies): one more than the first visit of the last batch that a body is in */
    int64_t first; /* the first visit of the walk */
    int64_t visit; /* the next one */
    int64_t slots; /* slots of this walk so far */
    int64_t begun; /* one more than the first visit of the present batch */
} batch_walk;

/* Begins a batch with the next visit. */
static void next_batch(batch_walk *w)
{
    w->slots = (w->slots + w->lanes - 1) / w->lanes * w->lanes;
    w->begun = w->visit + 1;
    w->to->used[w->first + w->slots / w->lanes] = 0;
}

/* The body of a partner; -1 if it does not move. */
static inline int64_t moving_body(const cs_block_group *blocks, int64_t index, int partner)
{
    return cs_partner_moves(blocks, index, partner) ? cs_partner_body(blocks, index, partner) : -1;
}

/* Whether a block with these moving bodies shares one with the present batch. If it does not, it joins the batch. */
CS_INLINE int conflicts(batch_walk *w, int64_t first, int64_t second)
{
    int32_t begun = (int32_t)w->begun;
    if (first >= 0 && w->touched[first] == begun) return 1;
    if (second >= 0 && w->touched[second] == begun) return 1;
    if (first >= 0) w->touched[first] = begun;
    if (second >= 0) w->touched[second] = begun;
    return 0;
}

/* The same for a block with more than two partners. */
static int conflict_of_several(batch_walk *w, const cs_block_group *blocks, int64_t index)
{
    int32_t begun = (int32_t)w->begun;
    for (int s = 0; s < blocks->partners; s++) {
        int64_t body = moving_body(blocks, index, s);
        if (body >= 0 && w->touched[body] == begun) return 1;
    }
    for (int s = 0; s < blocks->partners; s++) {
        int64_t body = moving_body(blocks, index, s);
        if (body >= 0) w->touched[body] = begun;
    }
    return 0;
}

/* Puts the visits of a range into batches. */
static void lay_range(batch_walk *w, cs_stage_kind kind, const cs_range *range)
{
    const cs_block_group *blocks = &w->packed->problem->block_group[w->group];
    const int64_t *index = w->packed->schedule->visit[w->group];
    int free = kind == CS_INDEPENDENT || kind == CS_SIMULTANEOUS;
    unsigned char *used = w->to->used + w->first;
    w->visit = range->first;
    next_batch(w);
    for (; w->visit < range->first + range->count; w->visit++) {
        /* A full batch, or a conflict, ends the batch, and the block joins the next one. */
        if (w->slots % w->lanes == 0) next_batch(w);
        if (!free && blocks->partners != CS_PAIR) {
            if (conflict_of_several(w, blocks, index[w->visit])) {
                next_batch(w);
                conflict_of_several(w, blocks, index[w->visit]);
            }
        } else if (!free) {
            int64_t first = moving_body(blocks, index[w->visit], 0);
            int64_t second = moving_body(blocks, index[w->visit], 1);
            if (conflicts(w, first, second)) {
                next_batch(w);
                conflicts(w, first, second);
            }
        }

        /* Take the next slot. */
        w->to->slot[w->visit] = w->slots;
        used[w->slots / w->lanes]++;
        w->slots++;
    }
}

/* Puts the visits of a walk into batches that begin at slot 0. The lanes used by batch i are written to
 * used[first + i]: there are no more batches than visits. */
static void walk_ranges(void *context, int piece)
{
    batch_walk *w = (batch_walk *)context + piece;
    const cs_schedule *schedule = w->packed->schedule;
    int64_t stage = 0;
    for (int64_t r = w->first_range; r < w->end_range; r++) {
        if (schedule->range[r].group != w->group) continue;
        while (stage + 1 < schedule->stages &&
               schedule->part[schedule->stage[stage + 1].first_part] <= r)
            stage++;
        lay_range(w, schedule->stage[stage].kind, &schedule->range[r]);
    }
    w->slots = (w->slots + w->lanes - 1) / w->lanes * w->lanes;
}

/* Moves the slots of a walk's visits behind those of the walks before it. */
static void shift_slots(void *context, int piece)
{
    const batch_walk *w = (const batch_walk *)context + piece;
    int64_t end = w[1].first;
    for (int64_t v = w->first; v < end; v++) w->to->slot[v] += w->begun;
}

/* Cuts the ranges of a group into walks of about equally many visits. walk[pieces].first is the number of visits. */
static void cut_ranges(const cs_packed *packed, int g, int pieces, batch_walk *walk)
{
    const cs_schedule *schedule = packed->schedule;
    int64_t count = packed->problem->block_group[g].count, visits = 0;
    int piece = 0;
    walk[0].first_range = walk[0].first = 0;
    for (int64_t r = 0; r < schedule->ranges; r++) {
        if (schedule->range[r].group != g) continue;
        for (; piece + 1 < pieces && visits >= count * (piece + 1) / pieces; piece++) {
            walk[piece].end_range = walk[piece + 1].first_range = r;
            walk[piece + 1].first = visits;
        }
        visits += schedule->range[r].count;
    }
    for (; piece < pieces; piece++) {
        walk[piece].end_range = walk[piece + 1].first_range = schedule->ranges;
        walk[piece + 1].first = count;
    }
}

/* Puts all visits of a group into batches of so many lanes. `touched` (pieces, bodies) is scratch. */
static void lay_group(const cs_packed *packed, int g, int lanes, int pieces, int32_t *touched,
                      batches *to)
{
    /* Lay out the walks, each by itself. */
    int64_t bodies = packed->problem->bodies;
    batch_walk walk[CS_MOST_PIECES + 1];
    cut_ranges(packed, g, pieces, walk);
    for (int p = 0; p < pieces; p++) {
        batch_walk *w = &walk[p];
        *w = (batch_walk){packed,   to, g, lanes, w->first_range, w->end_range, NULL,
                          w->first, 0,  0, 0};
        w->touched = touched + p * bodies;
    }
    memset(touched, 0, sizeof(int32_t) * (size_t)(pieces * bodies));
    if (pieces == 1) walk_ranges(walk, 0);
    else cs_parallel(pieces, walk_ranges, walk);

    /* Join them. */
    to->slots = 0;
    for (int p = 0; p < pieces; p++) {
        memmove(to->used + to->slots / lanes, to->used + walk[p].first,
                (size_t)(walk[p].slots / lanes));
        walk[p].begun = to->slots;
        to->slots += walk[p].slots;
    }
    if (pieces > 1) cs_parallel(pieces, shift_slots, walk);
}

/* Adds the slots and visits of a group in the parts of stages that belong to this rank. */
static void count_own(const cs_packed *packed, int g, int lanes, const batches *to, double total[2])
{
    const cs_schedule *schedule = packed->schedule;
    for (int64_t p = 0; p < schedule->parts; p++) {
        if (!cs_ranks_own(packed->ranks, schedule->owner[p])) continue;
        for (int64_t r = schedule->part[p]; r < schedule->part[p + 1]; r++) {
            const cs_range *range = &schedule->range[r];
            if (range->group != g || !range->count) continue;
            int64_t first = to->slot[range->first] / lanes;
            int64_t last = to->slot[range->first + range->count - 1] / lanes;
            total[0] += (double)((last - first + 1) * lanes);
            total[1] += (double)range->count;
        }
    }
}

/* Puts the visits of all groups that have a kernel into batches of so many lanes. Returns the fraction of slots with a
 * visit, of all ranks. */
static double lay_groups(const cs_packed *packed, const cs_local *local, int lanes, int pieces,
                         int32_t *touched, batches *to)
{
    double total[2] = {0, 0}; /* slots, visits */
    for (int g = 0; g < packed->problem->block_groups; g++) {
        if (!has_kernel(packed, g, local[g])) continue;
        lay_group(packed, g, lanes, pieces, touched, &to[g]);
        if (packed->ranks) {
            count_own(packed, g, lanes, &to[g], total);
            continue;
        }
        total[0] += (double)to[g].slots;
        total[1] += (double)packed->group[g].count;
    }
    cs_ranks_totals(packed->ranks, total, 2);
    return total[0] > 0 ? total[1] / total[0] : 0;
}

/* Lays out the groups for the kernels of the instruction set that the user asked for, or for those with the widest
 * vectors that are well filled. Returns the kernels; NULL if there are none. */
static const cs_wide_kernels *choose_kernels(const cs_packed *packed, const cs_local *local,
                                             int pieces, int32_t *touched, batches *to)
{
    if (packed->device_kernels || packed->instructions >= 0) {
        const cs_wide_kernels *given =
            packed->device_kernels ? packed->device_kernels : builds[packed->instructions];
        lay_groups(packed, local, given->lanes[packed->dtype], pieces, touched, to);
        return given;
    }
    for (int i = CS_INSTRUCTION_SETS - 1; i >= 0; i--) {
        int lanes = builds[i]->lanes[packed->dtype];
        int runs = cs_ranks_all(packed->ranks, cs_instructions_run(i));
        if (runs && lanes >= CS_WORTH_LANES &&
            lay_groups(packed, local, lanes, pieces, touched, to) >= CS_WORTH_FILL)
            return builds[i];
    }
    return NULL;
}

/* Chooses the form that the contacts of a group have on all ranks. Collective. */
static void join_forms(cs_ranks *ranks, cs_packed_factors *factors)
{
    const double own[2] = {factors->form, factors->handedness};
    const double *all = cs_ranks_gather(ranks, own, 2);
    for (int r = 0; all && r < cs_ranks_count(ranks); r++) {
        cs_form form = (cs_form)all[r * CS_RANKS_NUMBERS];
        int handedness = (int)all[r * CS_RANKS_NUMBERS + 1];
        int differ = handedness && factors->handedness && handedness != factors->handedness;
        if (form == CS_GENERAL || differ) factors->form = CS_GENERAL;
        else if (form == CS_SOLIDS && factors->form != CS_GENERAL) factors->form = CS_SOLIDS;
        if (!factors->handedness) factors->handedness = handedness;
    }

    /* Uncompressed factors have none. */
    if (factors->form == CS_GENERAL) factors->handedness = 1;
}

/* Describes the batches of a group, and chooses the form of its factors. */
static void describe_batches(cs_packed *packed, int g, const batches *laid)
{
    cs_packed_group *group = &packed->group[g];
    group->lanes = packed->wide->lanes[packed->dtype];
    group->slots = laid->slots;
    group->keeps = 1;
    group->slot = laid->slot;
    group->used = laid->used;
    group->factors.handedness = 1;
    if (packed->general) return;
    cs_choose_form(packed, g, &group->factors.form, &group->factors.handedness);
    if (packed->ranks) join_forms(packed->ranks, &group->factors);
    if (!group->factors.handedness) group->factors.handedness = 1;
}

/* Chooses the form of a group whose contacts are visited one after another in the parts of a batch. */
static void describe_parts(cs_packed *packed, int g, cs_local local)
{
    cs_packed_group *group = &packed->group[g];
    int spatial = group->rows == 3 && group->dof[0] == 6, flat = group->rows == 2;
    group->factors.handedness = 1;
    if (!has_kernel(packed, g, local) || group->partners != CS_PAIR || !(spatial || flat)) return;

    /* Visits of compressed contacts add to both bodies: these are not one. */
    const cs_block_group *blocks = &packed->problem->block_group[g];
    for (int64_t k = 0; k < blocks->count; k++) {
        int64_t first = moving_body(blocks, k, 0);
        if (first >= 0 && first == moving_body(blocks, k, 1)) return;
    }
    cs_choose_form(packed, g, &group->factors.form, &group->factors.handedness);
    if (!group->factors.handedness) group->factors.handedness = 1;
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
    for (int g = 0; g < packed->problem->block_groups && packed->by_parts && !packed->general; g++)
        describe_parts(packed, g, local[g]);
    if (!fitting || packed->instructions == CS_INSTRUCTIONS_SCALAR) return CS_OK;
    int fit = stages_fit(packed) && velocities_fit(packed);
    if (!cs_ranks_all(packed->ranks, fit)) return CS_OK;

    /* Batches can update u after each visit or recompute it, but not add or accumulate changes. */
    cs_velocities velocities = cs_velocities_of(packed);
    if (velocities == CS_ADD || velocities == CS_ACCUMULATE) return CS_OK;

    /* Allocate. Each batch has a visit, so that there are no more batches than blocks. */
    const cs_problem *problem = packed->problem;
    batches laid[CS_MAX_GROUPS];
    int pieces = cs_pieces(packed->setup_threads, problem->blocks);
    int32_t *touched = cs_arena_take_unset(&scratch, pieces * problem->bodies, sizeof(int32_t));
    for (int g = 0; g < problem->block_groups; g++) {
        if (!has_kernel(packed, g, local[g])) continue;
        laid[g].slot = cs_arena_take_unset(arena, problem->block_group[g].count, sizeof(int64_t));
        laid[g].used = cs_arena_take_unset(arena, problem->block_group[g].count + 1, 1);
    }
    status = cs_arena_failed(&scratch) ? cs_no_memory(error, "batches of contacts")
                                       : cs_arena_status(arena, error, "batches of contacts");

    /* Choose the kernels, and lay out each group that they can visit. */
    if (!status) packed->wide = choose_kernels(packed, local, pieces, touched, laid);
    for (int g = 0; g < problem->block_groups && packed->wide; g++)
        if (has_kernel(packed, g, local[g])) describe_batches(packed, g, &laid[g]);
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

/* The roots of the bodies of one group, which threads write. */
typedef struct roots {
    const cs_packed *packed;
    const cs_body_group *owner;
    cs_form form;
} roots;

static void put_some_roots(void *context, int64_t piece, int64_t first, int64_t end)
{
    (void)piece;
    const roots *all = context;
    for (int64_t body = first + all->owner->first_body; body < end + all->owner->first_body;
         body++) {
        int64_t at = all->packed->body_place[body];
        if (at >= 0) put_root(all->packed, all->owner, body, all->form, at);
    }
}

/* Writes the roots of all bodies with velocities, in a form. */
static void put_roots(const cs_packed *packed, cs_form form)
{
    const cs_problem *problem = packed->problem;
    for (int g = 0; g < problem->body_groups; g++) {
        const cs_body_group *owner = &problem->body_group[g];
        if (owner->dof != (form == CS_PLANAR ? 3 : 6)) continue;
        roots all = {packed, owner, form};
        cs_loop(packed->setup_threads, owner->count, put_some_roots, &all);
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
    cs_split_roots(packed);
}

void cs_wide_put_roots(cs_packed *packed)
{
    for (int g = 0; g < packed->problem->block_groups; g++) {
        cs_form form = packed->group[g].factors.form;
        if (form != CS_GENERAL && form != CS_WEIGHTED) put_roots(packed, form);
    }
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
    if (packed->row_kernels || packed->dense_kernels) {
        (packed->row_kernels ? cs_rows_kernel : cs_dense_kernel)(packed, text, size);
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
