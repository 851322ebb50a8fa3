#include "scheme/scheme.h"

#include "core/error.h"

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

/* What a sweep costs, in nanoseconds on the machine it was measured on; only the ratios matter.
 * benchmarks/scheme_choice.py shows how far the choice is from the best. */
static const double VISIT = 12, MULTIPLY = 0.17; /* a visit's own work; a multiply-add */
static const double BLOCK = 0.8;                 /* finding one block of A */
static const double KEEP = 3;                    /* Jacobi: lambda copied, */
static const double SIDE = 3.5, BODY = 8;        /* or u recomputed: a contact's side, a body */
static const double BYTE = 0.05, CACHE = 2e6;    /* what does not stay in this much is read */

static double reading(double bytes) { return bytes > CACHE ? BYTE * bytes : 0; }

/* S1 Table 3.1: J_row k w and the update of w, each m (d_0 + d_1) multiplications. */
static double factorized_cost(const cs_problem *problem, int simultaneous, cs_dtype dtype)
{
    double cost = 0, bytes = 0;
    for (int g = 0; g < problem->block_groups; g++) {
        const cs_block_group *group = &problem->block_group[g];
        double count = (double)group->count, size = (double)cs_jacobian_size(group);
        cost += count * (VISIT + 2 * MULTIPLY * size);
        if (simultaneous) cost += count * 2 * SIDE;
        bytes += count * (size * (double)cs_real_size(dtype) + 2 * sizeof(int64_t));
    }
    if (simultaneous) cost += (double)problem->bodies * BODY + reading(bytes);
    return cost + reading(bytes);
}

/* S1 Table 3.1: m^2 multiplications a block of A, of any of which there are few enough different
 * sizes to count with their mean. */
static double matrix_cost(const cs_problem *problem, int simultaneous, cs_dtype dtype,
                          double blocks)
{
    double count = (double)problem->blocks, rows = (double)problem->rows / count;
    double bytes = blocks * (rows * rows * (double)cs_real_size(dtype) + sizeof(int64_t));
    double cost = count * VISIT + blocks * (BLOCK + MULTIPLY * rows * rows) + reading(bytes);
    return simultaneous ? cost + count * KEEP : cost;
}

cs_status cs_scheme_choose(const cs_problem *problem, int simultaneous, cs_dtype dtype,
                           const cs_scheme **scheme, cs_error *error)
{
    *scheme = &cs_scheme_matrix;
    if (problem->matrix || !problem->blocks) return CS_OK;
    double factorized = factorized_cost(problem, simultaneous, dtype);
    int64_t blocks = cs_count_blocks_up_to(problem, 0, (int64_t)(factorized / BLOCK));
    if (blocks < 0) return cs_fail(error, CS_NO_MEMORY, "out of memory for counting blocks of A");
    if (!(matrix_cost(problem, simultaneous, dtype, (double)blocks) < factorized))
        *scheme = &cs_scheme_factorized;
    return CS_OK;
}

/* ---- packing --------------------------------------------------------------------------------- */

static cs_status no_memory(cs_error *error)
{
    return cs_fail(error, CS_NO_MEMORY, "out of memory for packing the problem");
}

static void describe_group(cs_packed *packed, int g)
{
    const cs_block_group *group = &packed->problem->block_group[g];
    cs_packed_group *p = &packed->group[g];
    *p = (cs_packed_group){
        .count = group->count,
        .lanes = 1,
        .slots = group->count,
        .rows = group->rows,
        .dof = {group->dof[0], group->dof[1]},
        .set = (cs_set_kind)group->set->kind,
        .parameters = group->parameters,
    };
    for (int i = 0; i < p->rows; i++) {
        p->coupled_set[i] = group->coupled_set[i];
        if (p->coupled_set[i] >= p->sets) p->sets = p->coupled_set[i] + 1;
    }
}

int64_t cs_visited_row(const cs_packed *packed, int group, int64_t visit)
{
    const cs_block_group *blocks = &packed->problem->block_group[group];
    return blocks->first_row + packed->schedule->visit[group][visit] * blocks->rows;
}

