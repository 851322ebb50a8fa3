#include "scheme/scheme.h"

#include "core/error.h"
#include "core/loop.h"
#include "core/parallel.h"
#include "distributed/ranks.h"

#include <string.h>

#define CS_SCHEME(name) extern const cs_scheme cs_scheme_##name;
#include "scheme/schemes.def"
#undef CS_SCHEME

static const cs_scheme *const schemes[] = {
#define CS_SCHEME(name) &cs_scheme_##name,
#include "scheme/schemes.def"
#undef CS_SCHEME
};
enum { SCHEMES = sizeof schemes / sizeof *schemes };

const cs_scheme *cs_scheme_find(const char *name)
{
    for (int i = 0; i < SCHEMES; i++)
        if (strcmp(schemes[i]->name, name) == 0) return schemes[i];
    return NULL;
}

const char *cs_scheme_name(int i, const char **summary)
{
    if (i < 0 || i >= SCHEMES) return NULL;
    if (summary) *summary = schemes[i]->summary;
    return schemes[i]->name;
}

int cs_scheme_describe(int i, cs_scheme_info *info)
{
    if (i < 0 || i >= SCHEMES) return 0;
    const cs_scheme *scheme = schemes[i];
    *info = (cs_scheme_info){
        .name = scheme->name,
        .summary = scheme->summary,
        .about = scheme->about,
        .option = scheme->option,
        .options = scheme->options,
    };
    return 1;
}

cs_status cs_scheme_settle(const cs_scheme *scheme, const cs_setting *settings, int count,
                           cs_setting *own, cs_error *error)
{
    cs_option_table table = {"scheme", "auto", NULL, 0};
    if (scheme) table = (cs_option_table){"scheme", scheme->name, scheme->option, scheme->options};
    return cs_option_settle(&table, settings, count, own, error);
}

/* ---- sharing the work of packing --------------------------------------------------------------- */

void cs_watch_packing(cs_packed *packed)
{
    if (packed->paced)
        packed->setup_threads = cs_threads_for_now(packed->setup_threads, &packed->preemptions);
}

/* Parts that threads share, and what is done with each of them. */
typedef struct shared_parts {
    const cs_packed *packed;
    int pieces;
    void (*work)(void *context, const cs_stage *stage, int64_t part);
    void *context;
} shared_parts;

/* Works on the parts whose first visits are in piece `piece` of all visits. */
static void work_on_parts(void *context, int piece)
{
    const shared_parts *all = context;
    const cs_schedule *schedule = all->packed->schedule;
    int64_t blocks = all->packed->problem->blocks, visits = 0;
    for (int64_t s = 0; s < schedule->stages; s++) {
        const cs_stage *stage = &schedule->stage[s];
        for (int64_t part = stage->first_part; part < stage->first_part + stage->parts; part++) {
            if (visits * all->pieces / blocks == piece) all->work(all->context, stage, part);
            for (int64_t r = schedule->part[part]; r < schedule->part[part + 1]; r++)
                visits += schedule->range[r].count;
        }
    }
}

void cs_share_parts(const cs_packed *packed,
                    void (*work)(void *context, const cs_stage *stage, int64_t part), void *context)
{
    shared_parts all = {packed, cs_pieces(packed->setup_threads, packed->problem->blocks), work,
                        context};
    if (all.pieces == 1) work_on_parts(&all, 0);
    else cs_parallel(all.pieces, work_on_parts, &all);
}

/* ---- packing --------------------------------------------------------------------------------- */

void *cs_take_visits(cs_dtype precision, const cs_packed_group *group, int64_t width,
                     cs_arena *arena)
{
    size_t size = cs_real_size(precision);
    char *array = cs_arena_take_unset(arena, group->slots * width, size);
    if (group->lanes == 1 || !array) return array;
    size_t batch = size * (size_t)(group->lanes * width);
    for (int64_t i = 0; i < group->slots / group->lanes; i++)
        if (group->used[i] < group->lanes) memset(array + batch * (size_t)i, 0, batch);
    return array;
}

