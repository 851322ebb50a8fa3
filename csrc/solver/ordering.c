/* Applies an order to a problem and describes the result, without a solver: plans the order and lays out the schedule
 * as a solver does, but packs nothing. */
#include "core/clock.h"
#include "core/error.h"
#include "solver/solver.h"

#include <string.h>

struct cs_ordering {
    cs_arena arena;
    cs_ordering_info info;
};

/* A copy in the arena; NULL if memory runs out. */
static int64_t *copy(const int64_t *values, int64_t count, cs_arena *arena)
{
    int64_t *array = cs_arena_take(arena, count, sizeof(int64_t));
    if (array && count) memcpy(array, values, sizeof(int64_t) * (size_t)count);
    return array;
}

/* info <- the stages: their kinds, their first parts, and the first visit of each part. */
static cs_status copy_stages(const cs_schedule *schedule, cs_arena *arena, cs_ordering_info *info,
                             cs_error *error)
{
    int64_t *part = cs_arena_take(arena, schedule->parts + 1, sizeof(int64_t));
    int64_t *stage = cs_arena_take(arena, schedule->stages + 1, sizeof(int64_t));
    unsigned char *kind = cs_arena_take(arena, schedule->stages, 1);
    if (cs_arena_failed(arena)) return cs_no_memory(error, "describing the order");

    /* Count the visits of each part and the parts of each stage. */
    for (int64_t p = 0; p < schedule->parts; p++) {
        part[p + 1] = part[p];
        for (int64_t r = schedule->part[p]; r < schedule->part[p + 1]; r++)
            part[p + 1] += schedule->range[r].count;
    }
    for (int64_t s = 0; s < schedule->stages; s++) {
        kind[s] = (unsigned char)schedule->stage[s].kind;
        stage[s + 1] = stage[s] + schedule->stage[s].parts;
    }

    /* Hand them out. */
    info->stages = schedule->stages;
    info->parts = schedule->parts;
    info->part_start = part;
    info->stage_start = stage;
    info->kind = kind;
    return CS_OK;
}

/* info <- the plan: the blocks in the order of their visits, the colours, and the number of blocks in each block's
 * row of A. */
static cs_status copy_plan(const cs_problem *problem, const cs_plan *plan, cs_arena *arena,
                           cs_ordering_info *info, cs_error *error)
{
    int64_t *row_blocks = cs_arena_take(arena, problem->blocks, sizeof(int64_t));
    info->blocks = problem->blocks;
    info->colors = plan->colors;
    info->rounds = plan->rounds;
    info->visit = copy(plan->block, problem->blocks, arena);
    info->color_size = copy(plan->color_size, plan->colors, arena);
    info->row_blocks = row_blocks;
    if (cs_arena_failed(arena)) return cs_no_memory(error, "describing the order");
    return cs_row_blocks(problem, row_blocks) ? cs_no_memory(error, "describing the order") : CS_OK;
}

/* Fills ordering->info. The memory of the schedule comes from `scratch`. */
static cs_status fill(cs_ordering *ordering, const cs_problem *problem, const char *method_name,
                      const char *order_name, const cs_order_options *options, cs_arena *scratch,
                      cs_error *error)
{
    const cs_method *method;
    const cs_order *order;
    cs_plan *plan;
    cs_schedule schedule;
    cs_ordering_info *info = &ordering->info;
    if (cs_problem_is_open(problem))
        return cs_fail(error, CS_INVALID, "the problem has neither Jacobians nor a matrix");

    /* The method and the order by their names. */
    cs_status status = cs_choose_method(method_name, &method, error);
    if (!status) status = cs_choose_order(order_name, options, &order, error);

    /* The plan, whose seconds are measured. */
    double start = cs_clock();
    if (!status)
        status =
            cs_plan_make(problem, order, cs_is_flat(method, NULL), options, scratch, &plan, error);
    info->seconds = cs_clock() - start;

    /* The schedule, and the description of both. */
    if (!status) status = cs_schedule_lay(problem, plan, scratch, &schedule, error);
    if (!status) status = copy_stages(&schedule, &ordering->arena, info, error);
    if (!status) status = copy_plan(problem, plan, &ordering->arena, info, error);
    if (status) return status;
    info->method = method->name;
    info->order = plan->order;
    return CS_OK;
}

cs_status cs_ordering_create(cs_ordering **result, const cs_problem *problem, const char *method,
                             const char *order, const cs_order_options *options, cs_error *error)
{
    *result = NULL;
    cs_ordering *ordering = cs_allocate(1, sizeof *ordering);
    if (!ordering) return cs_no_memory(error, "describing the order");
    cs_arena scratch = {0};
    cs_status status = fill(ordering, problem, method, order, options, &scratch, error);
    cs_arena_clear(&scratch);
    if (status) {
        cs_ordering_destroy(ordering);
        return status;
    }
    *result = ordering;
    return CS_OK;
}

void cs_ordering_describe(const cs_ordering *ordering, cs_ordering_info *info)
{
    *info = ordering->info;
}

void cs_ordering_destroy(cs_ordering *ordering)
{
    if (!ordering) return;
    cs_arena_clear(&ordering->arena);
    cs_release(ordering);
}
