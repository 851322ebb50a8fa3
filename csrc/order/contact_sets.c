/* Contact sets (S1 section 8.3): the blocks between one pair of bodies are visited as one, the fixed
 * world being a body here. Where A is given nothing tells the bodies: each block is a set.
 *
 *     simultaneous inside   the blocks of a set do not see each other: a box at rest on the ground
 *                           is held by equal impulses, which Gauss-Seidel does not find (Fig. 3.1)
 *     coloured              sets that share no moving body at once; one edge a pair needs fewer
 *                           colours than one a contact (section 4)
 */
#include "core/error.h"
#include "order/greedy_palette.h"

#include <string.h>

typedef struct sets {
    int64_t count;
    int64_t *start; /* (count + 1) into block */
    int64_t *block; /* (blocks): set after set, each ascending; sets by their first block */
    int64_t *set;   /* (blocks): the set of a block */
} sets;

/* The lower (0) or the higher (1) body of a block, from 1 on; 0 for the fixed world. */
static int64_t body_of(const cs_problem *problem, int64_t block, int higher)
{
    const cs_block_group *group = cs_block_group_of(problem, block);
    int64_t index = block - group->first_block;
    int64_t first = cs_partner_body(group, index, 0), second = cs_partner_body(group, index, 1);
    return 1 + (higher == (second > first) ? second : first);
}

/* Sorts blocks by their lower or higher body, equal ones as they are. `next` is scratch. */
static void sort_by_body(const cs_problem *problem, int higher, int64_t *next, const int64_t *from,
                         int64_t *to)
{
    memset(next, 0, sizeof(int64_t) * (size_t)(problem->bodies + 2));
    for (int64_t i = 0; i < problem->blocks; i++) next[body_of(problem, i, higher) + 1]++;
    for (int64_t body = 0; body < problem->bodies; body++) next[body + 1] += next[body];
    for (int64_t i = 0; i < problem->blocks; i++)
        to[next[body_of(problem, from[i], higher)]++] = from[i];
}

/* The lowest block of each block's set, in sets->set; the order of `sets->block` is scratch. */
static cs_status find_firsts(const cs_problem *problem, cs_arena *scratch, sets *s, cs_error *error)
{
    int64_t *next = cs_arena_take(scratch, problem->bodies + 2, sizeof(int64_t));
    int64_t *sorted = cs_arena_take(scratch, problem->blocks, sizeof(int64_t));
    if (cs_arena_failed(scratch)) return cs_no_memory(error, "the contact sets");
    for (int64_t i = 0; i < problem->blocks; i++) s->block[i] = i;
    if (problem->matrix) {
        memcpy(s->set, s->block, sizeof(int64_t) * (size_t)problem->blocks);
        return CS_OK;
    }
    sort_by_body(problem, 1, next, s->block, sorted);
    sort_by_body(problem, 0, next, sorted, s->block);
    for (int64_t i = 0, first = 0; i < problem->blocks; i++) {
        int64_t block = s->block[i], before = i ? s->block[i - 1] : 0;
        if (!i || body_of(problem, block, 0) != body_of(problem, before, 0) ||
            body_of(problem, block, 1) != body_of(problem, before, 1))
            first = block;
        s->set[block] = first;
    }
    return CS_OK;
}