/* Fills a group with the sizes and the set of its blocks. */
static void describe_group(cs_packed *packed, int g)
{
    const cs_block_group *group = &packed->problem->block_group[g];
    cs_packed_group *p = &packed->group[g];
    *p = (cs_packed_group){
        .count = group->count,
        .lanes = 1,
        .slots = group->count,
        .rows = group->rows,
        .partners = group->partners,
        .set = (cs_set_kind)group->set->kind,
        .parameters = group->parameters,
    };

    /* Copy the numbers of degrees of freedom. */
    memcpy(p->dof, group->dof, sizeof p->dof);
    memcpy(p->column, group->column, sizeof p->column);

    /* Copy the coupled set of each row, and count the sets. */
    for (int i = 0; i < p->rows; i++) {
        p->coupled_set[i] = group->coupled_set[i];
        if (p->coupled_set[i] >= p->sets) p->sets = p->coupled_set[i] + 1;
    }
}

cs_status cs_describe_groups(cs_packed *packed, cs_arena *arena, cs_error *error)
{
    int groups = packed->problem->block_groups;
    packed->group = cs_arena_take_unset(arena, groups, sizeof *packed->group);
    if (!packed->group) return cs_no_memory(error, "packing the problem");
    for (int g = 0; g < groups; g++) describe_group(packed, g);
    return CS_OK;
}

int64_t cs_visited_row(const cs_packed *packed, int group, int64_t visit)
{
    const cs_block_group *blocks = &packed->problem->block_group[group];
    return cs_group_row(blocks, packed->schedule->visit[group][visit]);
}

/* Allocates the arrays of a group that every scheme reads, and finds where its visits have their impulses. */
static cs_status pack_group(cs_packed *packed, int g, cs_local local, int weighted, cs_arena *arena,
                            cs_error *error)
{
    /* b, R and the parameters of the sets. */
    cs_packed_group *p = &packed->group[g];
    cs_dtype real = cs_real(packed->dtype), stored = cs_stored(packed->dtype);
    p->b = cs_take_visits(real, p, p->rows, arena);
    p->r = cs_take_visits(stored, p, p->rows, arena);
    p->parameter = cs_take_visits(real, p, p->parameters, arena);
    if (local != CS_PROJECTED)
        *(local == CS_EXACT ? &p->step : &p->diagonal) =
            cs_take_visits(stored, p, p->rows * p->rows, arena);
    if (weighted) p->weight = cs_take_visits(real, p, 1, arena);

    /* The method that solves local problems. */
    const cs_set *set = packed->problem->block_group[g].set;
    p->local_method = (cs_local_method)(cs_solves_block(local) ? local - CS_BLOCK : 0);
    p->local_set = cs_local_fits(set, p->rows, p->local_method) ? set : NULL;

    /* The place of the group's impulses; batches are aligned to whole vectors. */
    int64_t vector = p->lanes;
    p->first_impulse = (packed->impulses + vector - 1) / vector * vector;
    packed->impulses = p->first_impulse + p->slots * p->rows;
    if (p->lanes == 1) p->row = cs_arena_take_unset(arena, p->count, sizeof(int64_t));
    cs_status status = cs_arena_status(arena, error, "packing the problem");
    if (status || p->lanes > 1) return status;

    /* Groups before this one may have unused lanes, which shift its impulses behind the user's rows. */
    int64_t shift = p->first_impulse - packed->problem->block_group[g].first_row;
    for (int64_t v = 0; v < p->count; v++) p->row[v] = cs_visited_row(packed, g, v) + shift;
    return CS_OK;
}

cs_status cs_pack_common(cs_packed *packed, const cs_local *local, int weighted, cs_arena *arena,
                         cs_error *error)
{
    const cs_problem *problem = packed->problem;
    packed->damping = 1;
    packed->part = cs_arena_take(arena, packed->schedule->parts, sizeof *packed->part);
    packed->owner_sum = cs_arena_take(arena, packed->schedule->owners, sizeof(double));
    if (!packed->part || !packed->owner_sum) return cs_no_memory(error, "packing the problem");

    /* Choose the groups in batches, and allocate the arrays of all groups. */
    cs_status status = cs_describe_groups(packed, arena, error);
    if (!status && packed->scheme->lay_out)
        status = packed->scheme->lay_out(packed, local, arena, error);
    for (int g = 0; g < problem->block_groups && !status; g++)
        status = pack_group(packed, g, local[g], weighted, arena, error);
    if (status) return status;

    /* lambda, and behind it a copy from before a stage. */
    size_t bytes = cs_real_size(packed->dtype);
    packed->lambda = cs_arena_take_unset(arena, 2 * packed->impulses, bytes);
    if (!packed->lambda) return cs_no_memory(error, "packing the problem");
    cs_loop_copy(packed->setup_threads, packed->lambda, NULL, packed->impulses, bytes);
    return CS_OK;
}

