/* Contact sets (S1 section 8.3): the blocks between the same bodies, usually a pair, form a set, which is visited as a unit.
 * The fixed world counts as a body. With a given A the bodies are unknown, and each block is a set.
 *
 *     simultaneous inside   The blocks of a set do not see each other. A box at rest on the ground then gets
 *                           equal impulses, unlike with Gauss-Seidel (Fig. 3.1).
 *     coloured              Sets that share no movable body are visited at once. One edge per pair of bodies
 *                           needs fewer colours than one per contact (section 4).
 */
#include "core/error.h"
#include "order/greedy_palette.h"

#include <string.h>

typedef struct sets {
    int64_t count;
    int64_t *start; /* (count + 1) into block */
    int64_t *block; /* (blocks): sets sorted by their first blocks; ascending in a set */
    int64_t *set;   /* (blocks): the set of a block */
} sets;

/* How many body numbers tell sets apart: the most partners of a block, and at least 2. */
static int keys_of(const cs_problem *problem)
{
    int most = CS_PAIR;
    for (int g = 0; g < problem->block_groups; g++)
        if (problem->block_group[g].partners > most) most = problem->block_group[g].partners;
    return most;
}

/* 1 + number `key` of a block's distinct bodies, lower ones first; 0 for the fixed world. A block with fewer bodies has
 * the highest one in place of those that it lacks. */
static int64_t body_of(const cs_problem *problem, int64_t block, int key)
{
    const cs_block_group *group = cs_block_group_of(problem, block);
    int64_t index = block - group->first_block, last = -2;
    for (int number = 0; number <= key; number++) {
        /* The lowest body above the last one. */
        int64_t next = INT64_MAX;
        for (int s = 0; s < group->partners; s++) {
            int64_t body = cs_partner_body(group, index, s);
            if (body > last && body < next) next = body;
        }
        if (next == INT64_MAX) break;
        last = next;
    }
    return 1 + last;
}

/* Sorts blocks by one of their bodies, stably. `next` (bodies + 2) is scratch. */
static void sort_by_body(const cs_problem *problem, int key, int64_t *next, const int64_t *from,
                         int64_t *to)
{
    /* Counting sort. */
    memset(next, 0, sizeof(int64_t) * (size_t)(problem->bodies + 2));
    for (int64_t i = 0; i < problem->blocks; i++) next[body_of(problem, i, key) + 1]++;
    for (int64_t body = 0; body < problem->bodies; body++) next[body + 1] += next[body];
    for (int64_t i = 0; i < problem->blocks; i++)
        to[next[body_of(problem, from[i], key)]++] = from[i];
}

/* Whether two blocks have the same bodies. */
static int same_bodies(const cs_problem *problem, int keys, int64_t a, int64_t b)
{
    for (int key = 0; key < keys; key++)
        if (body_of(problem, a, key) != body_of(problem, b, key)) return 0;
    return 1;
}

/* s->set (blocks) <- the lowest block of each block's set. `s->block` is scratch. */
static cs_status find_first_blocks(const cs_problem *problem, cs_arena *scratch, sets *s,
                                   cs_error *error)
{
    int64_t *next = cs_arena_take(scratch, problem->bodies + 2, sizeof(int64_t));
    int64_t *sorted = cs_arena_take(scratch, problem->blocks, sizeof(int64_t));
    if (cs_arena_failed(scratch)) return cs_no_memory(error, "the contact sets");
    for (int64_t i = 0; i < problem->blocks; i++) s->block[i] = i;

    /* A given A: each block is its own set. */
    if (problem->matrix) {
        memcpy(s->set, s->block, sizeof(int64_t) * (size_t)problem->blocks);
        return CS_OK;
    }

    /* Sort by all bodies (least significant key first), so that the blocks of a set are consecutive. */
    int keys = keys_of(problem);
    int64_t *from = s->block, *to = sorted;
    for (int key = keys; key-- > 0;) {
        sort_by_body(problem, key, next, from, to);
        int64_t *last = from;
        from = to;
        to = last;
    }

    /* A set begins where the bodies change. */
    for (int64_t i = 0, first = 0; i < problem->blocks; i++) {
        if (!i || !same_bodies(problem, keys, from[i], from[i - 1])) first = from[i];
        s->set[from[i]] = first;
    }
    return CS_OK;
}