static cs_status pack_group(cs_packed *packed, int g, cs_local local, int weighted, cs_arena *arena,
                            cs_error *error)
{
    cs_packed_group *p = &packed->group[g];
    size_t size = cs_real_size(packed->dtype);
    p->b = cs_arena_take(arena, p->slots * p->rows, size);
    p->r = cs_arena_take(arena, p->slots * p->rows, size);
    p->parameter = cs_arena_take(arena, p->slots * p->parameters, size);
    if (!p->b || !p->r || !p->parameter) return no_memory(error);
    if (local != CS_PROJECTED) {
        void *matrices = cs_arena_take(arena, p->slots * p->rows * p->rows, size);
        if (!matrices) return no_memory(error);
        *(local == CS_EXACT ? &p->step : &p->diagonal) = matrices;
    }
    if (weighted) {
        p->weight = cs_arena_take(arena, p->slots, size);
        if (!p->weight) return no_memory(error);
    }
    int64_t vector = p->lanes; /* to which batches are aligned */
    p->first_impulse = (packed->impulses + vector - 1) / vector * vector;
    packed->impulses = p->first_impulse + p->slots * p->rows;
    if (p->lanes > 1) return CS_OK;
    int64_t moved = p->first_impulse - packed->problem->block_group[g].first_row;
    p->row = cs_arena_take(arena, p->count, sizeof(int64_t));
    if (!p->row) return no_memory(error);
    for (int64_t v = 0; v < p->count; v++) p->row[v] = cs_visited_row(packed, g, v) + moved;
    return CS_OK;
}

cs_status cs_pack_common(cs_packed *packed, const cs_scheme *scheme, const cs_local *local,
                         int weighted, cs_arena *arena, cs_error *error)
{
    const cs_problem *problem = packed->problem;
    cs_status status = CS_OK;
    packed->damping = 1;
    packed->part = cs_arena_take(arena, packed->schedule->parts, sizeof *packed->part);
    if (!packed->part) return no_memory(error);
    for (int g = 0; g < problem->block_groups; g++) describe_group(packed, g);
    if (scheme->lay_out) status = scheme->lay_out(packed, local, arena, error);
    for (int g = 0; g < problem->block_groups && !status; g++)
        status = pack_group(packed, g, local[g], weighted, arena, error);
    if (status) return status;
    packed->lambda = cs_arena_take(arena, 2 * packed->impulses, cs_real_size(packed->dtype));
    return packed->lambda ? CS_OK : no_memory(error);
}

/* The stages from the last to the first; the phases of one stage stay in their order. */
static void list_backwards(cs_packed *packed)
{
    for (int64_t first = 0, end; first < packed->phases; first = end) {
        const cs_stage *stage = packed->phase[first].stage;
        for (end = first; end < packed->phases && packed->phase[end].stage == stage;) end++;
        for (int64_t i = first; i < end; i++)
            packed->backward[packed->phases - end + i - first] = i;
    }
}

cs_status cs_pack_phases(cs_packed *packed, const cs_scheme *scheme, cs_arena *arena,
                         cs_error *error)
{
    const cs_schedule *schedule = packed->schedule;
    for (int fill = 0; fill < 2; fill++) {
        packed->phases = 0;
        for (int64_t s = 0; s < schedule->stages; s++) {
            const cs_stage *stage = &schedule->stage[s];
            int64_t tasks;
            for (int phase = 0; (tasks = scheme->tasks(packed, stage, phase)) >= 0; phase++) {
                if (!tasks) continue;
                if (fill) {
                    cs_phase *next = &packed->phase[packed->phases];
                    next->stage = stage;
                    next->number = phase;
                    next->tasks = tasks;
                }
                packed->phases++;
            }
        }
        if (fill) break;
        packed->phase = cs_arena_take(arena, packed->phases, sizeof(cs_phase));
        packed->backward = cs_arena_take(arena, packed->phases, sizeof(int64_t));
        if (!packed->phase || !packed->backward) return no_memory(error);
    }
    list_backwards(packed);
    return CS_OK;
}

void cs_convert(cs_dtype dtype, void *to, int64_t at, const double *from, int64_t count)
{
    if (dtype == CS_F64) memcpy((double *)to + at, from, sizeof(double) * (size_t)count);
    else
        for (int64_t i = 0; i < count; i++) ((float *)to)[at + i] = (float)from[i];
}

void cs_put_visit(const cs_packed *packed, const cs_packed_group *group, void *array, int64_t visit,
                  const double *from, int64_t width)
{
    int64_t first = cs_packed_place(group, visit, width, 0);
    if (group->lanes == 1) cs_convert(packed->dtype, array, first, from, width);
    else if (packed->dtype == CS_F64)
        for (int64_t i = 0; i < width; i++) ((double *)array)[first + i * group->lanes] = from[i];
    else
        for (int64_t i = 0; i < width; i++)
            ((float *)array)[first + i * group->lanes] = (float)from[i];
}