/* Where a part of a stage, which belongs to `owner`, has its copy of a body's velocity. */
static int64_t find_copy(const cs_packed *packed, const cs_stage *stage, int64_t owner,
                         int64_t body)
{
    const cs_schedule *schedule = packed->schedule;
    for (int64_t p = stage->first_part; p < stage->first_part + stage->parts; p++) {
        if (schedule->owner[p] != owner) continue;
        for (int64_t i = packed->copy_start[p]; i < packed->copy_start[p + 1]; i++)
            if (packed->copy[i].shared == packed->body_place[body]) return packed->copy[i].own;
    }
    return packed->first_spare; /* never: the share has been checked */
}

/* Finds the copies of velocities whose changes travel between ranks. */
static cs_status pack_changes(cs_packed *packed, cs_arena *arena, cs_error *error)
{
    const cs_schedule *schedule = packed->schedule;
    packed->change_from = cs_arena_take(arena, schedule->stages, sizeof(int64_t *));
    packed->change_to = cs_arena_take(arena, schedule->stages, sizeof(int64_t *));
    if (cs_arena_failed(arena)) return cs_no_memory(error, "packing the problem");
    for (int64_t s = 0; s < schedule->stages; s++) {
        const cs_stage *stage = &schedule->stage[s];
        cs_changes changes = cs_ranks_changes(packed->ranks, s);
        int64_t *from = cs_arena_take_unset(arena, changes.sends, sizeof(int64_t));
        int64_t *to = cs_arena_take_unset(arena, changes.receives, sizeof(int64_t));
        if (cs_arena_failed(arena)) return cs_no_memory(error, "packing the problem");
        for (int64_t i = 0; i < changes.sends; i++)
            from[i] = find_copy(packed, stage, changes.send_part[i], changes.send_body[i]);
        for (int64_t i = 0; i < changes.receives; i++)
            to[i] = find_copy(packed, stage, changes.receive_part[i], changes.receive_body[i]);
        packed->change_from[s] = from;
        packed->change_to[s] = to;
    }
    return CS_OK;
}

/* For ranks that visit contacts for each other: which parts are absent, and where impulses are. */
static cs_status pack_absent(cs_packed *packed, cs_arena *arena, cs_error *error)
{
    const cs_schedule *schedule = packed->schedule;
    const cs_problem *problem = packed->problem;
    if (!cs_ranks_borrow(packed->ranks)) return CS_OK;
    packed->absent = cs_arena_take(arena, schedule->parts, 1);
    packed->impulse_place = cs_arena_take_unset(arena, problem->rows, sizeof(int64_t));
    if (cs_arena_failed(arena)) return cs_no_memory(error, "packing the problem");

    /* Parts of disjoint stages that belong to other ranks. */
    for (int64_t s = 0; s < schedule->stages; s++) {
        const cs_stage *stage = &schedule->stage[s];
        for (int64_t p = stage->first_part; p < stage->first_part + stage->parts; p++)
            packed->absent[p] = (stage->kind == CS_DISJOINT || stage->kind == CS_CONCURRENT) &&
                                !cs_ranks_own(packed->ranks, schedule->owner[p]);
    }

    /* Impulses of batches lie lane by lane. */
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_packed_group *group = &packed->group[g];
        for (int64_t v = 0; v < group->count; v++)
            for (int i = 0; i < group->rows; i++) {
                int64_t row = cs_group_row(&problem->block_group[g], schedule->visit[g][v]) + i;
                packed->impulse_place[row] =
                    group->lanes == 1
                        ? group->row[v] + i
                        : group->first_impulse + cs_packed_place(group, v, group->rows, i);
            }
    }
    return pack_changes(packed, arena, error);
}

/* packed->backward <- the phases, with the stages from the last to the first. The phases of one stage keep their
 * order. */
static void list_backwards(cs_packed *packed)
{
    for (int64_t first = 0, end; first < packed->phases; first = end) {
        const cs_stage *stage = packed->phase[first].stage;
        for (end = first; end < packed->phases && packed->phase[end].stage == stage;) end++;
        for (int64_t i = first; i < end; i++)
            packed->backward[packed->phases - end + i - first] = i;
    }
}

