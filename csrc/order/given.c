/* order="given": the user's permutation, as one sequential stage or cut into stages and parts of any kind. */
#include "core/error.h"
#include "order/graph.h"

#include <string.h>

/* Copies the permutation, after checking it. */
static cs_status copy_permutation(const cs_problem *problem, const int64_t *permutation,
                                  cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    int64_t count = problem->blocks;
    int64_t *seen = cs_arena_take(scratch, count, sizeof(int64_t));
    if (!seen) return cs_no_memory(error, "the order");
    for (int64_t i = 0; i < count; i++) {
        int64_t block = permutation[i];
        if (block < 0 || block >= count)
            return cs_fail(error, CS_INVALID, "order[%lld] is %lld: contacts run from 0 to %lld",
                           (long long)i, (long long)block, (long long)count - 1);
        if (seen[block])
            return cs_fail(error, CS_INVALID,
                           "order[%lld] is %lld, as order[%lld] is: every contact is visited once",
                           (long long)i, (long long)block, (long long)seen[block] - 1);
        seen[block] = i + 1;
        plan->block[i] = block;
    }
    return CS_OK;
}

/* Makes the stages and parts that `begins` (count) describes, after checking it. begins[i] tells what begins
 * with visit i: nothing, a part, or a stage; a stage is CS_STAGE_BEGINS plus its kind. */
static cs_status read_stages(const int64_t *begins, int64_t count, cs_plan *plan, cs_error *error)
{
    int64_t kind = CS_SEQUENTIAL;
    for (int64_t i = 0; i < count; i++) {
        /* Check the code; the first visit has to begin a stage. */
        int64_t code = begins[i];
        if (code < CS_NOTHING_BEGINS || code > CS_STAGE_BEGINS + CS_DISJOINT ||
            (i == 0 && code < CS_STAGE_BEGINS))
            return cs_fail(error, CS_INVALID, "begins[%lld] is %lld: %s", (long long)i,
                           (long long)code,
                           i ? "0, 1, or 2 and the number of a kind of stages is needed"
                             : "a stage begins with the first visit");

        /* Mark the part, or close the stage before and begin another one. */
        plan->cut[i] = code != CS_NOTHING_BEGINS;
        if (code < CS_STAGE_BEGINS) continue;
        cs_plan_close(plan, (cs_stage_kind)kind, i);
        kind = code - CS_STAGE_BEGINS;
    }
    cs_plan_close(plan, (cs_stage_kind)kind, count);
    return CS_OK;
}

/* ---- checks that independent and disjoint stages have no conflicts ------------------------------ */

/* For each vertex, the last part that has claimed it, and the first block of that part at the vertex. Parts are
 * numbered from 1 through all stages; `first` is the first part of the current stage. */
typedef struct claims {
    int64_t *part, *block; /* (vertices) */
    int64_t first;
} claims;

/* Whether another part of the current stage has claimed a vertex. */
static int is_taken(const claims *c, int64_t vertex, int64_t part)
{
    return c->part[vertex] >= c->first && c->part[vertex] != part;
}

/* Reports two blocks in conflict. */
static cs_status report_conflict(const cs_graph *graph, int64_t stage, cs_stage_kind kind,
                                 int64_t block, int64_t other, int64_t vertex, cs_error *error)
{
    const char *parts = kind == CS_DISJOINT ? ", in different parts," : "";
    if (graph->column)
        return cs_fail(error, CS_INVALID,
                       "stage %lld is %s, and its contacts %lld and %lld%s are coupled by A",
                       (long long)stage, cs_stage_kind_name((int)kind), (long long)other,
                       (long long)block, parts);
    return cs_fail(error, CS_INVALID,
                   "stage %lld is %s, and its contacts %lld and %lld%s share the moving body %lld",
                   (long long)stage, cs_stage_kind_name((int)kind), (long long)other,
                   (long long)block, parts, (long long)vertex);
}

