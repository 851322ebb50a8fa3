/* The scheme `factorized`: stores G_k = J_k L of each contact, and u = G^T lambda of each body, where M^-1 = L L^T. */
#include "core/costs.h"
#include "core/error.h"
#include "core/loop.h"
#include "distributed/ranks.h"
#include "scheme/factorized.h"
#include "scheme/fill.h"
#include "scheme/split.h"
#include "scheme/wide.h"

#include <stdatomic.h>
#include <string.h>

/* ---- options --------------------------------------------------------------------------------- */

enum { VELOCITIES, OPTIONS };

/* In the sequence of cs_velocities. */
static const char *const velocities[] = {"auto", "recompute", "add", "accumulate", NULL};

static const cs_option option[OPTIONS] = {
    [VELOCITIES] = CS_WORD_OPTION("velocities", velocities,
                                  "how u follows a sweep, or a stage of one, whose contacts do not "
                                  "see each other, such as Jacobi's"),
};

cs_velocities cs_velocities_of(const cs_packed *packed)
{
    return (cs_velocities)cs_scheme_value(packed, VELOCITIES);
}

/* ---- phases of a stage ------------------------------------------------------------------------- */

/* How u is updated after a simultaneous stage. To recompute it takes time for all contacts, to add changes takes time
 * for the contacts of the stage. */
static cs_velocities velocity_update_of(const cs_packed *packed, const cs_stage *stage)
{
    cs_velocities given = cs_velocities_of(packed);
    if (given != CS_AS_FITS) return given;
    if (packed->device_kernels) return CS_RECOMPUTE; /* threads share it body by body */
    int64_t visits = stage->blocks, contacts = packed->problem->blocks;
    if (packed->ranks) {
        visits = cs_ranks_visits(packed->ranks, stage - packed->schedule->stage);
        contacts = cs_ranks_share(packed->ranks)->all_contacts;
    }
    return 4 * visits > contacts ? CS_RECOMPUTE : CS_ADD;
}

/* The number of tasks of a phase: see the table above. */
static int64_t tasks(const cs_packed *packed, const cs_stage *stage, int phase)
{
    int concurrent = stage->kind == CS_CONCURRENT, simultaneous = stage->kind == CS_SIMULTANEOUS;
    cs_velocities way = velocity_update_of(packed, stage);
    int recomputes = simultaneous && way == CS_RECOMPUTE, adds = simultaneous && way == CS_ADD;
    int accumulates = simultaneous && way == CS_ACCUMULATE;
    int weighs = concurrent && packed->schedule->weight < 1;
    switch (phase) {
    case FACTORIZED_KEEP: return adds || accumulates || weighs ? stage->parts : 0;
    case FACTORIZED_ADD: return adds ? 1 : 0;
    case FACTORIZED_ACCUMULATE: return accumulates ? stage->parts : 0;
    case FACTORIZED_COPY:
    case FACTORIZED_CHANGE: return concurrent ? stage->parts : 0;
    case FACTORIZED_VISIT: return stage->parts;
    case FACTORIZED_GATHER: return recomputes ? cs_chunks(packed->moved_bodies) : 0;
    case FACTORIZED_MERGE: return concurrent || accumulates ? 1 : 0;
    }
    return -1;
}

/* ---- u anew, from batches ------------------------------------------------------------------------ */

/* One group in batches, whose visits compute u without a change of lambda. */
typedef struct refreshing {
    cs_packed *packed;
    const cs_packed_group *group;
} refreshing;

/* The batches first .. end - 1. */
static void refresh_batches(const refreshing *r, int64_t first, int64_t end)
{
    r->packed->wide->visit[r->packed->dtype](r->packed, r->group, first, end, NULL);
}

/* Pieces are counted by slots, which are what costs time. */
static void refresh_piece(void *context, int64_t piece, int64_t begin, int64_t end)
{
    const refreshing *r = context;
    int64_t lanes = r->group->lanes;
    (void)piece;
    refresh_batches(r, (begin + lanes - 1) / lanes, (end + lanes - 1) / lanes);
}

/* The contributions of the group's batches, each to numbers of its own. */
static void refresh_contributions(cs_packed *packed, const cs_packed_group *group)
{
    refreshing r = {packed, group};
    cs_loop(cs_packed_threads(packed), group->slots, refresh_piece, &r);
}

