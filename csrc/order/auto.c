/* order="auto": chooses between "cache" and "natural". The order "cache" fills the lanes of vectors and
 * lets threads work without waiting for each other. If it can do neither, "natural" keeps the given order:
 *
 *     nothing to gain    no vector kernel fits these contacts, and there are too few for threads
 *     empty lanes        there are too few contacts, or one body, such as a hull or a drum, has too many
 *                        of them
 *
 * The number of contacts has no other influence: problems of forty contacts take about as many sweeps with
 * "cache" as with "natural", in half the time (benchmarks/convergence/small_orders.py). The choice depends
 * on the problem alone, not on the number of threads or on the machine's vectors. */
#include "core/costs.h"
#include "core/error.h"
#include "order/cache.h"
#include "order/vectorizable.h"

extern const cs_order cs_order_natural, cs_order_cache;

/* Replaces the plan by that of the natural order, and stores the reason `why`. */
static cs_status plan_natural(const cs_problem *problem, const char *why, cs_plan *plan,
                              cs_error *error)
{
    cs_plan_clear(plan, problem->blocks);
    plan->order = cs_order_natural.name;
    plan->why = why;
    return cs_order_natural.plan(problem, NULL, NULL, plan, error);
}

/* Whether a group gains from the order "cache": every group does if threads save time; otherwise only the groups
 * that vector kernels can visit do. */
static int group_gains(const cs_problem *problem, int group)
{
    if (problem->blocks >= CS_WORTH_THREADS_SWEEP) return 1;
    return !problem->matrix && cs_fits_lanes(&problem->block_group[group]);
}

/* Whether any group of the problem gains. */
static int any_group_gains(const cs_problem *problem)
{
    for (int g = 0; g < problem->block_groups; g++)
        if (group_gains(problem, g)) return 1;
    return 0;
}

/* Whether `block` shares a vertex with batch `number`, so that one vector cannot visit both. If it does not, the
 * block joins the batch. `last_batch` (vertices): the last batch that used the vertex. */
static int conflicts_with_batch(const cs_graph *graph, int64_t block, int64_t number,
                                int64_t *last_batch)
{
    /* Look for a conflict at the block's own vertices, and for a given A at the coupled blocks. */
    int64_t end[CS_MAX_PARTNERS];
    int ends = cs_graph_ends(graph, block, end);
    for (int i = 0; i < ends; i++)
        if (last_batch[end[i]] == number) return 1;
    if (graph->column)
        for (int64_t e = graph->start[block]; e < graph->start[block + 1]; e++)
            if (last_batch[graph->column[e]] == number) return 1;

    /* Join the batch. */
    for (int i = 0; i < ends; i++) last_batch[end[i]] = number;
    return 0;
}

/* The fraction of lanes that are full, over the groups that gain. A batch takes consecutive visits of one part
 * and one group until one of them conflicts with it or CS_WORTH_LANES lanes are full. `last_batch` (vertices) is scratch
 * and zero on entry. */
static double lane_fill(const cs_graph *graph, const cs_plan *plan, int64_t *last_batch)
{
    const cs_problem *problem = graph->problem;
    int64_t batches = 0, visits = 0, used = 0, stage = 0;
    int last = -1;
    for (int64_t i = 0; i < problem->blocks; i++) {
        int group = cs_group_number(problem, plan->block[i]);
        int part_begins = plan->cut[i] || i == plan->start[stage] || group != last;
        last = group;
        if (i == plan->start[stage]) stage++;
        if (!group_gains(problem, group)) continue;

        /* Begin a new batch where this visit cannot join the current one. */
        if (part_begins || used == CS_WORTH_LANES ||
            conflicts_with_batch(graph, plan->block[i], batches, last_batch)) {
            batches++;
            used = 0;
            conflicts_with_batch(graph, plan->block[i], batches, last_batch);
        }
        used++;
        visits++;
    }
    return batches ? (double)visits / (double)(batches * CS_WORTH_LANES) : 1;
}

static cs_status plan_auto(const cs_problem *problem, const cs_order_options *options,
                           cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    /* Without vectors and threads, "natural" is as fast. */
    if (!any_group_gains(problem))
        return plan_natural(problem, "neither vectors nor threads would save time", plan, error);

    /* Plan with "cache", in a single part if threads do not save time. */
    cs_graph graph;
    cs_order_options own = {.parts = options->parts,
                            .threads = options->threads,
                            .exact_threads = options->exact_threads};
    cs_cache_options how = cs_cache_options_default();
    if (problem->blocks < CS_WORTH_THREADS_SWEEP) own.parts = 1;
    cs_status status = cs_graph_share(problem, &own, scratch, &graph, error);
    if (!status) status = cs_plan_cache(&graph, &own, &how, scratch, plan, error);
    if (status) return status;

    /* Keep that plan if it fills the lanes. */
    int64_t *last_batch = cs_arena_take(scratch, graph.vertices, sizeof(int64_t));
    if (!last_batch) return cs_no_memory(error, "the order");
    if (lane_fill(&graph, plan, last_batch) < CS_WORTH_FILL)
        return plan_natural(problem,
                            "contacts are too few, or too many share a body, to fill vectors", plan,
                            error);
    plan->order = cs_order_cache.name;
    plan->why = "for speed: vectors are full, and threads seldom wait";
    return CS_OK;
}

const cs_order cs_order_auto = {
    .name = "auto",
    .summary = "\"cache\", or \"natural\" where \"cache\" would save no time",
    .fills_lanes = 1,
    .parts_by_size = 1,
    .by_islands = cs_order_is_by_islands, /* each cluster chooses for itself */
    .plan = plan_auto,
};