/* Claims a vertex for a part; fails if another part of the stage has it. */
static cs_status claim(const cs_graph *graph, claims *c, const cs_plan *plan, int64_t stage,
                       int64_t part, int64_t block, int64_t vertex, cs_error *error)
{
    if (is_taken(c, vertex, part))
        return report_conflict(graph, stage, plan->kind[stage], block, c->block[vertex], vertex,
                               error);
    if (c->part[vertex] != part) c->block[vertex] = block;
    c->part[vertex] = part;
    return CS_OK;
}

/* Claims the vertices of a block for a part: its movable bodies, or for a given A the block itself. Fails if
 * another part of the stage has one of them, or for a given A one of the coupled blocks. */
static cs_status claim_block(const cs_graph *graph, claims *c, const cs_plan *plan, int64_t stage,
                             int64_t part, int64_t block, cs_error *error)
{
    /* A given A: no other part may have a coupled block. */
    int64_t end[CS_MAX_PARTNERS], first = graph->column ? graph->start[block] : 0;
    int64_t stop = graph->column ? graph->start[block + 1] : 0;
    for (int64_t e = first; e < stop; e++) {
        int64_t other = graph->column[e];
        if (is_taken(c, other, part))
            return report_conflict(graph, stage, plan->kind[stage], block, other, other, error);
    }

    /* Claim the vertices of the block. */
    int ends = cs_graph_ends(graph, block, end);
    cs_status status = CS_OK;
    for (int e = 0; !status && e < ends; e++)
        status = claim(graph, c, plan, stage, part, block, end[e], error);
    return status;
}

/* Whether a stage of this kind forbids conflicts: between its contacts if it is independent, between its parts if
 * it is disjoint. */
static int forbids_conflicts(cs_stage_kind kind)
{
    return kind == CS_INDEPENDENT || kind == CS_DISJOINT;
}

/* Whether any stage of the plan forbids conflicts. */
static int has_stages_to_check(const cs_plan *plan)
{
    for (int64_t s = 0; s < plan->stages; s++)
        if (forbids_conflicts(plan->kind[s])) return 1;
    return 0;
}

/* Checks all independent and disjoint stages. */
static cs_status check_conflicts(const cs_problem *problem, cs_arena *scratch, const cs_plan *plan,
                                 cs_error *error)
{
    cs_graph graph;
    cs_status status = cs_graph_build(problem, scratch, &graph, error);
    if (status) return status;
    claims c = {cs_arena_take(scratch, graph.vertices, sizeof(int64_t)),
                cs_arena_take(scratch, graph.vertices, sizeof(int64_t)), 1};
    if (!c.part || !c.block) return cs_no_memory(error, "the order");

    /* Each contact of an independent stage counts as a part. */
    for (int64_t s = 0, part = 0; !status && s < plan->stages; s++) {
        cs_stage_kind kind = plan->kind[s];
        c.first = part + 1;
        if (!forbids_conflicts(kind)) continue;
        for (int64_t i = plan->start[s]; !status && i < plan->start[s + 1]; i++) {
            part += kind == CS_INDEPENDENT || plan->cut[i];
            status = claim_block(&graph, &c, plan, s, part, plan->block[i], error);
        }
    }
    return status;
}

static cs_status plan_given(const cs_problem *problem, const cs_order_options *options,
                            cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    if (!options->permutation)
        return cs_fail(error, CS_INVALID, "order='given' needs a permutation of the contacts");
    cs_status status = copy_permutation(problem, options->permutation, scratch, plan, error);
    if (status) return status;

    /* Without stages, the visits are one sequential stage. */
    if (!options->begins) {
        cs_plan_close(plan, CS_SEQUENTIAL, problem->blocks);
        return CS_OK;
    }

    /* Make the stages, and check those that forbid conflicts. */
    status = read_stages(options->begins, problem->blocks, plan, error);
    if (status || !has_stages_to_check(plan)) return status;
    return check_conflicts(problem, scratch, plan, error);
}

const cs_order cs_order_given = {
    .name = "given",
    .summary =
        "contacts, or stages of contacts, in your order: pass a permutation, or orders.given",
    .plan = plan_given,
};