/* The group's batches in one part of a stage. */
static void refresh_part(void *context, int64_t stage, int64_t task)
{
    const refreshing *r = context;
    const cs_packed_group *group = r->group;
    const cs_schedule *schedule = r->packed->schedule;
    int64_t part = schedule->stage[stage].first_part + task;
    for (int64_t i = schedule->part[part]; i < schedule->part[part + 1]; i++) {
        const cs_range *range = &schedule->range[i];
        if (&r->packed->group[range->group] != group) continue;
        refresh_batches(r, cs_first_batch(group, range), cs_end_batch(group, range));
    }
}

/* Whether the parts of a stage take less time than threads take to wait for each other, as in a sweep. */
static int is_brief(const cs_packed *packed, const cs_stage *stage)
{
    return packed->paced && stage->blocks < CS_WORTH_A_PHASE;
}

/* u += G^T lambda of the group's batches. Threads go through the stages as a sweep does: in each sum of a body, the
 * batches remain in their order. */
static void refresh_sums(cs_packed *packed, const cs_packed_group *group)
{
    refreshing r = {packed, group};
    const cs_schedule *schedule = packed->schedule;
    int threads = cs_packed_threads(packed);
    if (threads <= 1) {
        refresh_batches(&r, 0, group->slots / group->lanes);
        return;
    }
    for (int64_t s = 0; s < schedule->stages; s++) {
        const cs_stage *stage = &schedule->stage[s];
        packed->shared_phase[s] = (cs_phase){stage->parts, is_brief(packed, stage)};
    }
    cs_phases_run(&(cs_phases){schedule->stages, packed->shared_phase, refresh_part, &r}, threads);
}

#define CS_TEMPLATE "scheme/factorized.inc"
#define CS_MIXED_TOO
#include "core/each_precision.h"

/* ---- packing --------------------------------------------------------------------------------- */

/* Allocates and computes the factors of a group, in its form if all contacts fit it, otherwise as CS_GENERAL. */
static cs_status pack_factors(cs_packed *packed, int g, cs_arena *arena, cs_error *error)
{
    cs_packed_group *group = &packed->group[g];
    for (;;) {
        int64_t size =
            cs_form_width(group->factors.form, group->rows, group->column[group->partners]);
        group->factors.scaled = cs_take_visits(cs_stored(packed->dtype), group, size, arena);
        if (!group->factors.scaled) return cs_no_memory(error, "the factors of A");
        if (cs_ranks_all(packed->ranks, cs_fill_factors(packed, g))) break;
        if (group->factors.form == CS_GENERAL) return cs_ranks_status(packed->ranks, error);
        group->factors.form = CS_GENERAL;
        group->factors.handedness = 1;
    }
    cs_split_factors(packed, g);
    return CS_OK;
}

/* Packs what the visits of a group read. */
static cs_status pack_group(cs_packed *packed, int g, cs_arena *arena, cs_error *error)
{
    const cs_problem *problem = packed->problem;
    const cs_block_group *blocks = &problem->block_group[g];
    cs_packed_group *group = &packed->group[g];
    size_t bytes = cs_real_size(packed->dtype);
    cs_dtype real = cs_real(packed->dtype);
    int64_t partners = group->partners;
    cs_status status = pack_factors(packed, g, arena, error);
    if (status) return status;

    /* Allocate the places of the partners' velocities. */
    if (group->lanes > 1)
        group->factors.place = cs_arena_take_unset(arena, partners * group->slots, sizeof(int32_t));
    else
        group->factors.velocity =
            cs_arena_take_unset(arena, partners * group->count, sizeof(int64_t));
    if (cs_velocities_of(packed) == CS_ACCUMULATE)
        group->factors.sum = cs_arena_take(arena, partners * group->count, sizeof(int64_t));

    /* Allocate the compliance, and the contributions of batches that share bodies. */
    if (blocks->compliance)
        group->factors.compliance = cs_take_visits(real, group, group->rows, arena);
    if (group->lanes > 1 && packed->schedule->stage[0].kind == CS_SIMULTANEOUS) {
        int64_t sides = partners * group->slots;
        group->factors.contribution =
            cs_arena_take(arena, sides * cs_velocity_stride(group->dof[0]), bytes);
    }
    status = cs_arena_status(arena, error, "the factors of A");
    if (status) return status;

    /* Copy the compliance. */
    for (int64_t v = 0; v < group->count && group->factors.compliance; v++)
        cs_put_visit(real, group, group->factors.compliance, v,
                     blocks->compliance + packed->schedule->visit[g][v] * group->rows, group->rows);
    return CS_OK;
}

