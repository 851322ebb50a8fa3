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
#include "core/error.h"
#include "order/cache.h"
#include "order/vectorizable.h"

enum { LANES = 4 }; /* of the narrowest vectors that save time, in double precision */

/* The least share of full lanes that saves time. scheme/wide.c measures the batches that it really forms. */
#define WORTH_FILL 0.75

extern const cs_order cs_order_natural, cs_order_cache;

/* Replaces the plan by that of the natural order, and notes the reason. */
static cs_status stay(const cs_problem *problem, const char *why, cs_plan *plan, cs_error *error)
{
    cs_plan_clear(plan, problem->blocks);
    plan->order = cs_order_natural.name;
    plan->why = why;
    return cs_order_natural.plan(problem, NULL, NULL, plan, error);
}

/* Whether a group gains from the order "cache": every group does if threads pay off, otherwise those that
 * vector kernels can visit. */
static int group_gains(const cs_problem *problem, int group)
{
    if (problem->blocks >= CS_WORTH_THREADS) return 1;
    return !problem->matrix && cs_fits_lanes(&problem->block_group[group]);
}

static int gains(const cs_problem *problem)
{
    for (int g = 0; g < problem->block_groups; g++)
        if (group_gains(problem, g)) return 1;
    return 0;
}

/* Whether `block` shares a vertex with batch `number`. If it does not, the block joins the batch. `met`
 * (vertices): the last batch that used the vertex. */
static int meets(const cs_graph *graph, int64_t block, int64_t number, int64_t *met)
{
    int64_t end[2];
    int ends = cs_graph_ends(graph, block, end);
    for (int i = 0; i < ends; i++)
        if (met[end[i]] == number) return 1;
    if (graph->column) /* given A: the coupled blocks */
        for (int64_t e = graph->start[block]; e < graph->start[block + 1]; e++)
            if (met[graph->column[e]] == number) return 1;
    for (int i = 0; i < ends; i++) met[end[i]] = number;
    return 0;
}

/* The share of lanes that are full, over the groups that gain. A batch takes consecutive visits of one part
 * and one group until one of them shares a vertex with it or LANES lanes are full. `met` (vertices) is
 * scratch and zero on entry. */
static double fill(const cs_graph *graph, const cs_plan *plan, int64_t *met)
{
    const cs_problem *problem = graph->problem;
    int64_t batches = 0, visits = 0, used = 0, stage = 0;
    int last = -1;
    for (int64_t i = 0; i < problem->blocks; i++) {
        int group = cs_group_number(problem, plan->block[i]);
        int begins = plan->cut[i] || i == plan->start[stage] || group != last;
        last = group;
        if (i == plan->start[stage]) stage++;
        if (!group_gains(problem, group)) continue;

        /* Begin a new batch where this visit cannot join the current one. */
        if (begins || used == LANES || meets(graph, plan->block[i], batches, met)) {
            batches++;
            used = 0;
            meets(graph, plan->block[i], batches, met);
        }
        used++;
        visits++;
    }
    return batches ? (double)visits / (double)(batches * LANES) : 1;
}

static cs_status plan_auto(const cs_problem *problem, const cs_order_options *options,
                           cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    if (!gains(problem))
        return stay(problem, "neither vectors nor threads would save time", plan, error);

    /* Plan with "cache"; if threads do not pay off, with a single part. */
    cs_graph graph;
    cs_order_options own = {.parts = options->parts};
    cs_cache_options how = cs_cache_options_default();
    if (problem->blocks < CS_WORTH_THREADS) own.parts = 1;
    cs_status status = cs_graph_build(problem, scratch, &graph, error);
    if (!status) status = cs_plan_cache(&graph, &own, &how, scratch, plan, error);
    if (status) return status;

    /* Keep that plan if it fills the lanes. */
    int64_t *met = cs_arena_take(scratch, graph.vertices, sizeof(int64_t));
    if (!met) return cs_no_memory(error, "the order");
    if (fill(&graph, plan, met) < WORTH_FILL)
        return stay(problem, "contacts are too few, or too many share a body, to fill vectors",
                    plan, error);
    plan->order = cs_order_cache.name;
    plan->why = "for speed: vectors are full, and threads seldom wait";
    return CS_OK;
}

const cs_order cs_order_auto = {
    .name = "auto",
    .summary = "\"cache\", or \"natural\" where \"cache\" would save no time",
    .by_islands = cs_order_is_by_islands, /* each cluster chooses for itself */
    .divides = 1,
    .plan = plan_auto,
};
