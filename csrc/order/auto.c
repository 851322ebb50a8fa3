/* What order="auto" stands for. The order for speed fills the lanes of vectors and keeps threads from
 * waiting for each other; where it can do neither, contacts stay as they were given:
 *
 *     nothing to gain    no kernel visits several of them at once, and threads do not pay
 *     lanes stay empty   too few contacts, or one body, a hull or a drum, takes part in too many
 *
 * How many contacts there are does not matter otherwise: in the order for speed problems of forty take
 * about as many sweeps as in the one given, and half of the time
 * (benchmarks/convergence/small_orders.py). The choice depends on the problem alone: neither on
 * threads nor on the machine's vectors. */
#include "core/error.h"
#include "order/cache.h"
#include "order/vectorizable.h"

enum { LANES = 4 }; /* of the narrowest vectors that gain, in double precision */

/* Emptier lanes gain nothing; scheme/wide.c has its own measure of what it finds. */
#define WORTH_FILL 0.75

extern const cs_order cs_order_natural, cs_order_cache;

static cs_status stay(const cs_problem *problem, const char *why, cs_plan *plan, cs_error *error)
{
    cs_plan_clear(plan, problem->blocks);
    plan->order = cs_order_natural.name;
    plan->why = why;
    return cs_order_natural.plan(problem, NULL, NULL, plan, error);
}

/* Whether contacts of a group gain by an order: all do where threads pay. */
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

/* Whether `block` meets what the batch `number` has met; if not, it is in it from now on. */
static int meets(const cs_graph *graph, int64_t block, int64_t number, int64_t *met)
{
    int64_t end[2];
    int ends = cs_graph_ends(graph, block, end);
    for (int i = 0; i < ends; i++)
        if (met[end[i]] == number) return 1;
    if (graph->column) /* given A: whatever it is coupled to */
        for (int64_t e = graph->start[block]; e < graph->start[block + 1]; e++)
            if (met[graph->column[e]] == number) return 1;
    for (int i = 0; i < ends; i++) met[end[i]] = number;
    return 0;
}

/* The share of full lanes when runs of visits of one part and one group that do not meet fill LANES of
 * them, over the groups that gain. `met` (vertices) is scratch, filled with zeros. */
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
    if (!gains(problem)) return stay(problem, "neither vectors nor threads gain", plan, error);
    cs_graph graph;
    cs_order_options own = {.parts = options->parts};
    cs_cache_options how = cs_cache_options_default();
    if (problem->blocks < CS_WORTH_THREADS) own.parts = 1;
    cs_status status = cs_graph_build(problem, scratch, &graph, error);
    if (!status) status = cs_plan_cache(&graph, &own, &how, scratch, plan, error);
    if (status) return status;
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
    .summary = "\"cache\", or \"natural\" where that gains nothing",
    .by_islands = cs_order_is_by_islands, /* each cluster has the one that suits it */
    .plan = plan_auto,
};