void cs_pack_data(cs_packed *packed, const double *b, const double *parameters)
{
    for (int g = 0; g < packed->problem->block_groups; g++) {
        const cs_block_group *group = &packed->problem->block_group[g];
        cs_packed_group *p = &packed->group[g];
        for (int64_t v = 0; v < p->count; v++) {
            int64_t index = packed->schedule->visit[g][v];
            cs_put_visit(packed, p, p->b, v, b + cs_visited_row(packed, g, v), p->rows);
            cs_put_visit(packed, p, p->parameter, v,
                         parameters + group->first_parameter + index * p->parameters,
                         p->parameters);
        }
    }
    if (packed->scheme->take_data[packed->dtype]) packed->scheme->take_data[packed->dtype](packed);
}

void cs_pack_steps(cs_packed *packed, const double *r, double *const *step)
{
    packed->damping = 1;
    for (int g = 0; g < packed->problem->block_groups; g++) {
        cs_packed_group *p = &packed->group[g];
        void *matrices = p->step ? p->step : p->diagonal;
        int size = p->rows * p->rows;
        for (int64_t v = 0; v < p->count; v++) {
            cs_put_visit(packed, p, p->r, v, r + cs_visited_row(packed, g, v), p->rows);
            if (matrices)
                cs_put_visit(packed, p, matrices, v, step[g] + packed->schedule->visit[g][v] * size,
                             size);
        }
    }
    if (packed->scheme->take_steps[packed->dtype])
        packed->scheme->take_steps[packed->dtype](packed);
}

void cs_pack_weights(cs_packed *packed, const double *weight)
{
    for (int g = 0; g < packed->problem->block_groups; g++) {
        int64_t first = packed->problem->block_group[g].first_block;
        cs_packed_group *p = &packed->group[g];
        for (int64_t v = 0; v < p->count; v++)
            cs_put_visit(packed, p, p->weight, v, weight + first + packed->schedule->visit[g][v],
                         1);
    }
}

static void scale_visit(const cs_packed *packed, const cs_packed_group *group, void *values,
                        int64_t visit, int64_t width, double factor)
{
    for (int64_t i = 0; i < width; i++) {
        int64_t at = cs_packed_place(group, visit, width, i);
        if (packed->dtype == CS_F64) ((double *)values)[at] *= factor;
        else ((float *)values)[at] *= (float)factor;
    }
}

void cs_step_changed(cs_packed *packed, int group, int64_t visit, const double *factor)
{
    if (packed->scheme->take_step[packed->dtype])
        packed->scheme->take_step[packed->dtype](packed, group, visit, factor);
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
    cs_put_visit(packed, p, p->r, visit, r, p->rows);
    cs_step_changed(packed, group, visit, NULL);
}

void cs_put_impulses(cs_packed *packed, const double *lambda)
{
    for (int g = 0; g < packed->problem->block_groups; g++) {
        const cs_block_group *group = &packed->problem->block_group[g];
        const cs_packed_group *p = &packed->group[g];
        char *own = (char *)packed->lambda + (size_t)p->first_impulse * cs_real_size(packed->dtype);
        if (p->lanes == 1)
            cs_convert(packed->dtype, own, 0, lambda + group->first_row, p->count * p->rows);
        for (int64_t v = 0; v < p->count && p->lanes > 1; v++)
            cs_put_visit(packed, p, own, v, lambda + cs_visited_row(packed, g, v), p->rows);
    }
}

/* to[i] <- from[first + i step] */
static void widen(cs_dtype dtype, const void *from, int64_t first, int64_t step, int64_t count,
                  double *to)
{
    if (dtype == CS_F64 && step == 1)
        memcpy(to, (const double *)from + first, sizeof(double) * (size_t)count);
    else if (dtype == CS_F64)
        for (int64_t i = 0; i < count; i++) to[i] = ((const double *)from)[first + i * step];
    else
        for (int64_t i = 0; i < count; i++) to[i] = (double)((const float *)from)[first + i * step];
}

void cs_get_impulses(const cs_packed *packed, double *lambda)
{
    for (int g = 0; g < packed->problem->block_groups; g++) {
        double *to = lambda + packed->problem->block_group[g].first_row;
        const cs_packed_group *p = &packed->group[g];
        int64_t first = p->first_impulse;
        if (p->lanes == 1) widen(packed->dtype, packed->lambda, first, 1, p->count * p->rows, to);
        for (int64_t v = 0; v < p->count && p->lanes > 1; v++)
            widen(packed->dtype, packed->lambda, first + cs_packed_place(p, v, p->rows, 0),
                  p->lanes, p->rows, lambda + cs_visited_row(packed, g, v));
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