static cs_status find_sets(const cs_problem *problem, cs_arena *scratch, sets *s, cs_error *error)
{
    int64_t blocks = problem->blocks;
    s->count = 0;
    s->start = cs_arena_take(scratch, blocks + 2, sizeof(int64_t));
    s->block = cs_arena_take(scratch, blocks, sizeof(int64_t));
    s->set = cs_arena_take(scratch, blocks, sizeof(int64_t));
    if (cs_arena_failed(scratch)) return cs_no_memory(error, "the contact sets");
    cs_status status = find_firsts(problem, scratch, s, error);
    if (status) return status;
    int64_t *next = s->start + 1;
    for (int64_t i = 0; i < blocks; i++) {
        s->set[i] = s->set[i] == i ? s->count++ : s->set[s->set[i]];
        next[s->set[i] + 1]++;
    }
    for (int64_t set = 0; set < s->count; set++) next[set + 1] += next[set];
    for (int64_t i = 0; i < blocks; i++) s->block[next[s->set[i]]++] = i;
    return CS_OK;
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* Puts a set's blocks behind `at` visits of the plan; returns the visits then. */
static int64_t add_set(const sets *s, int64_t set, cs_plan *plan, int64_t at)
{
    int64_t count = s->start[set + 1] - s->start[set];
    memcpy(plan->block + at, s->block + s->start[set], sizeof(int64_t) * (size_t)count);
    return at + count;
}

/* Whether the set of `block` shares a moving body with those of the stage `number`, and has to open
 * the next one. `stage` (vertices) tells the stage that met a vertex last; the set is entered. */
static int meets(const cs_graph *graph, int64_t block, int64_t *stage, int64_t number)
{
    int64_t end[2];
    int ends = cs_graph_ends(graph, block, end), met = 0;
    for (int i = 0; i < ends; i++) met |= stage[end[i]] == number;
    if (graph->column) /* given A: whatever it is coupled to */
        for (int64_t e = graph->start[block]; e < graph->start[block + 1]; e++)
            met |= stage[graph->column[e]] == number;
    for (int i = 0; i < ends; i++) stage[end[i]] = met ? number + 1 : number;
    return met;
}

/* Sets in their order; those in a row that share no moving body are one stage: only blocks of the
 * same set are kept from seeing each other there. */
static cs_status plan_stages(const cs_graph *graph, const sets *s, cs_arena *scratch, cs_plan *plan,
                             cs_error *error)
{
    int64_t *stage = cs_arena_take(scratch, graph->vertices, sizeof(int64_t)), at = 0;
    if (!stage) return cs_no_memory(error, "the contact sets");
    for (int64_t set = 0; set < s->count; set++) {
        if (meets(graph, s->block[s->start[set]], stage, plan->stages + 1))
            cs_plan_close(plan, CS_SIMULTANEOUS, at);
        at = add_set(s, set, plan, at);
    }
    cs_plan_close(plan, CS_SIMULTANEOUS, at);
    return CS_OK;
}

/* Sets colour by colour. Where the blocks of a set see each other, parts of a stage hold whole
 * sets, as many as make up a piece of CS_CHUNK blocks. */
static cs_status plan_colors(const cs_graph *graph, const sets *s, int simultaneous,
                             cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    cs_greedy_palette palette;
    int64_t *first = cs_arena_take(scratch, s->count, sizeof(int64_t)), at = 0, set = 0;
    cs_status status = first ? cs_greedy_palette_new(graph, scratch, &palette, error)
                             : cs_no_memory(error, "the contact sets");
    if (status) return status;
    for (int64_t i = 0; i < s->count; i++) first[i] = s->block[s->start[i]];
    int64_t colors = cs_greedy_palette_sort(&palette, first, s->count);
    for (int64_t c = 0; c < colors; c++) {
        int64_t part = -1, begin = at; /* part: where the one at hand begins */
        for (; set < palette.end[c]; set++) {
            int64_t end = add_set(s, s->set[first[set]], plan, at);
            if (part < 0 || end - part > CS_CHUNK) plan->cut[part = at] = 1;
            at = end;
        }
        cs_plan_add_to_color(plan, c, at - begin);
        cs_plan_close(plan, simultaneous ? CS_SIMULTANEOUS : CS_DISJOINT, at);
    }
    return CS_OK;
}

enum { INSIDE, COLORED, OPTIONS };

enum { SEQUENTIAL, SIMULTANEOUS };
static const char *const insides[] = {"sequential", "simultaneous", NULL};

static const cs_option options_of_sets[OPTIONS] = {
    [INSIDE] = CS_WORD_OPTION(
        "inside", insides,
        "\"sequential\", or \"simultaneous\": contacts of a set do not see each other, so that a "
        "box "
        "at rest on the ground is held by equal impulses (S1 Fig. 3.1); between sets it is still "
        "Gauss-Seidel"),
    [COLORED] = CS_FLAG_OPTION(
        "colored", 0,
        "visit sets that share no moving body at once, colour by colour: fewer colours than "
        "contacts "
        "have by themselves. Otherwise sets follow each other by their first contacts"),
};

static cs_status plan_sets(const cs_problem *problem, const cs_order_options *options,
                           cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    cs_graph graph;
    sets s;
    int simultaneous = cs_order_value(options, INSIDE) == SIMULTANEOUS;
    int colored = cs_order_value(options, COLORED) != 0;
    cs_status status = find_sets(problem, scratch, &s, error);
    if (!status && !colored && !simultaneous) {
        memcpy(plan->block, s.block, sizeof(int64_t) * (size_t)problem->blocks);
        cs_plan_close(plan, CS_SEQUENTIAL, problem->blocks);
        return CS_OK;
    }
    if (!status) status = cs_graph_build(problem, scratch, &graph, error);
    if (status) return status;
    if (colored) return plan_colors(&graph, &s, simultaneous, scratch, plan, error);
    return plan_stages(&graph, &s, scratch, plan, error);
}

const cs_order cs_order_contact_sets = {
    .name = "contact_sets",
    .summary = "the contacts between two bodies as one (S1 section 8.3)",
    .about =
        "The fixed world is a body here, and the order of the pair makes no difference. Where A "
        "was given nothing tells the bodies, and each contact is a set.",
    .option = options_of_sets,
    .options = OPTIONS,
    .plan = plan_sets,
};