/* Whether the velocities of bodies are summed over this group's contacts one by one. Batches without contributions
 * add to u themselves. */
static int is_gathered(const cs_packed *packed, const cs_packed_group *group)
{
    return !packed->by_parts && (group->lanes == 1 || group->factors.contribution);
}

/* visit (count) <- the visit to each block of a group. */
static void invert_visits(const cs_packed *packed, int g, int64_t *visit)
{
    const int64_t *index = packed->schedule->visit[g];
    for (int64_t v = 0; v < packed->group[g].count; v++) visit[index[v]] = v;
}

/* Lists the terms of each body's velocity: the sides of its contacts in gathered groups, by group and visit; or, where the
 * first stage is simultaneous, by group and block, so that Jacobi's bits do not depend on the order. */
static cs_status pack_gather(cs_packed *packed, cs_arena *arena, cs_error *error)
{
    /* Allocate. */
    const cs_problem *problem = packed->problem;
    int64_t sides = 0;
    for (int g = 0; g < problem->block_groups; g++)
        if (is_gathered(packed, &packed->group[g]))
            sides += packed->group[g].partners * packed->group[g].count;
    const cs_schedule *schedule = packed->schedule;
    int by_block =
        schedule->stages && schedule->stage[0].kind == CS_SIMULTANEOUS && !schedule->natural;
    cs_arena scratch = {0};
    int64_t *visit = cs_arena_take_unset(&scratch, by_block ? problem->blocks : 0, sizeof(int64_t));
    packed->gather_start = cs_arena_take(arena, problem->bodies + 2, sizeof(int64_t));
    packed->gather = cs_arena_take_unset(arena, sides, sizeof(cs_velocity_term));
    if (cs_arena_failed(arena) || !visit) {
        cs_arena_clear(&scratch);
        return cs_no_memory(error, "the factors of A");
    }

    /* Counting sort by body: the first pass counts the terms, the second one writes them. */
    int64_t *next = packed->gather_start + 1;
    for (int filling = 0; filling < 2; filling++) {
        for (int g = 0; g < problem->block_groups; g++) {
            const cs_block_group *blocks = &problem->block_group[g];
            if (!is_gathered(packed, &packed->group[g])) continue;
            if (by_block) invert_visits(packed, g, visit);
            for (int64_t n = 0; n < blocks->count; n++)
                for (int side = 0; side < cs_block_partners(blocks); side++) {
                    int64_t v = by_block ? visit[n] : n;
                    int64_t index = packed->schedule->visit[g][v];
                    int64_t body = cs_partner_body(blocks, index, side);
                    if (!cs_partner_moves(blocks, index, side)) continue;
                    if (filling) packed->gather[next[body]++] = (cs_velocity_term){v, g, side};
                    else next[body + 1]++;
                }
        }

        /* Sum the counts between the passes. */
        for (int64_t body = 0; body < problem->bodies && !filling; body++)
            next[body + 1] += next[body];
    }
    cs_arena_clear(&scratch);
    return CS_OK;
}

/* ---- where the partners' velocities are ------------------------------------------------------ */

typedef struct placement {
    cs_packed *packed;
    const cs_stage *stage;
    int64_t *copy;   /* (velocities): the last copy (+ 1) of the velocity at each index */
    int64_t part;    /* the current part, counted through all stages; -1 before the first */
    int64_t end;     /* where the next copy goes */
    int fill;        /* 0: count only; 1: write */
    int accumulates; /* parts sum their changes (CS_ACCUMULATE) */
} placement;

/* The index of the part's own copy of the velocity at `place`. Makes the copy if the part has none. While counting
 * the index has no meaning. */
static int64_t place_copy(placement *p, int64_t place, int dof)
{
    /* The part has the copy if the last one of this velocity is among the part's own. */
    cs_packed *packed = p->packed;
    int64_t first = packed->copy_start[p->part], *count = &packed->copy_start[p->part + 1];
    int64_t known = p->copy[place] - 1;
    if (known >= first && known < *count && (!p->fill || packed->copy[known].shared == place))
        return p->fill ? packed->copy[known].own : 0;

    /* Make a copy behind all others. */
    p->copy[place] = *count + 1;
    if (p->fill) packed->copy[*count] = (cs_velocity_copy){place, p->end, dof};
    ++*count;
    p->end += cs_velocity_stride(dof);
    return p->end - cs_velocity_stride(dof);
}

