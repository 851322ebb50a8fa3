/* Cuts stages into parts and subtasks of nearly equal work.
 *
 * The cost of a visit is about proportional to the number of blocks in its row of A (S1 section 3.7.3), so
 * that parts with equal numbers of contacts may differ much in work. Threads take the next task whenever they
 * are free: the smaller the tasks, the less a thread waits for the last one, and the more often it has to fetch
 * one (S1 section 6.3: 100 subtasks per worker; in section 6.1 each contact is a subtask). */
#include "core/costs.h"
#include "core/error.h"
#include "order/schedule.h"

#include <math.h>
#include <string.h>

/* S1 section 3.7.3: a part takes contacts until their weight reaches total / parts. The sum continues from part
 * to part, so that the excess of one part does not shorten the last one. */
void cs_plan_cut_weighted(cs_plan *plan, int64_t first, int64_t end, int64_t parts,
                          const int64_t *weight)
{
    /* Without weights, cut by number. */
    double total = 0, sum = 0, begun = 0; /* begun: number of parts that should have begun by now */
    for (int64_t i = first; i < end; i++) total += (double)weight[plan->block[i]];
    if (total == 0) {
        cs_plan_cut(plan, first, end, parts);
        return;
    }

    /* Begin a part where the weight before it reaches begun * total / parts. */
    for (int64_t i = first; i < end; i++) {
        double done = sum * (double)parts; /* integers, so that the cuts are exact */
        if (done >= begun * total && begun < (double)parts) {
            plan->cut[i] = 1;
            begun = floor(done / total) + 1;
        }
        sum += (double)weight[plan->block[i]];
    }
}

/* blocks (blocks) <- the number of blocks in each row of A. */
static cs_status row_blocks(const cs_problem *problem, cs_arena *scratch, int64_t **blocks,
                            cs_error *error)
{
    *blocks = cs_arena_take(scratch, problem->blocks, sizeof(int64_t));
    if (*blocks && cs_row_blocks(problem, *blocks) == 0) return CS_OK;
    return cs_no_memory(error, "the blocks of A in %lld rows", (long long)problem->blocks);
}

cs_status cs_plan_cut_parts(const cs_problem *problem, int64_t parts, int weighted,
                            cs_arena *scratch, cs_plan *plan, int64_t first, int64_t end,
                            cs_error *error)
{
    int64_t *weight = NULL;
    cs_status status = CS_OK;
    if (weighted) status = row_blocks(problem, scratch, &weight, error);
    if (!weight) cs_plan_cut(plan, first, end, parts);
    else if (!status) cs_plan_cut_weighted(plan, first, end, parts, weight);
    plan->divided_into = parts;
    return status;
}

/* The number of tasks of a stage with `size` contacts: `subtasks` per part, at most one per contact. Parts that are left
 * open are the usual ones, S1's workers, in every order. */
static int64_t tasks_of(const cs_order_options *options, int64_t size)
{
    int64_t parts = options->parts ? options->parts : CS_USUAL_PARTS, subtasks = options->subtasks;
    if (subtasks < 0 || subtasks >= size || parts * subtasks >= size) return size;
    return parts * subtasks;
}

cs_status cs_plan_divide(const cs_problem *problem, const cs_order_options *options,
                         cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    /* Weights are useful unless every contact is a subtask. */
    int64_t *weight = NULL;
    if (!options->subtasks) return CS_OK;
    if (options->weighted_subtasks && options->subtasks > 0) {
        cs_status status = row_blocks(problem, scratch, &weight, error);
        if (status) return status;
    }

    /* Cut each stage whose contacts need no order. Its parts are no longer those of regions. */
    plan->divided = 1;
    plan->region = NULL;
    plan->inner_stages = 0;
    for (int64_t s = 0; s < plan->stages; s++) {
        int64_t first = plan->start[s], end = plan->start[s + 1];
        int64_t tasks = tasks_of(options, end - first);
        if (plan->kind[s] != CS_SIMULTANEOUS && plan->kind[s] != CS_INDEPENDENT) continue;
        memset(plan->cut + first, 0, (size_t)(end - first));
        if (weight && tasks < end - first) cs_plan_cut_weighted(plan, first, end, tasks, weight);
        else cs_plan_cut(plan, first, end, tasks);
    }
    return CS_OK;
}
