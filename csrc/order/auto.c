/* What order="auto" stands for. The order for speed fills the lanes of vectors and keeps threads from
 * waiting for each other; where it can do neither, contacts stay as they were given:
 *
 *     few contacts       a sweep takes microseconds, and an order that the caller chose, from the
 *                        ground up say, may save sweeps
 *     nothing to gain    no kernel visits several of them at once, and threads do not pay
 *     lanes stay empty   one body, a hull or a drum, takes part in too many contacts
 *
 * The choice depends on the problem alone: neither on threads nor on the machine's vectors. */
#include "core/error.h"
#include "order/cache.h"
#include "order/lanes.h"

enum {
    FEW = 512,
    LANES = 8, /* of the widest vectors in double precision */
};

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

static int gains(const cs_problem *problem)
{
    if (problem->blocks >= CS_WORTH_THREADS) return 1;
    for (int g = 0; g < problem->block_groups && !problem->matrix; g++)
        if (cs_fits_lanes(&problem->block_group[g])) return 1;
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

double cs_plan_fill(const cs_graph *graph, const cs_plan *plan, int lanes, int64_t *met)
{
    int64_t blocks = graph->problem->blocks, batches = 0, used = 0, stage = 0;
    int last = -1;
    for (int64_t i = 0; i < blocks; i++) {
        int group = cs_group_number(graph->problem, plan->block[i]);
        int begins = plan->cut[i] || i == plan->start[stage] || group != last;
        last = group;
        if (i == plan->start[stage]) stage++;
        if (begins || used == lanes || meets(graph, plan->block[i], batches, met)) {
            batches++;
            used = 0;
            meets(graph, plan->block[i], batches, met);
        }
        used++;
    }
    return batches ? (double)blocks / (double)(batches * lanes) : 1;
}

static cs_status plan_auto(const cs_problem *problem, const cs_order_options *options,
                           cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    if (problem->blocks <= FEW) return stay(problem, "512 contacts or fewer", plan, error);
    if (!gains(problem)) return stay(problem, "neither vectors nor threads gain", plan, error);
    cs_graph graph;
    cs_order_options own = {.parts = options->parts, .bodies = CS_BODIES_AS_FITS};
    if (problem->blocks < CS_WORTH_THREADS) own.parts = 1;
    cs_status status = cs_graph_build(problem, scratch, &graph, error);
    if (!status) status = cs_plan_cache(&graph, &own, scratch, plan, error);
    if (status) return status;
    int64_t *met = cs_arena_take(scratch, graph.vertices, sizeof(int64_t));
    if (!met) return cs_fail(error, CS_NO_MEMORY, "out of memory for the order");
    if (cs_plan_fill(&graph, plan, LANES, met) < WORTH_FILL)
        return stay(problem, "too many contacts share a body to fill vectors", plan, error);
    plan->order = cs_order_cache.name;
    plan->why = "for speed: vectors are full, and threads seldom wait";
    return CS_OK;
}

const cs_order cs_order_auto = {
    .name = "auto",
    .summary = "\"cache\", or \"natural\" where that gains nothing",
    .plan = plan_auto,
};