/* Writes the index `at` of the velocity of one side of a visit; in batches with 32 bits. The first lane of a batch
 * sets all lanes to spare velocities. Several spare velocities are used, because a lane that loads what another
 * lane has just stored waits for that store. */
static void put_place(cs_packed_group *group, int64_t visit, int side, int64_t at, int64_t spare)
{
    if (group->lanes == 1) {
        group->factors.velocity[group->partners * visit + side] = at;
        return;
    }
    int lane = (int)cs_lane_of(group, group->slot[visit]);
    int32_t *place =
        group->factors.place + group->partners * (group->slot[visit] - lane) + side * group->lanes;
    for (int l = 0; l < group->lanes && lane == 0; l++)
        place[l] = (int32_t)(spare + l % (CS_MAX_DOF / 8) * 8);
    if (at != spare) place[lane] = (int32_t)at;
}

/* Writes where a visit finds the velocities of its partners. `part`: of the stage. */
CS_INLINE void place_visit(placement *p, int g, int64_t visit, int64_t part)
{
    const cs_problem *problem = p->packed->problem;
    const cs_block_group *blocks = &problem->block_group[g];
    int64_t index = p->packed->schedule->visit[g][visit];
    cs_packed_group *group = &p->packed->group[g];
    int concurrent = p->stage->kind == CS_CONCURRENT;
    int sums = p->stage->kind == CS_SIMULTANEOUS && p->accumulates;
    for (int side = 0; side < cs_block_partners(blocks); side++) {
        /* An immovable partner has the part's spare velocity. */
        int64_t spare = p->packed->first_spare + part * CS_MAX_DOF, at = spare;
        int64_t body = cs_partner_body(blocks, index, side);
        if (cs_partner_moves(blocks, index, side)) at = p->packed->body_place[body];

        /* Parts of a concurrent stage have copies; CS_ACCUMULATE uses copies as sums. */
        int64_t own = at;
        if (at != spare && (concurrent || sums)) own = place_copy(p, at, blocks->dof[side]);
        if (!p->fill) continue;
        put_place(group, visit, side, concurrent ? own : at, spare);
        if (sums) group->factors.sum[group->partners * visit + side] = own;
    }
}

/* Places the visits of one part of the current stage. */
static void place_part(placement *p, int64_t part)
{
    const cs_schedule *schedule = p->packed->schedule;
    int64_t number = p->part = p->stage->first_part + part;
    p->packed->copy_start[number + 1] = p->packed->copy_start[number];
    for (int64_t r = schedule->part[number]; r < schedule->part[number + 1]; r++) {
        const cs_range *range = &schedule->range[r];
        for (int64_t v = range->first; v < range->first + range->count; v++)
            place_visit(p, range->group, v, part);
    }
}

/* Writes where the visits of one range find their velocities, if no part has copies. */
static void place_range(const cs_packed *packed, const cs_range *range, int64_t part)
{
    const cs_packed_group *group = &packed->group[range->group];
    const cs_block_group *blocks = &packed->problem->block_group[range->group];
    const int64_t *visit = packed->schedule->visit[range->group];
    const int64_t *body_place = packed->body_place;
    int64_t lanes = group->lanes, spare = packed->first_spare + part * CS_MAX_DOF;
    int partners = group->partners;
    for (int64_t v = range->first; v < range->first + range->count; v++) {
        int64_t body[CS_MAX_PARTNERS];
        for (int s = 0; s < partners; s++) body[s] = cs_partner_body(blocks, visit[v], s);
        for (int s = 0; s < partners && lanes == 1; s++) {
            int64_t at = body[s] < 0 ? -1 : body_place[body[s]];
            group->factors.velocity[partners * v + s] = at < 0 ? spare : at;
        }
        if (lanes == 1) continue;

        /* The first visit of a batch sets all lanes to spare velocities. */
        int64_t lane = cs_lane_of(group, group->slot[v]);
        int32_t *place = group->factors.place + partners * (group->slot[v] - lane);
        for (int64_t l = 0; l < partners * lanes && lane == 0; l++)
            place[l] = (int32_t)(spare + l % lanes % (CS_MAX_DOF / 8) * 8);
        for (int s = 0; s < partners; s++) {
            int64_t at = body[s] < 0 ? -1 : body_place[body[s]];
            if (at >= 0) place[s * lanes + lane] = (int32_t)at;
        }
    }
}