/* Whether any visit of a part is at the border of the ranks. */
static int is_at_border(const cs_packed *packed, int64_t stage, int64_t part)
{
    const cs_schedule *schedule = packed->schedule;
    for (int64_t r = schedule->part[part]; r < schedule->part[part + 1]; r++) {
        const cs_range *range = &schedule->range[r];
        int64_t first_block = packed->problem->block_group[range->group].first_block;
        for (int64_t v = range->first; v < range->first + range->count; v++)
            if (cs_ranks_at_border(packed->ranks, stage,
                                   first_block + schedule->visit[range->group][v]))
                return 1;
    }
    return 0;
}

/* The tasks of stages on ranks: those at the border before the others; or NULL where there are no ranks. */
typedef struct border {
    int64_t *task;  /* (parts): tasks of each stage */
    int64_t *count; /* (stages): those at the border */
} border;

static cs_status find_border(const cs_packed *packed, border *b, cs_arena *arena, cs_error *error)
{
    const cs_schedule *schedule = packed->schedule;
    *b = (border){0};
    if (!packed->ranks) return CS_OK;
    b->task = cs_arena_take_unset(arena, schedule->parts, sizeof(int64_t));
    b->count = cs_arena_take(arena, schedule->stages, sizeof(int64_t));
    if (cs_arena_failed(arena)) return cs_no_memory(error, "packing the problem");
    for (int64_t s = 0; s < schedule->stages; s++) {
        const cs_stage *stage = &schedule->stage[s];
        int64_t *task = b->task + stage->first_part, inner = 0;
        for (int64_t p = 0; p < stage->parts; p++) {
            if (is_at_border(packed, s, stage->first_part + p)) task[b->count[s]++] = p;
            else task[stage->parts - 1 - inner++] = p;
        }

        /* The others in ascending order, too. */
        for (int64_t i = b->count[s], j = stage->parts - 1; i < j; i++, j--) {
            int64_t first = task[i];
            task[i] = task[j];
            task[j] = first;
        }
    }
    return CS_OK;
}

/* Lists one phase of a stage; or, of visits on ranks, two: those at the border and the others, which come first where no
 * visit of the stage sees another. The phases of concurrent stages stay whole. */
static void list_phase(cs_packed *packed, const border *b, int64_t stage, int number, int64_t tasks,
                       int fill)
{
    const cs_stage *of = &packed->schedule->stage[stage];
    int whole = !b->task || number != packed->scheme->visit || of->kind == CS_CONCURRENT;
    for (int turn = 0; turn < (whole ? 1 : 2); turn++) {
        int inner = !whole && turn == (of->kind != CS_SIMULTANEOUS);
        cs_stage_phase next = {of, number, tasks, NULL, inner};
        if (!whole) {
            const int64_t *task = b->task + of->first_part;
            next.tasks = inner ? tasks - b->count[stage] : b->count[stage];
            next.task = inner ? task + b->count[stage] : task;
        }
        if (!next.tasks) continue;
        if (fill) packed->phase[packed->phases] = next;
        packed->phases++;
    }
}

cs_status cs_pack_phases(cs_packed *packed, cs_arena *arena, cs_error *error)
{
    const cs_scheme *scheme = packed->scheme;
    const cs_schedule *schedule = packed->schedule;
    border b;
    cs_status status = find_border(packed, &b, arena, error);
    if (status) return status;

    /* The first pass counts the phases, the second one fills them. */
    for (int fill = 0; fill < 2; fill++) {
        packed->phases = 0;
        for (int64_t s = 0; s < schedule->stages; s++) {
            const cs_stage *stage = &schedule->stage[s];
            int64_t tasks;
            for (int phase = 0; (tasks = scheme->tasks(packed, stage, phase)) >= 0; phase++)
                list_phase(packed, &b, s, phase, tasks, fill);
        }
        if (fill) break;

        /* Allocate between the passes. */
        packed->phase = cs_arena_take(arena, packed->phases, sizeof(cs_stage_phase));
        int64_t most = packed->phases > schedule->stages ? packed->phases : schedule->stages;
        packed->shared_phase = cs_arena_take(arena, most, sizeof(cs_phase));
        packed->backward = cs_arena_take(arena, packed->phases, sizeof(int64_t));
        if (cs_arena_failed(arena)) return cs_no_memory(error, "packing the problem");
    }
    list_backwards(packed);
    return pack_absent(packed, arena, error);
}