/* Finds all sets, and sorts the blocks by set. */
static cs_status find_sets(const cs_problem *problem, cs_arena *scratch, sets *s, cs_error *error)
{
    int64_t blocks = problem->blocks;
    s->count = 0;
    s->start = cs_arena_take(scratch, blocks + 2, sizeof(int64_t));
    s->block = cs_arena_take(scratch, blocks, sizeof(int64_t));
    s->set = cs_arena_take(scratch, blocks, sizeof(int64_t));
    if (cs_arena_failed(scratch)) return cs_no_memory(error, "the contact sets");
    cs_status status = find_first_blocks(problem, scratch, s, error);
    if (status) return status;

    /* Number the sets by their first blocks, and sort the blocks by set. */
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

/* Appends the blocks of a set to the `at` visits of the plan. Returns the new number of visits. */
static int64_t add_set(const sets *s, int64_t set, cs_plan *plan, int64_t at)
{
    int64_t count = s->start[set + 1] - s->start[set];
    memcpy(plan->block + at, s->block + s->start[set], sizeof(int64_t) * (size_t)count);
    return at + count;
}

/* Whether the set of `block` shares a movable body with stage `number`, so that it has to begin the next stage.
 * Adds the set to stage `number`, or to the next one if there is a conflict. `stage` (vertices): the last stage
 * with a set at the vertex. */
static int conflicts_with_stage(const cs_graph *graph, int64_t block, int64_t *stage,
                                int64_t number)
{
    /* Look for a conflict at the set's bodies, and for a given A at the coupled blocks. */
    int64_t end[CS_MAX_PARTNERS];
    int ends = cs_graph_ends(graph, block, end), conflict = 0;
    for (int i = 0; i < ends; i++) conflict |= stage[end[i]] == number;
    if (graph->column)
        for (int64_t e = graph->start[block]; e < graph->start[block + 1]; e++)
            conflict |= stage[graph->column[e]] == number;

    /* Record the stage of the set. */
    for (int i = 0; i < ends; i++) stage[end[i]] = conflict ? number + 1 : number;
    return conflict;
}

/* Plans the sets in their order. Consecutive sets that share no movable body form one simultaneous stage, in
 * which only blocks of the same set depend on each other. */
static cs_status plan_stages(const cs_graph *graph, const sets *s, cs_arena *scratch, cs_plan *plan,
                             cs_error *error)
{
    int64_t *stage = cs_arena_take(scratch, graph->vertices, sizeof(int64_t)), at = 0;
    if (!stage) return cs_no_memory(error, "the contact sets");

    /* Close the stage before each set that conflicts with it. */
    for (int64_t set = 0; set < s->count; set++) {
        if (conflicts_with_stage(graph, s->block[s->start[set]], stage, plan->stages + 1))
            cs_plan_close(plan, CS_SIMULTANEOUS, at);
        at = add_set(s, set, plan, at);
    }
    cs_plan_close(plan, CS_SIMULTANEOUS, at);
    return CS_OK;
}

/* Plans the sets colour by colour. If the blocks of a set see each other, a stage is disjoint, and each of its
 * parts holds whole sets of up to CS_CHUNK blocks in all. */
static cs_status plan_colors(const cs_graph *graph, const sets *s, int simultaneous,
                             cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    cs_greedy_palette palette;
    int64_t *first = cs_arena_take(scratch, s->count, sizeof(int64_t)), at = 0, set = 0;
    cs_status status = first ? cs_greedy_palette_new(graph, s->count, scratch, &palette, error)
                             : cs_no_memory(error, "the contact sets");
    if (status) return status;

    /* Colour the sets by their first blocks. */
    for (int64_t i = 0; i < s->count; i++) first[i] = s->block[s->start[i]];
    int64_t colors = cs_greedy_palette_sort(&palette, first, s->count);

    /* Write a stage for each colour. */
    for (int64_t c = 0; c < colors; c++) {
        int64_t part = -1, begin = at; /* part: where the current part begins */
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

/* ---- options --------------------------------------------------------------------------------- */

enum { INSIDE, COLORED, OPTIONS };

enum { SEQUENTIAL, SIMULTANEOUS };
static const char *const insides[] = {"sequential", "simultaneous", NULL};

static const cs_option options_of_sets[OPTIONS] = {
    [INSIDE] =
        CS_WORD_OPTION("inside", insides,
                       "\"sequential\", or \"simultaneous\": the contacts of a set do not see each "
                       "other within a sweep, so that equal impulses support a box at rest on the "
                       "ground (S1 Fig. 3.1); sets see each other as in Gauss-Seidel"),
    [COLORED] = CS_FLAG_OPTION(
        "colored", 0,
        "visit sets that share no moving body in parallel, colour by colour: sets need fewer "
        "colours than single contacts. Otherwise sets follow the order of their first contacts"),
};

static cs_status plan_sets(const cs_problem *problem, const cs_order_options *options,
                           cs_arena *scratch, cs_plan *plan, cs_error *error)
{
    cs_graph graph;
    sets s;
    int simultaneous = cs_order_value(options, INSIDE) == SIMULTANEOUS;
    int colored = cs_order_value(options, COLORED) != 0;
    cs_status status = find_sets(problem, scratch, &s, error);

    /* Sets in sequence, sequential inside: a single sequential stage. */
    if (!status && !colored && !simultaneous) {
        memcpy(plan->block, s.block, sizeof(int64_t) * (size_t)problem->blocks);
        cs_plan_close(plan, CS_SEQUENTIAL, problem->blocks);
        return CS_OK;
    }

    /* Otherwise plan stages, by colour or in the order of the sets. */
    if (!status) status = cs_graph_build(problem, scratch, &graph, error);
    if (status) return status;
    if (colored) return plan_colors(&graph, &s, simultaneous, scratch, plan, error);
    return plan_stages(&graph, &s, scratch, plan, error);
}

const cs_order cs_order_contact_sets = {
    .name = "contact_sets",
    .summary = "all contacts between the same bodies as one unit (S1 section 8.3)",
    .about = "The fixed world counts as a body here, and the order of the bodies makes no "
             "difference. Where A was given, the bodies are not known, and each contact is a set.",
    .option = options_of_sets,
    .options = OPTIONS,
    .plan = plan_sets,
};