/* The same for the ranges of one part. Parts are independent of each other. */
static void place_own(void *context, const cs_stage *stage, int64_t part)
{
    const cs_packed *packed = context;
    const cs_schedule *schedule = packed->schedule;
    for (int64_t r = schedule->part[part]; r < schedule->part[part + 1]; r++)
        place_range(packed, &schedule->range[r], part - stage->first_part);
}

/* Goes through all visits, and counts the parts' copies, or, with `fill`, writes all places. Returns the length of
 * cs_packed.velocity. */
static int64_t place(cs_packed *packed, int64_t *copy, int fill)
{
    const cs_schedule *schedule = packed->schedule;
    placement p = {.packed = packed, .copy = copy, .part = -1, .fill = fill};
    p.accumulates = cs_velocities_of(packed) == CS_ACCUMULATE;
    p.end = packed->first_spare + CS_MAX_DOF * (schedule->most_parts + 1);
    packed->copy_start[0] = 0;
    for (int64_t s = 0; s < schedule->stages; s++) {
        p.stage = &schedule->stage[s];
        for (int64_t part = 0; part < p.stage->parts; part++) place_part(&p, part);
    }
    return p.end;
}

/* Whether parts have copies of velocities, for concurrent stages or for CS_ACCUMULATE. */
static int needs_copies(const cs_packed *packed)
{
    for (int64_t s = 0; s < packed->schedule->stages; s++)
        if (packed->schedule->stage[s].kind == CS_CONCURRENT) return 1;
    return cs_velocities_of(packed) == CS_ACCUMULATE;
}

/* The blocks of one group, whose movable bodies threads mark. */
typedef struct marking {
    const cs_block_group *group;
    atomic_uchar *moves; /* (bodies): whether a block moves it */
} marking;

static void mark_bodies(void *context, int64_t piece, int64_t first, int64_t end)
{
    (void)piece;
    const marking *m = context;
    for (int64_t k = first; k < end; k++)
        for (int side = 0; side < cs_block_partners(m->group); side++) {
            if (!cs_partner_moves(m->group, k, side)) continue;
            atomic_uchar *mark = &m->moves[cs_partner_body(m->group, k, side)];
            if (!atomic_load_explicit(mark, memory_order_relaxed))
                atomic_store_explicit(mark, 1, memory_order_relaxed);
        }
}

/* Places the velocities of the bodies that blocks move, in the order of their numbers. Other bodies get none. */
static cs_status place_bodies(cs_packed *packed, cs_arena *arena, cs_error *error)
{
    /* Mark these bodies. */
    cs_arena scratch = {0};
    const cs_problem *problem = packed->problem;
    packed->body_place = cs_arena_take_unset(arena, problem->bodies, sizeof(int64_t));
    packed->moved = cs_arena_take_unset(arena, problem->bodies, sizeof(int64_t));
    atomic_uchar *moves = cs_arena_take(&scratch, problem->bodies, sizeof *moves);
    if (cs_arena_failed(arena) || !moves) {
        cs_arena_clear(&scratch);
        return cs_no_memory(error, "the factors of A");
    }
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        cs_loop(packed->setup_threads, group->count, mark_bodies, &(marking){group, moves});
    }

    /* List and place them. */
    packed->moved_bodies = 0;
    for (int g = 0; g < problem->body_groups; g++) {
        const cs_body_group *group = &problem->body_group[g];
        for (int64_t body = group->first_body; body < group->first_body + group->count; body++) {
            packed->body_place[body] = -1;
            if (!moves[body]) continue;
            packed->body_place[body] = packed->first_spare;
            packed->first_spare += cs_velocity_stride(group->dof);
            packed->moved[packed->moved_bodies++] = body;
        }
    }
    cs_arena_clear(&scratch);
    return CS_OK;
}

/* Counts the copies of the parts, and makes room for them. `copy` (packed->first_spare) is scratch. */
static cs_status count_copies(cs_packed *packed, cs_arena *scratch, cs_arena *arena, int64_t **copy,
                              cs_error *error)
{
    *copy = cs_arena_take(scratch, packed->first_spare, sizeof(int64_t));
    if (!*copy) return cs_no_memory(error, "the factors of A");
    packed->velocities = place(packed, *copy, 0);
    packed->copy =
        cs_arena_take(arena, packed->copy_start[packed->schedule->parts], sizeof(cs_velocity_copy));
    memset(*copy, 0, sizeof(int64_t) * (size_t)packed->first_spare);
    return cs_arena_status(arena, error, "the factors of A");
}