void cs_convert(cs_dtype precision, void *to, int64_t at, const double *from, int64_t count)
{
    if (precision == CS_F64) memcpy((double *)to + at, from, sizeof(double) * (size_t)count);
    else
        for (int64_t i = 0; i < count; i++) ((float *)to)[at + i] = (float)from[i];
}

void cs_put_visit(cs_dtype precision, const cs_packed_group *group, void *array, int64_t visit,
                  const double *from, int64_t width)
{
    int64_t first = cs_packed_place(group, visit, width, 0);
    if (group->lanes == 1) cs_convert(precision, array, first, from, width);
    else if (precision == CS_F64)
        for (int64_t i = 0; i < width; i++) ((double *)array)[first + i * group->lanes] = from[i];
    else
        for (int64_t i = 0; i < width; i++)
            ((float *)array)[first + i * group->lanes] = (float)from[i];
}

void cs_pack_weights(cs_packed *packed, const double *weight)
{
    for (int g = 0; g < packed->problem->block_groups; g++) {
        int64_t first = packed->problem->block_group[g].first_block;
        cs_packed_group *p = &packed->group[g];
        for (int64_t v = 0; v < p->count; v++)
            cs_put_visit(cs_real(packed->dtype), p, p->weight, v,
                         weight + first + packed->schedule->visit[g][v], 1);
    }
}

/* Multiplies the `width` numbers of one visit, in an array of its group, by `factor`. */
static void scale_visit(const cs_packed *packed, const cs_packed_group *group, void *values,
                        int64_t visit, int64_t width, double factor)
{
    for (int64_t i = 0; i < width; i++) {
        int64_t at = cs_packed_place(group, visit, width, i);
        if (cs_stored(packed->dtype) == CS_F64) ((double *)values)[at] *= factor;
        else ((float *)values)[at] *= (float)factor;
    }
}

void cs_step_changed(cs_packed *packed, int group, int64_t visit, const double *factor)
{
    if (packed->scheme->step_changed[packed->dtype])
        packed->scheme->step_changed[packed->dtype](packed, group, visit, factor);
}

void cs_scale_step(cs_packed *packed, int group, int64_t visit, double factor)
{
    cs_packed_group *p = &packed->group[group];
    if (p->diagonal) return;
    scale_visit(packed, p, p->r, visit, p->rows, factor);
    if (p->step) scale_visit(packed, p, p->step, visit, p->rows * p->rows, factor);
    cs_step_changed(packed, group, visit, &factor);
}

void cs_scale_steps(cs_packed *packed, double factor)
{
    packed->damping *= factor;
    for (int g = 0; g < packed->problem->block_groups; g++)
        for (int64_t v = 0; v < packed->group[g].count; v++) cs_scale_step(packed, g, v, factor);
}

void cs_set_steps(cs_packed *packed, int group, int64_t visit, const double *r)
{
    cs_packed_group *p = &packed->group[group];
    cs_put_visit(cs_stored(packed->dtype), p, p->r, visit, r, p->rows);
    cs_step_changed(packed, group, visit, NULL);
}

void cs_replace_steps(cs_packed *packed, const double *r, const unsigned char *changed)
{
    for (int g = 0; g < packed->problem->block_groups; g++) {
        const unsigned char *own = changed + packed->problem->block_group[g].first_block;
        for (int64_t v = 0; v < packed->group[g].count; v++)
            if (own[packed->schedule->visit[g][v]])
                cs_set_steps(packed, g, v, r + cs_visited_row(packed, g, v));
    }
}

void cs_each_visit(const cs_schedule *schedule, const cs_stage *stage,
                   void (*work)(void *context, int group, int64_t visit, int64_t part),
                   void *context)
{
    for (int64_t p = 0; p < stage->parts; p++) {
        const int64_t *part = schedule->part + stage->first_part + p;
        for (int64_t r = part[0]; r < part[1]; r++) {
            const cs_range *range = &schedule->range[r];
            for (int64_t v = range->first; v < range->first + range->count; v++)
                work(context, range->group, v, p);
        }
    }
}