/* Places all velocities: of bodies, spare ones, and copies. */
static cs_status place_velocities(cs_packed *packed, cs_arena *arena, cs_error *error)
{
    /* The velocities of bodies, and spare ones. */
    cs_arena scratch = {0};
    cs_status status = place_bodies(packed, arena, error);
    if (status) return status;
    int64_t *copy = NULL;
    packed->velocities = packed->first_spare + CS_MAX_DOF * (packed->schedule->most_parts + 1);
    packed->copy_start = cs_arena_take(arena, packed->schedule->parts + 1, sizeof(int64_t));
    if (!packed->copy_start) return cs_no_memory(error, "the factors of A");

    /* Copies, where parts need them. */
    if (needs_copies(packed)) status = count_copies(packed, &scratch, arena, &copy, error);
    if (!status) {
        packed->velocity = cs_loop_take(packed->setup_threads, arena, packed->velocities,
                                        cs_real_size(packed->dtype));
        if (!packed->velocity) status = cs_no_memory(error, "the factors of A");
    }

    /* Where each visit finds its velocities. */
    if (!status && copy) place(packed, copy, 1);
    else if (!status) cs_share_parts(packed, place_own, packed);
    cs_arena_clear(&scratch);
    return status;
}

static cs_status pack(cs_packed *packed, cs_arena *arena, const cs_control *control,
                      cs_error *error)
{
    (void)control; /* needs no cancellation: the work is linear in the contacts */
    for (int g = 0; g < packed->problem->block_groups; g++) {
        cs_status status = pack_group(packed, g, arena, error);
        if (status) return status;
    }
    cs_watch_packing(packed);
    cs_status status = place_velocities(packed, arena, error);
    if (!status) status = pack_gather(packed, arena, error);
    if (!status) status = cs_pack_splits(packed, arena, error);
    return status ? status : cs_wide_pack_roots(packed, arena, error);
}

/* Whether packing a group anew would choose the form that it has. */
static int keeps_form(const cs_packed *packed, int g)
{
    const cs_packed_factors *factors = &packed->group[g].factors;
    cs_form form = CS_GENERAL;
    int handedness = factors->handedness;
    if (packed->group[g].lanes > 1 && !packed->general)
        cs_choose_form(packed, g, &form, &handedness);
    if (!handedness) handedness = 1;
    return form == factors->form && (form == CS_GENERAL || handedness == factors->handedness);
}

/* The layout depends on the contact graph and on the forms of the groups only. */
static int refill(cs_packed *packed, int roots)
{
    for (int g = 0; g < packed->problem->block_groups; g++) {
        if (!keeps_form(packed, g) || !cs_fill_factors(packed, g)) return 0;
        cs_split_factors(packed, g);
    }
    if (!roots) return 1;
    memset(packed->velocity, 0, (size_t)packed->velocities * cs_real_size(packed->dtype));
    cs_wide_put_roots(packed);
    return 1;
}

const cs_scheme cs_scheme_factorized = {
    .name = "factorized",
    .summary = "u = G^T lambda kept up to date, A never formed (S1 section 3.4.2)",
    .about =
        "Velocities: \"recompute\" computes u from all contacts, body by body (S1 section 6.4 "
        "finds it faster); \"add\" adds the changes contact by contact (S1 eq. 3.19); "
        "\"accumulate\" lets every part sum its changes, and adds the sums in order (S1 section "
        "6.2); \"auto\" recomputes u after large stages and adds to it after small ones. The "
        "results differ by rounding only.",
    .option = option,
    .options = OPTIONS,
    .needs_jacobian = 1,
    .lay_out = cs_wide_lay_out,
    .pack = pack,
    .refill = refill,
    .refresh = {factorized_refresh_f32, factorized_refresh_f64, factorized_refresh_mixed},
    .subtract_products = subtract_factors_mixed,
    .weighs = 1,
    .splits_masses = 1,
    .visit = FACTORIZED_VISIT,
    .merge = FACTORIZED_MERGE,
    .tasks = tasks,
    .run = {factorized_run_f32, factorized_run_f64, factorized_run_mixed},
};
